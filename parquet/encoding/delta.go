package encoding

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	deltaBlock = 128 // deltas of a block that AppendDelta… writes
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

// DeltaBound returns the most bytes that AppendDelta… appends for n values of size bytes.
func DeltaBound(n, size int) int {
	blocks := (n + deltaBlock - 1) / deltaBlock
	return 2 + 1 + 2*binary.MaxVarintLen64 + blocks*(binary.MaxVarintLen64+deltaMinis+deltaBlock*size)
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
	before, values := values[0], values[1:]
	least := values[0] - before
	for i, v := range values {
		d := v - before
		before = v
		least = min(least, d)
		deltas[i] = uint64(d)
	}
	var or [deltaMinis]uint64
	for i := range values {
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

// DeltaBytesEncoder encodes strings. The zero value is ready. It keeps the memory for
// lengths.
type DeltaBytesEncoder struct {
	shared, lengths []int32
}

// AppendLength appends strings as DELTA_LENGTH_BYTE_ARRAY. Value i is
// data[offsets[i]:offsets[i+1]].
func (e *DeltaBytesEncoder) AppendLength(dst []byte, offsets []int32, data []byte) []byte {
	e.lengths = e.lengths[:0]
	if len(offsets) == 0 {
		return AppendDeltaInt32(dst, nil)
	}
	for i, end := range offsets[1:] {
		e.lengths = append(e.lengths, end-offsets[i])
	}
	dst = AppendDeltaInt32(dst, e.lengths)
	return append(dst, data[offsets[0]:offsets[len(offsets)-1]]...)
}

// AppendShared appends strings as DELTA_BYTE_ARRAY. Value i is data[offsets[i]:offsets[i+1]].
func (e *DeltaBytesEncoder) AppendShared(dst []byte, offsets []int32, data []byte) []byte {
	e.shared, e.lengths = e.shared[:0], e.lengths[:0]
	var before []byte
	for i := 1; i < len(offsets); i++ {
		value := data[offsets[i-1]:offsets[i]]
		shared := commonPrefix(before, value)
		e.shared = append(e.shared, int32(shared))
		e.lengths = append(e.lengths, int32(len(value)-shared))
		before = value
	}
	dst = AppendDeltaInt32(dst, e.shared)
	dst = AppendDeltaInt32(dst, e.lengths)
	for i, shared := range e.shared {
		dst = append(dst, data[offsets[i]+shared:offsets[i+1]]...)
	}
	return dst
}

// DeltaBytesBound returns the most bytes that a DeltaBytesEncoder appends for n strings that
// have size bytes together.
func DeltaBytesBound(n, size int) int { return 2*DeltaBound(n, 4) + size }

// commonPrefix returns how many bytes at the start of a and b are equal.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
