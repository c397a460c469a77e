package export

import (
	"bytes"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// Cells converts rows to the cells of a table: one cell per field of the row, or a single
// cell if the row is not a record. Simple values have the text of CSV, and null is empty.
// Text that is empty or begins with a quotation mark is a JSON string, so that it differs
// from null. All other values are JSON, as in the encoding JSON.
type Cells struct {
	names  []string
	fields []cell
	json   jsonEncoder
	long   bytes.Buffer // what json wrote of a long cell
	rest   []byte       // the rest of the cell
	texts  [][]byte
}

// cell is a field of a row.
type cell struct {
	*form
	number bool
}

// NewCells returns a Cells for rows of a schema.
func NewCells(s *shred.Schema) *Cells {
	fs := forms{known: map[*shred.Node]*form{}, logical: true}
	c := &Cells{json: jsonEncoder{jsonEncoding: new(jsonEncoding)}}
	c.json.w = &c.long
	root := s.Root()
	if root.Kind != shred.KindRecord {
		c.add(&fs, root.FullName(), root)
	}
	for _, f := range root.Fields {
		c.add(&fs, f.Name, f.Type)
	}
	c.texts = make([][]byte, len(c.fields))
	return c
}

func (c *Cells) add(fs *forms, name string, n *shred.Node) {
	c.names = append(c.names, name)
	c.fields = append(c.fields, cell{fs.of(n), isNumber(n)})
}

// isNumber reports whether all values of a type that are present are numbers.
func isNumber(n *shred.Node) bool {
	switch n.Kind {
	case shred.KindUnion:
		some := false
		for _, b := range n.Branches {
			if b.Kind != shred.KindNull && !isNumber(b) {
				return false
			}
			some = some || b.Kind != shred.KindNull
		}
		return some
	case shred.KindInt, shred.KindLong, shred.KindFloat, shred.KindDouble:
		return n.LogicalType() == column.LogicalNone
	}
	return n.LogicalType() == column.LogicalDecimal
}

// Names returns the names of the columns.
func (c *Cells) Names() []string { return c.names }

// Number reports whether the values of a column are numbers.
func (c *Cells) Number(i int) bool { return c.fields[i].number }

// Row returns the cells of a row, given its datum. They are valid until the next call.
func (c *Cells) Row(row []byte) ([][]byte, error) {
	c.json.start(nil, row)
	for i := range c.fields {
		c.texts[i] = c.value(c.texts[i][:0], c.fields[i].form)
	}
	return c.texts, c.json.in.end()
}

// value appends the cell of the next value.
func (c *Cells) value(dst []byte, f *form) []byte {
	in := &c.json.in
	for f.kind == shred.KindUnion {
		i := in.index(len(f.branches))
		if i < 0 {
			return dst
		}
		f = f.branches[i]
	}
	switch f.kind {
	case shred.KindNull:
		return dst
	case shred.KindString:
		text := in.sized()
		if len(text) == 0 || text[0] == '"' {
			return appendString(dst, text)
		}
		return append(dst, bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
	case shred.KindRecord, shred.KindArray, shred.KindMap:
		c.json.written = 0
		c.long.Reset()
		c.rest = c.json.value(c.rest[:0], f)
		return append(append(dst, c.long.Bytes()...), c.rest...)
	}
	return appendText(dst, f, in)
}
