package mapper

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// TestSorter sorts rows that fit the memory, that take many runs, and that are larger than
// it; rows of equal keys keep their order.
func TestSorter(t *testing.T) {
	folder, err := spill.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	for _, tt := range []struct {
		rows, memory, large int
		runs                int // at least
	}{{0, 64 << 10, 0, 0}, {100, 64 << 10, 0, 0}, {5000, 16 << 10, 0, 10}, {300, 8 << 10, 20 << 10, 3}, {2000, 1 << 10, 0, 100}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(tt.rows)))
			m := &memory{share: budget.New(math.MaxInt64).NewShare(1 << 20), flush: func() error { return nil }, ctx: t.Context()}
			defer m.share.Close()
			s := newSorter(m, int64(tt.memory))
			for range 2 { // a second time in the same memory
				to, err := folder.New(rowsColumns, spill.Options{Memory: 8 << 10})
				if err != nil {
					t.Fatal(err)
				}
				s.start(to)
				type row struct{ key, datum []byte }
				var want []row
				for i := range tt.rows {
					r := row{fmt.Appendf(nil, "%d", random.IntN(tt.rows)), fmt.Appendf(nil, "datum %d", i)}
					if tt.large > 0 && i%100 == 50 {
						r.datum = append(r.datum, make([]byte, tt.large)...)
					}
					if err := s.add(r.key, r.datum); err != nil {
						t.Fatal(err)
					}
					want = append(want, r)
				}
				slices.SortStableFunc(want, func(a, b row) int { return bytes.Compare(a.key, b.key) })
				if len(s.runs) < tt.runs {
					t.Errorf("%d runs, want %d at least", len(s.runs), tt.runs)
				}
				n := 0
				err = s.each(func(key, datum []byte) error {
					if n >= len(want) || !bytes.Equal(key, want[n].key) || !bytes.Equal(datum, want[n].datum) {
						return fmt.Errorf("row %d is %q", n, key)
					}
					n++
					return nil
				})
				if err != nil || n != tt.rows {
					t.Errorf("%d of %d rows, %v", n, tt.rows, err)
				}
				if err := to.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestSorterOfLargeRows merges rows that have runs of their own and together more bytes than
// there is memory: only that of the row that comes next is held.
func TestSorterOfLargeRows(t *testing.T) {
	const rows, size = 40, 100 << 10
	folder, err := spill.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	pool := budget.New(3 * size)
	m := &memory{share: pool.NewShare(0), flush: func() error { return nil }, ctx: t.Context()}
	defer m.share.Close()
	s := newSorter(m, 16<<10)
	to, err := folder.New(rowsColumns, spill.Options{Memory: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	s.start(to)
	for i := range rows {
		if err := s.add(fmt.Appendf(nil, "%02d", rows-1-i), bytes.Repeat([]byte{byte(i)}, size+i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err = s.each(func(key, datum []byte) error {
		i := rows - 1 - n
		if string(key) != fmt.Sprintf("%02d", n) || !bytes.Equal(datum, bytes.Repeat([]byte{byte(i)}, size+i)) {
			return fmt.Errorf("row %d is %s of %d bytes", n, key, len(datum))
		}
		n++
		return nil
	})
	if err != nil || n != rows {
		t.Errorf("%d of %d rows, %v", n, rows, err)
	}
}
