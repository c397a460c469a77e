package damage

import "github.com/rowtocol/rowtocol/internal/wire"

// Cursor is a cursor over bytes of a file. It reports damage as *Error, with the File, Column
// and Block (or -1) that the caller sets.
type Cursor struct {
	wire.Cursor
	File, Column string
	Block        int64
}

// NewCursor returns a cursor over b, which begins at an offset of a file.
func NewCursor(file string, b []byte, offset int64) Cursor {
	return Cursor{Cursor: wire.New(b, offset), File: file, Block: -1}
}

// Fail sets the cursor's error to damage, unless it already has an error.
func (c *Cursor) Fail(kind Kind, offset int64, reason string, args ...any) {
	if c.Cursor.Err() == nil {
		c.Stop(c.located(kind, offset, reason, args...))
	}
}

func (c *Cursor) located(kind Kind, offset int64, reason string, args ...any) *Error {
	e := New(kind, c.File, offset, reason, args...)
	e.Column, e.Block = c.Column, c.Block
	return e
}

// Err returns the first error. It is an *Error, or an error of the reader or of Stop.
func (c *Cursor) Err() error {
	err := c.Cursor.Err()
	e, ok := err.(*wire.Error)
	if !ok {
		return err
	}
	kind := Header
	if e.Cut {
		kind = Truncated
	}
	return c.located(kind, e.Offset, "%s", e.Reason)
}
