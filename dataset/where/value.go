package where

import (
	"math"
	"math/big"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// kind is the kind of a value in the language.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindNumber // constants only: with a point, an exponent or more than 64 bits
	kindText
	kindBytes
	kindDecimal // fields only
	kindMoment  // dates and timestamps
	kindClock   // times of day, fields only
	kindGroup   // fields that are records, arrays or maps
)

var kindNames = [...]string{
	"null", "a boolean", "an integer", "a number", "a number", "a text", "bytes", "a decimal", "a time", "a time of day", "a group of fields",
}

func (k kind) String() string { return kindNames[k] }

// number reports whether constants of the kind are numbers.
func (k kind) number() bool { return k == kindInt || k == kindFloat || k == kindNumber }

// integer reports whether fields of the kind hold integers.
func (k kind) integer() bool { return k == kindInt || k == kindMoment || k == kindClock }

// computed returns the kind that a field's values have in computations.
func (k kind) computed() kind {
	switch {
	case k.integer():
		return kindInt
	case k == kindBytes:
		return kindText
	}
	return k
}

// kindOf returns the kind of a simple type's values.
func kindOf(n *shred.Node) kind {
	switch l := n.LogicalType(); {
	case l == column.LogicalDecimal:
		return kindDecimal
	case l == column.LogicalUUID:
		return kindText
	case l.Clock():
		return kindClock
	case l.Unit() > 0:
		return kindMoment
	}
	switch n.Kind {
	case shred.KindNull:
		return kindNull
	case shred.KindBoolean:
		return kindBool
	case shred.KindInt, shred.KindLong:
		return kindInt
	case shred.KindFloat, shred.KindDouble:
		return kindFloat
	case shred.KindBytes, shred.KindFixed:
		return kindBytes
	}
	return kindText
}

// value is a constant, or an operand's value in one row. The kind decides which fields are
// set.
type value struct {
	kind  kind
	i     int64 // an integer, a boolean as 0 or 1, or a stored moment or time of day
	f     float64
	s     []byte   // a text, or a decimal's stored unscaled number
	r     *big.Rat // a number of kindNumber
	t     time.Time
	zoned bool // t was written with a time zone
}

func boolean(yes bool) *value {
	v := &value{kind: kindBool}
	if yes {
		v.i = 1
	}
	return v
}

// negative returns the number with the opposite sign.
func (v *value) negative() *value {
	switch {
	case v.kind == kindInt && v.i != math.MinInt64:
		return &value{kind: kindInt, i: -v.i}
	case v.kind == kindFloat:
		return &value{kind: kindFloat, f: -v.f}
	}
	r := new(big.Rat).Neg(v.rational())
	if r.IsInt() && r.Num().IsInt64() && r.Num().Int64() == math.MinInt64 {
		return &value{kind: kindInt, i: math.MinInt64}
	}
	return &value{kind: kindNumber, r: r}
}

// rational returns the exact value of a finite number.
func (v *value) rational() *big.Rat {
	switch v.kind {
	case kindInt:
		return new(big.Rat).SetInt64(v.i)
	case kindFloat:
		return new(big.Rat).SetFloat64(v.f)
	}
	return v.r
}

// valueOf converts a value of the expression library.
func valueOf(x any) (value, bool) {
	switch x := x.(type) {
	case bool:
		return *boolean(x), true
	case int:
		return value{kind: kindInt, i: int64(x)}, true
	case int64:
		return value{kind: kindInt, i: x}, true
	case float64:
		return value{kind: kindFloat, f: x}, true
	case string:
		return value{kind: kindText, s: []byte(x)}, true
	case time.Time:
		return value{kind: kindMoment, t: x}, true
	}
	return value{}, false
}
