package encoding

import "encoding/binary"

// appendPacked appends values of width bits each, the first in the lowest bits. The values
// together have whole bytes.
func appendPacked[T uint32 | uint64](dst []byte, values []T, width int) []byte {
	word, used := uint64(0), 0
	for _, v := range values {
		word |= uint64(v) << (used & 63)
		used += width
		if used >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			used -= 64
			word = uint64(v) >> (width - used)
		}
	}
	for ; used > 0; used -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// unpack is the inverse of appendPacked for groups of 8 values, which fill dst. src may have
// more bytes than the values take. It is faster if src has 8 bytes more.
func unpack[T uint32 | uint64](dst []T, src []byte, width int) {
	if width == 0 {
		clear(dst)
		return
	}
	for len(dst) >= 8 && len(src) >= width+8 {
		unpackGroup((*[8]T)(dst), src, width)
		dst, src = dst[8:], src[width:]
	}
	var last [64 + 8]byte
	for len(dst) >= 8 {
		copy(last[:], src[:width])
		unpackGroup((*[8]T)(dst), last[:], width)
		dst, src = dst[8:], src[width:]
	}
}

// unpackGroup unpacks 8 values. It loads as many of them at once as fit 8 bytes, which
// begin at a whole byte. src has at least width+8 bytes.
func unpackGroup[T uint32 | uint64](dst *[8]T, src []byte, width int) {
	mask := ^uint64(0) >> (64 - width)
	switch w := width; {
	case w <= 8:
		word := binary.LittleEndian.Uint64(src)
		dst[0] = T(word & mask)
		dst[1] = T(word >> w & mask)
		dst[2] = T(word >> (2 * w & 63) & mask)
		dst[3] = T(word >> (3 * w & 63) & mask)
		dst[4] = T(word >> (4 * w & 63) & mask)
		dst[5] = T(word >> (5 * w & 63) & mask)
		dst[6] = T(word >> (6 * w & 63) & mask)
		dst[7] = T(word >> (7 * w & 63) & mask)
	case w <= 16:
		unpackHalf((*[4]T)(dst[:4]), binary.LittleEndian.Uint64(src), w, mask)
		unpackHalf((*[4]T)(dst[4:]), binary.LittleEndian.Uint64(src[w>>1:])>>(4*w&7), w, mask)
	case w <= 29:
		for i := 0; i < 8; i += 2 {
			word := binary.LittleEndian.Uint64(src[i*w>>3:]) >> (i * w & 7)
			dst[i], dst[i+1] = T(word&mask), T(word>>(w&63)&mask)
		}
	case w <= 57:
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint64(src[i*w>>3:]) >> (i * w & 7) & mask)
		}
	default:
		for i := range dst {
			from, shift := i*w>>3, i*w&7
			word := binary.LittleEndian.Uint64(src[from:]) >> shift
			word |= uint64(src[from+8]) << (64 - shift)
			dst[i] = T(word & mask)
		}
	}
}

// unpackHalf unpacks 4 values from the lowest bits of a word.
func unpackHalf[T uint32 | uint64](dst *[4]T, word uint64, w int, mask uint64) {
	dst[0] = T(word & mask)
	dst[1] = T(word >> (w & 63) & mask)
	dst[2] = T(word >> (2 * w & 63) & mask)
	dst[3] = T(word >> (3 * w & 63) & mask)
}
