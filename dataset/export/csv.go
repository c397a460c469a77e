package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/shred"
)

// ErrNotSimple is the error for a schema whose rows are no lines of a table.
var ErrNotSimple = errors.New("CSV holds simple and optional fields only")

// NewCSV returns a writer of a table in the form of RFC 4180, lines ending in
// a line feed: a line of names, then one per row. The fields of records inside
// the row stand under dotted names. A null is an empty field, an empty string
// is a quoted one. Fields that hold lists, maps or choices of types are
// ErrNotSimple.
func NewCSV(w io.Writer, s *shred.Schema) (Writer, error) {
	c := &csvWriter{w: bufio.NewWriterSize(w, bufferSize)}
	fs := forms{known: map[*shred.Node]*form{}, logical: true}
	if err := c.addColumns(&fs, s.Root(), "", 0); err != nil {
		return nil, err
	}
	for i, name := range c.names {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		c.line = appendField(c.line, []byte(name))
	}
	c.line = append(c.line, '\n')
	_, err := c.w.Write(c.line)
	return c, err
}

// maxRecords bounds the records in records, which could be without end.
const maxRecords = 1000

type csvWriter struct {
	w      *bufio.Writer
	names  []string
	fields []csvField
	in     datum
	line   []byte
	text   []byte
}

// csvField is a column of the table.
type csvField struct {
	*form     // of the value
	null  int // index of null in the union with the value; -1 without one
}

func (c *csvWriter) addColumns(fs *forms, n *shred.Node, name string, depth int) error {
	if depth > maxRecords {
		return fmt.Errorf("%w: %s nests more than %d records", ErrNotSimple, name, maxRecords)
	}
	if n.Kind == shred.KindRecord {
		for _, f := range n.Fields {
			inner := f.Name
			if name != "" {
				inner = name + "." + inner
			}
			if err := c.addColumns(fs, f.Type, inner, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	field := csvField{null: -1}
	value := n
	if n.Kind == shred.KindUnion && len(n.Branches) == 2 {
		for i, b := range n.Branches {
			if b.Kind == shred.KindNull {
				field.null, value = i, n.Branches[1-i]
			}
		}
	}
	if !value.Kind.Simple() {
		return fmt.Errorf("%w: %s is of type %s; choose others with --columns", ErrNotSimple, name, value.Kind)
	}
	if name == "" {
		name = n.FullName()
	}
	field.form = fs.of(value)
	c.names, c.fields = append(c.names, name), append(c.fields, field)
	return nil
}

func (c *csvWriter) Write(row []byte) error {
	c.in = datum{rest: row}
	c.line = c.line[:0]
	for i := range c.fields {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		f := &c.fields[i]
		if f.null >= 0 && c.in.index(2) == f.null || f.kind == shred.KindNull {
			continue
		}
		c.text = appendText(c.text[:0], f.form, &c.in)
		c.line = appendField(c.line, c.text)
		c.in.bound(c.line)
	}
	c.line = append(c.line, '\n')
	if err := c.in.end(); err != nil {
		return err
	}
	_, err := c.w.Write(c.line)
	return err
}

func (c *csvWriter) Close() error { return c.w.Flush() }

// appendField appends a field, in quotes if it needs them. What is not UTF-8
// becomes U+FFFD.
func appendField(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return append(append(dst, text...), '"')
		}
		dst = append(append(dst, text[:i+1]...), '"')
		text = text[i+1:]
	}
}
