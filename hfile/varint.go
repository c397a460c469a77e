package hfile

import "math/bits"

// Hadoop's variable-length integers (WritableUtils): a number from -112 to 127 is one byte.
// Others are a byte that tells sign and count, -113 to -120 for one to eight bytes of a number
// that is not negative, -121 to -128 of the complement of one that is, and these bytes,
// big-endian.

// appendVInt appends a number that is not negative.
func appendVInt(dst []byte, v int) []byte {
	if v <= 127 {
		return append(dst, byte(v))
	}
	n := (bits.Len64(uint64(v)) + 7) / 8
	dst = append(dst, byte(-112-n))
	for n--; n >= 0; n-- {
		dst = append(dst, byte(v>>(8*n)))
	}
	return dst
}

// vintSize is how many bytes the number has that begins with a byte.
func vintSize(first byte) int {
	switch c := int8(first); {
	case c >= -112:
		return 1
	case c >= -120:
		return -int(c) - 111
	default:
		return -int(c) - 119
	}
}

// consumeVInt reads a number and how many bytes it has; n is 0 if b ends before.
func consumeVInt(b []byte) (v int64, n int) {
	//guard: a number would be read beyond the bytes
	if len(b) == 0 || len(b) < vintSize(b[0]) {
		return 0, 0
	}
	n = vintSize(b[0])
	if n == 1 {
		return int64(int8(b[0])), 1
	}
	for _, c := range b[1:n] {
		v = v<<8 | int64(c)
	}
	if int8(b[0]) < -120 {
		v = ^v
	}
	return v, n
}
