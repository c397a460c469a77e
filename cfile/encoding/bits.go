package encoding

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	ones    = 0x0101010101010101 // the lowest bit of each byte of a word
	gather  = 0x0102040810204080 // times a word of bytes 0 and 1: bit i of the highest byte is byte i
	scatter = 0x8040201008040201 // bit i of byte i
)

// packWord returns the lowest bit of each byte of a word. The bit of the lowest byte is the lowest
// bit.
func packWord(w uint64) byte { return byte((w & ones) * gather >> 56) }

// spreadWord is the inverse of packWord.
func spreadWord(b byte) uint64 {
	w := uint64(b) * ones & scatter
	return (w + 0x7f*ones) >> 7 & ones
}

// appendBits appends BOOL values, a byte each in bools, as bits. The first is the
// lowest bit of its byte, and the last byte is padded with 0.
func appendBits(dst, bools []byte) []byte {
	for len(bools) >= 8 {
		dst = append(dst, packWord(binary.LittleEndian.Uint64(bools)))
		bools = bools[8:]
	}
	if len(bools) > 0 {
		var last [8]byte
		copy(last[:], bools)
		dst = append(dst, packWord(binary.LittleEndian.Uint64(last[:])))
	}
	return dst
}

// eightBits returns 8 bits from bit at on. Bits after the end are 0.
func eightBits(packed []byte, at int) byte {
	i, shift := at>>3, at&7
	b := packed[i] >> shift
	if shift > 0 && i+1 < len(packed) {
		b |= packed[i+1] << (8 - shift)
	}
	return b
}

// appendBools appends n bits from bit at on, a byte each.
func appendBools(dst, packed []byte, at, n int) []byte {
	dst = slices.Grow(dst, n)
	for ; n >= 8; n -= 8 {
		dst = binary.LittleEndian.AppendUint64(dst, spreadWord(eightBits(packed, at)))
		at += 8
	}
	for ; n > 0; n-- {
		dst = append(dst, packed[at>>3]>>(at&7)&1)
		at++
	}
	return dst
}

// countBits returns how many of the n bits from bit at on are 1.
func countBits(packed []byte, at, n int) int {
	count := 0
	for ; n >= 8; n -= 8 {
		count += bits.OnesCount8(eightBits(packed, at))
		at += 8
	}
	if n > 0 {
		count += bits.OnesCount8(eightBits(packed, at) << (8 - n))
	}
	return count
}
