package delta

import (
	"errors"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
)

// File is an open DeltaFile. It is safe for concurrent use; its cursors are not.
type File struct {
	file  *cfile.File
	stats Stats
}

// Open reads and checks the header and the footer of the file of size bytes behind r; name
// is for messages. Errors are *damage.Error, or wrap what r reported.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	file, err := cfile.Open(r, size, name)
	if err != nil {
		return nil, err
	}
	of := file.Footer()
	refuse := func(reason string, args ...any) (*File, error) {
		return nil, damage.New(damage.Header, name, file.FooterStart(), "this is no DeltaFile: "+reason, args...)
	}
	switch {
	//guard: values of a fixed width, or nulls, would be read as deltas
	case of.Type != cfile.Binary || of.Encoding != cfile.Plain || of.Nullable:
		return refuse("its values are of type %v, encoding %v", of.Type, of.Encoding)
	//guard: no row could be found
	case of.Value == nil:
		return refuse("it has no value index")
	}
	at := slices.IndexFunc(of.Metadata, func(p cfile.Pair) bool { return p.Key == statsKey })
	//guard: a column of bytes would be taken for deltas
	if at < 0 {
		return refuse("its footer has no %s", statsKey)
	}
	f := &File{file: file}
	if f.stats, err = parseStats(of.Metadata[at].Value); err != nil {
		return nil, placed(err, name, file.FooterStart(), -1)
	}
	return f, nil
}

// placed is damage with its place.
func placed(err error, name string, offset, row int64) error {
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		d.File, d.Offset, d.Row = name, offset, row
	}
	return err
}

// Stats are the statistics in the footer. They must not be changed, and nothing holds
// them to the deltas.
func (f *File) Stats() *Stats { return &f.stats }

// Len is the number of deltas, by the footer.
func (f *File) Len() int64 { return f.file.Footer().Values }

// Cursor reads the deltas of a file in order.
type Cursor struct {
	name   string
	values *cfile.Cursor
	rows   cfile.Rows // that were read
	next   int        // of rows
	first  int64      // ordinal of the first of rows
	row    uint32     // of the last delta
}

// batch is how many deltas are read at a time, at most.
const batch = 1024

// Cursor returns a cursor before the first delta.
func (f *File) Cursor() *Cursor {
	return &Cursor{name: f.file.Name(), values: f.file.Cursor()}
}

// SeekRow moves before the first delta of a row, or, if it has none, of the next row that has
// one, or to the end. It reads the index blocks on the way and one or two blocks of deltas.
func (c *Cursor) SeekRow(row uint32) error {
	c.rows.Reset()
	c.next, c.row = 0, 0
	_, err := c.values.SeekValue(appendVarint(nil, uint64(row)))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Next makes d the next delta. It is io.EOF behind the last one. The values of d are valid
// until the next call, and its cells are in the memory of those that it had. Errors are
// *damage.Error, with the number of the delta as Row, or the file reader's.
func (c *Cursor) Next(d *Delta) error {
	if c.next == c.rows.BinaryLen() {
		c.rows.Reset()
		c.next, c.first = 0, c.values.Ordinal()
		if _, err := c.values.Read(&c.rows, batch); err != nil {
			return err
		}
	}
	value := c.rows.Binary(c.next)
	at := c.first + int64(c.next)
	key, rest, err := parseKey(value)
	if err != nil {
		return placed(err, c.name, -1, at)
	}
	//guard: a seek would miss what is out of order
	if key.Row < c.row {
		return placed(damage.New(damage.Value, "", -1, "the delta of row %d comes behind that of row %d", key.Row, c.row), c.name, -1, at)
	}
	if err := d.Parse(rest); err != nil {
		return placed(err, c.name, -1, at)
	}
	d.Key, c.row = key, key.Row
	c.next++
	return nil
}

// Close gives the memory of the cursor back.
func (c *Cursor) Close() { c.values.Close() }
