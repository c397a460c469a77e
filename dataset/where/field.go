package where

import (
	"bytes"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// field is a field that the condition names, and its values in a batch. Items of an
// array are loaded some at a time, in order.
type field struct {
	path   string // path from the row
	kind   kind
	typ    *shred.Node // type of the values; nil for a group
	place  shred.Place // place of a group
	column int         // column with the values; -1 if there can be no value
	uuid   bool        // the values are UUIDs, compared as text in lower case
	// optional are the columns whose lengths show whether there is a value, outermost
	// first. There is a value if all lengths are 1.
	optional []int
	lookup   *lookup // the lookup of a key below the optional columns, or nil

	values  *column.Vector
	lengths [][]int32 // lengths in the optional columns
	next    []int32   // the next item of each optional column
	base    int       // number of rows before the loaded rows
	// at has, for each row from base on, the index of its value in values, or -1 for
	// null. It is nil if every row has a value.
	at      []int32
	scratch []int32
	buffer  []byte // text of a value that is stored in another form
}

// bounded reports whether the field has one value in each row. Then the bounds of the
// column's blocks apply to these values.
func (f *field) bounded() bool { return len(f.optional) == 0 && f.lookup == nil }

func isDuration(f *field) bool { return f.typ != nil && f.typ.LogicalType() == column.LogicalDuration }

// begin starts with the values of a batch.
func (f *field) begin(vectors map[int]*column.Vector) {
	f.lengths, f.next = f.lengths[:0], f.next[:0]
	for _, col := range f.optional {
		f.lengths, f.next = append(f.lengths, vectors[col].Lengths), append(f.next, 0)
	}
	if f.lookup != nil {
		f.lookup.begin(vectors)
	}
	f.values = vectors[f.column] // nil for a field that never has a value
}

// load loads rows rows from base on, which follow the loaded rows.
func (f *field) load(base, rows int) {
	f.base, f.at = base, nil
	if f.bounded() {
		return
	}
	if cap(f.scratch) < rows {
		f.scratch = make([]int32, rows)
	}
	at := f.scratch[:rows]
	if len(f.lengths) == 0 {
		for i := range at {
			at[i] = int32(base + i)
		}
	} else {
		f.enter(at, f.lengths[0][base:][:rows])
	}
	for i := 1; i < len(f.lengths); i++ {
		f.descend(at, i)
	}
	if f.lookup != nil {
		f.lookup.find(at)
	}
	f.at = at
}

// enter sets at to the indexes of values in the first optional column. lengths are the
// lengths of the rows in that column, 0 or 1.
func (f *field) enter(at, lengths []int32) {
	next := f.next[0]
	for row, n := range lengths {
		at[row] = -1
		if n != 0 {
			at[row] = next
			next++
		}
	}
	f.next[0] = next
}

// descend turns indexes of items of one optional column into indexes of items of the
// optional column below.
func (f *field) descend(at []int32, optional int) {
	lengths, next := f.lengths[optional], f.next[optional]
	for row, i := range at {
		if i < 0 {
			continue
		}
		at[row] = -1
		if lengths[i] != 0 {
			at[row] = next
			next++
		}
	}
	f.next[optional] = next
}

// index returns the index in values of a row's value, negative for null.
func (f *field) index(row int) int32 {
	if f.at != nil {
		return f.at[row]
	}
	return int32(f.base + row)
}

// bytes returns value i of a string, bytes or fixed column.
func (f *field) bytes(i int32) []byte {
	return f.values.Data[f.values.Offsets[i]:f.values.Offsets[i+1]]
}

// text returns the text of value i. It is valid until the next call.
func (f *field) text(i int32) []byte { return f.textOf(f.bytes(i)) }

// textOf returns the text of a stored value.
func (f *field) textOf(stored []byte) []byte {
	if !f.uuid {
		return stored
	}
	if f.typ.Kind == shred.KindFixed {
		f.buffer = column.AppendUUID(f.buffer[:0], stored)
		return f.buffer
	}
	f.buffer = appendLower(f.buffer[:0], stored)
	return f.buffer
}

// ordered returns a stored value in the form of the bounds of a test, which has the
// order of the column.
func (f *field) ordered(stored []byte) []byte {
	if f.typ.Kind == shred.KindFixed {
		return f.textOf(stored)
	}
	return stored
}

// value returns the field's value in a row.
func (f *field) value(row int) value {
	i := f.index(row)
	if i < 0 || f.kind == kindNull {
		return value{}
	}
	v := value{kind: f.kind}
	switch f.typ.Kind {
	case shred.KindBoolean:
		if f.values.Bools[i] {
			v.i = 1
		}
	case shred.KindInt:
		v.i = int64(f.values.Ints[i])
	case shred.KindLong:
		v.i = f.values.Longs[i]
	case shred.KindFloat:
		v.f = float64(f.values.Floats[i])
	case shred.KindDouble:
		v.f = f.values.Doubles[i]
	case shred.KindEnum:
		v.s = []byte(f.typ.Symbols[f.values.Ints[i]])
	default:
		v.s, v.i = f.text(i), int64(f.typ.Scale)
	}
	return v
}

// lookup finds the value of a key in maps. If the key occurs several times in a map, it
// finds the last value.
type lookup struct {
	column, keys int // columns of the lengths and of the keys
	key          []byte
	inner        []int // columns that show whether there is a value

	entries []int32 // entries of each map
	found   *column.Vector
	next    int32 // the next entry
	lengths [][]int32
	nexts   []int32
}

func (l *lookup) begin(vectors map[int]*column.Vector) {
	l.entries, l.found, l.next = vectors[l.column].Lengths, vectors[l.keys], 0
	l.lengths, l.nexts = l.lengths[:0], l.nexts[:0]
	for _, col := range l.inner {
		l.lengths, l.nexts = append(l.lengths, vectors[col].Lengths), append(l.nexts, 0)
	}
}

// find turns indexes of maps into indexes of the key's values.
func (l *lookup) find(at []int32) {
	for row, i := range at {
		if i < 0 {
			continue
		}
		at[row] = -1
		for n := l.entries[i]; n > 0; n-- {
			value := l.pass()
			if k := l.found.Offsets[l.next-1:]; bytes.Equal(l.found.Data[k[0]:k[1]], l.key) {
				at[row] = value
			}
		}
	}
}

// pass moves past the next entry, and returns the index of its value, or -1 for null.
func (l *lookup) pass() int32 {
	i := l.next
	l.next++
	for k, lengths := range l.lengths {
		if lengths[i] == 0 {
			return -1
		}
		i = l.nexts[k]
		l.nexts[k]++
	}
	return i
}

// appendLower appends ASCII text in lower case.
func appendLower(b, s []byte) []byte {
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// isUUID reports whether the text is a UUID.
func isUUID(s []byte) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}
