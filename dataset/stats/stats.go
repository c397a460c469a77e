package stats

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/axiomhq/hyperloglog"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// Column is the figures of a column.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`   // type in the schema
	Values int64  `json:"values"` // number of values, or of all items of lists and maps, without missing values
	Nulls  int64  `json:"nulls"`  // number of missing values
	// Distinct is the number of distinct values. Up to a few thousand it is exact or
	// nearly exact. Larger numbers are mostly within 2 %. NaN is one value.
	Distinct *int64   `json:"distinct,omitempty"`
	Min      any      `json:"min,omitempty"` // a number, a boolean, or the value's text in JSON
	Max      any      `json:"max,omitempty"`
	Cut      bool     `json:"cut,omitempty"` // Min or Max is the beginning of a longer text
	Mean     *float64 `json:"mean,omitempty"`
	NaN      *int64   `json:"nan,omitempty"`
	Length   *Lengths `json:"length,omitempty"` // lengths of texts in bytes
	Items    *Lengths `json:"items,omitempty"`  // numbers of items of lists and maps
}

// Lengths are the lengths of texts or lists.
type Lengths struct {
	Min  int64   `json:"min"`
	Mean float64 `json:"mean"`
	Max  int64   `json:"max"`
}

// sketchMemory is the approximate size of a column's sketch, and columnMemory the size of its
// other figures, in bytes.
const (
	sketchMemory = 24 << 10
	columnMemory = 2 << 10
	// manyValues is the number of values of a column from which sketchMemory is reserved.
	manyValues = 1 << 10
)

// Collect returns the figures of the columns of a plan's rows. progress is called from time to time
// with what was read; it may be nil. The statistics are those of the whole query.
func Collect(ctx context.Context, p *dataset.Plan, memory *budget.Pool, progress func(dataset.Stats)) ([]Column, dataset.Stats, error) {
	m, err := p.Mapping()
	if err != nil || m == nil {
		return nil, dataset.Stats{}, err
	}
	heap := memory.NewHeap()
	defer heap.Close()
	total, err := newFigures(m.Columns, heap)
	if err != nil {
		return nil, dataset.Stats{}, err
	}
	r, err := dataset.BatchResults(ctx, p, func() func(*dataset.RangeBatches, func(*figures) error) error {
		return func(b *dataset.RangeBatches, emit func(*figures) error) error {
			return collectRange(m.Columns, heap, b, emit)
		}
	})
	if err != nil {
		return nil, dataset.Stats{}, err
	}
	defer r.Close()
	for {
		of, err := r.Next()
		if errors.Is(err, io.EOF) {
			return total.result(), r.Stats(), nil
		}
		if err == nil {
			//guard: adds up figures for which there is no memory next to several workers
			if err = total.reserveMerge(of); errors.As(err, new(*budget.Error)) && r.Alone() {
				err = total.reserveMerge(of)
			}
		}
		if err == nil {
			err = total.merge(of)
		}
		if err != nil {
			return nil, r.Stats(), err
		}
		if progress != nil {
			progress(r.Stats())
		}
	}
}

// collectRange passes the figures of a range to emit.
func collectRange(columns []column.Column, heap *budget.Heap, b *dataset.RangeBatches, emit func(*figures) error) error {
	f, err := newFigures(columns, heap)
	if err != nil {
		return err
	}
	for err == nil {
		if err = b.Next(); err == nil {
			err = f.add(b.Vector)
		}
	}
	if errors.Is(err, io.EOF) {
		err = emit(f)
	}
	if err != nil {
		f.Release()
	}
	return err
}

// figures collects the figures of columns.
type figures struct {
	columns []collector
	heap    *budget.Heap
	held    int64
}

func newFigures(columns []column.Column, heap *budget.Heap) (*figures, error) {
	f := &figures{columns: make([]collector, len(columns)), heap: heap}
	if err := f.reserve(int64(len(columns)) * columnMemory); err != nil {
		return nil, fmt.Errorf("%d columns: %w", len(columns), err)
	}
	for i := range columns {
		f.columns[i] = collector{column: &columns[i], sketch: hyperloglog.New14()}
	}
	return f, nil
}

func (f *figures) reserve(n int64) error {
	if err := f.heap.Reserve(n); err != nil {
		return err
	}
	f.held += n
	return nil
}

// Release frees the memory.
func (f *figures) Release() {
	f.heap.Release(f.held)
	f.held = 0
}

// add adds the rows of a batch. vector returns the values of a column. It reserves the memory of a
// column's sketch once the column has many values.
func (f *figures) add(vector func(col int) *column.Vector) error {
	for i := range f.columns {
		c := &f.columns[i]
		before := c.values
		c.add(vector(i))
		if before >= manyValues || c.values < manyValues {
			continue
		}
		if err := f.reserve(sketchMemory); err != nil {
			return fmt.Errorf("column %s: %w", c.column.Name, err)
		}
	}
	return nil
}

// reserveMerge reserves memory for merge.
func (f *figures) reserveMerge(later *figures) error {
	grown := int64(0)
	for i := range f.columns {
		if n := f.columns[i].values; n < manyValues && n+later.columns[i].values >= manyValues {
			grown++
		}
	}
	if err := f.reserve(grown * sketchMemory); err != nil {
		return fmt.Errorf("%d columns: %w", len(f.columns), err)
	}
	return nil
}

// merge adds the figures of later rows, whose memory it frees.
func (f *figures) merge(later *figures) error {
	defer later.Release()
	for i := range f.columns {
		if err := f.columns[i].merge(&later.columns[i]); err != nil {
			return err
		}
	}
	return nil
}

// result returns the figures of each column.
func (f *figures) result() []Column {
	all := make([]Column, len(f.columns))
	for i := range f.columns {
		all[i] = f.columns[i].result()
	}
	return all
}
