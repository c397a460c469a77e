package testformat

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// cursor implements format.Cursor. Its place is a number of units; a block is
// read, and decoded whole, when units in it are needed.
type cursor struct {
	p      *part
	number int
	col    *indexColumn
	parent *cursor // nil at the top

	unit int64 // before which it stands
	item int64 // the first that is that unit's
	err  error

	block   int // that is decoded; -1 for none
	stored  []byte
	payload []byte
	values  []byte // part of payload
	vector  column.Vector
}

func (p *part) cursor(col int) *cursor {
	c := &cursor{p: p, number: col, col: &p.columns[col], block: -1}
	if parent := c.col.Parent; parent >= 0 {
		c.parent = p.cursor(parent)
	}
	return c
}

func (c *cursor) SeekRow(row int64) error {
	if row < 0 || row > c.p.rows {
		return fmt.Errorf("split: seek to row %d of %d", row, c.p.rows)
	}
	c.err = nil
	unit, err := c.unitOf(row)
	if err != nil {
		return c.fail(err)
	}
	return c.seek(unit)
}

// unitOf returns the first unit of a row: the number of items that the parent
// has before the row.
func (c *cursor) unitOf(row int64) (int64, error) {
	if c.parent == nil {
		return row, nil
	}
	err := c.parent.SeekRow(row)
	return c.parent.item, err
}

func (c *cursor) Skip(n int64) (items int64, err error) {
	if c.err != nil {
		return 0, c.err
	}
	before := c.item
	err = c.seek(c.unit + n)
	return c.item - before, err
}

// seek moves before a unit. Only lengths have to be read for that, and only of
// the block that has the unit.
func (c *cursor) seek(unit int64) error {
	//guard: items would be given that the column does not have
	if unit > c.col.units {
		return c.fail(c.damaged(damage.Count, -1, "the column ends %d units early", unit-c.col.units))
	}
	if !c.col.Array {
		c.unit, c.item = unit, unit
		return nil
	}
	i := c.find(unit)
	if i == len(c.col.blocks) {
		c.unit, c.item = unit, c.col.items
		return nil
	}
	b := &c.col.blocks[i]
	if c.unit < b.firstUnit || c.unit > unit {
		c.unit, c.item = b.firstUnit, b.firstItem
	}
	if c.unit == unit {
		return nil
	}
	if err := c.load(i); err != nil {
		return c.fail(err)
	}
	c.pass(b, int(unit-c.unit))
	return nil
}

// find returns the block that has a unit.
func (c *cursor) find(unit int64) int {
	return sort.Search(len(c.col.blocks), func(i int) bool {
		b := &c.col.blocks[i]
		return b.firstUnit+b.units > unit
	})
}

// pass moves over units of the loaded block.
func (c *cursor) pass(b *block, units int) {
	c.item += c.items(b, units)
	c.unit += int64(units)
}

// items returns those of the next units of the loaded block.
func (c *cursor) items(b *block, units int) (n int64) {
	if !c.col.Array {
		return int64(units)
	}
	at := int(c.unit - b.firstUnit)
	for _, l := range c.vector.Lengths[at : at+units] {
		n += int64(l)
	}
	return n
}

func (c *cursor) Read(v *column.Vector, n int) (read, items int, err error) {
	if c.err != nil || n == 0 {
		return 0, 0, c.err
	}
	left := c.col.units - c.unit
	if left == 0 {
		return 0, 0, io.EOF
	}
	if c.col.uncounted() {
		n = int(min(int64(n), left))
		v.Values += n
		c.unit, c.item = c.unit+int64(n), c.item+int64(n)
		return n, n, nil
	}
	i := c.find(c.unit)
	if err := c.load(i); err != nil {
		return 0, 0, c.fail(err)
	}
	b := &c.col.blocks[i]
	at, from := int(c.unit-b.firstUnit), int(c.item-b.firstItem)
	for n = min(n, int(b.units)-at); n > 0; n /= 2 {
		items = int(c.items(b, n))
		var lengths []int32
		if c.col.Array {
			lengths = c.vector.Lengths[at : at+n]
		}
		if err = v.Extend(c.col.Type, lengths, &c.vector, from, from+items); err == nil {
			c.pass(b, n)
			return n, items, nil
		}
	}
	return 0, 0, c.fail(err)
}

// fail makes err the cursor's error until it seeks.
func (c *cursor) fail(err error) error {
	c.err = err
	return err
}

// damaged returns damage of a block, or of the column if that is negative.
func (c *cursor) damaged(kind damage.Kind, i int, reason string, args ...any) error {
	off := int64(-1)
	if i >= 0 {
		off = c.col.blocks[i].offset
	}
	d := damage.New(kind, c.p.files[c.number].Name(), off, reason, args...)
	d.Column, d.Block = c.col.Name, int64(i)
	return d
}

// load reads and decodes a block.
func (c *cursor) load(i int) error {
	if c.block == i {
		return nil
	}
	c.block = -1
	if err := c.read(i); err != nil {
		return err
	}
	if err := c.decode(i); err != nil {
		return err
	}
	c.block = i
	return nil
}

// fetch reads the stored bytes of a block.
func (c *cursor) fetch(i int) error {
	b, file := &c.col.blocks[i], c.p.files[c.number]
	n := int(b.stored) + sums
	c.stored = slices.Grow(c.stored[:0], n)[:n]
	n, err := file.ReadBlock(c.stored, c.number, b.offset, file.Size())
	return whole(n, err, c.stored, file.Name(), b.offset)
}

// read reads the payload of a block and checks its sums.
func (c *cursor) read(i int) (err error) {
	b := &c.col.blocks[i]
	//guard: memory would be taken for a payload of any size
	if b.payload > c.p.max {
		return c.damaged(damage.Unsupported, i, "a block of %d bytes exceeds the limit of %d", b.payload, c.p.max)
	}
	if err := c.fetch(i); err != nil {
		return err
	}
	n := len(c.stored) - sums
	//guard: damaged bytes would be decoded
	if crc := crc32.Checksum(c.stored[:4+n], castagnoli); crc != order.Uint32(c.stored[4+n:]) {
		return c.damaged(damage.Checksum, i, "the stored CRC-32C is %08x, that of the bytes %08x", order.Uint32(c.stored[4+n:]), crc)
	}
	if c.payload, err = decompress(c.payload[:0], c.p.codec, c.stored[4:4+n], b.payload); err != nil {
		return c.damaged(damage.Codec, i, "%v", err)
	}
	lengths := int64(0)
	if c.col.Array {
		lengths = 4 * b.units
	}
	//guard: lengths would be read beyond the block
	if lengths > b.payload {
		return c.damaged(damage.Count, i, "%d lengths in %d bytes", b.units, b.payload)
	}
	if c.values = c.payload[lengths:]; c.col.Type == column.Double {
		undo(c.values, b.before)
	}
	before := uint32(0)
	if i > 0 {
		before = c.col.blocks[i-1].sum
	}
	//guard: a block of another place would be read in this one
	if got := crc32.Update(before, castagnoli, c.payload); got != b.sum || got != order.Uint32(c.stored) {
		return c.damaged(damage.Checksum, i, "the sum of the column is %08x up to the block, expected %08x", got, b.sum)
	}
	return nil
}

// decode fills the vector with the payload.
func (c *cursor) decode(i int) error {
	b, v := &c.col.blocks[i], &c.vector
	v.Reset()
	items := b.items
	if c.col.Array {
		items = 0
		for lengths := c.payload[:4*b.units]; len(lengths) > 0; lengths = lengths[4:] {
			n := order.Uint32(lengths)
			//guard: a length would become negative
			if n > math.MaxInt32 {
				return c.damaged(damage.Value, i, "length %d", n)
			}
			v.Lengths = append(v.Lengths, int32(n))
			items += int64(n)
		}
	}
	//guard: values would be given to other rows
	if items != b.items {
		return c.damaged(damage.Count, i, "lengths of %d items, expected %d", items, b.items)
	}
	bytes := int64(len(c.values))
	switch c.col.Type {
	case column.Null:
		v.Values, items = int(items), 0
	case column.Boolean:
		for _, x := range c.values {
			//guard: what is no boolean would be taken for true
			if x > 1 {
				return c.damaged(damage.Value, i, "a boolean is %d", x)
			}
			v.Bools = append(v.Bools, x == 1)
		}
		v.Values = len(v.Bools)
	default:
		return source{c, i}.fill(v, items)
	}
	//guard: values would be missing, or left over
	if items != bytes {
		return c.damaged(damage.Count, i, "%d bytes of values, expected %d", bytes, items)
	}
	return nil
}

// source is a block as a column.Reader sees it. What package column calls
// interleaved is, without lengths and but for booleans, what a split layout has.
type source struct {
	c     *cursor
	block int
}

// fill appends the block's values.
func (s source) fill(v *column.Vector, items int64) error {
	r := column.NewReader(column.Column{Name: s.c.col.Name, Type: s.c.col.Type, Parent: -1}, false, s)
	r.Load(s.c.values, items)
	for r.Left() > 0 {
		_, _, err := r.Read(v, int(min(r.Left(), math.MaxInt32)))
		if errors.Is(err, column.ErrFull) {
			return s.Damaged(damage.Unsupported, 0, "a block of %d values", items)
		}
		if err != nil {
			return err
		}
	}
	return r.EndBlock()
}

func (source) Next(*column.Reader) error { return io.EOF }

func (s source) Damaged(kind damage.Kind, _ int, reason string, args ...any) error {
	return s.c.damaged(kind, s.block, reason, args...)
}
