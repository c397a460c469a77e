package spill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func openFolder(t testing.TB) *Folder {
	t.Helper()
	f, err := OpenFolder(t.TempDir())
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func newTestSpill(t testing.TB, f *Folder, columns int, o Options) *Spill {
	t.Helper()
	s, err := f.New(columns, o)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openDescriptors counts the process's open files below dir.
func openDescriptors(t testing.TB, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		testenv.Skip(t, "there is no /proc")
	}
	n := 0
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && len(target) > len(dir) && target[:len(dir)+1] == dir+"/" {
			n++
		}
	}
	return n
}

// fill appends random pieces to random columns and returns the contents of each
// column.
func fill(t testing.TB, s *Spill, columns, appends int) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	want := make([][]byte, columns)
	for range appends {
		col := r.IntN(columns)
		p := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(5000))
		testenv.Must(t, s.Append(col, p))
		want[col] = append(want[col], p...)
	}
	return want
}

func TestAppendAndCopy(t *testing.T) {
	const columns = 20
	for _, tt := range []struct{ limit, memory int }{
		{1, 0}, {2, 0}, {3, 0}, {19, 0}, {20, 0}, {1000, 0},
		{1, 1}, {1, columns}, {1000, columns * 1000}, {1000, columns * page},
		{1000, columns * (2*page + 1)}, {3, columns * 9 * page}, {1000, 1 << 30},
	} {
		t.Run(fmt.Sprintf("at most %d open, %d bytes", tt.limit, tt.memory), func(t *testing.T) {
			f := openFolder(t)
			f.files = budget.NewFiles(tt.limit)
			s := newTestSpill(t, f, columns, Options{Memory: tt.memory})
			want := fill(t, s, columns, 1000)
			if n := openDescriptors(t, s.dir); n > tt.limit {
				t.Errorf("%d files are open, want at most %d", n, tt.limit)
			}
			for col := range want {
				if s.Size(col) != int64(len(want[col])) {
					t.Errorf("column %d has size %d, want %d", col, s.Size(col), len(want[col]))
				}
				off, n := len(want[col])/3, len(want[col])/2
				var got bytes.Buffer
				if done, err := s.CopyTo(&got, col, int64(off), int64(n)); err != nil || done != int64(n) {
					t.Fatalf("copied %d of %d: %v", done, n, err)
				}
				if !bytes.Equal(got.Bytes(), want[col][off:off+n]) {
					t.Errorf("column %d: the bytes differ from those appended", col)
				}
			}
			// A copy moves the file's position, which must not misplace appends.
			testenv.Must(t, s.Append(0, []byte("tail")))
			var got bytes.Buffer
			if _, err := s.CopyTo(&got, 0, s.Size(0)-4, 4); err != nil || got.String() != "tail" {
				t.Errorf("the tail is %q, %v", got.String(), err)
			}
		})
	}
}

func TestManyColumnsFewFiles(t *testing.T) {
	const columns = 10_000
	f := openFolder(t)
	f.files = budget.NewFiles(96)
	// There are two row groups, as when one is reduced while the next is filled.
	a, b := newTestSpill(t, f, columns, Options{}), newTestSpill(t, f, columns, Options{})
	for round := range 2 {
		for col := range columns {
			for _, s := range []*Spill{a, b} {
				testenv.Must(t, s.Append(col, fmt.Appendf(nil, "%d of %d,", round, col)))
			}
		}
	}
	if n := openDescriptors(t, f.dir); n > 96 {
		t.Errorf("%d files are open", n)
	}
	var got, want bytes.Buffer
	for col := range columns {
		fmt.Fprintf(&want, "0 of %d,1 of %d,", col, col)
		if _, err := b.CopyTo(&got, col, 0, b.Size(col)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("the columns differ from what was appended")
	}
}

func TestCopyErrors(t *testing.T) {
	s := newTestSpill(t, openFolder(t), 2, Options{})
	testenv.Must(t, s.Append(0, []byte("12345")))
	for _, r := range [][3]int64{{0, 0, 6}, {0, 5, 1}, {0, 6, 0}, {0, -1, 1}, {0, 1, -1}, {0, 1, 1<<63 - 1}, {1, 0, 1}} {
		if n, err := s.CopyTo(io.Discard, int(r[0]), r[1], r[2]); err == nil || n != 0 {
			t.Errorf("column %d, %d bytes at %d: copied %d, %v", r[0], r[2], r[1], n, err)
		}
	}
	if n, err := s.CopyTo(io.Discard, 1, 0, 0); n != 0 || err != nil {
		t.Errorf("no bytes of an empty column: %d, %v", n, err)
	}
	testenv.Must(t, os.Truncate(s.dir+"/0", 3))
	if n, err := s.CopyTo(io.Discard, 0, 0, 5); n != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated file: %d, %v", n, err)
	}
}

func TestKernelCopy(t *testing.T) {
	s := newTestSpill(t, openFolder(t), 1, Options{})
	want := fill(t, s, 1, 100)[0]
	out, err := os.Create(t.TempDir() + "/out")
	testenv.Must(t, err)
	defer func() { _ = out.Close() }()
	if _, err := s.CopyTo(out, 0, 7, int64(len(want)-7)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out.Name()); !bytes.Equal(got, want[7:]) {
		t.Error("the copied bytes differ from those appended")
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, memory := range []int{0, 50 * page} {
		s := newTestSpill(t, openFolder(t), 50, Options{Memory: memory})
		p := make([]byte, 1000)
		all := func() {
			for col := range 50 {
				testenv.Must(t, s.Append(col, p))
			}
		}
		for range 5 {
			all() // opens the files
		}
		if n := testing.AllocsPerRun(20, all); n != 0 {
			t.Errorf("%d bytes of memory: %v allocations for 50 appends", memory, n)
		}
		w := bufio.NewWriter(io.Discard)
		if n := testing.AllocsPerRun(20, func() { _, _ = s.CopyTo(w, 1, 0, 1000) }); n > 2 {
			t.Errorf("%d bytes of memory: %v allocations for a copy", memory, n)
		}
	}
}

func TestReserve(t *testing.T) {
	f := openFolder(t)
	const tooMuch = 1 << 60
	made := func(columns int, o Options) error { _, err := f.New(columns, o); return err }
	failures := map[string]error{
		"CheckFree": CheckFree(f.Dir(), tooMuch),
		"New":       made(1, Options{Reserve: tooMuch}),
	}
	if st, err := statfs(f.Dir()); err == nil && st.Files > 0 { // otherwise the number of files is not limited
		failures["inodes"] = made(tooMuch, Options{})
	}
	for what, err := range failures {
		if !errors.Is(err, unix.ENOSPC) || strings.Count(err.Error(), f.Dir()) != 1 || !strings.Contains(err.Error(), "--temp-dir") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := CheckFree(f.Dir(), tooMuch); !strings.Contains(fmt.Sprint(err), " MiB free, and 1099511627776.00 MiB are needed: ") {
		t.Errorf("got %v", err)
	}
	if err := CheckFree(f.Dir(), 1); err != nil {
		t.Error(err)
	}
	const unlimited = "/proc" // like a tmpfs with size=0
	if st, err := statfs(unlimited); err == nil && st.Blocks == 0 {
		if err := CheckFree(unlimited, tooMuch); err != nil {
			t.Error(err)
		}
	}
	if err := CheckFree(f.Dir()+"/none", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	// The disk fills after the spill was made.
	s := newTestSpill(t, f, 1, Options{})
	s.reserve = tooMuch
	p := make([]byte, 1<<20)
	var err error
	n := 0
	for ; err == nil && n < 64; n++ {
		err = s.Append(0, p)
	}
	if !errors.Is(err, unix.ENOSPC) || n > checkEvery>>20 {
		t.Errorf("after %d MiB: %v", n, err)
	}
}

func TestFailedAppendPoisons(t *testing.T) {
	s := newTestSpill(t, openFolder(t), 2, Options{})
	testenv.Must(t, s.Append(0, []byte("x")))
	fillDisk(t, s)
}

// fillDisk makes an append to column 0 of s fail because the disk is full, and checks
// that later calls fail as well.
func fillDisk(t *testing.T, s *Spill) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	s.folder.files.Close(&s.cols[0].file)
	s.cols[0].file = budget.File{}
	if _, err := s.folder.files.Acquire(&s.cols[0].file, func() (io.Closer, error) { return full, nil }); err != nil {
		t.Fatal(err)
	}
	first := s.Append(0, []byte("y"))
	if !errors.Is(first, unix.ENOSPC) {
		t.Fatalf("append to a full disk: %v", first)
	}
	if err := s.Append(1, []byte("z")); !errors.Is(err, first) {
		t.Errorf("the next append, to another column: %v", err)
	}
	if _, err := s.CopyTo(io.Discard, 0, 0, 1); !errors.Is(err, first) {
		t.Errorf("copy: %v", err)
	}
}

func TestCloseReleasesFiles(t *testing.T) {
	f := openFolder(t)
	a, b := newTestSpill(t, f, 3, Options{}), newTestSpill(t, f, 3, Options{})
	fill(t, a, 3, 10)
	fill(t, b, 3, 10)
	for range 2 {
		testenv.Must(t, a.Close())
	}
	if err := a.Append(0, []byte("x")); err == nil {
		t.Error("append after close succeeded")
	}
	if n := openDescriptors(t, a.dir); b.Size(0) == 0 || n > 0 {
		t.Errorf("%d files stay open", n)
	}
	again := newTestSpill(t, f, 3, Options{})
	if again.dir != a.dir {
		t.Errorf("the files in %s are not reused", a.dir)
	}
	fill(t, again, 3, 5)
	if again.Size(0) == 0 {
		t.Error("nothing was appended")
	}
	testenv.Must(t, f.Close())
	if entries, _ := os.ReadDir(filepath.Dir(f.Dir())); len(entries) != 0 {
		t.Errorf("the closed folder left %v", entries)
	}
}

// TestFailedSpillIsRemoved checks that files with unknown contents are not reused.
func TestFailedSpillIsRemoved(t *testing.T) {
	f := openFolder(t)
	s := newTestSpill(t, f, 2, Options{})
	fill(t, s, 2, 10)
	s.err = errors.New("half a block was written")
	closeRemoved(t, s)
	if next := newTestSpill(t, f, 2, Options{}); next.dir == s.dir {
		t.Error("the files are reused")
	}
}

// closeRemoved closes a spill that failed and checks that its files are gone.
func closeRemoved(t *testing.T, s *Spill) {
	t.Helper()
	testenv.Must(t, s.Close())
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the files remain: %v", err)
	}
}

func TestConcurrentSpills(t *testing.T) {
	f := openFolder(t)
	f.files = budget.NewFiles(4)
	var wg sync.WaitGroup
	for range 4 {
		s := newTestSpill(t, f, 10, Options{})
		wg.Go(func() {
			want := make([]byte, 0, 1000)
			for i := range 1000 {
				want = append(want, byte(i))
				for col := range 10 {
					if err := s.Append(col, want[i:]); err != nil {
						t.Error(err)
						return
					}
				}
			}
			for col := range 10 {
				var got bytes.Buffer
				if _, err := s.CopyTo(&got, col, 0, 1000); err != nil || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("column %d: wrong bytes, %v", col, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkAppend(b *testing.B) {
	p := make([]byte, 2<<10)
	for _, limit := range []int{128, 4096} {
		b.Run(fmt.Sprintf("2000 columns, %d open", limit), func(b *testing.B) {
			f := openFolder(b)
			f.files = budget.NewFiles(limit)
			s := newTestSpill(b, f, 2000, Options{})
			b.SetBytes(int64(len(p)))
			col := 0
			for b.Loop() {
				testenv.Must(b, s.Append(col, p))
				if col++; col == 2000 {
					col = 0
				}
			}
		})
	}
}
