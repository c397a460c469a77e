package column

import (
	"fmt"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Cursor reads one column of finished blocks in memory, with the methods of its Reader. It
// copies nothing, so the blocks must not change while it is in use. It implements
// format.Cursor. After an error it fails until it seeks.
type Cursor struct {
	Reader
	cols   []Column
	blocks []Block
	col    int
	items  int64 // number of lengths or values in the block, or Uncounted
}

// NewCursor returns a cursor before the first row of column col. blocks has one block with
// layout Interleaved for each of cols, and all blocks hold the same rows. Row 0 is the first row
// of the blocks.
func NewCursor(cols []Column, blocks []Block, col int) (*Cursor, error) {
	described, block := &cols[col], &blocks[col]
	//guard: keeps the positions of values within 32 bits
	if len(block.Data) > math.MaxInt32 {
		e := damage.New(damage.Unsupported, "", -1, "a block of %d bytes exceeds the limit of %d", len(block.Data), math.MaxInt32)
		e.Column = described.Name
		return nil, e
	}
	c := &Cursor{cols: cols, blocks: blocks, col: col, items: block.Rows}
	c.Reader = *NewReader(*described, true, (*memory)(c))
	if described.Parent >= 0 {
		c.items = Uncounted
		// The bytes of the block do not show where booleans and nulls end.
		if !described.Array && (described.Type == Boolean || described.Type == Null) {
			var err error
			if c.items, err = c.before(block.Rows); err != nil {
				return nil, err
			}
		}
	}
	c.Load(block.Data, c.items)
	return c, nil
}

// SeekRow moves before the first length or value of a row, or of the end of the rows.
func (c *Cursor) SeekRow(row int64) error {
	block := &c.blocks[c.col]
	//guard: rejects a row that does not exist
	if row < 0 || row > block.Rows {
		return c.Fail(fmt.Errorf("column %s: no row %d in %d rows", c.name, row, block.Rows))
	}
	before, err := c.before(row)
	if err != nil {
		return c.Fail(err)
	}
	if c.Err() != nil || before < c.items-c.Left() {
		c.Load(block.Data, c.items)
	}
	_, err = c.Skip(before - (c.items - c.Left()))
	return err
}

// before returns how many lengths or values the column has in the rows before a row.
func (c *Cursor) before(row int64) (int64, error) {
	p := c.cols[c.col].Parent
	if p < 0 {
		return row, nil
	}
	parent, err := NewCursor(c.cols, c.blocks, p)
	if err != nil {
		return 0, err
	}
	lengths, err := parent.before(row)
	if err != nil {
		return 0, err
	}
	return parent.Skip(lengths)
}

// memory is a cursor as the Source of its reader.
type memory Cursor

// Next implements Source. There is only the one block.
func (*memory) Next(*Reader) error { return io.EOF }

// Damaged implements Source.
func (m *memory) Damaged(kind damage.Kind, _ int, reason string, args ...any) error {
	e := damage.New(kind, "", -1, reason, args...)
	e.Column = m.name
	return e
}
