package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// The bounds of text enclose it, and have at most maxBound bytes.
func TestTextBounds(t *testing.T) {
	a, z, ff := strings.Repeat("a", 63), strings.Repeat("z", 100), strings.Repeat("\xff", 100)
	for _, tt := range []struct {
		o           order
		v, min, max string // max is "?" if there is none
	}{
		{orderText, "", "", ""},
		{orderText, "abc", "abc", "abc"},
		{orderText, a + "bc", a + "b", a + "c"},
		{orderText, a + "éx", a, a[:62] + "b"},
		{orderText, a + "b\xff", a + "b", a + "c"},
		{orderText, strings.Repeat("\U0010ffff", 17), strings.Repeat("\U0010ffff", 16), "?"},
		{orderText, a[:61] + "\ud7ff" + "x", a[:61] + "\ud7ff", a[:61] + "\ue000"},
		{orderText, a[:62] + "\u007f" + "xxx", a[:62] + "\u007fx", a[:62] + "\u007fy"},
		{orderText, strings.Repeat("\u07ff", 40), strings.Repeat("\u07ff", 32), strings.Repeat("\u07ff", 30) + "\u0800"},
		{orderText, ff, ff[:64], "?"},
		{orderBytes, ff, ff[:64], "?"},
		{orderBytes, a[:62] + "\xff\xff\xff", a[:62] + "\xff\xff", a[:61] + "b"},
		{orderBytes, z, z[:64], z[:63] + "{"},
		{orderSigned, "\x01", "\x01", "\x01"},
		{orderSigned, z, "?", "?"},
	} {
		least, ok := appendLeast(nil, tt.o, []byte(tt.v))
		if got := string(least); ok != (tt.min != "?") || ok && got != tt.min {
			t.Errorf("least of %q: got %q, %v, want %q", tt.v, got, ok, tt.min)
		}
		most, ok := appendMost(nil, tt.o, []byte(tt.v))
		if got := string(most); ok != (tt.max != "?") || ok && got != tt.max {
			t.Errorf("most of %q: got %q, %v, want %q", tt.v, got, ok, tt.max)
		}
	}
}

func FuzzTextBounds(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab\u07ff", 30)), true)
	f.Add([]byte(strings.Repeat("\xff", 70)), false)
	f.Fuzz(func(t *testing.T, v []byte, text bool) {
		o := orderBytes
		if text {
			o = orderText
		}
		least, _ := appendLeast([]byte("x"), o, v)
		most, ok := appendMost([]byte("x"), o, v)
		least, most = least[1:], most[1:]
		if bytes.Compare(least, v) > 0 || ok && bytes.Compare(most, v) < 0 || max(len(least), len(most)) > maxBound {
			t.Errorf("%x is not from %x to %x", v, least, most)
		}
		if text && utf8.Valid(v) && !(utf8.Valid(least) && utf8.Valid(most)) {
			t.Errorf("the bounds of %q are %q and %q", v, least, most)
		}
	})
}

// Numbers in two's complement compare as such, of any sizes.
func TestCompareSigned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() (b []byte, v *big.Int) {
		b = make([]byte, r.IntN(5))
		for i := range b {
			b[i] = []byte{0, 0xff, 0x80, 0x7f, 1, byte(r.Uint32())}[r.IntN(6)]
		}
		v = new(big.Int).SetBytes(b)
		if negative(b) {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return b, v
	}
	for range 20_000 {
		a, x := number()
		b, y := number()
		if got := compareSigned(a, b); got != x.Cmp(y) {
			t.Fatalf("%x and %x: %d, want %d", a, b, got, x.Cmp(y))
		}
	}
}

// Floating-point numbers among which is NaN have no bounds. The bounds of others tell zeros apart.
func TestFloatBounds(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, tt := range []struct {
		values   []float64
		min, max float64
		none     bool
	}{
		{values: []float64{1, -2}, min: -2, max: 1},
		{values: []float64{nan}, none: true},
		{values: []float64{nan, 1}, none: true},
		{values: []float64{1, -2, -nan}, none: true},
		{values: []float64{0}, min: zero, max: 0},
		{values: []float64{zero}, min: zero, max: 0},
		{values: []float64{inf, inf}, min: inf, max: inf},
		{values: []float64{-inf, -inf}, min: -inf, max: -inf},
		{values: []float64{inf, nan, inf}, none: true},
		{values: []float64{zero, 3}, min: zero, max: 3},
	} {
		var doubles, floats []byte
		for _, v := range tt.values {
			doubles = binary.LittleEndian.AppendUint64(doubles, math.Float64bits(v))
			floats = binary.LittleEndian.AppendUint32(floats, math.Float32bits(float32(v)))
		}
		got, ok := appendNumberBounds(nil, orderDouble, doubles)
		want := binary.LittleEndian.AppendUint64(nil, math.Float64bits(tt.min))
		want = binary.LittleEndian.AppendUint64(want, math.Float64bits(tt.max))
		if ok == tt.none || ok && !bytes.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", tt.values, got, want)
		}
		got, ok = appendNumberBounds(nil, orderFloat, floats)
		want = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(tt.min)))
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(tt.max)))
		if ok == tt.none || ok && !bytes.Equal(got, want) {
			t.Errorf("%v as floats: got %x, want %x", tt.values, got, want)
		}
	}
}
