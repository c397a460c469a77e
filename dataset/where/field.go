package where

import (
	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

// field is a field that the condition names, and its values in a batch.
type field struct {
	path string
	kind kind
	leaf shred.Leaf
	name string // of the column

	values *column.Vector
	// at is the index in values of each row's value, -1 for null; nil if every
	// row has one.
	at      []int32
	scratch []int32
}

// kindOf returns the kind of a field's values.
func kindOf(n *shred.Node) kind {
	if n.LogicalType() == column.LogicalDecimal {
		return kindNone
	}
	switch n.Kind {
	case shred.KindNull:
		return kindNull
	case shred.KindBoolean:
		return kindBool
	case shred.KindInt, shred.KindLong:
		return kindInt
	case shred.KindFloat, shred.KindDouble:
		return kindFloat
	default:
		return kindText
	}
}

// load takes the values of a batch.
func (f *field) load(vectors map[int]*column.Vector, rows int) error {
	f.at = nil
	if f.leaf.Column < 0 {
		return nil // never looked at: the type is null
	}
	f.values = vectors[f.leaf.Column]
	if len(f.leaf.Optional) == 0 {
		return f.check(rows)
	}
	if cap(f.scratch) < rows {
		f.scratch = make([]int32, rows)
	}
	at := f.scratch[:rows]
	for i := range at {
		at[i] = int32(i)
	}
	for _, col := range f.leaf.Optional {
		if err := f.descend(at, vectors[col].Lengths); err != nil {
			return err
		}
	}
	f.at = at
	return f.check(rows)
}

// descend turns the indexes of rows, or of items of one optional column, into
// those of the optional column below.
func (f *field) descend(at, lengths []int32) error {
	next := int32(0)
	for row, i := range at {
		if i < 0 {
			continue
		}
		switch lengths[i] {
		case 0:
			at[row] = -1
		case 1:
			at[row] = next
			next++
		default:
			return f.damaged(damage.Count, "length %d in a branch of a union", lengths[i])
		}
	}
	return nil
}

// check checks what the type asks of the values.
func (f *field) check(rows int) error {
	if f.leaf.Type.Kind != shred.KindEnum {
		return nil
	}
	symbols := int32(len(f.leaf.Type.Symbols))
	for _, n := range f.values.Ints {
		//guard: an ordinal without a symbol would crash the condition
		if n < 0 || n >= symbols {
			return f.damaged(damage.Value, "ordinal %d, but %s has %d symbols", n, f.leaf.Type.Name, symbols)
		}
	}
	return nil
}

func (f *field) damaged(kind damage.Kind, reason string, args ...any) error {
	e := damage.New(kind, "", -1, reason, args...)
	e.Column = f.name
	return e
}

// index is where in values that of a row is, negative for null.
func (f *field) index(row int) int32 {
	if f.at != nil {
		return f.at[row]
	}
	return int32(row)
}

// text is value i of a string, bytes or fixed column.
func (f *field) text(i int32) []byte {
	return f.values.Data[f.values.Offsets[i]:f.values.Offsets[i+1]]
}

// value is the field's value in a row.
func (f *field) value(row int) value {
	i := f.index(row)
	if i < 0 || f.kind == kindNull {
		return value{}
	}
	v := value{kind: f.kind}
	switch f.leaf.Type.Kind {
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
		v.s = []byte(f.leaf.Type.Symbols[f.values.Ints[i]])
	default:
		v.s = f.text(i)
	}
	return v
}
