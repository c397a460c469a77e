package export

import (
	"github.com/rowtocol/rowtocol/format/column"
)

// Value gives single values of a column as the text that they are in CSV.
type Value struct {
	form
	bits int // of a float or a double
}

// ValueOf returns the text of values of a column.
func ValueOf(c *column.Column) Value {
	v := Value{form{logical: c.Logical, scale: c.Scale}, 64}
	if c.Type == column.Float {
		v.bits = 32
	}
	return v
}

// Integer is the text of an int or long value that is no ordinal.
func (v Value) Integer(n int64) string { return string(appendInteger(nil, v.logical, n)) }

// Float is the text of a float or double value.
func (v Value) Float(f float64) string { return string(appendFloat(nil, f, v.bits)) }

// Bytes is the text of a bytes or fixed value.
func (v Value) Bytes(b []byte) string {
	if v.logical == column.LogicalDecimal && v.scale > column.MaxTextScale {
		return string(appendBase64(nil, b))
	}
	return string(appendBytes(nil, &v.form, b))
}
