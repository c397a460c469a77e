package trevni

import (
	"errors"
	"fmt"
	"io"
	"sort"
)

// SeekRow moves before the first value of a row: in an array column before the
// row's length, in a child column before the first of the row's items. The
// row count itself is a valid row, the end.
func (c *Cursor) SeekRow(row int64) error {
	if row < 0 || row > c.f.h.rows {
		return fmt.Errorf("trevni: seek to row %d of %d", row, c.f.h.rows)
	}
	c.err, c.run, c.values, c.left = nil, 0, 0, 0
	if row == c.f.h.rows {
		c.block, c.data, c.err = len(c.blocks), nil, io.EOF
		return nil
	}
	above := c.above
	if c.col.Parent >= 0 && above == nil {
		var err error
		if above, err = c.openAncestors(); err != nil {
			return err
		}
	}
	chain := append(above[:len(above):len(above)], c)
	// starts[i] is the first row of chain[i]'s block. Each ancestor's block
	// must begin no later than that of the column below it.
	starts, blocks := make([]int64, len(chain)+1), make([]int, len(chain))
	starts[len(chain)] = row
	for i := len(chain) - 1; i >= 0; i-- {
		blocks[i] = chain[i].find(starts[i+1])
		starts[i] = chain[i].blocks[blocks[i]].FirstRow
	}
	return seekChain(chain, blocks, starts, c)
}

// seekChain positions every cursor of a chain of ancestors. counts[i] holds
// the items of the current level in the rows [starts[i], starts[i+1]): a level
// that begins at starts[i] turns the counts from i on into those of the level
// below. The extra last interval goes to the end of c's block.
func seekChain(chain []*Cursor, blocks []int, starts []int64, c *Cursor) error {
	last := len(chain) - 1
	counts := make([]int64, len(chain)+1)
	for i := range chain {
		counts[i] = starts[i+1] - starts[i]
	}
	b := &c.blocks[blocks[last]]
	counts[len(chain)] = b.FirstRow + b.Rows - starts[len(chain)]
	if !c.counted {
		counts[len(chain)] = 0
	}
	for i, a := range chain[:last] {
		a.err = nil
		if err := a.loadAlone(blocks[i]); err != nil {
			c.err = err
			return err
		}
		for j := i; j < len(counts); j++ {
			n, err := a.skipLengths(counts[j])
			if err != nil {
				c.err = err
				return err
			}
			counts[j] = n
		}
	}
	if err := c.loadAlone(blocks[last]); err != nil {
		return err
	}
	if c.counted {
		c.left = counts[last] + counts[last+1]
	}
	return c.skipItems(counts[last])
}

// loadAlone loads a block without counting its items by the ancestors.
func (c *Cursor) loadAlone(i int) error {
	above := c.above
	c.above = nil
	err := c.load(i)
	c.above = above
	return err
}

// find returns the block that holds a row, which must exist.
func (c *Cursor) find(row int64) int {
	return sort.Search(len(c.blocks), func(i int) bool {
		return c.blocks[i].FirstRow+c.blocks[i].Rows > row
	})
}

// SeekValue moves before the first value that is not less than v, given that
// the column's values ascend, and returns its row number: the row count if all
// are less. v is encoded as Value would append it. Only columns with Values
// have the index that this needs. Numbers are compared by value with NaN last,
// string and bytes by their unsigned bytes.
func (c *Cursor) SeekValue(v []byte) (row int64, err error) {
	if !c.col.Values {
		return 0, fmt.Errorf("trevni: column %q has no values index", c.col.Name)
	}
	if n, err := valueSize(c.col.Type, v); err != nil || n != len(v) {
		return 0, fmt.Errorf("trevni: not an encoded %s value", c.col.Type)
	}
	// The first value may be the last of the block before the one that starts
	// with it.
	i := sort.Search(len(c.blocks), func(i int) bool {
		return compareValues(c.col.Type, c.blocks[i].First, v) >= 0
	})
	i = max(i-1, 0)
	if len(c.blocks) == 0 {
		return c.f.h.rows, c.SeekRow(c.f.h.rows)
	}
	row = c.blocks[i].FirstRow
	if err := c.SeekRow(row); err != nil {
		return 0, err
	}
	var buf []byte
	for {
		if buf, err = c.Value(buf[:0]); errors.Is(err, io.EOF) {
			return row, nil
		} else if err != nil {
			return 0, err
		}
		if compareValues(c.col.Type, buf, v) >= 0 {
			return row, c.SeekRow(row)
		}
		row++
	}
}
