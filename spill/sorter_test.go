package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// newTestSorter returns a sorter that takes memory for large values from a pool.
func newTestSorter(t *testing.T, pool *budget.Pool, memory int64) *Sorter {
	t.Helper()
	share := pool.NewShare(0)
	t.Cleanup(share.Close)
	take := func(n int) ([]byte, error) { return share.Take(t.Context(), n) }
	return NewSorter(memory, 56, take, share.Give)
}

// TestSorter sorts records that fit into memory, records that take more runs than are merged at
// a time, and records that are larger than memory. Records of equal keys keep their order.
func TestSorter(t *testing.T) {
	folder := openFolder(t)
	for _, tt := range []struct {
		rows, memory, large, key int
		runs                     int // least number
	}{
		{0, 64 << 10, 0, 0, 0}, {100, 64 << 10, 0, 0, 0}, {5000, 16 << 10, 0, 0, 10}, {300, 8 << 10, 20 << 10, 0, 3},
		{2000, 1 << 10, 0, 0, 100}, {200, 8 << 10, 0, 3000, 50}, {50, 8 << 10, 5000, 3000, 20},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(tt.rows)))
			s := newTestSorter(t, budget.New(math.MaxInt64), int64(tt.memory))
			for range 2 { // the second time in the same memory
				s.Start(folder, Options{Memory: 8 << 10})
				type row struct{ key, value []byte }
				var want []row
				for i := range tt.rows {
					r := row{fmt.Appendf(nil, "%s%d", strings.Repeat("k", tt.key), random.IntN(tt.rows)), fmt.Appendf(nil, "value %d", i)}
					if tt.large > 0 && i%100 == 50 || tt.rows < 100 {
						r.value = append(r.value, make([]byte, tt.large)...)
					}
					testenv.Must(t, s.Add(r.key, r.value))
					want = append(want, r)
				}
				slices.SortStableFunc(want, func(a, b row) int { return bytes.Compare(a.key, b.key) })
				if len(s.runs) < tt.runs {
					t.Errorf("%d runs, want at least %d", len(s.runs), tt.runs)
				}
				if n := openDescriptors(t, folder.Dir()); n > 1 {
					t.Errorf("%d files are open", n)
				}
				n := 0
				err := s.Each(t.Context(), func(key, value []byte) error {
					if n >= len(want) || !bytes.Equal(key, want[n].key) || !bytes.Equal(value, want[n].value) {
						return fmt.Errorf("record %d is %q", n, key)
					}
					n++
					return nil
				})
				if err != nil || n != tt.rows {
					t.Errorf("%d of %d records, %v", n, tt.rows, err)
				}
			}
		})
	}
}

// TestSorterOfAscents merges a few ascending sequences of records.
func TestSorterOfAscents(t *testing.T) {
	for _, memory := range []int64{64 << 10, 2 << 10} {
		s := newTestSorter(t, budget.New(0), memory)
		s.Start(openFolder(t), Options{})
		for i := range 1000 {
			testenv.Must(t, s.Add(fmt.Appendf(nil, "a long prefix %03d", i%250), fmt.Append(nil, i/250)))
		}
		if len(s.ascents) > 4 {
			t.Errorf("%d ascents", len(s.ascents))
		}
		n := 0
		err := s.Each(t.Context(), func(key, value []byte) error {
			if want := fmt.Sprintf("a long prefix %03d %d", n/4, n%4); fmt.Sprintf("%s %s", key, value) != want {
				return fmt.Errorf("record %d is %s %s, want %s", n, key, value, want)
			}
			n++
			return nil
		})
		if err != nil || n != 1000 {
			t.Errorf("%d records, %v", n, err)
		}
	}
}

// TestSorterOfLargeValues merges large records, each a run of its own, with more bytes in total
// than memory: only the value of the next record is in memory.
func TestSorterOfLargeValues(t *testing.T) {
	const rows, size = 40, 100 << 10
	s := newTestSorter(t, budget.New(3*size), 16<<10)
	s.Start(openFolder(t), Options{Memory: 8 << 10})
	for i := range rows {
		if err := s.Add(fmt.Appendf(nil, "%02d", rows-1-i), bytes.Repeat([]byte{byte(i)}, size+i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err := s.Each(t.Context(), func(key, value []byte) error {
		i := rows - 1 - n
		if string(key) != fmt.Sprintf("%02d", n) || !bytes.Equal(value, bytes.Repeat([]byte{byte(i)}, size+i)) {
			return fmt.Errorf("record %d is %s of %d bytes", n, key, len(value))
		}
		n++
		return nil
	})
	if err != nil || n != rows {
		t.Errorf("%d of %d records, %v", n, rows, err)
	}
}

// TestSorterMemory sorts keys of different lengths within the given memory, and fails if they
// are longer than half of it.
func TestSorterMemory(t *testing.T) {
	const limit = 64 << 10
	for _, size := range []int{0, 8, 4000, limit / 4, limit} {
		s := newTestSorter(t, budget.New(0), limit)
		s.Start(openFolder(t), Options{})
		taken := func() int { return cap(s.records) + placeSize*cap(s.order) }
		key := bytes.Repeat([]byte("k"), size)
		var err error
		for range 3 * limit / (size + placeSize) {
			err = errors.Join(err, s.Add(key, nil))
		}
		if refused := err != nil; refused != (size == limit) {
			t.Errorf("keys of %d bytes: %v", size, err)
		}
		if err == nil && len(s.runs) < 2 {
			t.Errorf("keys of %d bytes: %d runs", size, len(s.runs))
		}
		if taken() > limit {
			t.Errorf("keys of %d bytes: %d bytes of memory are used, want at most %d", size, taken(), limit)
		}
		if err := s.Reset(); err != nil {
			t.Error(err)
		}
	}
}

// TestSorterInterrupted cancels sorting in memory, while runs are merged to other runs, and in
// the last merge.
func TestSorterInterrupted(t *testing.T) {
	for _, rows := range []int{1, 100, 5000} {
		s := newTestSorter(t, budget.New(0), 1<<10)
		s.Start(openFolder(t), Options{})
		for i := range rows {
			testenv.Must(t, s.Add(fmt.Append(nil, i), nil))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("no more wanted")
		cancel(cause)
		err := s.Each(ctx, func([]byte, []byte) error { t.Fatal("got a record"); return nil })
		if !errors.Is(err, cause) {
			t.Errorf("%d records: %v", rows, err)
		}
	}
}

// TestSorterOfChangedFile has lengths in the sorter's file that were changed.
func TestSorterOfChangedFile(t *testing.T) {
	for at, what := range []string{"key", "value"} {
		s := newTestSorter(t, budget.New(0), 1<<10)
		s.Start(openFolder(t), Options{})
		for range 100 {
			testenv.Must(t, s.Add([]byte("key"), []byte("value")))
		}
		f, err := s.spill.acquire(0)
		if err == nil {
			_, err = f.WriteAt([]byte{0x7f, 0xff, 0xff, 0xff}, int64(4*at))
			s.spill.release(0)
		}
		testenv.Must(t, err)
		err = s.Each(t.Context(), func([]byte, []byte) error { return nil })
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("changed length of a %s: %v", what, err)
		}
		if s.spill != nil {
			t.Error("the spill is still open")
		}
	}
}

// TestReader reads columns with and without a file, in different ranges.
func TestReader(t *testing.T) {
	for _, memory := range []int{0, 1 << 20} {
		s := newTestSpill(t, openFolder(t), 2, Options{Memory: memory})
		want := pattern(3*page + 5)
		for _, p := range [][]byte{want[:10], want[10:page], want[page:]} {
			if n, err := s.Writer(1).Write(p); n != len(p) || err != nil {
				t.Fatalf("wrote %d bytes of %d, %v", n, len(p), err)
			}
		}
		r := s.Reader(1)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		p := make([]byte, 100)
		if n, err := r.ReadAt(p, 3*page-50); n != 55 || err != io.EOF || !bytes.Equal(p[:n], want[3*page-50:]) {
			t.Errorf("%d bytes at the end, %v", n, err)
		}
		if memory == 0 {
			testenv.Must(t, os.Truncate(s.name(1), 10))
			if _, err := r.ReadAt(p, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("truncated file: %v", err)
			}
		}
	}
}
