package dataset

import (
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// stretch is some rows, or items of a column, and the gap before them.
type stretch struct{ gap, n int }

// appendColumn reads of a column what the window, or its parent's stretches, are, and
// makes the stretches for its children. It returns how many items it read.
func (c *columns) appendColumn(i int) (items int, err error) {
	stretches := c.window
	if p := c.parents[i]; p >= 0 {
		stretches = c.items[p]
	}
	cursor, v := c.each[i], c.vectors[i]
	c.items[i] = c.items[i][:0]
	for len(stretches) > 0 {
		gap, n := int64(stretches[0].gap), 0
		for n = stretches[0].n; len(stretches) > 1 && stretches[1].gap == 0; stretches = stretches[1:] {
			n += stretches[1].n // no rows had items between
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

// readAll reads n of what a column stores, of most items at most.
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
