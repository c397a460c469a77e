package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrShort is the error for bytes that end inside a value.
var ErrShort = errors.New("the bytes end inside a value")

var (
	errVarint  = errors.New("a varint is too long or out of range")
	errBoolean = errors.New("a boolean is neither 0 nor 1")
)

// ValueSize returns the number of bytes of the encoded value at the start of b. A boolean has
// one byte, as Reader.Value returns it. The error is ErrShort, or says what is wrong with the
// bytes.
func ValueSize(t Type, b []byte) (int, error) {
	n := 0
	switch t {
	case Null:
		return 0, nil
	case Boolean:
		if n = 1; len(b) > 0 && b[0] > 1 {
			return 0, errBoolean
		}
	case Int:
		_, n, err := readInt(b)
		return n, err
	case Long:
		_, n, err := readLong(b)
		return n, err
	case Fixed32, Float, Fixed64, Double:
		n = fixedSize(t)
	default:
		size, n, err := readLong(b)
		switch {
		case err != nil:
			return 0, err
		//guard: rejects a negative length
		case size < 0:
			return 0, fmt.Errorf("a value has the length %d", size)
		//guard: rejects a value that reaches beyond its block
		case size > int64(len(b)-n):
			return 0, ErrShort
		}
		return n + int(size), nil
	}
	if n > len(b) {
		return 0, ErrShort
	}
	return n, nil
}

// Sized returns a complete encoded string or bytes value without its length. It is the
// inverse of Buffer.AppendSized. The result is part of v.
func Sized(v []byte) []byte {
	last := 0
	for v[last] >= 0x80 {
		last++
	}
	return v[last+1:]
}

// quickSize is ValueSize for the most common values. It returns 0 for varints and lengths
// that have more than two bytes, and for damage.
func quickSize(t Type, b []byte) int {
	n := 0
	switch t {
	case Int, Long:
		switch {
		case len(b) > 0 && b[0] < 0x80:
			return 1
		case len(b) > 1 && b[1] < 0x80:
			return 2
		}
		return 0
	case Fixed32, Float:
		n = 4
	case Fixed64, Double:
		n = 8
	case String, Bytes:
		switch { // an odd length is negative
		case len(b) > 0 && b[0] < 0x80 && b[0]&1 == 0:
			n = 1 + int(b[0]>>1)
		case len(b) > 1 && b[1] < 0x80 && b[0]&1 == 0:
			n = 2 + int(b[0]&0x7f)>>1 + int(b[1])<<6
		}
	}
	if n > len(b) {
		return 0
	}
	return n
}

// quickVarints returns the most bytes of a varint that is always in the range of an int or a
// long. It returns 0 for types without varints.
func quickVarints(t Type) int {
	switch t {
	case Int:
		return 4
	case Long:
		return 8
	}
	return 0
}

// quickVarintSize returns the size of a varint of at most most bytes, or 0 if the varint is
// longer or less than 8 bytes follow. most is at most 8.
func quickVarintSize(b []byte, most int) int {
	if len(b) < 8 {
		return 0
	}
	size := bits.TrailingZeros64(^binary.LittleEndian.Uint64(b)&0x8080808080808080)/8 + 1
	if size > most {
		return 0
	}
	return size
}

// quickVarint reads a varint of quickVarintSize.
func quickVarint(b []byte, most int) (v int64, size int) {
	if size = quickVarintSize(b, most); size == 0 {
		return 0, 0
	}
	word := binary.LittleEndian.Uint64(b) << (64 - 8*size) >> (64 - 8*size) // the varint
	word &= 0x7f7f7f7f7f7f7f7f                                              // 7 bits in each byte
	word = word&0x007f007f007f007f | word>>1&0x3f803f803f803f80
	word = word&0x00003fff00003fff | word>>2&0x0fffc0000fffc000
	word = word&0x000000000fffffff | word>>4&0x00fffffff0000000
	return int64(word>>1) ^ -int64(word&1), size
}

// fixedSize returns the size in bytes of each value of a type, or 0 if sizes differ.
func fixedSize(t Type) int {
	switch t {
	case Fixed32, Float:
		return 4
	case Fixed64, Double:
		return 8
	}
	return 0
}

func readLong(b []byte) (v int64, n int, err error) {
	v, n = binary.Varint(b)
	switch {
	case n > 0:
		return v, n, nil
	case n == 0 && len(b) < binary.MaxVarintLen64:
		return 0, 0, ErrShort
	}
	return 0, 0, errVarint
}

// readInt reads a varint of at most five bytes and 32 bits.
func readInt(b []byte) (v int64, n int, err error) {
	v, n, err = readLong(b)
	//guard: rejects a number that does not fit an int
	if err == nil && (n > binary.MaxVarintLen32 || v < math.MinInt32 || v > math.MaxInt32) {
		return 0, 0, errVarint
	}
	return v, n, err
}
