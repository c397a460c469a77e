package dataset

import (
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// stretch is n consecutive rows, or items of a column, after a gap of rows or items.
type stretch struct{ gap, n int }

// appendColumn reads a column: the stretches of the window, or for a child column those
// of the parent's items. It makes the stretches of the column's own items, and returns
// the number of items read.
func (c *columns) appendColumn(i int) (items int, err error) {
	stretches := c.window
	if p := c.parents[i]; p >= 0 {
		stretches = c.items[p]
	}
	cursor, v := c.columnCursors[i], c.vectors[i]
	c.items[i] = c.items[i][:0]
	for len(stretches) > 0 {
		gap, n := int64(stretches[0].gap), 0
		for n = stretches[0].n; len(stretches) > 1 && stretches[1].gap == 0; stretches = stretches[1:] {
			n += stretches[1].n // the rows between the stretches had no items
		}
		skipped, err := cursor.Skip(gap)
		if err != nil {
			return 0, err
		}
		more, err := c.readAll(cursor, v, n, maxItems-items)
		if err != nil {
			return 0, err
		}
		items += more
		c.items[i] = append(c.items[i], stretch{int(skipped), more})
		stretches = stretches[1:]
	}
	return items, nil
}

// readAll reads the next n lengths or values of a column, with at most most items.
func (c *columns) readAll(cursor format.Cursor, v *column.Vector, n, most int) (items int, err error) {
	for n > 0 {
		read, more, err := cursor.Read(v, n)
		if errors.Is(err, io.EOF) {
			return 0, damage.New(damage.Count, c.part.name, -1, "a column ends %d rows or items early", n)
		}
		if err != nil {
			return 0, err
		}
		n, items = n-read, items+more
		//guard: bounds the memory for repeats
		if items > most {
			return 0, column.ErrFull
		}
	}
	return items, nil
}
