package witness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	"github.com/hamba/avro/v2"
)

// hambaCodec decodes with github.com/hamba/avro. hamba has known defects if counts or
// lengths overflow or exceed the data. So each row is measured first, and hamba gets
// exactly the row's bytes.
type hambaCodec struct {
	writer   avro.Schema // schema of the input's rows
	resolved avro.Schema // schema that reads the input's rows as rows of the columns
	reader   avro.Schema // schema of the columns' rows
	factors  factors     // factors of times in the input's rows
	loops    loops       // types of the columns' rows that contain themselves
	readers  *sync.Pool  // of *avro.Reader
}

// newHamba returns hamba's codec of rows that were not resolved.
func newHamba(writer string) (*hambaCodec, error) {
	tree, err := parse(writer)
	if err != nil {
		return nil, err
	}
	n := 0
	text, err := json.Marshal(mapsAsArrays(newRenamer().schema(tree), &n))
	if err != nil {
		return nil, err
	}
	s, err := parseHamba(string(text))
	if err != nil {
		return nil, err
	}
	return &hambaCodec{writer: s, resolved: s, reader: s, loops: loopsOf(s), readers: newReaders()}, nil
}

// newHambaResolving returns hamba's codec of rows that were resolved from the writer's
// schema to the reader's schema. If a time is an int in one schema, and a long of another
// unit in the other schema, both are longs for hamba, whose encoding is the same.
func newHambaResolving(writer, reader string) (*hambaCodec, error) {
	h, err := resolving(writer, reader)
	if !errors.Is(err, errPromotedTime) {
		return h, err
	}
	if writer, err = timesAsLongs(writer); err != nil {
		return nil, err
	}
	if reader, err = timesAsLongs(reader); err != nil {
		return nil, err
	}
	return resolving(writer, reader)
}

// resolving is newHambaResolving for schemas that are not changed.
func resolving(writer, reader string) (*hambaCodec, error) {
	w, err := parseHamba(writer)
	if err != nil {
		return nil, fmt.Errorf("the writer's schema: %w", err)
	}
	r, err := parseHamba(reader)
	if err != nil {
		return nil, fmt.Errorf("the reader's schema: %w", err)
	}
	resolved, units, err := resolve(r, w)
	if err != nil {
		return nil, err
	}
	return &hambaCodec{writer: w, resolved: resolved, reader: r, factors: units, readers: newReaders()}, nil
}

func parseHamba(schema string) (s avro.Schema, err error) {
	defer recovered(&err)
	tree, err := parse(schema)
	if err == nil {
		err = checkNumbers(tree, false)
	}
	if err != nil {
		return nil, err
	}
	return avro.ParseWithCache(schema, "", &avro.SchemaCache{})
}

// newReaders returns readers with their own caches. They turn hamba's limit off, because
// rows are measured first.
func newReaders() *sync.Pool {
	config := avro.WithReaderConfig(avro.Config{MaxByteSliceSize: -1}.Freeze())
	return &sync.Pool{New: func() any { return avro.NewReader(nil, 0, config) }}
}

// recovered turns a panic in a decoder into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

func (*hambaCodec) name() string { return hambaName }

func (h *hambaCodec) input(data []byte) (any, []byte, error) {
	return h.decode(h.writer, h.resolved, h.factors, data)
}
func (h *hambaCodec) columns(datum []byte) (any, []byte, error) {
	return h.decode(h.reader, h.reader, nil, datum)
}

// decode decodes the first row of data, which is written with the schema writer, as a row
// of the schema as, with times multiplied by units. rest is the bytes after the row. It is
// also returned with an error, once the row was measured.
func (h *hambaCodec) decode(written, as avro.Schema, units factors, data []byte) (v any, rest []byte, err error) {
	n, err := measure(written, data)
	if err != nil && !errors.Is(err, errDuplicateKey) {
		return nil, nil, err
	}
	if err == nil {
		v, err = h.read(as, units, data[:n:n])
	}
	if err != nil {
		err = fmt.Errorf("%w: %v", errUnable, err)
	}
	return v, data[n:], err
}

// errUnable marks rows that hamba cannot read although their lengths and counts are valid.
var errUnable = errors.New("cannot read the row")

// read reads a whole row.
func (h *hambaCodec) read(as avro.Schema, units factors, row []byte) (v any, err error) {
	defer recovered(&err)
	r := h.readers.Get().(*avro.Reader).Reset(row)
	defer h.readers.Put(r)
	r.Error = nil
	var native any
	r.ReadVal(as, &native)
	if r.Error != nil {
		return nil, r.Error
	}
	if r.Peek(); !errors.Is(r.Error, io.EOF) {
		return nil, errors.New("the row is read before its end")
	}
	return (&tagger{units, h.loops}).tagged(nil, as, native, false)
}

// named is a value with the name of its type. hamba returns no names: only the symbol of an
// enum, and the fields of a record.
type named struct {
	name  string
	value any
}

var errShape = errors.New("a value is not of its schema's type")

// tagger turns values of hamba into a form that differs for values of all types that a union
// may have. So the form needs no unions: a value that was resolved to a branch of a union
// equals the same value that was resolved to the type of that branch. Times are multiplied
// by their factors.
type tagger struct {
	factors factors
	loops   loops
}

// tagged returns the form of hamba's value of type s, which is a part of type in. In a raw value
// strings get a form that validText does not change.
func (t *tagger) tagged(in, s avro.Schema, v any, raw bool) (any, error) {
	s = deref(s)
	raw = raw || t.loops.raw(in, s)
	switch s := s.(type) {
	case *avro.UnionSchema:
		branch, v, err := chosen(s, v)
		if err != nil || branch == nil {
			return nil, err
		}
		return t.tagged(s, branch, v, raw)
	case *avro.RecordSchema:
		m, _ := v.(map[string]any)
		out := make(map[string]any, len(m))
		for _, f := range s.Fields() {
			v, ok := m[f.Name()]
			if !ok {
				continue // the reader does not have the field
			}
			var err error
			if out[f.Name()], err = t.tagged(s, f.Type(), v, raw); err != nil {
				return nil, err
			}
		}
		return named{s.FullName(), out}, nil
	case *avro.MapSchema:
		m, _ := v.(map[string]any)
		out := make(map[string]any, len(m))
		for k, v := range m {
			var err error
			if out[k], err = t.tagged(s, s.Values(), v, raw); err != nil {
				return nil, err
			}
		}
		return named{"map", out}, nil
	case *avro.ArraySchema:
		list, _ := v.([]any)
		out := make([]any, len(list))
		for i, v := range list {
			var err error
			if out[i], err = t.tagged(s, s.Items(), v, raw); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *avro.PrimitiveSchema:
		if n, ok := v.(int64); ok && t.factors[s] > 1 {
			v = n * t.factors[s]
		}
	}
	if text, ok := v.(string); ok && raw && s.Type() == avro.String {
		return named{"string", []byte(text)}, nil
	}
	return taggedLeaf(s, v)
}

func taggedLeaf(s avro.Schema, v any) (any, error) {
	ok := false
	switch s.Type() {
	case avro.Null:
		ok = v == nil
	case avro.Boolean:
		_, ok = v.(bool)
	case avro.Int:
		i, ok := v.(int)
		if !ok {
			return nil, errShape
		}
		return int32(i), nil
	case avro.Long:
		_, ok = v.(int64)
	case avro.Float:
		_, ok = v.(float32)
	case avro.Double:
		_, ok = v.(float64)
	case avro.String:
		_, ok = v.(string)
	case avro.Bytes:
		_, ok = v.([]byte)
	case avro.Enum:
		_, ok = v.(string)
		v = named{s.(*avro.EnumSchema).FullName(), v}
	case avro.Fixed:
		array := reflect.ValueOf(v)
		if ok = array.Kind() == reflect.Array && array.Type().Elem().Kind() == reflect.Uint8; ok {
			b := make([]byte, array.Len())
			reflect.Copy(reflect.ValueOf(b), array)
			v = named{s.(*avro.FixedSchema).FullName(), b}
		}
	}
	if !ok {
		return nil, errShape
	}
	return v, nil
}

// chosen returns the branch of hamba's value of a union, or nil for null, and the value in
// that branch. If not all branches are primitive types, hamba names the branch. Otherwise
// the value's type decides.
func chosen(u *avro.UnionSchema, v any) (avro.Schema, any, error) {
	if v == nil {
		return nil, nil, nil
	}
	name := ""
	if !slices.ContainsFunc(u.Types(), func(b avro.Schema) bool { return !isPrimitive(b) }) {
		switch v.(type) {
		case bool:
			name = "boolean"
		case int:
			name = "int"
		case int64:
			name = "long"
		case float32:
			name = "float"
		case float64:
			name = "double"
		case string:
			name = "string"
		case []byte:
			name = "bytes"
		}
	} else {
		m, ok := v.(map[string]any)
		if !ok || len(m) != 1 {
			return nil, nil, errShape
		}
		for name, v = range m {
		}
	}
	for _, b := range u.Types() {
		if branchName(b) == name {
			return b, v, nil
		}
	}
	return nil, nil, errShape
}

func isPrimitive(s avro.Schema) bool {
	switch s.(type) {
	case *avro.PrimitiveSchema, *avro.NullSchema:
		return true
	}
	return false
}

// branchName returns the name of a branch: the name of a named type, or of its kind.
func branchName(s avro.Schema) string {
	if ref, ok := s.(*avro.RefSchema); ok {
		s = ref.Schema()
	}
	if n, ok := s.(avro.NamedSchema); ok {
		return n.FullName()
	}
	return string(s.Type())
}
