package cfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/rowtocol/rowtocol/format/damage"
)

// SeekRow moves before the row with the given ordinal. If the ordinal is the number of rows, it
// moves to the end. It reads the row's data block and the index blocks that lead to it, unless the
// cursor has them. It reads the file's dictionary if no cursor has read it. A file without
// positional index is read from its start, or from the cursor's place.
func (c *Cursor) SeekRow(row int64) error {
	if row < 0 || row > c.f.footer.Values {
		return fmt.Errorf("cfile: seek to row %d of %d", row, c.f.footer.Values)
	}
	c.err = nil
	if row == c.f.footer.Values {
		c.toEnd()
		return nil
	}
	if !c.inside || row < c.first || row >= c.first+int64(c.rows.rows) {
		if err := c.find(row); err != nil {
			return c.fail(err)
		}
	}
	return c.move(row)
}

// toEnd moves past the last row.
func (c *Cursor) toEnd() {
	c.at, c.inside, c.err = c.f.footer.Values, false, io.EOF
}

// find loads the block that holds a row.
func (c *Cursor) find(row int64) error {
	if c.positional == nil {
		return c.search(row)
	}
	c.index, c.inside = c.positional, false
	c.key = appendOrdinalKey(c.key[:0], uint32(row))
	ok, err := c.index.seek(c.key, false)
	if err != nil {
		return err
	}
	//guard: stops where the index has no block
	if !ok {
		return damage.New(damage.Count, c.f.name, c.index.root.Offset, "the positional index has no block with row %d", row)
	}
	key, p := c.index.block()
	if err := c.load(p, c.index.ordinal(key)); err != nil {
		return err
	}
	//guard: refuses a row past the end of the block
	if end := c.first + int64(c.rows.rows); row >= end {
		return damage.New(damage.Count, c.f.name, p.Offset, "row %d should be in the block with the rows %d to %d", row, c.first, end-1)
	}
	return nil
}

// search loads the block that holds a row in a file without positional index.
func (c *Cursor) search(row int64) error {
	if !c.inside || row < c.first {
		c.index.reset()
		c.at, c.inside = 0, false
	} else {
		c.at = c.first + int64(c.rows.rows)
	}
	for {
		if err := c.advance(); err != nil {
			return err
		}
		if end := c.first + int64(c.rows.rows); row >= end {
			c.at = end
			continue
		}
		return nil
	}
}

// move moves before a row of the loaded block.
func (c *Cursor) move(row int64) error {
	if row < c.at {
		if err := c.rows.reset(c.raw); err != nil {
			return c.damaged(err)
		}
		c.at = c.first
	}
	if row > c.at {
		if _, err := c.rows.skip(int(row - c.at)); err != nil {
			return c.damaged(err)
		}
		c.at = row
	}
	return nil
}

// SeekValue moves before the first value whose key is not less than the given key, which comes
// from AppendKey. It uses the value index. exact reports whether the keys are equal. If there is no
// such value, the cursor is at the end, and the error is io.EOF. The values of the file must not
// descend.
//
// It reads a data block and the index blocks that lead to it, unless the cursor has them. If the
// index has the same key for a block, SeekValue reads the block before, because that block may end
// with equal values. If values are BINARY, it then also reads the next block, because the index may
// have only the beginnings of keys.
func (c *Cursor) SeekValue(key []byte) (exact bool, err error) {
	if c.value == nil || c.f.footer.Nullable || !c.f.footer.Type.Keyed() {
		return false, errors.New("cfile: the file has no value index, or its values may be null")
	}
	c.err = nil
	if exact, err = c.seekValue(key); err != nil {
		return false, c.fail(err)
	}
	return exact, c.err
}

func (c *Cursor) seekValue(key []byte) (exact bool, err error) {
	c.index, c.inside = c.value, false
	// A block's key is greater than all values before, or equal to the last of them, and
	// not greater than its first value.
	ok, err := c.index.seek(key, true)
	if err != nil {
		return false, err
	}
	c.at = 0
	if ok {
		found, exact, err := c.scanBlock(key)
		if found || err != nil {
			return exact, err
		}
	}
	next := c.index.peek()
	if next == nil {
		c.toEnd()
		return false, nil
	}
	// The cursor is before the first row of the next block, whose value is not less than next.
	if !bytes.Equal(next, key) {
		return false, nil
	}
	if w := c.f.footer.Type.Width(); w != 0 {
		return len(key) == w, nil
	}
	if _, err := c.index.next(); err != nil {
		return false, err
	}
	_, exact, err = c.scanBlock(key)
	return exact, err
}

// scanRows is how many rows are decoded at a time in the search for a value.
const scanRows = 512

// scanBlock loads the block of c.index and moves before the first value in it that is not
// less than the key's. If there is no such value, found is false and the cursor is after the
// block.
func (c *Cursor) scanBlock(key []byte) (found, exact bool, err error) {
	_, p := c.index.block()
	if err := c.load(p, -1); err != nil {
		return false, false, err
	}
	for c.rows.left > 0 {
		c.scratch.Reset()
		n, err := c.rows.read(&c.scratch, scanRows)
		if err != nil {
			return false, false, c.damaged(err)
		}
		row := c.at
		c.at += int64(n)
		if i, equal := c.scratchFind(n, key); i < n {
			return true, equal, c.move(row + int64(i))
		}
	}
	return false, false, nil
}

// scratchFind returns the first of the n values of scratch that is not less than the
// key's, or n if there is no such value. equal reports whether the two are equal.
func (c *Cursor) scratchFind(n int, key []byte) (i int, equal bool) {
	t := c.f.footer.Type
	compare := func(i int) int {
		if w := t.Width(); w != 0 {
			c.key = appendKey(c.key[:0], t, c.scratch.Fixed[i*w:][:w])
			return bytes.Compare(c.key, key)
		}
		return bytes.Compare(c.scratch.Binary(i), key)
	}
	i = sort.Search(n, func(i int) bool { return compare(i) >= 0 })
	return i, i < n && compare(i) == 0
}
