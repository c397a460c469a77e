package trevni

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
)

// ErrNoValue is returned by Cursor.Value when the sequence that Length
// announced has no more values.
var ErrNoValue = errors.New("trevni: no value is left of the sequence")

// Cursor reads the values of one column in order. In an array column Length
// comes before each sequence; unread values of a sequence are skipped by the
// next Length. In a child column it is the caller who knows, from the lengths
// of the parent, how many values (or, of a nested array, lengths) a row has.
//
// Errors are *damage.Error, io.EOF behind the last value, or the reader's; a
// cursor that failed keeps failing until it is moved by a seek.
type Cursor struct {
	blockReader
	index int
	// above are cursors over the column's ancestors, outermost first. They are
	// opened only where the column's own bytes do not tell where a block ends.
	above   []*Cursor
	counted bool

	block int // the loaded block; -1 before the first
	data  []byte
	pos   int
	bit   uint8 // bits used of data[pos-1]; 0 at a byte's start
	// left is the number of lengths (array) or values (other) that the block
	// still holds, where counted.
	left int64
	// run is the number of further lengths equal to runLength.
	run       int64
	runLength int64
	values    int64 // unread values of the current sequence
	err       error
}

// Cursor returns a cursor before the first value of a column.
func (f *File) Cursor(col int) (*Cursor, error) {
	c, err := f.cursor(col)
	if err != nil {
		return nil, err
	}
	if c.col.Parent >= 0 && !c.col.Array && c.col.Type == column.Boolean {
		// The bits that pad the last byte of a block look like values.
		err = c.openAbove()
	}
	return c, err
}

// cursor opens a cursor that counts only what it can count by itself: the
// rows of a top-level column.
func (f *File) cursor(col int) (*Cursor, error) {
	if col < 0 || col >= len(f.h.columns) {
		return nil, fmt.Errorf("trevni: column %d of %d", col, len(f.h.columns))
	}
	blocks, err := f.Blocks(col)
	if err != nil {
		return nil, err
	}
	column := &f.h.columns[col]
	return &Cursor{
		blockReader: blockReader{f: f, col: column, blocks: blocks, loaded: -1, z: decompressor{codec: column.Codec}},
		index:       col, block: -1, counted: column.Parent < 0,
	}, nil
}

// openAbove opens cursors over the ancestors, so that the items of each block
// are counted.
func (c *Cursor) openAbove() error {
	above, err := c.openAncestors()
	if err == nil {
		c.above, c.counted = above, true
	}
	return err
}

func (c *Cursor) openAncestors() ([]*Cursor, error) {
	var above []*Cursor
	for p := c.col.Parent; p >= 0; p = c.f.h.columns[p].Parent {
		a, err := c.f.cursor(p)
		if err != nil {
			return nil, err
		}
		above = append(above, a)
	}
	for i, j := 0, len(above)-1; i < j; i, j = i+1, j-1 {
		above[i], above[j] = above[j], above[i]
	}
	return above, nil
}

// Length returns the next length of an array column.
func (c *Cursor) Length() (int, error) {
	if !c.col.Array {
		return 0, fmt.Errorf("trevni: column %q is no array column", c.col.Name)
	}
	if c.err != nil {
		return 0, c.err
	}
	if err := c.finishSequence(); err != nil {
		return 0, err
	}
	if c.run == 0 {
		if err := c.fill(); err != nil {
			return 0, err
		}
		if err := c.readLength(); err != nil {
			return 0, err
		}
	}
	c.run--
	c.left--
	c.bit = 0
	c.values = c.runLength
	return int(c.runLength), nil
}

// Value appends the next value to dst: encoded as the package documentation
// says, but a boolean as a byte 0 or 1, and a null as nothing.
func (c *Cursor) Value(dst []byte) ([]byte, error) {
	if c.col.Array {
		if c.err != nil {
			return dst, c.err
		}
		if c.values == 0 {
			return dst, ErrNoValue
		}
	} else if err := c.fill(); err != nil {
		return dst, err
	}
	switch c.col.Type {
	case column.Null:
	case column.Boolean:
		v, err := c.readBit()
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
	default:
		n, err := valueSize(c.col.Type, c.data[c.pos:])
		if err != nil {
			return dst, c.failValue(err)
		}
		dst = append(dst, c.data[c.pos:c.pos+n]...)
		c.pos += n
	}
	if c.col.Array {
		c.values--
	} else {
		c.left--
	}
	return dst, nil
}

// finishSequence skips the unread values of the current sequence.
func (c *Cursor) finishSequence() error {
	n := c.values
	c.values = 0
	return c.skipValues(n)
}

// fill makes sure that the loaded block holds a next length or value.
func (c *Cursor) fill() error {
	if c.err != nil {
		return c.err
	}
	for {
		switch {
		case c.block < 0:
		case c.counted && c.left > 0:
			return nil
		case c.counted:
			if err := c.blockDone(); err != nil {
				return err
			}
		case c.run > 0 || c.pos < len(c.data) || c.col.Type == column.Null && !c.col.Array:
			return nil
		}
		if err := c.load(c.block + 1); err != nil {
			return err
		}
	}
}

// blockDone checks that nothing of a counted block is left over.
func (c *Cursor) blockDone() error {
	if c.run > 0 || c.pos < len(c.data) {
		return c.damaged(damage.Count, "the block's rows end %d lengths and %d bytes before its data", c.run, len(c.data)-c.pos)
	}
	return nil
}

// load makes block i the current one. Ancestors, if open, must stand at its
// first row, and are moved to its end.
func (c *Cursor) load(i int) error {
	if i >= len(c.blocks) {
		c.err = io.EOF
		return c.err
	}
	c.block, c.data, c.pos, c.bit, c.run, c.values = i, nil, 0, 0, 0, 0
	if err := c.read(i); err != nil {
		c.err = err
		return err
	}
	c.data = c.raw
	c.left = c.blocks[i].Rows
	return c.countItems(c.blocks[i].Rows)
}

// countItems sets left to the items that the ancestors have in the next rows.
func (c *Cursor) countItems(rows int64) error {
	if !c.counted {
		return nil
	}
	c.left = rows
	for _, a := range c.above {
		n, err := a.skipLengths(c.left)
		if err != nil {
			c.err = err
			return err
		}
		c.left = n
	}
	return nil
}

// damaged makes err a located error and the cursor's last.
func (c *Cursor) damaged(kind damage.Kind, reason string, args ...any) error {
	at := int64(-1)
	if c.block >= 0 {
		// Behind a codec the block's start is as near as one can get.
		at = c.blocks[c.block].Offset
		if c.col.Codec == "null" {
			at += int64(c.pos)
		}
	}
	c.err = c.fail(kind, c.block, at, reason, args...)
	return c.err
}

func (c *Cursor) failValue(err error) error {
	return c.damaged(damage.Value, "%s value at byte %d of the block: %v", c.col.Type, c.pos, err)
}

// readLength reads a coded length into run and runLength.
func (c *Cursor) readLength() error {
	v, n, err := readInt(c.data[c.pos:])
	if err != nil {
		return c.damaged(damage.Value, "length at byte %d of the block: %v", c.pos, err)
	}
	if v < 0 && c.f.h.version < 2 {
		return c.damaged(damage.Value, "length %d at byte %d of the block, which version %d of the format does not have", v, c.pos, c.f.h.version)
	}
	if c.run, c.runLength = 1, v; v < 0 {
		c.run, c.runLength = 1+(1-v)>>1, (v+1)&1
	}
	if c.counted && c.run > c.left {
		return c.damaged(damage.Count, "a run of %d lengths at byte %d of the block, which has only %d more", c.run, c.pos, c.left)
	}
	c.pos += n
	return nil
}

func (c *Cursor) readBit() (byte, error) {
	if c.bit == 0 {
		if c.pos == len(c.data) {
			return 0, c.failValue(errShort)
		}
		c.pos++
	}
	v := c.data[c.pos-1] >> c.bit & 1
	c.bit = (c.bit + 1) & 7
	return v, nil
}

// skipValues skips n values of the loaded block.
func (c *Cursor) skipValues(n int64) error {
	if n == 0 || c.col.Type == column.Null {
		return nil
	}
	size := int64(0)
	switch c.col.Type {
	case column.Boolean:
		return c.skipBits(n)
	case column.Fixed32, column.Float:
		size = 4
	case column.Fixed64, column.Double:
		size = 8
	}
	if size > 0 {
		if n > int64(len(c.data)-c.pos)/size {
			return c.failValue(errShort)
		}
		c.pos += int(n * size)
		return nil
	}
	for ; n > 0; n-- {
		k, err := valueSize(c.col.Type, c.data[c.pos:])
		if err != nil {
			return c.failValue(err)
		}
		c.pos += k
	}
	return nil
}

func (c *Cursor) skipBits(n int64) error {
	// Up to seven bits of the current byte, then whole bytes, then a rest.
	if c.bit > 0 {
		k := min(n, int64(8-c.bit))
		c.bit = (c.bit + uint8(k)) & 7
		n -= k
	}
	size := (n + 7) / 8
	if size > int64(len(c.data)-c.pos) {
		return c.failValue(errShort)
	}
	c.pos += int(size)
	if n > 0 {
		c.bit = uint8(n & 7)
	}
	return nil
}

// skipItems skips n of what the column stores per item: sequences of an
// array column, else values. It crosses blocks.
func (c *Cursor) skipItems(n int64) error {
	if c.col.Array {
		_, err := c.skipLengths(n)
		return err
	}
	if c.col.Type == column.Null && !c.counted {
		return nil
	}
	for n > 0 {
		if err := c.fill(); errors.Is(err, io.EOF) {
			return c.endsEarly(n, "values")
		} else if err != nil {
			return err
		}
		k := int64(1)
		if c.counted {
			k = min(n, c.left)
		}
		if err := c.skipValues(k); err != nil {
			return err
		}
		n -= k
		c.left -= k
	}
	return nil
}

// skipLengths skips the next n sequences and gives the sum of their lengths.
// The end of the column is damage here: someone counted on these lengths.
func (c *Cursor) skipLengths(n int64) (sum int64, err error) {
	if err := c.finishSequence(); err != nil {
		return 0, err
	}
	for n > 0 {
		if c.run == 0 {
			if err := c.fill(); errors.Is(err, io.EOF) {
				return 0, c.endsEarly(n, "lengths")
			} else if err != nil {
				return 0, err
			}
			if err := c.readLength(); err != nil {
				return 0, err
			}
		}
		k := min(n, c.run)
		if c.runLength > 0 && k > (math.MaxInt64-sum)/c.runLength {
			return 0, c.damaged(damage.Count, "the lengths add up to more than 2^63")
		}
		sum += k * c.runLength
		if err := c.skipSequences(k); err != nil {
			return 0, err
		}
		c.run -= k
		c.left -= k
		n -= k
	}
	return sum, nil
}

// endsEarly is the damage of a column that has less than the lengths of its
// parent, or its row count, promise.
func (c *Cursor) endsEarly(n int64, what string) error {
	c.block = len(c.blocks) - 1
	c.pos = len(c.data)
	return c.damaged(damage.Count, "the column ends %d %s early", n, what)
}

// skipSequences skips the values of k sequences of the current run.
func (c *Cursor) skipSequences(k int64) error {
	c.bit = 0
	if c.col.Type == column.Boolean && c.run > 1 {
		// Packing restarts at every length: each value has a byte of its own.
		return c.skipBits(8 * k * c.runLength)
	}
	return c.skipValues(k * c.runLength)
}
