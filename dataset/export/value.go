package export

import (
	"github.com/rowtocol/rowtocol/format/column"
)

// Value converts single values of a column to their text in CSV.
type Value struct {
	form
	bits int // size of a float or a double
}

// ValueOf returns a Value for a column.
func ValueOf(c *column.Column) Value {
	v := Value{form{logical: c.Logical, scale: c.Scale}, 64}
	if c.Type == column.Float {
		v.bits = 32
	}
	return v
}

// Integer returns the text of an int or long value, unless it is an ordinal.
func (v Value) Integer(n int64) string { return string(appendInteger(nil, v.logical, n)) }

// Float returns the text of a float or double value.
func (v Value) Float(f float64) string { return string(appendFloat(nil, f, v.bits)) }

// Bytes returns the text of a bytes or fixed value.
func (v Value) Bytes(b []byte) string {
	if v.logical == column.LogicalDecimal && v.scale > column.MaxTextScale {
		return string(appendBase64(nil, b))
	}
	return string(appendBytes(nil, &v.form, b))
}
