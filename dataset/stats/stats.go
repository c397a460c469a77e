package stats

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// columnMemory is the approximate size of the figures of a column without its sketch, in bytes.
const columnMemory = 2 << 10

// Collect returns the figures of the columns of a plan's rows. progress is called from time to time
// with what was read; it may be nil. The statistics are those of the whole query.
func Collect(ctx context.Context, p *dataset.Plan, memory *budget.Pool, progress func(dataset.Stats)) ([]Column, dataset.Stats, error) {
	m, err := p.Mapping()
	if err != nil || m == nil {
		return nil, dataset.Stats{}, err
	}
	heap := memory.NewHeap()
	defer heap.Close()
	total, err := newFigures(m.Columns, newSketches(len(m.Columns), heap))
	if err != nil {
		return nil, dataset.Stats{}, err
	}
	r, err := dataset.BatchResults(ctx, p, func() func(*dataset.RangeBatches, func(*figures) error) error {
		return func(b *dataset.RangeBatches, emit func(*figures) error) error {
			return collectRange(m.Columns, total.sketches, b, emit)
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
		if err != nil {
			return nil, r.Stats(), err
		}
		total.merge(of)
		if progress != nil {
			progress(r.Stats())
		}
	}
}

// collectRange passes the figures of a range to emit.
func collectRange(columns []column.Column, sketches *sketches, b *dataset.RangeBatches, emit func(*figures) error) error {
	f, err := newFigures(columns, sketches)
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

// figures collects the figures of columns. The sketches are shared.
type figures struct {
	columns  []collector
	sketches *sketches
	hashes   [256]uint64 // memory of the hashes of the column that is added
}

func newFigures(columns []column.Column, sketches *sketches) (*figures, error) {
	f := &figures{columns: make([]collector, len(columns)), sketches: sketches}
	if err := sketches.heap.Reserve(f.memory()); err != nil {
		return nil, fmt.Errorf("%d columns: %w", len(columns), err)
	}
	for i := range columns {
		f.columns[i] = collector{column: &columns[i], sketch: &sketches.columns[i]}
	}
	return f, nil
}

func (f *figures) memory() int64 { return int64(len(f.columns)) * columnMemory }

// Release frees the memory.
func (f *figures) Release() { f.sketches.heap.Release(f.memory()) }

// add adds the rows of a batch. vector returns the values of a column.
func (f *figures) add(vector func(col int) *column.Vector) error {
	for i := range f.columns {
		c := &f.columns[i]
		c.hashes = f.hashes[:0]
		c.add(vector(i))
		if c.pass(); c.err != nil {
			return fmt.Errorf("column %s: %w", c.column.Name, c.err)
		}
	}
	return nil
}

// merge adds the figures of later rows, whose memory it frees.
func (f *figures) merge(later *figures) {
	for i := range f.columns {
		f.columns[i].merge(&later.columns[i])
	}
	later.Release()
}

// result returns the figures of each column.
func (f *figures) result() []Column {
	all := make([]Column, len(f.columns))
	for i := range f.columns {
		all[i] = f.columns[i].result()
	}
	return all
}
