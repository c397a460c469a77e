package spill

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestShare(t *testing.T) {
	tests := []struct {
		memory, columns, want int
	}{
		{0, 1, 0},
		{1 << 20, 0, maxShare},
		{1 << 20, 1, maxShare},
		{12 << 20, 400, 28 << 10},
		{12 << 20, 10_000, 1258},
		{100 * page, 100, page},
		{100*page + 99, 100, page},
		{100 * (2*page - 1), 100, page},
		{99, 100, 0},
	}
	for _, tt := range tests {
		if got := (&Options{Memory: tt.memory}).share(tt.columns); got != tt.want {
			t.Errorf("%d bytes for %d columns: %d each, want %d", tt.memory, tt.columns, got, tt.want)
		}
	}
}

// pattern returns bytes that do not repeat within a page.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i ^ i>>8*7)
	}
	return p
}

func TestMemoryThenFile(t *testing.T) {
	tests := []struct {
		name    string
		share   int
		appends []int
		stored  int64 // bytes in the file afterwards
	}{
		{"nothing", 2 * page, nil, 0},
		{"exactly what fits", 2 * page, []int{page, page}, 0},
		{"at once", 2 * page, []int{2 * page}, 0},
		{"at once, then nothing", 2 * page, []int{2 * page, 0}, 0},
		{"one byte more", 2 * page, []int{2 * page, 1}, 2 * page},
		{"one byte too long", 2 * page, []int{2*page + 1}, 2 * page},
		{"whole pages", 2 * page, []int{page, 2 * page}, 3 * page},
		{"less than a page is kept", 2 * page, []int{page + 10, 3*page + 20}, 4 * page},
		{"memory is filled again", 2 * page, []int{3 * page, page, page}, 3 * page},
		{"memory is written again", 2 * page, []int{3 * page, page, page, 5}, 5 * page},
		{"less than a page fits", 100, []int{60, 40}, 0},
		{"less than a page fits, one byte more", 100, []int{60, 41}, 101},
		{"less than a page fits, a page", 100, []int{60, page, 30}, page + 60},
		{"no memory", 0, []int{1, 2}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := openFolder(t)
			s := newTestSpill(t, folder, 3, Options{Memory: 3 * tt.share})
			sum := 0
			for _, n := range tt.appends {
				sum += n
			}
			want := pattern(sum)
			rest := want
			for _, n := range tt.appends {
				testenv.Must(t, s.Append(1, rest[:n]))
				rest = rest[n:]
			}
			info, err := os.Stat(s.name(1))
			switch {
			case tt.stored == 0 && !os.IsNotExist(err):
				t.Errorf("got a file, want none: %v", err)
			case tt.stored > 0 && (err != nil || info.Size() != tt.stored):
				t.Errorf("want a file of %d bytes, got %v, %v", tt.stored, info, err)
			}
			if got := folder.Stored(); got != tt.stored {
				t.Errorf("the folder counts %d bytes, want %d", got, tt.stored)
			}
			checkRanges(t, s, 1, want, tt.stored)
		})
	}
}

// checkRanges copies ranges of a column that begin and end near its ends and near
// the end of its file.
func checkRanges(t *testing.T, s *Spill, col int, want []byte, stored int64) {
	t.Helper()
	size := int64(len(want))
	if s.Size(col) != size {
		t.Errorf("the size is %d, want %d", s.Size(col), size)
	}
	edges := []int64{0, 1, stored - 1, stored, stored + 1, size - 1, size}
	for _, from := range edges {
		for _, to := range edges {
			if from < 0 || to < from || to > size {
				continue
			}
			var got bytes.Buffer
			if n, err := s.CopyTo(&got, col, from, to-from); err != nil || n != to-from {
				t.Fatalf("[%d,%d): copied %d, %v", from, to, n, err)
			}
			if !bytes.Equal(got.Bytes(), want[from:to]) {
				t.Errorf("[%d,%d): the bytes differ from those appended", from, to)
			}
		}
	}
}

func TestSmallColumnsHaveNoFile(t *testing.T) {
	const columns = 10_000
	s := newTestSpill(t, openFolder(t), columns, Options{Memory: 12 << 20})
	for col := range columns {
		testenv.Must(t, s.Append(col, pattern(500+col%700)))
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 0 {
		t.Errorf("got %d files, want none, %v", len(entries), err)
	}
	for col := range columns {
		var got bytes.Buffer
		if _, err := s.CopyTo(&got, col, 0, s.Size(col)); err != nil || !bytes.Equal(got.Bytes(), pattern(500+col%700)) {
			t.Fatalf("column %d: the bytes differ from those appended, %v", col, err)
		}
	}
}

// TestDiskFullAfterMemory has a full disk when a column exceeds its memory.
func TestDiskFullAfterMemory(t *testing.T) {
	s := newTestSpill(t, openFolder(t), 2, Options{Memory: 2 * page})
	testenv.Must(t, s.Append(0, pattern(page)))
	fillDisk(t, s)
	closeRemoved(t, s)
}

// diskUse returns the size of all files in a directory.
func diskUse(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*")
	testenv.Must(t, err)
	for _, f := range files {
		info, err := os.Stat(f)
		testenv.Must(t, err)
		n += info.Size()
	}
	return n
}

func TestFilesAreOverwritten(t *testing.T) {
	for _, memory := range []int{0, 3 * page} {
		t.Run(fmt.Sprintf("%d bytes", memory), func(t *testing.T) {
			f := openFolder(t)
			var dir string
			for round, sizes := range [][3]int{{50_000, 0, 9_000}, {20_000, 40_000, 3}, {0, 0, 0}, {70_000, 70_000, 70_000}} {
				s := newTestSpill(t, f, 3, Options{Memory: memory})
				if dir == "" {
					dir = s.dir
				}
				if s.dir != dir {
					t.Fatalf("round %d: the files in %s are not reused", round, dir)
				}
				for col, n := range sizes {
					testenv.Must(t, s.Append(col, pattern(n)))
				}
				for col, n := range sizes {
					checkRanges(t, s, col, pattern(n), s.cols[col].stored)
				}
				testenv.Must(t, s.Close())
				if n, most := diskUse(t, dir), int64(sizes[0]+sizes[1]+sizes[2]); n > most {
					t.Errorf("round %d: after closing a spill of %d bytes, the files have %d", round, most, n)
				}
			}
		})
	}
}

// TestStaleBytesAreRemoved fills another column in each spill, so that the files of the
// last spill are of no use for the next.
func TestStaleBytesAreRemoved(t *testing.T) {
	const size = 2 * checkEvery
	f := openFolder(t)
	p := pattern(1 << 20)
	for round := range 3 {
		s := newTestSpill(t, f, 3, Options{Memory: 3 * page})
		for n := 0; n < size; n += len(p) {
			testenv.Must(t, s.Append(round, p))
			if held := diskUse(t, s.dir); held > size+checkEvery {
				t.Fatalf("round %d: the files have %d bytes after %d of %d", round, held, n, size)
			}
		}
		if held := diskUse(t, s.dir); held > size {
			t.Errorf("round %d: the files have %d bytes, the columns %d", round, held, size)
		}
		testenv.Must(t, s.Close())
	}
}

// TestConcurrentCopies has more concurrent copies than open files, and several copies
// of each column.
func TestConcurrentCopies(t *testing.T) {
	const columns = 6
	f := openFolder(t)
	f.files = budget.NewFiles(2)
	s := newTestSpill(t, f, columns, Options{Memory: columns * page})
	want := fill(t, s, columns, 300)
	var wg sync.WaitGroup
	for i := range 3 * columns {
		wg.Go(func() {
			col := i % columns
			for range 20 {
				var got bytes.Buffer
				if _, err := s.CopyTo(&got, col, 0, s.Size(col)); err != nil || !bytes.Equal(got.Bytes(), want[col]) {
					t.Errorf("column %d: the bytes differ from those appended, %v", col, err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Append(0, []byte("tail")); err != nil {
		t.Error(err)
	}
}
