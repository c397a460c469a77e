package encoding

import (
	"encoding/binary"
	"math/bits"
)

const (
	deltaBlock = 128 // deltas of a block, as most writers have them
	deltaMinis = deltaBlock / deltaMini
)

// AppendDeltaInt32 appends plain INT32 as DELTA_BINARY_PACKED.
func AppendDeltaInt32(dst, plain []byte) []byte {
	var e deltaEncoder[int32]
	e.begin(dst, len(plain)/4)
	for to := e.next(); len(to) > 0; to = e.next() {
		for i := range to {
			to[i] = int32(binary.LittleEndian.Uint32(plain))
			plain = plain[4:]
		}
	}
	return e.dst
}

// AppendDeltaInt64 appends plain INT64 as DELTA_BINARY_PACKED.
func AppendDeltaInt64(dst, plain []byte) []byte {
	var e deltaEncoder[int64]
	e.begin(dst, len(plain)/8)
	for to := e.next(); len(to) > 0; to = e.next() {
		for i := range to {
			to[i] = int64(binary.LittleEndian.Uint64(plain))
			plain = plain[8:]
		}
	}
	return e.dst
}

// deltaEncoder encodes DELTA_BINARY_PACKED, a block at a time.
type deltaEncoder[T int32 | int64] struct {
	dst    []byte
	left   int               // values that next has not returned room for
	values [1 + deltaBlock]T // the value before a block, and those of the block
	filled int               // of these values, after next
	begun  bool              // the first value of all is encoded
}

// begin begins to append n values.
func (e *deltaEncoder[T]) begin(dst []byte, n int) {
	e.left = n
	dst = append(dst, deltaBlock&0x7f|0x80, deltaBlock>>7, deltaMinis)
	e.dst = binary.AppendUvarint(dst, uint64(n))
	if n == 0 {
		e.dst = append(e.dst, 0) // in place of a first value
	}
}

// next encodes the values that the caller has put into the room that next returned before, and
// returns room for the next ones. At the end it returns none.
func (e *deltaEncoder[T]) next() []T {
	from := 0
	if n := e.filled; n > 0 {
		if !e.begun {
			e.dst = binary.AppendVarint(e.dst, int64(e.values[0]))
			e.begun = true
		}
		if n > 1 {
			e.dst = appendDeltaBlock(e.dst, e.values[:n])
		}
		e.values[0], from = e.values[n-1], 1
	}
	n := min(e.left, len(e.values)-from)
	e.left -= n
	e.filled = from + n
	return e.values[from:e.filled]
}

// appendDeltaBlock appends a block of all values but the first, which is before the block.
func appendDeltaBlock[T int32 | int64](dst []byte, values []T) []byte {
	var deltas [deltaBlock]uint64
	n := len(values) - 1
	before, least := values[0], values[1]-values[0]
	for i, v := range values[1:] {
		d := v - before // an overflow is undone by the reader's addition
		least = min(least, d)
		deltas[i&(deltaBlock-1)] = uint64(d)
		before = v
	}
	dst = binary.AppendVarint(dst, int64(least))
	widths := len(dst)
	dst = append(dst, make([]byte, deltaMinis)...)
	for i := 0; i*deltaMini < n; i++ {
		mini := (*[deltaMini]uint64)(deltas[i*deltaMini:])
		or := uint64(0)
		for k := range min(deltaMini, n-i*deltaMini) {
			mini[k&(deltaMini-1)] -= uint64(least)
			or |= mini[k&(deltaMini-1)]
		}
		width := bits.Len64(or)
		dst[widths+i] = byte(width)
		dst = appendPacked(dst, mini[:], width)
	}
	return dst
}

// DeltaBound returns the most bytes that n values of size bytes take as DELTA_BINARY_PACKED.
func DeltaBound(n, size int) int {
	const number = binary.MaxVarintLen64
	blocks := n/deltaBlock + 1
	return 3 + binary.MaxVarintLen32 + number + blocks*(number+deltaMinis) + (n+deltaMini-1)*size
}
