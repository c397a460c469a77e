package column

import (
	"bytes"
	"math/big"
	"testing"
)

// Decimals of any length are compared as numbers, and equal ones have the same shortest
// bytes.
func TestCompareDecimals(t *testing.T) {
	numbers := [][]byte{{}, {0}, {1}, {0x7f}, {0, 0x80}, {0, 0, 0x80}, {1, 0}, {0xff}, {0xff, 0xff}, {0x80}, {0xff, 0x7f}, {0xff, 0}, {0xfe, 0xff}, {0x80, 0, 0}, {0xff, 0x80}}
	value := func(b []byte) *big.Int {
		v := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return v
	}
	for _, a := range numbers {
		for _, b := range numbers {
			want := value(a).Cmp(value(b))
			if got := CompareDecimals(a, b); got != want {
				t.Errorf("%x and %x: %d, want %d", a, b, got, want)
			}
			if same := bytes.Equal(ShortestDecimal(a), ShortestDecimal(b)); same != (want == 0) {
				t.Errorf("%x and %x: equal shortest bytes: %t", a, b, same)
			}
		}
	}
}
