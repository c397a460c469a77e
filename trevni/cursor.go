package trevni

import (
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Cursor reads the values of one column in order, with the methods of its Reader.
// Errors are *damage.Error, io.EOF after the last value, or the file reader's. A cursor
// that failed keeps failing until it seeks.
type Cursor struct {
	*column.Reader
	blockReader
	block int   // the loaded block; -1 before the first
	items int64 // its lengths or values, or column.Uncounted

	// counter counts the items of a child column's blocks. It is a cursor over the
	// parent, opened only if the column's own bytes do not show where a block ends.
	counter *Cursor

	// parent exists after the first seek of a child column. It stands, with its own
	// parents, at parentRow; parentItems is the number of the column's items from the
	// start of its block with this row to the row.
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

// cursor opens a cursor that counts only the rows of a top-level column, which needs no
// other cursor.
func (f *File) cursor(col int) (*Cursor, error) {
	if col < 0 || col >= len(f.h.columns) {
		return nil, fmt.Errorf("trevni: column %d of %d", col, len(f.h.columns))
	}
	blocks, err := f.Blocks(col)
	if err != nil {
		return nil, err
	}
	of := &f.h.columns[col]
	c := &Cursor{
		blockReader: blockReader{f: f, index: col, col: of, last: f.last[col], blocks: blocks, loaded: -1},
		block:       -1,
	}
	c.Reader = column.NewReader(of.Column, f.h.version >= 2, (*source)(c))
	return c, nil
}

// close releases the memory of the cursor and of those that it counts with.
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
		c.counter, err = c.f.cursor(c.col.Parent)
	}
	return err
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

// damaged makes damage at the cursor's place its error.
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
