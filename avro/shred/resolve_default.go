package shred

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/rowtocol/rowtocol/format/damage"
)

// maxDefaults bounds the values and the bytes of all encoded defaults of one resolution.
// Fields inside a default can have defaults, which multiply.
const maxDefaults = 16 << 20

// defaults encodes the defaults of a reader's fields.
type defaults struct {
	values int
	bytes  int
}

// of returns the encoded default of a field that the writer lacks.
func (d *defaults) of(f *Field) ([]byte, *damage.Error) {
	if !f.hasDefault {
		return nil, damage.New(damage.Schema, "", -1, "the writer has no such field, and the reader no default for its %s", describe(f.Type))
	}
	datum, ok := d.append(nil, f.Type, f.value, 0)
	//guard: bounds what defaults expand to
	if d.bytes += len(datum); d.bytes > maxDefaults || d.values > maxDefaults {
		return nil, damage.New(damage.Unsupported, "", -1, "the defaults take more than %d bytes or values", maxDefaults)
	}
	if !ok {
		return nil, damage.New(damage.Schema, "", -1, "the writer has no such field, and the reader's default %s is not of type %s", clip(jsonText(f.value)), describe(f.Type))
	}
	return datum, nil
}

// append encodes a default. It returns false if the value does not fit the type, or if there
// are too many, too large or too deep defaults.
func (d *defaults) append(dst []byte, n *Node, v any, depth int) ([]byte, bool) {
	if d.values++; depth > maxDepth || d.values > maxDefaults || len(dst) > maxDefaults {
		return dst, false
	}
	switch n.Kind {
	case KindNull:
		return dst, v == nil
	case KindBoolean:
		b, ok := v.(bool)
		if b {
			return append(dst, 1), ok
		}
		return append(dst, 0), ok
	case KindInt, KindLong, KindFloat, KindDouble:
		number, ok := v.(json.Number)
		if !ok {
			return dst, false
		}
		return appendNumber(dst, n.Kind, number.String())
	case KindString, KindBytes, KindFixed, KindEnum:
		text, ok := v.(string)
		if !ok {
			return dst, false
		}
		return appendText(dst, n, text)
	case KindUnion:
		for i, b := range n.Branches {
			if out, ok := d.append(binary.AppendVarint(dst, int64(i)), b, v, depth+1); ok {
				return out, true
			}
		}
		return dst, false
	case KindArray:
		list, ok := v.([]any)
		if !ok {
			return dst, false
		}
		return d.array(dst, n, list, depth)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return dst, false
	}
	if n.Kind == KindMap {
		return d.entries(dst, n, object, depth)
	}
	return d.record(dst, n, object, depth)
}

func appendNumber(dst []byte, kind Kind, text string) ([]byte, bool) {
	switch kind {
	case KindInt:
		v, err := strconv.ParseInt(text, 10, 32)
		return binary.AppendVarint(dst, v), err == nil
	case KindLong:
		v, err := strconv.ParseInt(text, 10, 64)
		return binary.AppendVarint(dst, v), err == nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if kind == KindFloat {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v))), err == nil
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), err == nil
}

// appendText encodes a default that is written as a string. For bytes and fixed, each
// character stands for the byte with its code.
func appendText(dst []byte, n *Node, text string) ([]byte, bool) {
	switch n.Kind {
	case KindEnum:
		i := slices.Index(n.Symbols, text)
		return binary.AppendVarint(dst, int64(i)), i >= 0
	case KindString:
		return append(binary.AppendVarint(dst, int64(len(text))), text...), true
	}
	value := make([]byte, 0, len(text))
	for _, c := range text {
		if c > math.MaxUint8 {
			return dst, false
		}
		value = append(value, byte(c))
	}
	if n.Kind == KindFixed {
		return append(dst, value...), len(value) == n.Size
	}
	return append(binary.AppendVarint(dst, int64(len(value))), value...), true
}

func (d *defaults) array(dst []byte, n *Node, list []any, depth int) ([]byte, bool) {
	if len(list) > 0 {
		dst = binary.AppendVarint(dst, int64(len(list)))
	}
	ok := true
	for i := 0; ok && i < len(list); i++ {
		dst, ok = d.append(dst, n.Items, list[i], depth+1)
	}
	return append(dst, 0), ok
}

// entries encodes a map, with its keys in order, so that equal schemas give equal
// bytes.
func (d *defaults) entries(dst []byte, n *Node, object map[string]any, depth int) ([]byte, bool) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if len(keys) > 0 {
		dst = binary.AppendVarint(dst, int64(len(keys)))
	}
	ok := true
	for i := 0; ok && i < len(keys); i++ {
		dst = append(binary.AppendVarint(dst, int64(len(keys[i]))), keys[i]...)
		dst, ok = d.append(dst, n.Items, object[keys[i]], depth+1)
	}
	return append(dst, 0), ok
}

func (d *defaults) record(dst []byte, n *Node, object map[string]any, depth int) ([]byte, bool) {
	ok := true
	for i := 0; ok && i < len(n.Fields); i++ {
		f := &n.Fields[i]
		v, given := object[f.Name]
		if !given {
			if !f.hasDefault {
				return dst, false
			}
			v = f.value
		}
		dst, ok = d.append(dst, f.Type, v, depth+1)
	}
	return dst, ok
}
