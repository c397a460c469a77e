package export

import (
	"encoding/base64"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// JSONOptions choose the form of JSON.
type JSONOptions struct {
	UnionTags bool // write Avro's own JSON encoding
}

// JSON returns the encoding of rows as a line of JSON per row.
func JSON(s *shred.Schema, o JSONOptions) Encoding {
	fs := forms{known: map[*shred.Node]*form{}, logical: !o.UnionTags}
	return &jsonEncoding{fs.of(s.Root()), o.UnionTags}
}

type jsonEncoding struct {
	root *form
	avro bool
}

// Header implements Encoding.
func (*jsonEncoding) Header() []byte { return nil }

// NewEncoder implements Encoding.
func (e *jsonEncoding) NewEncoder(w io.Writer) (Encoder, error) {
	return &jsonEncoder{jsonEncoding: e, line: line{w: w}}, nil
}

type jsonEncoder struct {
	*jsonEncoding
	line
}

// Memory implements Encoder. The text of long rows is written in pieces.
func (*jsonEncoder) Memory(int) int64 { return 0 }

// Append implements Encoder.
func (j *jsonEncoder) Append(dst, row []byte) ([]byte, error) {
	j.start(dst, row)
	return j.finish(append(j.value(dst, j.root), '\n'))
}

// End implements Encoder.
func (*jsonEncoder) End(dst []byte) ([]byte, error) { return dst, nil }

// text appends a JSON string of a value. cut returns where a long value may be split.
func (j *jsonEncoder) text(dst, s []byte, escape func(dst, s []byte) []byte, cut func(s []byte, most int) int) []byte {
	dst = append(dst, '"')
	for len(s) > longText {
		n := cut(s, longText)
		dst = j.flush(escape(dst, s[:n]))
		s = s[n:]
	}
	return append(escape(dst, s), '"')
}

// value appends the next value of the row.
func (j *jsonEncoder) value(dst []byte, f *form) []byte {
	for f.kind == shred.KindUnion && !j.avro {
		i := j.in.index(len(f.branches))
		if i < 0 {
			return dst
		}
		f = f.branches[i]
	}
	switch f.kind {
	case shred.KindRecord:
		return j.record(dst, f)
	case shred.KindArray:
		return j.items(dst, f, [2]byte{'[', ']'})
	case shred.KindMap:
		return j.items(dst, f, [2]byte{'{', '}'})
	case shred.KindUnion:
		return j.tagged(dst, f)
	case shred.KindEnum:
		if i := j.in.index(len(f.symbols)); i >= 0 {
			dst = append(dst, f.symbols[i]...)
		}
		return dst
	case shred.KindString:
		s := j.in.sized()
		if len(s) <= longText {
			return appendString(dst, s)
		}
		return j.text(dst, s, appendEscaped, wholeRunes)
	case shred.KindBytes, shred.KindFixed:
		b := j.in.bytes(f)
		switch {
		case j.avro:
			return j.text(dst, b, appendLatin, anywhere)
		case isBase64(f, b):
			return j.text(dst, b, appendBase64, anywhere)
		case j.in.err == nil:
			dst = append(appendBytes(append(dst, '"'), f, b), '"')
		}
		return dst
	case shred.KindFloat, shred.KindDouble:
		at := len(dst)
		if dst = appendText(dst, f, &j.in); notANumber(dst) {
			dst = append(slices.Insert(dst, at, '"'), '"')
		}
		return dst
	case shred.KindNull:
		return append(dst, "null"...)
	case shred.KindInt, shred.KindLong:
		if f.logical == column.LogicalNone {
			return appendInt(dst, j.in.long())
		}
	}
	if f.logical != column.LogicalNone {
		return append(appendText(append(dst, '"'), f, &j.in), '"')
	}
	return appendText(dst, f, &j.in)
}

// notANumber reports whether text ends with the text of a float that is not a number.
func notANumber(text []byte) bool {
	c := text[len(text)-1]
	return c < '0' || c > '9'
}

func (j *jsonEncoder) record(dst []byte, f *form) []byte {
	if !j.in.enter() {
		return dst
	}
	for i := range f.fields {
		field := &f.fields[i]
		dst = j.flush(j.value(append(dst, field.key...), field.form))
	}
	j.in.leave()
	if len(f.fields) == 0 {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// items appends an array, or a map.
func (j *jsonEncoder) items(dst []byte, f *form, brackets [2]byte) []byte {
	if !j.in.enter() {
		return dst
	}
	dst = append(dst, brackets[0])
	first := true
	for n := j.in.count(); n > 0; n = j.in.count() {
		for ; n > 0 && j.in.err == nil; n-- {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			if f.kind == shred.KindMap {
				dst = append(j.text(dst, j.in.sized(), appendEscaped, wholeRunes), ':')
			}
			dst = j.flush(j.value(dst, f.items))
		}
	}
	j.in.leave()
	return append(dst, brackets[1])
}

// tagged appends the value of a union in Avro's own encoding.
func (j *jsonEncoder) tagged(dst []byte, f *form) []byte {
	i := j.in.index(len(f.branches))
	if i < 0 {
		return dst
	}
	tag := f.tags[i]
	dst = j.value(append(dst, tag...), f.branches[i])
	if tag != nil {
		dst = append(dst, '}')
	}
	return dst
}

// bytes reads a bytes or a fixed value.
func (d *datum) bytes(f *form) []byte {
	if f.kind == shred.KindFixed {
		return d.take(int64(f.size))
	}
	return d.sized()
}

// appendFloat appends the shortest number that reads back as v and does not look like an
// integer. As an integer, -0.0 would lose its sign.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	layout := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		layout = 'e' // as JavaScript does
	}
	dst = strconv.AppendFloat(dst, v, layout, -1, bits)
	if layout == 'f' && v == math.Trunc(v) {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendBase64 appends bytes in the standard encoding, with padding.
func appendBase64(dst, b []byte) []byte { return base64.StdEncoding.AppendEncode(dst, b) }
