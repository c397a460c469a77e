package column

import (
	"bytes"
	"math/big"
)

// DecimalOf returns the unscaled value n of a decimal as the shortest two's complement
// number, most significant byte first.
func DecimalOf(n *big.Int) []byte {
	size := n.BitLen()/8 + 1
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return ShortestDecimal(n.FillBytes(make([]byte, size)))
}

// Decimals beyond this scale or number of bytes are printed as base64 of the bytes,
// because making digits takes quadratic time.
const (
	MaxTextScale   = 1000
	MaxTextDecimal = 1000
)

// ShortestDecimal drops the first bytes of b that only repeat the sign. b is a two's
// complement number, most significant byte first. Zero has no bytes. The result is part of b.
func ShortestDecimal(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) == 1 && b[0] == 0 {
		return b[:0]
	}
	return b
}

// CompareDecimals compares two decimals of the same scale. They are two's complement numbers
// of any lengths, most significant byte first.
func CompareDecimals(a, b []byte) int {
	a, b = ShortestDecimal(a), ShortestDecimal(b)
	x, y := negative(a), negative(b)
	switch {
	case x && !y:
		return -1
	case y && !x:
		return 1
	case len(a) == len(b):
		return bytes.Compare(a, b)
	case (len(a) < len(b)) != x:
		return -1
	}
	return 1
}

func negative(b []byte) bool { return len(b) > 0 && b[0] >= 0x80 }
