package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// ErrNotSimple is returned for a schema whose rows cannot be lines of a table.
var ErrNotSimple = errors.New("CSV holds simple and optional fields only")

// CSV returns the encoding of rows as a table in the form of RFC 4180, whose lines end with a
// line feed. The first line has the names, and each further line a row. The fields of nested
// records have dotted names. A null is an empty field, and an empty string is "". If a field
// has lists, maps or several types, the error is ErrNotSimple.
func CSV(s *shred.Schema) (Encoding, error) {
	c := &csvEncoding{header: []byte{'\n'}}
	fs := forms{known: map[*shred.Node]*form{}, logical: true}
	if err := c.addColumns(&fs, s.Root(), "", 0); err != nil {
		return nil, err
	}
	return c, nil
}

// maxRecords bounds how deep records nest. Recursive records would nest without end.
const maxRecords = 1000

type csvEncoding struct {
	header []byte
	fields []csvField
}

// csvField is a column of the table.
type csvField struct {
	*form        // type of the value
	branches int // number of types of a union; 0 if there is no union
	null     int // index of null in the union of null and the value; -1 if there is no null
}

func (c *csvEncoding) addColumns(fs *forms, n *shred.Node, name string, depth int) error {
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
	if n.Kind == shred.KindUnion && len(n.Branches) == 1 {
		value = n.Branches[0]
	}
	if !value.Kind.Simple() {
		return fmt.Errorf("%w: field %q is of type %s; choose other fields with --columns", ErrNotSimple, name, value.Kind)
	}
	if name == "" {
		name = n.FullName()
	}
	c.header = c.header[:len(c.header)-1]
	if len(c.fields) > 0 {
		c.header = append(c.header, ',')
	}
	c.header = append(appendField(c.header, []byte(name)), '\n')
	c.fields = append(c.fields, csvField{fs.of(value), len(n.Branches), null})
	return nil
}

// Header implements Encoding.
func (c *csvEncoding) Header() []byte { return c.header }

// NewEncoder implements Encoding.
func (c *csvEncoding) NewEncoder(w io.Writer) (Encoder, error) {
	return &csvEncoder{csvEncoding: c, line: line{w: w}}, nil
}

type csvEncoder struct {
	*csvEncoding
	line
	text []byte // scratch memory
}

// Append implements Encoder.
func (c *csvEncoder) Append(dst, row []byte) ([]byte, error) {
	c.start(dst, row)
	for i := range c.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := &c.fields[i]
		if f.branches > 0 && c.in.index(f.branches) == f.null || f.kind == shred.KindNull {
			continue
		}
		dst = c.flush(c.field(dst, f.form))
	}
	return c.finish(append(dst, '\n'))
}

// End implements Encoder.
func (*csvEncoder) End(dst []byte) ([]byte, error) { return dst, nil }

// Memory implements Encoder. Long values are written in pieces.
func (*csvEncoder) Memory(int) int64 { return 0 }

// field appends the next value.
func (c *csvEncoder) field(dst []byte, f *form) []byte {
	switch f.kind {
	case shred.KindString:
		return c.long(dst, c.in.sized())
	case shred.KindBytes, shred.KindFixed:
		b := c.in.bytes(f)
		switch {
		case isBase64(f, b):
			for len(b) > longText {
				dst = c.flush(appendBase64(dst, b[:longText]))
				b = b[longText:]
			}
			c.text = appendBase64(c.text[:0], b)
		case c.in.err == nil:
			c.text = appendBytes(c.text[:0], f, b)
		}
		return appendField(dst, c.text)
	case shred.KindEnum:
		c.text = appendText(c.text[:0], f, &c.in)
		return appendField(dst, c.text)
	}
	return appendText(dst, f, &c.in) // has no character that needs quotes
}

// long appends text of any length.
func (c *csvEncoder) long(dst, text []byte) []byte {
	if len(text) <= longText {
		return appendField(dst, text)
	}
	quoted := needsQuotes(text)
	if quoted {
		dst = append(dst, '"')
	}
	for len(text) > 0 {
		n := wholeRunes(text, longText)
		dst = c.flush(appendQuoted(dst, text[:n]))
		text = text[n:]
	}
	if quoted {
		dst = append(dst, '"')
	}
	return dst
}

// appendField appends a field, in quotes if it needs them.
func appendField(dst, text []byte) []byte {
	if len(text) > 0 && !needsQuotes(text) {
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
