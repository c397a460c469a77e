package column

import (
	"errors"
	"math"
)

// maxVector bounds the lengths and values of a Vector, and maxVectorBytes the bytes of its
// Data. Without bounds, a few bytes of repeats could stand for any number of lengths.
const (
	maxVector      = 1 << 27
	maxVectorBytes = 1 << 30
)

// ErrFull is the error of Reader.Read if the vector would hold more than 2^27 lengths or
// values, or 2^30 bytes of strings. Nulls are not counted. Fewer rows at a time may fit.
var ErrFull = errors.New("column: too many values for one vector")

// Vector holds decoded values of one column. The column's type decides which fields are in
// use. All other fields are empty.
type Vector struct {
	Lengths []int32   // lengths of an array column: one per row, or per item of the parent
	Ints    []int32   // int, fixed32
	Longs   []int64   // long, fixed64
	Floats  []float32 // float
	Doubles []float64 // double
	Bools   []bool    // boolean
	// Offsets are for string and bytes: value i is Data[Offsets[i]:Offsets[i+1]]. There is
	// one more offset than there are values, and the first is 0; or there are no offsets.
	Offsets []int32
	Data    []byte
	Values  int // number of values, including those of a null column
	// Encoded asks Read for values in Avro's encoding, if the column stores them so. Data is
	// then the memory of a block, valid until the next call of the cursor. Value i is
	// Data[Offsets[2*i]:Offsets[2*i+1]]. If Read decodes the values all the same, it clears
	// Encoded. Nulls and booleans are never Encoded.
	Encoded bool
	// Limit, if set, is up to how many values Read fills the vector. For a longer sequence
	// Read returns ErrFull. The sequence can be read again with a larger Limit.
	Limit int
}

// most returns up to how many values the vector may be filled.
func (v *Vector) most() int {
	if v.Limit > 0 {
		return min(v.Limit, maxVector)
	}
	return maxVector
}

// Room returns how many more lengths, values and bytes of text fit the vector. There is no
// limit for nulls. If more would be needed, Read returns ErrFull.
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

// Truncate drops all but the first values. It does not drop lengths.
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

// Extend appends lengths, and the values [from, to) of src. Both vectors have the type t, and
// both are decoded. If not all fit, Extend appends nothing and returns ErrFull.
func (v *Vector) Extend(t Type, lengths []int32, src *Vector, from, to int) error {
	values := to - from
	text := t == String || t == Bytes
	//guard: keeps offsets of strings within 32 bits
	if text && values > 0 && len(v.Data)+int(src.Offsets[to]-src.Offsets[from]) > maxVectorBytes {
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
		v.Bools = append(v.Bools, src.Bools[from:to]...)
	case t == Int || t == Fixed32:
		v.Ints = append(v.Ints, src.Ints[from:to]...)
	case t == Long || t == Fixed64:
		v.Longs = append(v.Longs, src.Longs[from:to]...)
	case t == Float:
		v.Floats = append(v.Floats, src.Floats[from:to]...)
	case t == Double:
		v.Doubles = append(v.Doubles, src.Doubles[from:to]...)
	case text:
		v.extendText(src, from, to)
	}
	return nil
}

func (v *Vector) extendText(src *Vector, from, to int) {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	if from == to {
		return
	}
	shift := int32(len(v.Data)) - src.Offsets[from]
	v.Data = append(v.Data, src.Data[src.Offsets[from]:src.Offsets[to]]...)
	for _, end := range src.Offsets[from+1 : to+1] {
		v.Offsets = append(v.Offsets, end+shift)
	}
}
