package trevni

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/rowtocol/rowtocol/format/column"
)

// SeekRow moves before the first value of a row. In an array column it moves before the row's
// length, and in a child column before the first item of the row. The row count is a valid
// row: the end. If the block of the row is not loaded, SeekRow reads that block. For a child
// column it also reads the parents from the first row of that block to the row.
func (c *Cursor) SeekRow(row int64) error {
	if row < 0 || row > c.f.h.rows {
		return fmt.Errorf("trevni: seek to row %d of %d", row, c.f.h.rows)
	}
	if row == c.f.h.rows {
		_ = c.Fail(io.EOF)
		return nil
	}
	b := c.find(row)
	before, err := c.itemsBefore(row, c.blocks[b].FirstRow)
	if err != nil {
		return c.Fail(err)
	}
	switch {
	case b != c.block || b != c.loaded:
		err = c.load(b)
	case c.Err() != nil || before < c.passed():
		c.Load(c.room.Bytes, c.items)
	}
	if err == nil {
		_, err = c.Skip(before - c.passed())
	}
	return err
}

// passed returns the number of the loaded block's items before the cursor.
func (c *Cursor) passed() int64 { return c.items - c.Left() }

// itemsBefore returns how many items the column has in the rows from first up to row. A block
// of the column begins at first, and row is in that block.
func (c *Cursor) itemsBefore(row, first int64) (int64, error) {
	if c.col.Parent < 0 {
		return row - first, nil
	}
	if c.parent == nil {
		parent, err := c.overParent()
		if err != nil {
			return 0, err
		}
		c.parent, c.parentRow = parent, -1
	}
	if c.parentRow < first || c.parentRow > row || c.parent.Err() != nil {
		if err := c.parent.SeekRow(first); err != nil {
			return 0, err
		}
		c.parentRow, c.parentItems = first, 0
	}
	n, err := c.parent.passRows(row - c.parentRow)
	c.parentRow, c.parentItems = row, c.parentItems+n
	return c.parentItems, err
}

// passRows moves an array column's cursor, which stands with its parents at a row, over
// n rows, and returns the sum of their lengths.
func (c *Cursor) passRows(n int64) (items int64, err error) {
	if n == 0 {
		return 0, nil
	}
	if c.col.Parent < 0 {
		return c.Skip(n)
	}
	lengths, err := c.parent.passRows(n)
	if err != nil {
		return 0, c.Fail(err)
	}
	if items, err = c.Skip(lengths); err != nil {
		return 0, err
	}
	c.parentRow += n
	if c.parentItems = 0; c.find(c.parentRow) == c.block {
		c.parentItems = c.passed()
	}
	return items, nil
}

// find returns the number of the block with a row, which must exist.
func (c *Cursor) find(row int64) int {
	return sort.Search(len(c.blocks), func(i int) bool {
		return c.blocks[i].FirstRow+c.blocks[i].Rows > row
	})
}

// SeekValue moves before the first value that is not less than v, and returns the number of
// its row. If all values are less, the result is the row count. The column's values must
// ascend, and the column must have Values, the index. v is encoded as Value does. Numbers are
// compared by value with NaN last, string and bytes by their unsigned bytes.
func (c *Cursor) SeekValue(v []byte) (row int64, err error) {
	if !c.col.Values {
		return 0, fmt.Errorf("trevni: column %q has no values index", c.col.Name)
	}
	if n, err := column.ValueSize(c.col.Type, v); err != nil || n != len(v) {
		return 0, fmt.Errorf("trevni: not an encoded %s value", c.col.Type)
	}
	// If a block starts with v, the block before may end with v.
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
