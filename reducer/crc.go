package reducer

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// concat returns the CRC-32C of two byte sequences one after the other, from
// those of each and the length of the second: a zero byte more multiplies a
// CRC, which is a polynomial over GF(2) modulo Castagnoli's, by x⁸.
func concat(first, second uint32, length int64) uint32 {
	const (
		one    = 1 << 31 // x⁰; the highest bit is the lowest power
		x8     = 1 << (31 - 8)
		square = 2
	)
	shift := uint32(one)
	for power := uint32(x8); length > 0; length /= square {
		if length%square == 1 {
			shift = multiply(shift, power)
		}
		power = multiply(power, power)
	}
	return multiply(first, shift) ^ second
}

// multiply multiplies polynomials modulo Castagnoli's.
func multiply(a, b uint32) (product uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.Castagnoli
		} else {
			b >>= 1
		}
	}
	return product
}
