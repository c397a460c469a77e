package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// ErrNotSimple is returned for a schema whose rows cannot be lines of a table.
var ErrNotSimple = errors.New("CSV holds simple and optional fields only")

// NewCSV returns a writer of a table in the form of RFC 4180, whose lines end with a line
// feed. The first line has the names, and each further line a row. The fields of nested
// records have dotted names. A null is an empty field, and an empty string is "". If a field
// has lists, maps or several types, the error is ErrNotSimple.
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

// maxRecords bounds how deep records nest. Recursive records would nest without end.
const maxRecords = 1000

type csvWriter struct {
	w      *bufio.Writer
	names  []string
	fields []csvField
	in     datum
	line   []byte
	text   []byte

	written int // bytes of the line that were flushed
}

// csvField is a column of the table.
type csvField struct {
	*form     // type of the value
	null  int // index of null in the union of null and the value; -1 if there is no union
}

func (c *csvWriter) addColumns(fs *forms, n *shred.Node, name string, depth int) error {
	if depth > maxRecords {
		return fmt.Errorf("%w: field %q nests more than %d records", ErrNotSimple, name, maxRecords)
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
	value, null := n.Optional()
	if !value.Kind.Simple() {
		return fmt.Errorf("%w: field %q is of type %s; choose other fields with --columns", ErrNotSimple, name, value.Kind)
	}
	if name == "" {
		name = n.FullName()
	}
	c.names, c.fields = append(c.names, name), append(c.fields, csvField{fs.of(value), null})
	return nil
}

func (c *csvWriter) Write(row []byte) error {
	c.in, c.written = datum{rest: row}, 0
	c.line = c.line[:0]
	for i := range c.fields {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		f := &c.fields[i]
		if f.null >= 0 && c.in.index(2) == f.null || f.kind == shred.KindNull {
			continue
		}
		c.field(f.form)
		c.in.bound(c.written + len(c.line))
	}
	c.line = append(c.line, '\n')
	if err := c.in.end(); err != nil {
		return err
	}
	_, err := c.w.Write(c.line)
	return err
}

// Memory implements Writer. Long values are written in pieces.
func (c *csvWriter) Memory(int) int64 { return 0 }

// field appends a value to the line.
func (c *csvWriter) field(f *form) {
	switch f.kind {
	case shred.KindString:
		c.long(c.in.sized())
		return
	case shred.KindBytes, shred.KindFixed:
		if b := c.in.bytes(f); isBase64(f, b) {
			for len(b) > longText {
				c.line = c.flush(appendBase64(c.line, b[:longText]))
				b = b[longText:]
			}
			c.text = appendBase64(c.text[:0], b)
			c.line = appendField(c.line, c.text)
		} else if c.in.err == nil {
			c.text = appendBytes(c.text[:0], f, b)
			c.line = appendField(c.line, c.text)
		}
		return
	}
	c.text = appendText(c.text[:0], f, &c.in)
	c.line = appendField(c.line, c.text)
}

// long appends text of any length.
func (c *csvWriter) long(text []byte) {
	if len(text) <= longText {
		c.line = appendField(c.line, text)
		return
	}
	quoted := bytes.ContainsAny(text, special)
	if quoted {
		c.line = append(c.line, '"')
	}
	for len(text) > 0 {
		n := wholeRunes(text, longText)
		c.line = c.flush(appendQuoted(c.line, text[:n]))
		text = text[n:]
	}
	if quoted {
		c.line = append(c.line, '"')
	}
}

// flush writes the line so far and returns an empty line. The next Write to the buffer
// returns the error of flush.
func (c *csvWriter) flush(line []byte) []byte {
	n, _ := c.w.Write(line)
	c.written += n
	return line[:0]
}

func (c *csvWriter) Close() error { return c.w.Flush() }

// special has the characters for which a field needs quotes.
const special = "\",\r\n"

// appendField appends a field, in quotes if it needs them.
func appendField(dst, text []byte) []byte {
	if len(text) > 0 && !bytes.ContainsAny(text, special) {
		return appendQuoted(dst, text)
	}
	return append(appendQuoted(append(dst, '"'), text), '"')
}

// appendQuoted appends the form of text inside quotes. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i+1]...), '"')
		text = text[i+1:]
	}
}
