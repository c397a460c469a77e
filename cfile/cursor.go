package cfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Rows are rows of a file side by side.
type Rows struct {
	// Valid has, in nullable files, a byte for each row: 1, or 0 for null. It is empty in
	// others.
	Valid []byte
	// Values are those of the rows that are not null.
	encoding.Values
}

// Reset empties r and keeps its memory.
func (r *Rows) Reset() {
	r.Valid = r.Valid[:0]
	r.Values.Reset()
}

// Cursor reads the rows of a file in order. Errors are *damage.Error, io.EOF after the last
// row, or the file reader's; a cursor that failed keeps failing until it is moved by a seek.
// A cursor keeps the blocks that it stands in and the index blocks on the way to them, and
// reads none of them again.
type Cursor struct {
	f          *File
	positional *tree // nil if there is none
	value      *tree // nil if there is none
	way        *tree // by which the next block is found
	data       blockReader
	rows       rowDecoder

	block  Pointer // that rows decodes; the zero Pointer before the first
	raw    []byte
	first  int64 // ordinal of its first row
	inside bool  // the next row is in it, or after its last one

	at      int64 // ordinal of the next row
	err     error
	scratch Rows
	key     []byte
}

// Cursor returns a cursor before the first row.
func (f *File) Cursor() *Cursor {
	c := &Cursor{f: f, positional: f.tree(true), value: f.tree(false)}
	c.data = blockReader{f: f, from: f.readBlock}
	c.rows.f = f
	if c.way = c.positional; c.way == nil {
		c.way = c.value
	}
	return c
}

// Ordinal is the number of the next row.
func (c *Cursor) Ordinal() int64 { return c.at }

// Read appends at most n > 0 rows to r and returns how many. They may be fewer before the
// end, but not none.
func (c *Cursor) Read(r *Rows, n int) (int, error) {
	if err := c.ready(); err != nil {
		return 0, err
	}
	n, err := c.rows.read(r, n)
	c.at += int64(n)
	if err != nil {
		return n, c.damaged(err)
	}
	return n, nil
}

// Skip passes over n rows; there must be as many.
func (c *Cursor) Skip(n int64) error {
	if c.err != nil {
		return c.err
	}
	if n < 0 || n > c.f.footer.Values-c.at {
		return fmt.Errorf("cfile: skip over %d rows at %d of %d", n, c.at, c.f.footer.Values)
	}
	if n == 0 {
		return nil
	}
	return c.SeekRow(c.at + n)
}

// skip is Skip, and tells how many of the rows have a value. For that it reads the blocks of
// nullable files.
func (c *Cursor) skip(n int64) (values int64, err error) {
	if !c.f.footer.Nullable {
		return n, c.Skip(n)
	}
	for n > 0 {
		if err := c.ready(); err != nil {
			return values, err
		}
		part := min(n, int64(c.rows.left))
		more, err := c.rows.skip(int(part))
		if err != nil {
			return values, c.damaged(err)
		}
		c.at += part
		n, values = n-part, values+int64(more)
	}
	return values, nil
}

// ready makes the block that holds the next row the loaded one.
func (c *Cursor) ready() error {
	if c.err != nil || c.inside && c.rows.left > 0 {
		return c.err
	}
	if c.inside {
		if err := c.rows.end(); err != nil {
			return c.damaged(err)
		}
	}
	if err := c.advance(); err != nil {
		return c.fail(err)
	}
	return nil
}

// advance moves from the end of a block to the next one.
func (c *Cursor) advance() error {
	values := c.f.footer.Values
	if values == 0 && c.positional == nil {
		return io.EOF // blocks of something else than rows, as those of a BloomFile
	}
	ok, err := c.way.next()
	switch {
	case err != nil:
		return err
	//guard: rejects a file that lost its last blocks
	case !ok && c.at != values:
		return damage.New(damage.Count, c.f.name, c.f.footerAt, "the data blocks have %d rows, the footer says %d", c.at, values)
	case !ok:
		return io.EOF
	}
	key, p := c.way.block()
	//guard: rejects a row other than the one that the index names
	if at := c.way.ordinal(key); at >= 0 && at != c.at {
		return damage.New(damage.Count, c.f.name, p.Offset, "a block begins with row %d by the index, expected %d", at, c.at)
	}
	return c.load(p, c.at)
}

// load makes a data block the one that rows decodes, and the next row its first. That has
// the ordinal first, or -1 if it is not known.
func (c *Cursor) load(p Pointer, first int64) error {
	c.inside = false
	if c.block != p {
		c.block = Pointer{}
		raw, err := c.data.read(p)
		if err != nil {
			return err
		}
		c.block, c.raw = p, raw
	}
	if err := c.rows.reset(c.raw); err != nil {
		return c.f.locate(err, p)
	}
	c.first = c.rows.ordinal()
	//guard: rejects a block with other rows than expected
	if first >= 0 && c.first != first {
		return damage.New(damage.Count, c.f.name, p.Offset, "a block says that it begins with row %d, expected %d", c.first, first)
	}
	//guard: rejects more rows than the file has
	if rest := c.f.footer.Values - c.first; int64(c.rows.rows) > rest {
		return damage.New(damage.Count, c.f.name, p.Offset, "a block of %d rows begins with row %d of %d", c.rows.rows, c.first, c.f.footer.Values)
	}
	c.at, c.inside = c.first, true
	return nil
}

// fail makes err the cursor's error.
func (c *Cursor) fail(err error) error {
	c.err, c.inside = err, false
	return err
}

// damaged makes damage of the loaded block the cursor's error.
func (c *Cursor) damaged(err error) error {
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Row < 0 && e.File == "" {
		e.Row = c.at
	}
	return c.fail(c.f.locate(err, c.block))
}

// Close gives the memory of the cursor back. It must not be used any more.
func (c *Cursor) Close() {
	c.data.close()
	c.positional.close()
	c.value.close()
	_ = c.fail(errors.New("cfile: a closed cursor"))
}
