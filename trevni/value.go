package trevni

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/column"
)

var (
	errShort   = errors.New("the bytes end inside a value")
	errVarint  = errors.New("a varint is too long or out of range")
	errBoolean = errors.New("a boolean is neither 0 nor 1")
)

// valueSize is the number of bytes of the encoded value at the start of b. A
// boolean is taken to be a byte of its own, as Cursor.Value hands it out.
func valueSize(t column.Type, b []byte) (int, error) {
	n := 0
	switch t {
	case column.Null:
		return 0, nil
	case column.Boolean:
		if n = 1; len(b) > 0 && b[0] > 1 {
			return 0, errBoolean
		}
	case column.Int:
		_, n, err := readInt(b)
		return n, err
	case column.Long:
		_, n, err := readLong(b)
		return n, err
	case column.Fixed32, column.Float:
		n = 4
	case column.Fixed64, column.Double:
		n = 8
	default:
		size, n, err := readLong(b)
		switch {
		case err != nil:
			return 0, err
		case size < 0:
			return 0, fmt.Errorf("a value has the length %d", size)
		case size > int64(len(b)-n):
			return 0, errShort
		}
		return n + int(size), nil
	}
	if n > len(b) {
		return 0, errShort
	}
	return n, nil
}

func readLong(b []byte) (v int64, n int, err error) {
	v, n = binary.Varint(b)
	switch {
	case n > 0:
		return v, n, nil
	case n == 0 && len(b) < binary.MaxVarintLen64:
		return 0, 0, errShort
	}
	return 0, 0, errVarint
}

// readInt reads a varint of at most five bytes and 32 bits.
func readInt(b []byte) (v int64, n int, err error) {
	v, n, err = readLong(b)
	if err == nil && (n > binary.MaxVarintLen32 || v < math.MinInt32 || v > math.MaxInt32) {
		return 0, 0, errVarint
	}
	return v, n, err
}

// compareValues orders two encoded values of a type: numbers by value with
// NaN last, string and bytes by their unsigned bytes. Both must be whole.
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
		_, n := binary.Varint(a)
		_, m := binary.Varint(b)
		return bytes.Compare(a[n:], b[m:])
	}
	return 0
}

func compareFloats(x, y float64) int {
	if math.IsNaN(x) || math.IsNaN(y) {
		return -cmp.Compare(-x, -y) // cmp puts NaN first, negating both keeps it a NaN
	}
	return cmp.Compare(x, y)
}
