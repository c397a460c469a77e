package where

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// operator is a comparison.
type operator string

const (
	equal        operator = "=="
	unequal      operator = "!="
	less         operator = "<"
	lessEqual    operator = "<="
	greater      operator = ">"
	greaterEqual operator = ">="
)

// mirrored maps each operator to the operator for exchanged sides.
var mirrored = map[operator]operator{
	equal: equal, unequal: unequal, less: greater, lessEqual: greaterEqual, greater: less, greaterEqual: lessEqual,
}

// holds applies the operator to the outcome c of a comparison. If ordered is not set, one of
// the compared values is NaN.
func (o operator) holds(c int, ordered bool) bool {
	switch o {
	case equal:
		return ordered && c == 0
	case unequal:
		return !ordered || c != 0
	case less:
		return ordered && c < 0
	case lessEqual:
		return ordered && c <= 0
	case greater:
		return ordered && c > 0
	default:
		return ordered && c >= 0
	}
}

// inverse maps each operator to its negation for ordered values.
var inverse = map[operator]operator{
	equal: unequal, unequal: equal, less: greaterEqual, greaterEqual: less, lessEqual: greater, greater: lessEqual,
}

// bounds is a test of numbers. If set is nil, numbers from lo to hi pass, both included.
// Otherwise numbers in set pass, which is ascending. not negates the test.
type bounds[T int64 | float64] struct {
	lo, hi T
	not    bool
	set    []T
}

func (t *bounds[T]) holds(v T) bool {
	if t.set != nil {
		_, found := slices.BinarySearch(t.set, v)
		return (found && v == v) != t.not // NaN is not in a set
	}
	return (t.lo <= v && v <= t.hi) != t.not
}

// inverted returns the negated test. If t passes all integers up to a number, or from a
// number on, the result has bounds too, so that it can exclude blocks.
func inverted(t bounds[int64]) bounds[int64] {
	switch {
	case t.set != nil, t.not, t.lo == math.MinInt64 && t.hi == math.MaxInt64:
		t.not = !t.not
	case t.lo == math.MinInt64:
		t.lo, t.hi = t.hi+1, math.MaxInt64
	case t.hi == math.MaxInt64:
		t.lo, t.hi = math.MinInt64, t.lo-1
	default:
		t.not = true
	}
	return t
}

// limits returns the least and the greatest number that may pass, if there are limits.
func (t *bounds[T]) limits() (lo, hi T, ok bool) {
	if t.set != nil {
		return t.set[0], t.set[len(t.set)-1], !t.not
	}
	return t.lo, t.hi, !t.not
}

// intBounds returns the test of an integer against floor, or, unless exact, against a
// number between floor and floor + 1.
func intBounds(o operator, floor int64, exact bool) bounds[int64] {
	t := bounds[int64]{lo: math.MinInt64, hi: math.MaxInt64}
	switch {
	case o == unequal && exact:
		t.lo, t.hi, t.not = floor, floor, true
	case o == unequal:
		return always[int64](true)
	case o == equal && exact:
		t.lo, t.hi = floor, floor
	case o == equal, o == less && exact && floor == math.MinInt64, o.above() && floor == math.MaxInt64 && (o == greater || !exact):
		return always[int64](false)
	case o == less && exact:
		t.hi = floor - 1
	case o == less, o == lessEqual:
		t.hi = floor
	case o == greaterEqual && exact:
		t.lo = floor
	default:
		t.lo = floor + 1
	}
	return t
}

// above reports whether the operator asks for greater values.
func (o operator) above() bool { return o == greater || o == greaterEqual }

// intBoundsOf returns the test of an integer against a floating-point number.
func intBoundsOf(o operator, c float64) bounds[int64] {
	floor := math.Floor(c)
	switch {
	case math.IsNaN(c):
		return always[int64](o == unequal)
	case floor >= 1<<63:
		return always[int64](o == unequal || o == less || o == lessEqual)
	case floor < -1<<63:
		return always[int64](o == unequal || o == greater || o == greaterEqual)
	}
	return intBounds(o, int64(floor), floor == c)
}

// intBoundsOfRational returns the test of an integer against any number.
func intBoundsOfRational(o operator, r *big.Rat) bounds[int64] {
	floor, exact := unscaled(r, 0)
	switch {
	case floor.IsInt64():
		return intBounds(o, floor.Int64(), exact)
	case floor.Sign() > 0:
		return always[int64](o == unequal || o == less || o == lessEqual)
	}
	return always[int64](o == unequal || o.above())
}

// intBoundsOfNumber returns the test of an integer against a constant.
func intBoundsOfNumber(o operator, c *value) bounds[int64] {
	switch c.kind {
	case kindInt:
		return intBounds(o, c.i, true)
	case kindFloat:
		return intBoundsOf(o, c.f)
	}
	return intBoundsOfRational(o, c.r)
}

// floatBoundsOfNumber returns the test of a floating-point number against a constant. A
// constant with a point stands for the nearest number of the type, of 32 bits if single
// is set. ok is false if it is out of range.
func floatBoundsOfNumber(o operator, c *value, single bool) (t bounds[float64], ok bool) {
	switch c.kind {
	case kindInt:
		return floatBoundsOf(o, c.i), true
	case kindFloat:
		return floatBounds(o, c.f), true
	}
	f, _ := c.r.Float64()
	if f32, _ := c.r.Float32(); single && !math.IsInf(float64(f32), 0) {
		f = float64(f32)
	}
	return floatBounds(o, f), !math.IsInf(f, 0)
}

// always returns the test that all numbers pass, or that no number passes.
func always[T int64 | float64](yes bool) bounds[T] { return bounds[T]{lo: 1, not: yes} }

// floatBounds returns the test of a floating-point number against c.
func floatBounds(o operator, c float64) bounds[float64] {
	t := bounds[float64]{lo: math.Inf(-1), hi: math.Inf(1)}
	switch {
	case math.IsNaN(c):
		return always[float64](o == unequal)
	case o == equal:
		t.lo, t.hi = c, c
	case o == unequal:
		t.lo, t.hi, t.not = c, c, true
	case o == lessEqual:
		t.hi = c
	case o == greaterEqual:
		t.lo = c
	case math.IsInf(c, 1) && o == greater, math.IsInf(c, -1) && o == less:
		return always[float64](false)
	case o == less:
		t.hi = math.Nextafter(c, math.Inf(-1))
	default:
		t.lo = math.Nextafter(c, math.Inf(1))
	}
	return t
}

// floatBoundsOf returns the test of a floating-point number against an integer.
func floatBoundsOf(o operator, c int64) bounds[float64] {
	f := float64(c)
	switch compareIntFloat(c, f) {
	case 0:
		return floatBounds(o, f)
	case -1: // c is between f and the next lower floating-point number
		switch o {
		case less, lessEqual:
			return floatBounds(less, f)
		case greater, greaterEqual:
			return floatBounds(greaterEqual, f)
		}
	default:
		switch o {
		case less, lessEqual:
			return floatBounds(lessEqual, f)
		case greater, greaterEqual:
			return floatBounds(greater, f)
		}
	}
	return always[float64](o == unequal)
}

// compareIntFloat compares by value. f is not NaN.
func compareIntFloat(i int64, f float64) int {
	switch floor := math.Floor(f); {
	case floor >= 1<<63:
		return -1
	case floor < -1<<63:
		return 1
	case i != int64(floor):
		return cmp.Compare(i, int64(floor))
	case floor < f:
		return -1
	}
	return 0
}

// compare compares two numbers. ordered is false if one of them is NaN.
func compare(a, b *value) (c int, ordered bool) {
	switch {
	case a.kind == kindFloat && math.IsNaN(a.f), b.kind == kindFloat && math.IsNaN(b.f):
		return 0, false
	case a.kind == kindFloat && b.kind == kindFloat:
		return cmp.Compare(a.f, b.f), true
	case a.kind == kindFloat:
		return -compareIntFloat(b.i, a.f), true
	case b.kind == kindFloat:
		return compareIntFloat(a.i, b.f), true
	}
	return cmp.Compare(a.i, b.i), true
}
