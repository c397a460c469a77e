package testformat

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/golang/snappy"

	"github.com/rowtocol/rowtocol/format/column"
)

var order = binary.LittleEndian

// compress appends the stored form of a payload.
func compress(dst []byte, codec string, payload []byte) []byte {
	if codec == "null" {
		return append(dst, payload...)
	}
	n := len(dst)
	dst = slices.Grow(dst, snappy.MaxEncodedLen(len(payload)))
	return dst[:n+len(snappy.Encode(dst[n:cap(dst)], payload))]
}

// maxCompressed bounds what compress appends for so many bytes.
func maxCompressed(codec string, n int) int {
	if codec == "null" {
		return n
	}
	return snappy.MaxEncodedLen(n)
}

// decompress appends the payload, which must have so many bytes, to dst.
func decompress(dst []byte, codec string, stored []byte, size int64) ([]byte, error) {
	if codec == "null" {
		//guard: a block could hold more or less than the index says
		if int64(len(stored)) != size {
			return nil, fmt.Errorf("%d bytes, expected %d", len(stored), size)
		}
		return append(dst, stored...), nil
	}
	n, err := snappy.DecodedLen(stored)
	if err != nil {
		return nil, err
	}
	// No element of snappy makes more than 64 bytes.
	//guard: memory would be taken for a size that the bytes cannot make
	if int64(n) != size || n/64 > len(stored) {
		return nil, fmt.Errorf("%d bytes of snappy claim to be %d, expected %d", len(stored), n, size)
	}
	return snappy.Decode(slices.Grow(dst, n)[:n], stored)
}

// difference stores doubles as what differs from the one before; undo is its
// inverse. before is the double before the first.
func difference(doubles []byte, before uint64) {
	eachDouble(doubles, func(v uint64) uint64 {
		d := v ^ before
		before = v
		return d
	})
}

func undo(differences []byte, before uint64) {
	eachDouble(differences, func(d uint64) uint64 {
		before ^= d
		return before
	})
}

func eachDouble(b []byte, change func(uint64) uint64) {
	for ; len(b) >= 8; b = b[8:] {
		order.PutUint64(b, change(order.Uint64(b)))
	}
}

// maxBound is the most bytes of a bound that is kept.
const maxBound = 16

// bounds counts encoded values and finds the least and the greatest of them, nil
// where it is too long, or where the type has no order or the values have none.
func bounds(t column.Type, data []byte) (count int64, least, greatest []byte, err error) {
	ordered := true
	for ; len(data) > 0; count++ {
		n, err := column.ValueSize(t, data)
		if err != nil {
			return 0, nil, nil, err
		}
		v := data[:n]
		data = data[n:]
		if count == 0 {
			least, greatest = v, v
		}
		low, ok := compare(t, v, least)
		high, _ := compare(t, v, greatest)
		if ordered = ordered && ok; low < 0 {
			least = v
		}
		if high > 0 {
			greatest = v
		}
	}
	return count, short(least, ordered), short(greatest, ordered), nil
}

func short(v []byte, ordered bool) []byte {
	if !ordered || len(v) > maxBound {
		return nil
	}
	return slices.Clone(v)
}

// compare orders two values; ok is false where they have no order: for NaN, and
// for types whose values are not compared.
func compare(t column.Type, a, b []byte) (c int, ok bool) {
	switch t {
	case column.Int, column.Long:
		x, _ := binary.Varint(a)
		y, _ := binary.Varint(b)
		return cmp.Compare(x, y), true
	case column.Float:
		x, y := math.Float32frombits(order.Uint32(a)), math.Float32frombits(order.Uint32(b))
		return cmp.Compare(x, y), x == x && y == y
	case column.Double:
		x, y := math.Float64frombits(order.Uint64(a)), math.Float64frombits(order.Uint64(b))
		return cmp.Compare(x, y), x == x && y == y
	case column.String, column.Bytes:
		return bytes.Compare(column.Sized(a), column.Sized(b)), true
	}
	return 0, false
}

// sum adds up lengths.
func sum(lengths []uint32) (n int64) {
	for _, l := range lengths {
		n += int64(l)
	}
	return n
}
