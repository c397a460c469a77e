package cfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Rows are consecutive rows of a file.
type Rows struct {
	// Valid has a byte for each row of a nullable file: 1, or 0 for null. It is empty for
	// other files.
	Valid []byte
	// Values has the values of the rows that are not null.
	encoding.Values
}

// Reset empties r and keeps its memory.
func (r *Rows) Reset() {
	r.Valid = r.Valid[:0]
	r.Values.Reset()
}

// Cursor reads the rows of a file in order. An error is a *damage.Error, io.EOF after the last
// row, an error of the reader, or an error about a wrong argument or a closed cursor. A
// cursor that failed, or is at the end, keeps failing until a seek moves it. A wrong argument
// changes nothing.
// A cursor keeps its current data block and the index blocks that lead to it, and does not
// read them again.
type Cursor struct {
	f          *File
	positional *tree // nil if there is none
	value      *tree // nil if there is none
	index      *tree // the index that finds the next block: positional or value
	data       blockReader
	rows       rowDecoder

	block  Pointer // place of the loaded block, which the decoder in rows reads; zero before the first block
	raw    []byte
	first  int64 // ordinal of the block's first row
	inside bool  // the next row is in the block, or follows the block's last row

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
	if c.index = c.positional; c.index == nil {
		c.index = c.value
	}
	return c
}

// Ordinal returns the number of the next row.
func (c *Cursor) Ordinal() int64 { return c.at }

// Read appends up to n > 0 rows to r and returns their number. The number may be less
// than n even before the end, but is at least one.
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

// Skip passes over n rows. If fewer rows are left, it fails and does not move.
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

// skip passes over n rows and returns how many of them have a value. In a nullable file it
// therefore reads the blocks, and returns io.EOF at the end if fewer than n rows are left.
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

// ready loads the block that holds the next row, unless it is loaded.
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

// advance moves from the end of a block to the next block.
func (c *Cursor) advance() error {
	values := c.f.footer.Values
	if values == 0 && c.positional == nil {
		return io.EOF // for example a BloomFile, whose blocks hold no rows
	}
	ok, err := c.index.next()
	switch {
	case err != nil:
		return err
	//guard: rejects a file that lost its last blocks
	case !ok && c.at != values:
		return damage.New(damage.Count, c.f.name, c.f.footerAt, "the data blocks have %d rows, the footer says %d", c.at, values)
	case !ok:
		return io.EOF
	}
	key, p := c.index.block()
	//guard: rejects a block whose first row in the index is wrong
	if at := c.index.ordinal(key); at >= 0 && at != c.at {
		return damage.New(damage.Count, c.f.name, p.Offset, "the index says that a block begins with row %d, expected %d", at, c.at)
	}
	return c.load(p, c.at)
}

// load loads a data block and moves before the block's first row. first is the expected ordinal
// of that row, or -1 if it is not known.
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
	//guard: rejects a block that begins with another row than expected
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

// damaged records err as the cursor's error, with the place of the loaded block. err is about
// damage in that block.
func (c *Cursor) damaged(err error) error {
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Row < 0 && e.File == "" {
		e.Row = c.at
	}
	return c.fail(c.f.locate(err, c.block))
}

// Close releases the memory of the cursor, which must not be used afterwards.
func (c *Cursor) Close() {
	c.data.close()
	c.rows.close()
	c.positional.close()
	c.value.close()
	_ = c.fail(errors.New("cfile: the cursor is closed"))
}
