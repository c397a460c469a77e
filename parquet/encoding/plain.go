package encoding

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// maxData bounds the bytes of decoded strings, as a vector of package column does.
const maxData = 1 << 30

// ErrFull is the error of decoders of strings if there would be more than 2^30 bytes. Fewer
// values at a time may fit.
var ErrFull = errors.New("too many bytes of strings")

// DecodePlainInt32 appends n plain INT32, which begin at src. It returns the rest of src.
func DecodePlainInt32(dst []int32, src []byte, n int) (_ []int32, rest []byte, err error) {
	//guard: rejects missing bytes
	if n > len(src)/4 {
		return dst, src, cutShort(n, len(src))
	}
	dst = slices.Grow(dst, n)
	for ; n > 0; n-- {
		dst = append(dst, int32(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
	return dst, src, nil
}

// DecodePlainInt64 appends n plain INT64, which begin at src. It returns the rest of src.
func DecodePlainInt64(dst []int64, src []byte, n int) (_ []int64, rest []byte, err error) {
	//guard: rejects missing bytes
	if n > len(src)/8 {
		return dst, src, cutShort(n, len(src))
	}
	dst = slices.Grow(dst, n)
	for ; n > 0; n-- {
		dst = append(dst, int64(binary.LittleEndian.Uint64(src)))
		src = src[8:]
	}
	return dst, src, nil
}

// DecodePlainFloat appends n plain FLOAT, which begin at src. It returns the rest of src.
func DecodePlainFloat(dst []float32, src []byte, n int) (_ []float32, rest []byte, err error) {
	//guard: rejects missing bytes
	if n > len(src)/4 {
		return dst, src, cutShort(n, len(src))
	}
	dst = slices.Grow(dst, n)
	for ; n > 0; n-- {
		dst = append(dst, math.Float32frombits(binary.LittleEndian.Uint32(src)))
		src = src[4:]
	}
	return dst, src, nil
}

// DecodePlainDouble appends n plain DOUBLE, which begin at src. It returns the rest of src.
func DecodePlainDouble(dst []float64, src []byte, n int) (_ []float64, rest []byte, err error) {
	//guard: rejects missing bytes
	if n > len(src)/8 {
		return dst, src, cutShort(n, len(src))
	}
	dst = slices.Grow(dst, n)
	for ; n > 0; n-- {
		dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(src)))
		src = src[8:]
	}
	return dst, src, nil
}

// DecodePlainBools appends n plain BOOLEAN from bit at of src on.
func DecodePlainBools(dst []bool, src []byte, at, n int) ([]bool, error) {
	//guard: rejects missing bytes
	if int64(at)+int64(n) > 8*int64(len(src)) {
		return dst, cutShort(at+n, len(src))
	}
	dst = slices.Grow(dst, n)
	for end := at + n; at < end; at++ {
		dst = append(dst, src[at>>3]>>(at&7)&1 == 1)
	}
	return dst, nil
}

// DecodePlainBytes appends n plain BYTE_ARRAY, which begin at src. Value i of all values is
// data[offsets[i]:offsets[i+1]]: there is one more offset than there are values, or there are
// no offsets yet. It returns the rest of src.
func DecodePlainBytes(offsets []int32, data, src []byte, n int) (_ []int32, _, rest []byte, err error) {
	if offsets, err = growOffsets(offsets, n, len(src)/4); err != nil {
		return offsets, data, src, err
	}
	for i := range n {
		value, rest, err := plainBytes(src, i, n)
		if err != nil {
			return offsets, data, src, err
		}
		if offsets, data, err = appendValue(offsets, data, value); err != nil {
			return offsets, data, src, err
		}
		src = rest
	}
	return offsets, data, src, nil
}

// SkipPlainBytes passes over n plain BYTE_ARRAY, which begin at src. It returns the rest of
// src.
func SkipPlainBytes(src []byte, n int) (rest []byte, err error) {
	for i := range n {
		if _, src, err = plainBytes(src, i, n); err != nil {
			return src, err
		}
	}
	return src, nil
}

// plainBytes returns the plain BYTE_ARRAY at the start of src, which is value i of n, and the
// rest of src.
func plainBytes(src []byte, i, n int) (value, rest []byte, err error) {
	//guard: rejects a length that is cut short
	if len(src) < 4 {
		return nil, nil, fmt.Errorf("the length of value %d of %d is cut short: %w", i, n, io.ErrUnexpectedEOF)
	}
	size := binary.LittleEndian.Uint32(src)
	src = src[4:]
	//guard: rejects a value that is cut short
	if uint64(size) > uint64(len(src)) {
		return nil, nil, fmt.Errorf("value %d of %d has %d bytes, but %d are left: %w", i, n, size, len(src), io.ErrUnexpectedEOF)
	}
	return src[:size], src[size:], nil
}

// DecodePlainFixed appends n plain FIXED_LEN_BYTE_ARRAY of size bytes, which begin at src, as
// DecodePlainBytes does.
func DecodePlainFixed(offsets []int32, data, src []byte, n, size int) (_ []int32, _, rest []byte, err error) {
	//guard: rejects missing bytes
	if size < 1 || n > len(src)/size {
		return offsets, data, src, cutShort(n, len(src))
	}
	//guard: keeps offsets within 32 bits
	if n*size > maxData-len(data) {
		return offsets, data, src, ErrFull
	}
	if offsets, err = growOffsets(offsets, n, n); err != nil {
		return offsets, data, src, err
	}
	for at := range n {
		offsets = append(offsets, int32(len(data)+(at+1)*size))
	}
	return offsets, append(data, src[:n*size]...), src[n*size:], nil
}

// growOffsets returns offsets with memory for n more values. At most most are possible.
func growOffsets(offsets []int32, n, most int) ([]int32, error) {
	//guard: bounds the memory for offsets
	if n > most {
		return offsets, fmt.Errorf("%d values in the bytes of %d: %w", n, most, io.ErrUnexpectedEOF)
	}
	if offsets = slices.Grow(offsets, n+1); len(offsets) == 0 {
		offsets = append(offsets, 0)
	}
	return offsets, nil
}

// appendValue appends a string.
func appendValue(offsets []int32, data, value []byte) ([]int32, []byte, error) {
	//guard: keeps offsets within 32 bits
	if len(value) > maxData-len(data) {
		return offsets, data, ErrFull
	}
	data = append(data, value...)
	return append(offsets, int32(len(data))), data, nil
}
