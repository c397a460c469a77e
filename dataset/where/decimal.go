package where

import (
	"cmp"
	"math"
	"math/big"

	"github.com/rowtocol/rowtocol/format/column"
)

// decimals is a test of a decimal field. It passes if the unscaled number is from lo to hi, or
// if set is not nil, in set. not negates the test.
type decimals struct {
	*field
	lo, hi []byte // nil is no bound
	set    map[string]bool
	not    bool
}

func (c decimals) eval(match []bool, _ *scratch) {
	for i := range match {
		at := c.index(i)
		match[i] = at >= 0 && c.holds(c.bytes(at)) != c.not
	}
}

func (c decimals) holds(v []byte) bool {
	if c.set != nil {
		return c.set[string(column.ShortestDecimal(v))]
	}
	return (c.lo == nil || column.CompareDecimals(v, c.lo) >= 0) && (c.hi == nil || column.CompareDecimals(v, c.hi) <= 0)
}

// unscaled returns the number that a field of a scale stores for r, rounded down.
func unscaled(r *big.Rat, scale int) (floor *big.Int, exact bool) {
	r = new(big.Rat).Mul(r, new(big.Rat).SetInt(power10(scale)))
	floor, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	return floor, rest.Sign() == 0
}

func power10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// decimalTest compares a decimal field with a number.
func decimalTest(f *field, o operator, r *big.Rat, negated bool) condition {
	if o == unequal {
		o, negated = equal, !negated
	}
	floor, exact := unscaled(r, f.typ.Scale)
	above := column.DecimalOf(new(big.Int).Add(floor, big.NewInt(1)))
	below := column.DecimalOf(new(big.Int).Sub(floor, big.NewInt(1)))
	c := decimals{field: f, not: negated}
	switch at := column.DecimalOf(floor); {
	case o == equal && exact:
		c.lo, c.hi = at, at
	case o == equal:
		c.set = map[string]bool{}
	case o == less && exact:
		c.hi = below
	case o == less, o == lessEqual:
		c.hi = at
	case o == greaterEqual && exact:
		c.lo = at
	default:
		c.lo = above
	}
	return c
}

// exact compares decimals with other numbers in a row. It does not allocate for each row.
type exact struct {
	a, b, power big.Int
	mantissa    big.Int
}

// compare compares two values. One value is a decimal with its scale, the other a decimal, an
// integer or a floating-point number.
func (e *exact) compare(a, b *value) (c int, ordered bool) {
	if a.kind == kindFloat && (math.IsNaN(a.f) || math.IsInf(a.f, 0)) || b.kind == kindFloat && (math.IsNaN(b.f) || math.IsInf(b.f, 0)) {
		return e.infinite(a, b)
	}
	aTens, aTwos := e.load(&e.a, a)
	bTens, bTwos := e.load(&e.b, b)
	e.scale(&e.a, bTens)
	e.scale(&e.b, aTens)
	if aTwos > bTwos {
		e.a.Lsh(&e.a, uint(aTwos-bTwos))
	} else {
		e.b.Lsh(&e.b, uint(bTwos-aTwos))
	}
	return e.a.Cmp(&e.b), true
}

// infinite compares two values, at most one of them finite.
func (e *exact) infinite(a, b *value) (c int, ordered bool) {
	x, y := 0.0, 0.0
	if a.kind == kindFloat {
		x = a.f
	}
	if b.kind == kindFloat {
		y = b.f
	}
	if math.IsNaN(x) || math.IsNaN(y) {
		return 0, false
	}
	if !math.IsInf(x, 0) {
		x = 0
	}
	if !math.IsInf(y, 0) {
		y = 0
	}
	return cmp.Compare(x, y), true
}

// load sets n such that v is n / 10^tens * 2^twos.
func (e *exact) load(n *big.Int, v *value) (tens, twos int) {
	switch v.kind {
	case kindDecimal:
		n.SetBytes(v.s)
		if len(v.s) > 0 && v.s[0] >= 0x80 {
			e.power.SetInt64(1)
			n.Sub(n, e.power.Lsh(&e.power, uint(8*len(v.s))))
		}
		return int(v.i), 0
	case kindFloat:
		fraction, exponent := math.Frexp(v.f)
		n.SetInt64(int64(fraction * (1 << 53)))
		return 0, exponent - 53
	}
	n.SetInt64(v.i)
	return 0, 0
}

func (e *exact) scale(n *big.Int, tens int) {
	for ; tens > 0; tens -= min(tens, 18) {
		e.power.SetInt64(int64(math.Pow10(min(tens, 18))))
		e.mantissa.Set(n)
		n.Mul(&e.mantissa, &e.power)
	}
}
