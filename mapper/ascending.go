package mapper

import (
	"bytes"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
)

// maxSorted is the most bytes of a value by which rows must be sorted, because the values of
// the last row stay in memory.
const maxSorted = 16 << 10

// ascending checks that rows ascend by some fields.
type ascending struct {
	first  int // number of the first field in the keys of the shredder
	fields []ascendingField
	value  [1][]byte
}

// ascendingField is a field with the keys of the last row and of the current one: 0 for null, or 1
// and the value's bytes, which sort as values do.
type ascendingField struct {
	path      string
	spec      *rowkey.Spec
	last, now []byte
}

func newAscending(schema *shred.Schema, paths []string, first int) (*ascending, error) {
	a := &ascending{first: first, fields: make([]ascendingField, len(paths))}
	for i, path := range paths {
		spec, err := rowkey.Parse(schema, path)
		if err != nil {
			return nil, err
		}
		a.fields[i] = ascendingField{path: path, spec: spec}
	}
	return a, nil
}

// check compares the row that was shredded with the row before, unless it begins a row group.
func (a *ascending) check(s *shred.Shredder, begins bool) error {
	equal := !begins
	for i := range a.fields {
		f := &a.fields[i]
		a.value[0] = s.Key(a.first + i)
		//guard: bounds the memory for the values of a row
		if n := len(a.value[0]); n > maxSorted {
			return a.refused(f, "a value of %d bytes; rows are sorted by values of at most %d bytes", n, maxSorted)
		}
		key, ok := f.spec.Append(append(f.now[:0], 1), a.value[:])
		if !ok {
			key = append(key[:0], 0)
		}
		if f.now = key; equal {
			order := bytes.Compare(f.last, key)
			//guard: refuses rows in another order than the file states
			if order > 0 {
				return a.refused(f, "the value is less than the one in the row before, but --sorted-by says that the rows ascend")
			}
			equal = order == 0
		}
	}
	for i := range a.fields {
		f := &a.fields[i]
		f.last, f.now = f.now, f.last
	}
	return nil
}

func (a *ascending) refused(f *ascendingField, reason string, args ...any) error {
	d := damage.New(damage.Unsupported, "", -1, reason, args...)
	d.Path = f.path
	return d
}
