package encoding

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// AppendDeltaLength appends n plain BYTE_ARRAY as DELTA_LENGTH_BYTE_ARRAY.
func AppendDeltaLength(dst, plain []byte, n int) []byte {
	var sizes deltaEncoder[int32]
	sizes.begin(dst, n)
	left := plainValues{rest: plain}
	for to := sizes.next(); len(to) > 0; to = sizes.next() {
		for i := range to {
			to[i] = int32(len(left.next()))
		}
	}
	dst = sizes.dst
	for left.rest = plain; len(left.rest) > 0; {
		dst = append(dst, left.next()...)
	}
	return dst
}

// AppendDeltaBytes appends n plain values as DELTA_BYTE_ARRAY. They are FIXED_LEN_BYTE_ARRAY of
// size bytes each, or BYTE_ARRAY if size is 0. shared is memory for a number for each value. It
// is returned for later use.
func AppendDeltaBytes(dst, plain []byte, n, size int, shared []uint32) ([]byte, []uint32) {
	shared = slices.Grow(shared[:0], n)[:n]
	left := plainValues{rest: plain, size: size}
	before := []byte(nil)
	for i := range shared {
		value := left.next()
		shared[i] = uint32(commonPrefix(before, value))
		before = value
	}
	var numbers deltaEncoder[int32]
	numbers.begin(dst, n)
	at := 0
	for to := numbers.next(); len(to) > 0; to = numbers.next() {
		for i := range to {
			to[i] = int32(shared[at])
			at++
		}
	}
	left.rest, at = plain, 0
	var sizes deltaEncoder[int32]
	sizes.begin(numbers.dst, n)
	for to := sizes.next(); len(to) > 0; to = sizes.next() {
		for i := range to {
			to[i] = int32(len(left.next()) - int(shared[at]))
			at++
		}
	}
	left.rest, dst = plain, sizes.dst
	for _, same := range shared {
		dst = append(dst, left.next()[same:]...)
	}
	return dst, shared
}

// plainValues are plain strings of size bytes each, or of any size if it is 0.
type plainValues struct {
	rest []byte // after what was read
	size int
}

// next returns the next value.
func (p *plainValues) next() []byte {
	size, rest := p.size, p.rest
	if size == 0 {
		size, rest = int(binary.LittleEndian.Uint32(rest)), rest[4:]
	}
	p.rest = rest[size:]
	return rest[:size]
}

// commonPrefix returns how many bytes at the start of a and b are equal.
func commonPrefix(a, b []byte) int {
	most := min(len(a), len(b))
	n := 0
	for ; n+8 <= most; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
