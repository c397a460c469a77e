package trevni

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
)

// compareValues compares two complete encoded values of a type. It compares numbers by value,
// with NaN last, and string and bytes by their unsigned bytes.
func compareValues(t column.Type, a, b []byte) int {
	switch t {
	case column.Boolean:
		return bytes.Compare(a, b)
	case column.Int, column.Long:
		x, _ := binary.Varint(a)
		y, _ := binary.Varint(b)
		return cmp.Compare(x, y)
	case column.Fixed32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case column.Fixed64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case column.Float:
		return compareFloats(float64(math.Float32frombits(binary.LittleEndian.Uint32(a))),
			float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case column.Double:
		return compareFloats(math.Float64frombits(binary.LittleEndian.Uint64(a)),
			math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case column.String, column.Bytes:
		return bytes.Compare(column.Sized(a), column.Sized(b))
	}
	return 0
}

func compareFloats(x, y float64) int {
	if math.IsNaN(x) || math.IsNaN(y) {
		return -cmp.Compare(-x, -y) // cmp puts NaN first; a negated NaN is still NaN
	}
	return cmp.Compare(x, y)
}
