package stats

import (
	"fmt"

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

// Collector computes the figures of columns from batches of rows.
type Collector struct {
	columns []collector
	memory  *budget.Heap
}

// New returns a collector of columns. Each batch has these columns.
func New(columns []column.Column, memory *budget.Pool) (*Collector, error) {
	c := &Collector{columns: make([]collector, len(columns)), memory: memory.NewHeap()}
	if err := c.memory.Reserve(int64(len(columns)) * columnMemory); err != nil {
		c.Close()
		return nil, fmt.Errorf("%d columns: %w", len(columns), err)
	}
	for i := range columns {
		c.columns[i] = collector{column: &columns[i], sketch: hyperloglog.New14()}
	}
	return c, nil
}

// Close releases the memory.
func (c *Collector) Close() { c.memory.Close() }

// Add adds the rows of a batch.
func (c *Collector) Add(b *dataset.Batches) error {
	for i := range c.columns {
		col := &c.columns[i]
		before := col.values
		col.add(b.Vector(i))
		if before < manyValues && col.values >= manyValues {
			if err := c.memory.Reserve(sketchMemory); err != nil {
				return fmt.Errorf("column %s: %w", col.column.Name, err)
			}
		}
	}
	return nil
}

// Columns returns the figures of each column.
func (c *Collector) Columns() []Column {
	all := make([]Column, len(c.columns))
	for i := range c.columns {
		all[i] = c.columns[i].result()
	}
	return all
}
