package where

import (
	"bytes"
	"cmp"
	"math"
	"time"
)

// kind is the kind of a value as the language sees it.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindText
	kindTime // constants only
	kindNone // of a field that compares with nothing but null
)

var kindNames = [...]string{"null", "a boolean", "an integer", "a number", "a text", "a time", "a decimal"}

func (k kind) String() string { return kindNames[k] }

func (k kind) number() bool { return k == kindInt || k == kindFloat }

// comparable tells whether values of two kinds have an order or, for booleans,
// are equal or not.
func (k kind) comparable(other kind) bool {
	return k != kindNone && other != kindNone && (k == other || k.number() && other.number() || k == kindNull || other == kindNull)
}

// value is a constant, or what an operand is in one row. Which fields are in
// use follows from kind.
type value struct {
	kind kind
	i    int64 // also a boolean, 0 or 1
	f    float64
	s    []byte
	t    time.Time
}

// valueOf converts a value of the expression library.
func valueOf(x any) (value, bool) {
	switch x := x.(type) {
	case nil:
		return value{}, true
	case bool:
		v := value{kind: kindBool}
		if x {
			v.i = 1
		}
		return v, true
	case int:
		return value{kind: kindInt, i: int64(x)}, true
	case int64:
		return value{kind: kindInt, i: x}, true
	case float64:
		return value{kind: kindFloat, f: x}, true
	case string:
		return value{kind: kindText, s: []byte(x)}, true
	case time.Time:
		return value{kind: kindTime, t: x}, true
	}
	return value{}, false
}

// compare orders two values of comparable kinds, neither of which is null;
// ordered is false if one is NaN.
func compare(a, b *value) (c int, ordered bool) {
	switch {
	case a.kind == kindText:
		return bytes.Compare(a.s, b.s), true
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
