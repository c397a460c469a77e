package bloom

import (
	"encoding/binary"
	"math/bits"
)

// Multipliers of CityHash64 as Kudu has it.
const (
	city0   = 0xa5b85c5e198ed849
	city1   = 0x8d58ac26afe12e47
	city2   = 0xc47b6e9e3a970ed3
	city3   = 0xc70f6907e782aa0b
	cityMix = 0xc6a4a7935bd1e995
)

// cityHash64 is CityHash64 of a key, as Kudu has it.
func cityHash64(key []byte) uint64 {
	switch n := len(key); {
	case n == 0:
		return city2
	case n < 4:
		return cityTo3(key)
	case n < 9:
		return cityMix128(uint64(word32(key, n-4)), uint64(n)+uint64(word32(key, 0))<<3)
	case n <= 16:
		end := word(key, n-8)
		return cityMix128(rotate(end+uint64(n), n), word(key, 0)) ^ end
	case n <= 32:
		return cityTo32(key)
	case n <= 64:
		return cityTo64(key)
	default:
		return cityLong(key)
	}
}

// word and word32 are the little-endian integers at an offset.
func word(key []byte, at int) uint64   { return binary.LittleEndian.Uint64(key[at:]) }
func word32(key []byte, at int) uint32 { return binary.LittleEndian.Uint32(key[at:]) }

// rotate turns x to the right.
func rotate(x uint64, by int) uint64 { return bits.RotateLeft64(x, -by) }

func shiftMix(x uint64) uint64 { return x ^ x>>47 }

// cityMix128 makes one word of two.
func cityMix128(low, high uint64) uint64 {
	x := shiftMix((low ^ high) * cityMix)
	return shiftMix((high^x)*cityMix) * cityMix
}

func cityTo3(key []byte) uint64 {
	n := len(key)
	front := uint32(key[0]) + uint32(key[n/2])<<8
	back := uint32(n) + uint32(key[n-1])<<2
	return shiftMix(uint64(front)*city2^uint64(back)*city3) * city2
}

func cityTo32(key []byte) uint64 {
	n := len(key)
	a := word(key, 0) * city1
	b := word(key, 8)
	c := word(key, n-8) * city2
	d := word(key, n-16) * city0
	return cityMix128(a+rotate(b^city3, 20)-c+uint64(n), rotate(a-b, 43)+rotate(c, 30)+d)
}

func cityTo64(key []byte) uint64 {
	n := len(key)
	// The first 32 bytes, and then the last.
	z := word(key, 24)
	a := word(key, 0) + (uint64(n)+word(key, n-16))*city0
	front0, front1 := cityHalf(a, z, word(key, 8), word(key, 16))
	a = word(key, 16) + word(key, n-32)
	z += word(key, n-8)
	back0, back1 := cityHalf(a, z, word(key, n-24), word(key, n-16))
	r := shiftMix((front0+back1)*city2 + (back0+front1)*city0)
	return shiftMix(r*city0+front1) * city2
}

// cityHalf makes two words of the state a and z and the next two words of a key.
func cityHalf(a, z, x, y uint64) (uint64, uint64) {
	b, c := rotate(a+z, 52), rotate(a, 37)
	a += x
	c += rotate(a, 7)
	a += y
	return a + z, b + rotate(a, 31) + c
}

// cityWeak makes two words of four words of a key and two others.
func cityWeak(key []byte, a, b uint64) (uint64, uint64) {
	a += word(key, 0)
	b = rotate(b+a+word(key, 24), 51)
	c := a
	a += word(key, 8) + word(key, 16)
	return a + word(key, 24), b + rotate(a, 23) + c
}

// cityLong takes 64 bytes at a time, behind the last 64 of the key.
func cityLong(key []byte) uint64 {
	n := len(key)
	x := word(key, n-40)
	y := word(key, n-16) + word(key, n-56)
	z := cityMix128(word(key, n-24), word(key, n-48)+uint64(n))
	v0, v1 := cityWeak(key[n-64:], uint64(n), z)
	w0, w1 := cityWeak(key[n-32:], y+city1, x)
	x = x*city1 + word(key, 0)
	for left := (n - 1) / 64; left > 0; left-- {
		x = rotate(x+y+v0+word(key, 8), 37)*city1 ^ w1
		y = rotate(y+v1+word(key, 48), 42)*city1 + v0 + word(key, 40)
		z = rotate(z+w0, 33) * city1
		v0, v1 = cityWeak(key, v1*city1, x+w0)
		w0, w1 = cityWeak(key[32:], z+w1, y+word(key, 16))
		x, z = z, x
		key = key[64:]
	}
	return cityMix128(cityMix128(w1, v1)+x, cityMix128(w0, v0)+shiftMix(y)*city1+z)
}
