package encodingtest

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	deltaBlock = 128 // deltas of a block
	deltaMini  = 32  // deltas of a miniblock
	deltaMinis = deltaBlock / deltaMini
)

// AppendDeltaInt32 appends values as DELTA_BINARY_PACKED INT32.
func AppendDeltaInt32(dst []byte, values []int32) []byte {
	return appendDelta(dst, values, math.MaxUint32)
}

// AppendDeltaInt64 appends values as DELTA_BINARY_PACKED INT64.
func AppendDeltaInt64(dst []byte, values []int64) []byte {
	return appendDelta(dst, values, math.MaxUint64)
}

// appendDelta appends values. mask has the bits of a T.
func appendDelta[T int32 | int64](dst []byte, values []T, mask uint64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaMinis)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	first := int64(0)
	if len(values) > 0 {
		first = int64(values[0])
	}
	dst = binary.AppendVarint(dst, first)
	for len(values) > 1 {
		n := min(deltaBlock, len(values)-1)
		dst = appendDeltaBlock(dst, values[:n+1], mask)
		values = values[n:]
	}
	return dst
}

// appendDeltaBlock appends the block of all values but the first, which is the last of the
// block before.
func appendDeltaBlock[T int32 | int64](dst []byte, values []T, mask uint64) []byte {
	var deltas [deltaBlock]uint64
	least := values[1] - values[0]
	for i, v := range values[1:] {
		d := v - values[i]
		least = min(least, d)
		deltas[i] = uint64(d)
	}
	var or [deltaMinis]uint64
	for i := range values[1:] {
		deltas[i] = (deltas[i] - uint64(least)) & mask
		or[i/deltaMini] |= deltas[i]
	}
	dst = binary.AppendVarint(dst, int64(least))
	for _, o := range or {
		dst = append(dst, byte(bits.Len64(o)))
	}
	for i, o := range or {
		dst = appendPacked(dst, deltas[i*deltaMini:(i+1)*deltaMini], bits.Len64(o))
	}
	return dst
}

// appendPacked appends values of width bits each, the first in the lowest bits. The values
// together have whole bytes.
func appendPacked(dst []byte, values []uint64, width int) []byte {
	packed := make([]byte, len(values)*width/8)
	for i, v := range values {
		for b := range width {
			at := i*width + b
			packed[at/8] |= byte(v>>b&1) << (at % 8)
		}
	}
	return append(dst, packed...)
}

// AppendDeltaLength appends strings as DELTA_LENGTH_BYTE_ARRAY. Value i is
// data[offsets[i]:offsets[i+1]].
func AppendDeltaLength(dst []byte, offsets []int32, data []byte) []byte {
	var lengths []int32
	var all []byte
	for i := 1; i < len(offsets); i++ {
		lengths = append(lengths, offsets[i]-offsets[i-1])
		all = append(all, data[offsets[i-1]:offsets[i]]...)
	}
	return append(AppendDeltaInt32(dst, lengths), all...)
}

// AppendDeltaBytes appends strings as DELTA_BYTE_ARRAY. Value i is data[offsets[i]:offsets[i+1]].
func AppendDeltaBytes(dst []byte, offsets []int32, data []byte) []byte {
	var shared []int32
	others, rest := []int32{0}, []byte(nil)
	var before []byte
	for i := 1; i < len(offsets); i++ {
		value := data[offsets[i-1]:offsets[i]]
		n := commonPrefix(before, value)
		shared = append(shared, int32(n))
		rest = append(rest, value[n:]...)
		others = append(others, int32(len(rest)))
		before = value
	}
	return AppendDeltaLength(AppendDeltaInt32(dst, shared), others, rest)
}

// commonPrefix returns how many bytes at the start of a and b are equal.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
