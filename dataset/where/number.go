package where

import (
	"cmp"
	"math"
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

// mirrored is the operator with its sides exchanged.
var mirrored = map[operator]operator{
	equal: equal, unequal: unequal, less: greater, lessEqual: greaterEqual, greater: less, greaterEqual: lessEqual,
}

// holds applies the operator to the outcome of a comparison; without ordered
// one of the values is NaN.
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

// bounds is a test of numbers: from lo to hi, both included, turned around if
// not is set. With a set it is instead being in it, in ascending order.
type bounds[T int64 | float64] struct {
	lo, hi T
	not    bool
	set    []T
}

func (t *bounds[T]) holds(v T) bool {
	if t.set != nil {
		_, found := slices.BinarySearch(t.set, v)
		return found && v == v // NaN is not in a set
	}
	return (t.lo <= v && v <= t.hi) != t.not
}

// limits are the least and the greatest number that may hold, if there are.
func (t *bounds[T]) limits() (lo, hi T, ok bool) {
	if t.set != nil {
		return t.set[0], t.set[len(t.set)-1], true
	}
	return t.lo, t.hi, !t.not
}

// intBounds is the test of an integer against a number that lies at or, unless
// exact, between floor and floor + 1.
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

// above is whether the operator asks for more than something.
func (o operator) above() bool { return o == greater || o == greaterEqual }

// intBoundsOf is the test of an integer against a floating-point number.
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

// always is the test that holds for all numbers, or for none.
func always[T int64 | float64](yes bool) bounds[T] { return bounds[T]{lo: 1, not: yes} }

// floatBounds is the test of a floating-point number against another.
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

// floatBoundsOf is the test of a floating-point number against an integer.
func floatBoundsOf(o operator, c int64) bounds[float64] {
	f := float64(c)
	switch compareIntFloat(c, f) {
	case 0:
		return floatBounds(o, f)
	case -1: // c lies below f, above the number before it
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
