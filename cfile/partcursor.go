package cfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	readValuesLimit = 1 << 14 // how many values of sequences Read appends; they fit a processor's cache
	lengthsAhead    = 1 << 10 // how many lengths are read at a time
)

// partCursor implements format.Cursor. It counts in units, the entries that Read reads: lengths in
// an array column, else values. It opens files when they are needed.
type partCursor struct {
	p       *part
	number  int
	column  *partColumn
	restore restorer

	unit int64 // number of the next unit
	item int64 // number of the first item of that unit
	err  error

	lengths, values *Cursor
	rows            Rows
	known           []int32 // lengths of the units from knownAt on
	knownAt         int64

	text   int64 // bytes of text that were read from block textOf
	textOf int
}

// cursor returns a cursor before the first row of a column.
func (p *part) cursor(col int) *partCursor {
	c := &partCursor{p: p, number: col, column: &p.columns[col], textOf: -1}
	if f := c.column.valuesFile; f != nil {
		c.restore = newRestorer(&c.column.Column, f.Type)
	}
	return c
}

func (c *partCursor) SeekRow(row int64) error {
	if row < 0 || row > c.p.rows {
		return fmt.Errorf("cfile: seek to row %d of %d", row, c.p.rows)
	}
	c.err = nil
	unit, err := c.p.unitOf(c.column, row)
	if err != nil {
		return c.fail(err)
	}
	return c.seek(unit)
}

// unitOf returns the first unit of a row in a column. In a child column it is the number of items
// that the parent has before the row.
func (p *part) unitOf(c *partColumn, row int64) (int64, error) {
	if c.Parent < 0 {
		return row, nil
	}
	return p.places[c.Parent].itemOf(p, c.Parent, row)
}

// place finds where the items of a row begin in a column that has children. All cursors of
// the children share it, because they seek to the same rows.
type place struct {
	mu     sync.Mutex
	cursor *partCursor
	row    int64 // the cursor's next row; -1 if unknown
}

func (l *place) itemOf(p *part, col int, row int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cursor == nil {
		l.cursor, l.row = p.cursor(col), 0
	}
	if l.row != row {
		l.row = -1
		if err := l.cursor.SeekRow(row); err != nil {
			return 0, err
		}
		l.row = row
	}
	return l.cursor.item, nil
}

func (c *partCursor) Skip(n int64) (items int64, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if !c.column.nullable {
		before := c.item
		err = c.seek(c.unit + n)
		return c.item - before, err
	}
	if err := c.within(c.unit + n); err != nil || n == 0 {
		return 0, c.fail(err)
	}
	if err = c.ready(&c.values, c.column.valuesFile, c.unit); err == nil {
		items, err = c.values.skip(n)
	}
	if err != nil {
		return 0, c.failed(err)
	}
	c.unit += n
	return items, nil
}

// within returns damage if the column ends before a unit.
func (c *partCursor) within(unit int64) error {
	//guard: rejects items that the column does not have
	if unit > c.column.units {
		return c.damaged(damage.Count, -1, "the column ends %d units early", unit-c.column.units)
	}
	return nil
}

// seek moves before a unit. For that it reads only lengths, and only those of the block that
// has the unit.
func (c *partCursor) seek(unit int64) error {
	if err := c.within(unit); err != nil {
		return c.fail(err)
	}
	if !c.column.lengths {
		c.unit, c.item = unit, unit
		return nil
	}
	i := c.column.find(unit)
	if i == len(c.column.blocks) {
		c.unit, c.item = unit, c.column.items
		return nil
	}
	if b := &c.column.blocks[i]; c.unit < b.firstUnit || c.unit > unit {
		c.unit, c.item = b.firstUnit, b.firstItem
	}
	for c.unit < unit {
		lengths, err := c.nextLengths(i, unit-c.unit)
		if err != nil {
			return c.failed(err)
		}
		item, err := c.itemAfter(i, lengths)
		if err != nil {
			return c.fail(err)
		}
		c.unit, c.item = c.unit+int64(len(lengths)), item
	}
	return nil
}

// find returns the number of the block that has a unit, or the number of blocks for the unit
// after the last.
func (c *partColumn) find(unit int64) int {
	return sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].firstUnit+c.blocks[i].units > unit })
}

// itemAfter returns the number of the item after the items of lengths, the next lengths of block i.
func (c *partCursor) itemAfter(i int, lengths []int32) (item int64, err error) {
	b := &c.column.blocks[i]
	unit, item, end := c.unit+int64(len(lengths)), c.item+sum(lengths), b.firstItem+b.items
	//guard: rejects values that belong to other rows
	if item > end || unit == b.firstUnit+b.units && item != end {
		return 0, c.damaged(damage.Count, i, "%d lengths add up to %d items, the block has %d", unit-b.firstUnit, item-b.firstItem, b.items)
	}
	return item, nil
}

func sum(lengths []int32) (n int64) {
	for _, l := range lengths {
		n += int64(l)
	}
	return n
}

// nextLengths returns lengths from the cursor's place on, which is in block i: at most n,
// and at least one. They are valid until the next call.
func (c *partCursor) nextLengths(i int, n int64) ([]int32, error) {
	from := c.unit - c.knownAt
	if from < 0 || from >= int64(len(c.known)) {
		if err := c.readLengths(i); err != nil {
			return nil, err
		}
		from = 0
	}
	lengths := c.known[from:]
	return lengths[:min(int64(len(lengths)), n)], nil
}

// readLengths reads lengths from the cursor's place on.
func (c *partCursor) readLengths(i int) error {
	c.known, c.knownAt = c.known[:0], c.unit
	if err := c.ready(&c.lengths, c.column.lengthsFile, c.unit); err != nil {
		return err
	}
	b := &c.column.blocks[i]
	c.rows.Reset()
	if _, err := c.lengths.Read(&c.rows, int(min(b.firstUnit+b.units-c.unit, lengthsAhead))); err != nil {
		return err
	}
	for b := c.rows.Fixed; len(b) > 0; b = b[4:] {
		n := int32(binary.LittleEndian.Uint32(b))
		//guard: rejects a negative length
		if n < 0 {
			return c.damaged(damage.Value, i, "length %d", n)
		}
		//guard: rejects a branch with two values
		if n > 1 && c.column.Optional {
			return c.damaged(damage.Count, i, "length %d in a branch of a union", n)
		}
		c.known = append(c.known, n)
	}
	return nil
}

// ready moves a file's cursor before a row, and opens the file if the cursor is nil.
func (c *partCursor) ready(cursor **Cursor, f *partFile, row int64) error {
	if *cursor == nil {
		file, err := f.open(c.p)
		if err != nil {
			return err
		}
		*cursor = file.Cursor()
	}
	if (*cursor).Ordinal() == row {
		return nil
	}
	c.text = 0
	return (*cursor).SeekRow(row)
}

func (c *partCursor) Read(v *column.Vector, n int) (read, items int, err error) {
	if c.err != nil || n == 0 {
		return 0, 0, c.err
	}
	if c.unit == c.column.units {
		return 0, 0, io.EOF
	}
	v.Encoded = false
	for {
		read, items, err = c.readSome(v, n)
		if n == 1 || !errors.Is(err, column.ErrFull) {
			break
		}
		n /= 2
	}
	if err != nil {
		return 0, 0, c.failed(err)
	}
	c.unit, c.item = c.unit+int64(read), c.item+int64(items)
	return read, items, nil
}

// readSome reads at most n units. c must not be at its end, and does not move.
func (c *partCursor) readSome(v *column.Vector, n int) (read, items int, err error) {
	if c.column.uncounted() {
		read = int(min(int64(n), c.column.units-c.unit))
		v.Values += read
		return read, read, nil
	}
	i := c.column.find(c.unit)
	b := &c.column.blocks[i]
	//guard: bounds the memory for a block
	if c.p.document != nil && b.raw > c.p.max {
		return 0, 0, c.damaged(damage.Unsupported, i, "a block of %d bytes exceeds the limit of %d", b.raw, c.p.max)
	}
	n = int(min(int64(n), b.firstUnit+b.units-c.unit))
	switch {
	case c.column.nullable:
		return c.readNullable(v, i, n)
	case c.column.lengths:
		return c.readSequences(v, i, n)
	}
	read, err = c.readValues(v, i, c.item, n)
	return read, read, err
}

// readValues reads at most n rows, and at least one, from a row of the values' file on.
func (c *partCursor) readValues(v *column.Vector, i int, from int64, n int) (int, error) {
	_, room, _ := v.Room(c.column.Type)
	if n = min(n, room); n == 0 {
		return 0, column.ErrFull
	}
	if err := c.ready(&c.values, c.column.valuesFile, from); err != nil {
		return 0, err
	}
	c.restore.begin(v, &c.rows)
	n, err := c.values.Read(&c.rows, n)
	if err != nil {
		return 0, err
	}
	values, text := v.Values, len(v.Data)
	if err := c.restore.end(v, &c.rows); err != nil {
		v.Truncate(c.column.Type, values)
		return 0, err
	}
	if !c.restore.text() {
		return n, nil
	}
	if c.textOf != i {
		c.text, c.textOf = 0, i
	}
	//guard: bounds what dictionary codes expand to
	if c.text += int64(len(v.Data) - text); c.text > c.column.blocks[i].raw {
		return 0, c.damaged(damage.Size, i, "the values have more than %d bytes", c.column.blocks[i].raw)
	}
	return n, nil
}

// readNullable reads values and nulls.
func (c *partCursor) readNullable(v *column.Vector, i, n int) (read, items int, err error) {
	room, _, _ := v.Room(c.column.Type)
	if n = min(n, room); n == 0 {
		return 0, 0, column.ErrFull
	}
	before := v.Values
	if read, err = c.readValues(v, i, c.unit, n); err != nil {
		return 0, 0, err
	}
	for _, valid := range c.rows.Valid {
		v.Lengths = append(v.Lengths, int32(valid))
	}
	return read, v.Values - before, nil
}

// readSequences reads lengths and their values.
func (c *partCursor) readSequences(v *column.Vector, i, n int) (read, items int, err error) {
	rooms, room, _ := v.Room(c.column.Type)
	lengths, err := c.nextLengths(i, int64(n))
	if err != nil {
		return 0, 0, err
	}
	lengths = lengths[:min(len(lengths), rooms)]
	for read < len(lengths) {
		more := items + int(lengths[read])
		if more > room || read > 0 && more > readValuesLimit {
			break
		}
		read, items = read+1, more
	}
	if read == 0 {
		return 0, 0, column.ErrFull
	}
	if _, err := c.itemAfter(i, lengths[:read]); err != nil {
		return 0, 0, err
	}
	if c.column.Type == column.Null {
		v.Values += items
	} else if err := c.readItems(v, i, items); err != nil {
		return 0, 0, err
	}
	v.Lengths = append(v.Lengths, lengths[:read]...)
	return read, items, nil
}

// readItems reads the next n values, or none if it fails.
func (c *partCursor) readItems(v *column.Vector, i, n int) error {
	before := v.Values
	for done := 0; done < n; {
		k, err := c.readValues(v, i, c.item+int64(done), n-done)
		if err != nil {
			v.Truncate(c.column.Type, before)
			return err
		}
		done += k
	}
	return nil
}

// failed makes an error of reading the cursor's error, except column.ErrFull.
func (c *partCursor) failed(err error) error {
	if errors.Is(err, column.ErrFull) {
		return err
	}
	var d *damage.Error
	switch {
	case errors.Is(err, io.EOF):
		err = c.damaged(damage.Count, -1, "a file of the column ends early")
	case errors.As(err, &d) && d.Column == "":
		d.Column = c.column.Name
		damage.SetFile(d, c.file())
	}
	return c.fail(err)
}

// fail makes err the cursor's error until it seeks.
func (c *partCursor) fail(err error) error {
	c.err = err
	return err
}

// damaged returns damage of block i, or of the column if i is negative.
func (c *partCursor) damaged(kind damage.Kind, i int, reason string, args ...any) error {
	d := damage.New(kind, c.file(), -1, reason, args...)
	d.Column, d.Block = c.column.Name, int64(i)
	return d
}

// file returns the name of the file that errors name.
func (c *partCursor) file() string {
	if f := c.column.file(); f != nil {
		return f.stored.Name()
	}
	return c.p.document.Name()
}
