package trevni

import (
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Cursor reads the values of one column in order, with the methods of its Reader. An error is
// a *damage.Error, io.EOF after the last value, or an error of the reader of the file. A
// cursor that failed keeps failing until it seeks.
type Cursor struct {
	*column.Reader
	blockReader
	block int   // number of the loaded block; -1 before the first
	items int64 // number of lengths or values in the block, or column.Uncounted
	alone bool  // the cursor, and those over its parents, share no blocks with others

	// counter counts the items of a child column's blocks. It is a cursor over the
	// parent. It is opened only if the column's own bytes do not show where a block ends.
	counter *Cursor

	// parent exists after the first seek of a child column. It stands, with its own
	// parents, at parentRow. parentItems is how many items the column has before that row,
	// from the start of the block with the row.
	parent      *Cursor
	parentRow   int64
	parentItems int64
}

// Cursor returns a cursor before the first value of a column.
func (f *File) Cursor(col int) (*Cursor, error) {
	c, err := f.cursor(col)
	if err != nil {
		return nil, err
	}
	if !c.col.Array && c.col.Type == column.Boolean {
		// The bits that pad the last byte of a block look like values.
		err = c.openCounter()
	}
	return c, err
}

// cursor opens a cursor without a counter. It counts only the rows of a top-level column.
func (f *File) cursor(col int) (*Cursor, error) {
	if col < 0 || col >= len(f.h.columns) {
		return nil, fmt.Errorf("trevni: column %d of %d", col, len(f.h.columns))
	}
	blocks, err := f.Blocks(col)
	if err != nil {
		return nil, err
	}
	described := &f.h.columns[col]
	c := &Cursor{
		blockReader: blockReader{f: f, index: col, col: described, last: f.last[col], blocks: blocks, loaded: -1},
		block:       -1,
	}
	c.Reader = column.NewReader(described.Column, f.h.version >= 2, (*source)(c))
	return c, nil
}

// close releases the memory of the cursor, its counter and its parent.
func (c *Cursor) close() {
	if c == nil {
		return
	}
	c.drop()
	c.share(-1)
	c.counter.close()
	c.parent.close()
}

// openCounter opens the cursor that counts the items of each block.
func (c *Cursor) openCounter() (err error) {
	if c.col.Parent >= 0 {
		c.counter, err = c.overParent()
	}
	return err
}

// overParent opens a cursor over the parent of a child column.
func (c *Cursor) overParent() (*Cursor, error) {
	parent, err := c.f.cursor(c.col.Parent)
	if err == nil && c.alone {
		parent.alone, parent.last = true, nil
	}
	return parent, err
}

// source is the cursor as a column.Source for its reader.
type source Cursor

// Next implements column.Source.
func (s *source) Next(*column.Reader) error {
	c := (*Cursor)(s)
	if c.block+1 >= len(c.blocks) {
		return io.EOF
	}
	return c.load(c.block + 1)
}

// Damaged implements column.Source.
func (s *source) Damaged(kind damage.Kind, pos int, reason string, args ...any) error {
	at := int64(-1)
	if s.block >= 0 {
		// With a codec, only the start of the block can be located.
		at = s.blocks[s.block].Offset
		if s.col.Codec == "null" {
			at += int64(pos)
		}
	}
	return s.fail(kind, s.block, at, reason, args...)
}

// damaged returns damage at the cursor's place. It is then the cursor's error.
func (c *Cursor) damaged(kind damage.Kind, reason string, args ...any) error {
	return c.Fail((*source)(c).Damaged(kind, c.Pos(), reason, args...))
}

// load makes block i the current one.
func (c *Cursor) load(i int) error {
	err := c.read(i)
	items := int64(0)
	if err == nil {
		items, err = c.countItems(&c.blocks[i])
	}
	if err != nil {
		return c.Fail(err)
	}
	c.block, c.items = i, items
	c.Load(c.room.Bytes, items)
	return nil
}

// countItems returns the number of lengths or values in a block of the column.
func (c *Cursor) countItems(b *Descriptor) (int64, error) {
	switch {
	case c.col.Parent < 0:
		return b.Rows, nil
	case c.counter == nil:
		return column.Uncounted, nil
	}
	if err := c.counter.SeekRow(b.FirstRow); err != nil {
		return 0, err
	}
	return c.counter.passRows(b.Rows)
}
