package encoding

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
)

// AppendPlainInt32 appends n ints of Avro, which begin at src, as plain INT32. It returns the
// rest of src.
func AppendPlainInt32(dst, src []byte, n int) (_, rest []byte, err error) {
	//guard: bounds the memory for the values
	if n > len(src) {
		return dst, src, cutShort(n, len(src))
	}
	at, start := 0, len(dst)
	dst = slices.Grow(dst, 4*n)[:start+4*n]
	for out := dst[start:]; len(out) >= 4; out = out[4:] {
		u, end := uvarint(src, at)
		//guard: rejects an int that is cut short or has more than 32 bits
		if end < 0 || u > math.MaxUint32 {
			return dst, src, badNumber("int", n-len(out)/4, n, end)
		}
		binary.LittleEndian.PutUint32(out, uint32(unzigzag(u)))
		at = end
	}
	return dst, src[at:], nil
}

// AppendPlainInt64 appends n longs of Avro, which begin at src, as plain INT64. It returns
// the rest of src.
func AppendPlainInt64(dst, src []byte, n int) (_, rest []byte, err error) {
	//guard: bounds the memory for the values
	if n > len(src) {
		return dst, src, cutShort(n, len(src))
	}
	at, start := 0, len(dst)
	dst = slices.Grow(dst, 8*n)[:start+8*n]
	for out := dst[start:]; len(out) >= 8; out = out[8:] {
		u, end := uvarint(src, at)
		//guard: rejects a long that is cut short or has more than 64 bits
		if end < 0 {
			return dst, src, badNumber("long", n-len(out)/8, n, end)
		}
		binary.LittleEndian.PutUint64(out, uint64(unzigzag(u)))
		at = end
	}
	return dst, src[at:], nil
}

// AppendPlainBytes appends n strings or bytes of Avro, which begin at src, as plain
// BYTE_ARRAY. It returns the rest of src.
func AppendPlainBytes(dst, src []byte, n int) (_, rest []byte, err error) {
	at := 0
	for i := range n {
		from, to, err := avroBytes(src, at, i, n)
		if err != nil {
			return dst, src, err
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(to-from))
		dst = append(dst, src[from:to]...)
		at = to
	}
	return dst, src[at:], nil
}

// AppendPlainFixed appends n strings or bytes of Avro, which begin at src and have size bytes
// each, as plain FIXED_LEN_BYTE_ARRAY. It returns the rest of src.
func AppendPlainFixed(dst, src []byte, n, size int) (_, rest []byte, err error) {
	at := 0
	for i := range n {
		from, to, err := avroBytes(src, at, i, n)
		if err != nil {
			return dst, src, err
		}
		//guard: rejects a value that would shift those after it
		if to-from != size {
			return dst, src, fmt.Errorf("value %d of %d has %d bytes, want %d", i, n, to-from, size)
		}
		dst = append(dst, src[from:to]...)
		at = to
	}
	return dst, src[at:], nil
}

// AppendPlainBools appends the first n bytes of src, each 0 or 1, as plain BOOLEAN.
func AppendPlainBools(dst, src []byte, n int) []byte {
	const (
		ones   = 0x0101010101010101 // the lowest bit of each byte
		gather = 0x0102040810204080 // times a word of bytes 0 and 1: bit i of the highest byte is byte i
	)
	src = src[:n]
	for len(src) >= 8 {
		dst = append(dst, byte((binary.LittleEndian.Uint64(src)&ones)*gather>>56))
		src = src[8:]
	}
	if len(src) > 0 {
		last := byte(0)
		for i, b := range src {
			last |= b & 1 << i
		}
		dst = append(dst, last)
	}
	return dst
}

// avroBytes returns where the string or bytes at an offset of src are. They are value i of n.
func avroBytes(src []byte, at, i, n int) (from, to int, err error) {
	u, from := uvarint(src, at)
	//guard: rejects a length that is cut short or has more than 64 bits
	if from < 0 {
		return 0, 0, badNumber("length", i, n, from)
	}
	//guard: rejects a length that is negative or not that of a string
	if u&1 == 1 || u>>1 > math.MaxInt32 {
		return 0, 0, fmt.Errorf("value %d of %d has %d bytes", i, n, unzigzag(u))
	}
	size := int(u >> 1)
	//guard: rejects a value that is cut short
	if size > len(src)-from {
		return 0, 0, fmt.Errorf("value %d of %d has %d bytes, but %d are left: %w", i, n, size, len(src)-from, io.ErrUnexpectedEOF)
	}
	return from, from + size, nil
}

// unzigzag returns the signed number of a varint.
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// uvarint reads the varint at an offset of src. It returns the offset after it: cutEnd if
// src ends too early, largeEnd if the varint has more than 64 bits.
func uvarint(src []byte, at int) (u uint64, end int) {
	if at+8 > len(src) {
		return shortUvarint(src, at)
	}
	word := binary.LittleEndian.Uint64(src[at:])
	if word&0x80 == 0 {
		return word & 0x7f, at + 1
	}
	stop := ^word & 0x8080808080808080 // the highest bit of the varint's last byte, and others
	if stop == 0 {
		return shortUvarint(src, at)
	}
	word &= stop ^ (stop - 1)
	// The bytes have 7 bits each. Join two, then 14 bits, then 28.
	word = word&0x007f007f007f007f | word&0x7f007f007f007f00>>1
	word = word&0x00003fff00003fff | word&0x3fff00003fff0000>>2
	word = word&0x000000000fffffff | word&0x0fffffff00000000>>4
	return word, at + bits.TrailingZeros64(stop)>>3 + 1
}

const (
	cutEnd   = -1
	largeEnd = -2
)

// shortUvarint reads any varint as uvarint does.
func shortUvarint(src []byte, at int) (u uint64, end int) {
	u, n := binary.Uvarint(src[at:])
	switch {
	case n == 0:
		return 0, cutEnd
	case n < 0:
		return 0, largeEnd
	}
	return u, at + n
}

// badNumber returns the error of a number that is value i of n. end is the result of uvarint.
func badNumber(what string, i, n, end int) error {
	if end == cutEnd {
		return fmt.Errorf("the %s of value %d of %d is cut short: %w", what, i, n, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("the %s of value %d of %d is too large", what, i, n)
}

// cutShort returns the error of n values that cannot be in size bytes.
func cutShort(n, size int) error {
	return fmt.Errorf("%d values in %d bytes: %w", n, size, io.ErrUnexpectedEOF)
}
