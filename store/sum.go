package store

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
)

// SumBuffer is the number of bytes that Sum reads at a time.
const SumBuffer = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum reads a whole file and returns its length and the CRC-32C of its bytes. If want is not
// negative and the file does not have that length, Sum reads nothing and the CRC is 0.
func Sum(ctx context.Context, st Store, path string, want int64) (size int64, crc uint32, err error) {
	f, err := st.Open(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	//guard: rejects a file of another size
	if want >= 0 && f.Size() != want {
		return f.Size(), 0, nil
	}
	size, crc, err = SumRange(ctx, f, 0, f.Size())
	if err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	return size, crc, nil
}

// SumRange reads the bytes [start, end) of a file, and returns their number and CRC-32C. The
// file may end before end.
func SumRange(ctx context.Context, r io.ReaderAt, start, end int64) (size int64, crc uint32, err error) {
	buf := make([]byte, max(min(end-start, SumBuffer), 1))
	for pos := start; pos < end; pos = start + size {
		//guard: stops reading after an interruption
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		n, err := r.ReadAt(buf[:min(end-pos, SumBuffer)], pos)
		crc = crc32.Update(crc, castagnoli, buf[:n])
		size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return size, crc, nil
}

// JoinSums returns the CRC-32C of bytes with the CRC-32C first, followed by size bytes with the
// CRC-32C second. Appending a byte multiplies first, as a polynomial over GF(2), by x^8.
// Squaring that factor doubles the number of bytes.
func JoinSums(first, second uint32, size int64) uint32 {
	power := uint32(1) << (31 - 8) // x^8; the highest bit is x^0
	for ; size > 0; size >>= 1 {
		if size&1 == 1 {
			first = multiply(first, power)
		}
		power = multiply(power, power)
	}
	return first ^ second
}

// multiply multiplies two polynomials modulo the polynomial of CRC-32C.
func multiply(a, b uint32) (product uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		if b >>= 1; carry != 0 {
			b ^= crc32.Castagnoli
		}
	}
	return product
}
