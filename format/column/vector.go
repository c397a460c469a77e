package column

import (
	"errors"
	"math"
)

// These bound the lengths and values of a Vector and the bytes of its Data: a few bytes
// of repeats can stand for any number of lengths.
const (
	maxVector      = 1 << 27
	maxVectorBytes = 1 << 30
)

// ErrFull is returned by Reader.Read if the vector would hold more than 2^27 lengths or
// values, nulls apart, or 2^30 bytes of strings. Fewer rows at a time may fit.
var ErrFull = errors.New("column: too many values for one vector")

// Vector holds decoded values of one column, side by side. The column's type decides
// which fields are in use; the others are empty.
type Vector struct {
	Lengths []int32   // array columns: one per row, or per item of the parent
	Ints    []int32   // int, fixed32
	Longs   []int64   // long, fixed64
	Floats  []float32 // float
	Doubles []float64 // double
	Bools   []bool    // boolean
	// Offsets of string and bytes: value i is Data[Offsets[i]:Offsets[i+1]]. There is
	// one more than there are values, the first being 0, or no offset at all.
	Offsets []int32
	Data    []byte
	Values  int // number of values, including those of a null column
	// Encoded asks Read for values in Avro's encoding, if the column has them so. Data
	// is then the memory of a block, valid until the next call of the cursor, and value
	// i is Data[Offsets[2*i]:Offsets[2*i+1]]. If Read decodes the values anyway, it
	// clears Encoded. Nulls and booleans are never Encoded.
	Encoded bool
	// Limit, if set, is the most values that Read appends. A longer sequence is ErrFull,
	// and can be read again with a larger Limit.
	Limit int
}

// most returns the number of values up to which the vector may be filled.
func (v *Vector) most() int {
	if v.Limit > 0 {
		return min(v.Limit, maxVector)
	}
	return maxVector
}

// Room returns how many more lengths, values and bytes of text fit the vector; there is
// no limit for nulls. Read returns ErrFull beyond it.
func (v *Vector) Room(t Type) (lengths, values, text int) {
	if values = math.MaxInt; t != Null {
		values = max(v.most()-v.Values, 0)
	}
	return maxVector - len(v.Lengths), values, maxVectorBytes - len(v.Data)
}

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.Lengths, v.Ints, v.Longs = v.Lengths[:0], v.Ints[:0], v.Longs[:0]
	v.Floats, v.Doubles, v.Bools = v.Floats[:0], v.Doubles[:0], v.Bools[:0]
	v.Offsets, v.Data, v.Values = v.Offsets[:0], v.Data[:0], 0
	if v.Encoded {
		v.Data = nil
	}
}

// Truncate drops all but the first values, and no lengths.
func (v *Vector) Truncate(t Type, values int) {
	switch {
	case t == Boolean:
		v.Bools = v.Bools[:values]
	case v.Encoded:
		v.Offsets = v.Offsets[:2*values]
	case t == Int || t == Fixed32:
		v.Ints = v.Ints[:values]
	case t == Long || t == Fixed64:
		v.Longs = v.Longs[:values]
	case t == Float:
		v.Floats = v.Floats[:values]
	case t == Double:
		v.Doubles = v.Doubles[:values]
	case len(v.Offsets) > 0 && (t == String || t == Bytes):
		v.Offsets = v.Offsets[:values+1]
		v.Data = v.Data[:v.Offsets[values]]
	}
	v.Values = values
}

// Extend appends lengths, and the values [from, to) of another vector of the same type,
// both decoded. If they do not fit, it appends nothing and returns ErrFull.
func (v *Vector) Extend(t Type, lengths []int32, of *Vector, from, to int) error {
	values := to - from
	text := t == String || t == Bytes
	//guard: keeps offsets of strings within 32 bits
	if text && values > 0 && len(v.Data)+int(of.Offsets[to]-of.Offsets[from]) > maxVectorBytes {
		return ErrFull
	}
	//guard: bounds the lengths and values in a vector
	if len(v.Lengths)+len(lengths) > maxVector || t != Null && v.Values+values > maxVector {
		return ErrFull
	}
	v.Encoded = false
	v.Lengths = append(v.Lengths, lengths...)
	v.Values += values
	switch {
	case t == Null:
	case t == Boolean:
		v.Bools = append(v.Bools, of.Bools[from:to]...)
	case t == Int || t == Fixed32:
		v.Ints = append(v.Ints, of.Ints[from:to]...)
	case t == Long || t == Fixed64:
		v.Longs = append(v.Longs, of.Longs[from:to]...)
	case t == Float:
		v.Floats = append(v.Floats, of.Floats[from:to]...)
	case t == Double:
		v.Doubles = append(v.Doubles, of.Doubles[from:to]...)
	case text:
		v.extendText(of, from, to)
	}
	return nil
}

func (v *Vector) extendText(of *Vector, from, to int) {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	if from == to {
		return
	}
	shift := int32(len(v.Data)) - of.Offsets[from]
	v.Data = append(v.Data, of.Data[of.Offsets[from]:of.Offsets[to]]...)
	for _, end := range of.Offsets[from+1 : to+1] {
		v.Offsets = append(v.Offsets, end+shift)
	}
}
