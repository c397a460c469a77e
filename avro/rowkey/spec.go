package rowkey

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// Spec is the list of fields that make a key.
type Spec struct {
	fields []field
}

// field is a field of a key.
type field struct {
	path    string
	kind    shred.Kind
	logical column.Logical
	scale   int      // scale of a decimal
	symbols []string // symbols of an enum
	size    int      // size of a fixed type in bytes
	// null is the index of null if the field is a union of null and a simple type. For
	// other fields it is -1.
	null int
}

// Parse returns the Spec of a key. paths has the paths of the key's fields in the schema,
// joined by commas: "id", or "sender.name,date". A path leads through records to a field of a
// simple type, or of a union of null and a simple type.
func Parse(schema *shred.Schema, paths string) (*Spec, error) {
	s := &Spec{}
	for path := range strings.SplitSeq(paths, ",") {
		//guard: rejects a field that the key names twice
		if slices.ContainsFunc(s.fields, func(f field) bool { return f.path == path }) {
			return nil, fmt.Errorf("key %q has the field %q twice", paths, path)
		}
		f, err := find(schema.Root(), path)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", paths, err)
		}
		s.fields = append(s.fields, f)
	}
	return s, nil
}

// ParseAll returns several keys, which must differ in their fields.
func ParseAll(schema *shred.Schema, keys []string) ([]*Spec, error) {
	specs := make([]*Spec, len(keys))
	for i, paths := range keys {
		//guard: rejects a second index of the same fields
		if slices.Contains(keys[:i], paths) {
			return nil, fmt.Errorf("key %q is given twice", paths)
		}
		var err error
		if specs[i], err = Parse(schema, paths); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// find returns the field at a path from a record.
func find(node *shred.Node, path string) (f field, err error) {
	if path == "" {
		return f, fmt.Errorf("a field without a name")
	}
	at := ""
	for name := range strings.SplitSeq(path, ".") {
		rest := strings.TrimPrefix(strings.TrimPrefix(path, at), ".")
		for _, f := range node.Fields {
			//guard: rejects a field with a dot in its name
			if strings.Contains(f.Name, ".") && strings.HasPrefix(rest+".", f.Name+".") {
				return field{}, fmt.Errorf("the name of the field %q has a dot; such a field cannot be in a key", f.Name)
			}
		}
		if node.Kind != shred.KindRecord {
			return f, fmt.Errorf("%q is %s, which has no field %q", at, article(node), name)
		}
		i := slices.IndexFunc(node.Fields, func(f shred.Field) bool { return f.Name == name })
		if i < 0 {
			return f, fmt.Errorf("there is no field %q%s", path, fieldsOf(node, at))
		}
		node, at = node.Fields[i].Type, strings.TrimPrefix(at+"."+name, ".")
	}
	f = field{path: path}
	node, f.null = node.Optional()
	f.kind, f.symbols, f.size = node.Kind, node.Symbols, node.Size
	f.logical, f.scale = node.LogicalType(), node.Scale
	switch node.Kind {
	case shred.KindInt, shred.KindLong, shred.KindFloat, shred.KindDouble, shred.KindBoolean,
		shred.KindString, shred.KindBytes, shred.KindFixed, shred.KindEnum:
		return f, nil
	}
	return f, fmt.Errorf("%q is %s; a field of a key must be a number, boolean, string, bytes, fixed or enum, or a union of one of these types with null", path, article(node))
}

// article returns the kind of a type with an article, such as "an array".
func article(n *shred.Node) string {
	name := n.Kind.String()
	if strings.ContainsRune("aeiou", rune(name[0])) && n.Kind != shred.KindUnion {
		return "an " + name
	}
	return "a " + name
}

// fieldsOf lists the first fields of a record, for a message about an unknown field.
func fieldsOf(n *shred.Node, at string) string {
	const most = 10
	var names []string
	for _, f := range n.Fields[:min(len(n.Fields), most)] {
		names = append(names, f.Name)
	}
	more := ""
	if len(n.Fields) > most {
		more = ", …"
	}
	where := ""
	if at != "" {
		where = " of " + at
	}
	return fmt.Sprintf("; the fields%s are %s%s", where, strings.Join(names, ", "), more)
}

// Paths returns the paths of the fields, in order.
func (s *Spec) Paths() []string {
	paths := make([]string, len(s.fields))
	for i, f := range s.fields {
		paths[i] = f.path
	}
	return paths
}

// String returns the paths as Parse reads them.
func (s *Spec) String() string { return strings.Join(s.Paths(), ",") }

// text reports whether the field is text or bytes, so that keys can be found by a prefix.
func (f *field) text() bool {
	switch f.kind {
	case shred.KindString, shred.KindBytes, shred.KindFixed, shred.KindEnum:
		return !f.decimal() && !f.duration()
	}
	return false
}

func (f *field) decimal() bool { return f.logical == column.LogicalDecimal }

func (f *field) duration() bool { return f.logical == column.LogicalDuration }

// Append appends the key of a row to dst. values are the Avro encodings of the fields, which
// must come from a checked datum. If one of them is null, ok is false, and dst is returned
// unchanged.
func (s *Spec) Append(dst []byte, values [][]byte) (key []byte, ok bool) {
	start := len(dst)
	for i := range s.fields {
		f, v := &s.fields[i], values[i]
		if f.null >= 0 {
			branch, n := binary.Varint(v)
			//guard: leaves null out of the keys
			if int(branch) == f.null {
				return dst[:start], false
			}
			v = v[n:]
		}
		dst = f.append(dst, v, i == len(s.fields)-1)
	}
	return dst, true
}

// append appends the bytes of the key for v, which is a value in Avro's encoding.
func (f *field) append(dst, v []byte, last bool) []byte {
	switch f.kind {
	case shred.KindInt, shred.KindLong:
		n, _ := binary.Varint(v)
		return appendInteger(dst, n)
	case shred.KindFloat:
		return appendDouble(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))))
	case shred.KindDouble:
		return appendDouble(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)))
	case shred.KindBoolean:
		return append(dst, v[0])
	case shred.KindEnum:
		n, _ := binary.Varint(v)
		return appendText(dst, f.symbols[n], last)
	case shred.KindBytes, shred.KindString:
		_, n := binary.Varint(v)
		v = v[n:]
	}
	if f.decimal() {
		return appendDecimal(dst, v)
	}
	return appendText(dst, v, last)
}

const signBit = 1 << 63

func appendInteger(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^signBit)
}

func appendDouble(dst []byte, d float64) []byte {
	bits := math.Float64bits(d)
	switch {
	case d == 0:
		bits = signBit
	case math.IsNaN(d):
		bits = math.MaxUint64
	case bits&signBit != 0:
		bits = ^bits
	default:
		bits ^= signBit
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

// appendDecimal appends a two's complement number of less than 2^15 bytes. Longer numbers are
// not allowed in a key. The longer one of two positive numbers is greater; the longer one of
// two negative numbers is less.
func appendDecimal(dst, v []byte) []byte {
	v = column.ShortestDecimal(v)
	size := uint16(min(len(v), 1<<15-1))
	if len(v) > 0 && v[0] >= 0x80 {
		return append(binary.BigEndian.AppendUint16(dst, 1<<15-1-size), v...)
	}
	return append(binary.BigEndian.AppendUint16(dst, 1<<15+size), v...)
}

// appendText appends text, and its end unless it is the last field.
func appendText[T string | []byte](dst []byte, v T, last bool) []byte {
	if last {
		return append(dst, v...)
	}
	return append(appendEscaped(dst, v), 0, 0)
}

// appendEscaped appends v with 0xFF after each byte 0, so that the end of a field (00 00)
// does not occur in it.
func appendEscaped[T string | []byte](dst []byte, v T) []byte {
	for i := range len(v) {
		dst = append(dst, v[i])
		if v[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}

// Span returns the range of the keys whose first field is from low to high, both included. low
// and high are Avro encodings of the field's type, without the branch of a union. nil is no
// bound.
func (s *Spec) Span(low, high []byte) (r Range) {
	f, last := &s.fields[0], len(s.fields) == 1
	if low != nil {
		r.From = f.append(nil, low, last)
	}
	switch {
	case high == nil:
	case last:
		r.To = append(f.append(nil, high, true), 0)
	default:
		r.To = after(f.append(nil, high, false))
	}
	return r
}

// Intersect returns the range of the keys that are in both ranges.
func (r Range) Intersect(other Range) Range {
	if bytes.Compare(r.From, other.From) < 0 {
		r.From = other.From
	}
	if r.To == nil || other.To != nil && bytes.Compare(other.To, r.To) < 0 {
		r.To = other.To
	}
	return r
}
