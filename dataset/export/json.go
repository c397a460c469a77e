package export

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// bufferSize is the size of an output's buffer, in bytes.
const bufferSize = 256 << 10

// Writer writes rows to an output. The output is complete only after Close.
type Writer interface {
	// Write writes the row with this datum. It does not keep datum.
	Write(datum []byte) error
	// Memory returns the most memory of Write that depends on the size of a row, in bytes.
	Memory(row int) int64
	// Close writes pending bytes. It does not close the output.
	Close() error
}

// JSONOptions choose the form of JSON.
type JSONOptions struct {
	UnionTags bool // write Avro's own JSON encoding
}

// NewJSON returns a writer of a line of JSON per row.
func NewJSON(w io.Writer, s *shred.Schema, o JSONOptions) Writer {
	fs := forms{known: map[*shred.Node]*form{}, logical: !o.UnionTags}
	return &jsonWriter{w: bufio.NewWriterSize(w, bufferSize), root: fs.of(s.Root()), avro: o.UnionTags}
}

type jsonWriter struct {
	w    *bufio.Writer
	root *form
	avro bool

	in      datum
	line    []byte
	written int // number of bytes of the line that were flushed
}

// Memory implements Writer. The text of long rows is written in pieces.
func (j *jsonWriter) Memory(int) int64 { return 0 }

func (j *jsonWriter) Write(row []byte) error {
	j.in, j.written = datum{rest: row}, 0
	j.line = append(j.value(j.line[:0], j.root), '\n')
	if err := j.in.end(); err != nil {
		return err
	}
	_, err := j.w.Write(j.line)
	return err
}

// flush writes the text of a line if it is long, and returns the text that is not written.
// The next Write to the buffer returns the error of flush.
func (j *jsonWriter) flush(line []byte) []byte {
	if j.in.bound(j.written + len(line)); len(line) < longText || j.in.err != nil {
		return line
	}
	n, _ := j.w.Write(line)
	j.written += n
	return line[:0]
}

// text appends a JSON string of a value. cut returns where a long value may be split.
func (j *jsonWriter) text(dst, s []byte, escape func(dst, s []byte) []byte, cut func(s []byte, most int) int) []byte {
	dst = append(dst, '"')
	for len(s) > longText {
		n := cut(s, longText)
		dst = j.flush(escape(dst, s[:n]))
		s = s[n:]
	}
	return append(escape(dst, s), '"')
}

func (j *jsonWriter) Close() error { return j.w.Flush() }

// value appends the next value of the row.
func (j *jsonWriter) value(dst []byte, f *form) []byte {
	switch f.kind {
	case shred.KindRecord:
		return j.record(dst, f)
	case shred.KindArray:
		return j.items(dst, f, [2]byte{'[', ']'})
	case shred.KindMap:
		return j.items(dst, f, [2]byte{'{', '}'})
	case shred.KindUnion:
		return j.union(dst, f)
	case shred.KindEnum:
		if i := j.in.index(len(f.symbols)); i >= 0 {
			dst = append(dst, f.symbols[i]...)
		}
		return dst
	case shred.KindString:
		return j.text(dst, j.in.sized(), appendEscaped, wholeRunes)
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
		at := len(dst) + 1
		if dst = appendText(append(dst, '"'), f, &j.in); notANumber(dst[at:]) {
			return append(dst, '"')
		}
		return append(dst[:at-1], dst[at:]...)
	case shred.KindNull:
		return append(dst, "null"...)
	}
	if f.quoted() {
		return append(appendText(append(dst, '"'), f, &j.in), '"')
	}
	return appendText(dst, f, &j.in)
}

func notANumber(text []byte) bool {
	c := text[len(text)-1]
	return c < '0' || c > '9'
}

func (j *jsonWriter) record(dst []byte, f *form) []byte {
	if !j.in.enter() {
		return dst
	}
	defer j.in.leave()
	dst = append(dst, '{')
	for i := range f.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.fields[i].key...)
		dst = j.flush(j.value(dst, f.fields[i].form))
	}
	return append(dst, '}')
}

// items appends an array, or a map.
func (j *jsonWriter) items(dst []byte, f *form, brackets [2]byte) []byte {
	if !j.in.enter() {
		return dst
	}
	defer j.in.leave()
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
	return append(dst, brackets[1])
}

func (j *jsonWriter) union(dst []byte, f *form) []byte {
	i := j.in.index(len(f.branches))
	if i < 0 {
		return dst
	}
	if !j.avro || f.tags[i] == nil {
		return j.value(dst, f.branches[i])
	}
	dst = append(dst, f.tags[i]...)
	return append(j.value(dst, f.branches[i]), '}')
}

// appendString appends a JSON string.
func appendString(dst, s []byte) []byte { return append(appendEscaped(append(dst, '"'), s), '"') }

// appendEscaped appends the form of text inside a JSON string. Invalid UTF-8 becomes
// U+FFFD.
func appendEscaped(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := plain(s); i < len(s); i += plain(s[i:]) {
		c := s[i]
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRune(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\uFFFD"...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// plain returns the number of bytes at the start of s that are ASCII without escapes in a
// JSON string.
func plain(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if mark := odd(binary.LittleEndian.Uint64(s[i:])); mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
	}
	for i < len(s) && odd(spaces&^0xff|uint64(s[i])) == 0 {
		i++
	}
	return i
}

const (
	low  = 0x0101010101010101 // the lowest bit of each of eight bytes
	high = low << 7

	spaces = low * ' '
)

// odd returns a word with the highest bit of the first of eight bytes that is not plain, or
// 0 if all bytes are plain. A borrow can also set the highest bits of later bytes.
func odd(w uint64) uint64 {
	quote, slash, del := w^low*'"', w^low*'\\', w^low*0x7f
	return (w | (w - spaces) | (quote - low) | (slash - low) | (del - low)) & high
}

// appendLatin appends the form of bytes inside a JSON string: one character per byte.
func appendLatin(dst, b []byte) []byte {
	const hex = "0123456789abcdef"
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c >= 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
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
