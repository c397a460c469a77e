package cfile

import (
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/column"
)

// TestAvroValuesErrors checks the errors for damaged Avro data, and for values that a file cannot hold.
func TestAvroValuesErrors(t *testing.T) {
	enum := column.Column{Type: column.Int, Symbols: []string{"a", "b"}}
	decimal := column.Column{Type: column.Bytes, Logical: column.LogicalDecimal, FixedSize: 2, Precision: 4}
	wide := column.Column{Type: column.Bytes, Logical: column.LogicalDecimal, FixedSize: 17, Precision: 38}
	huge := []byte{0x80, 0x80, 0x80, 0x80, 0x20} // 2³², which would become 0 as an INT32
	for name, c := range map[string]struct {
		column  column.Column
		typ     Type
		data    []byte
		invalid bool // the value does not fit; else the data is cut
	}{
		"no int":                   {column.Column{Type: column.Int}, Int32, nil, false},
		"a cut int":                {column.Column{Type: column.Int}, Int32, []byte{0x80}, false},
		"an int of 33 bits":        {column.Column{Type: column.Int}, Int32, huge, true},
		"a cut long":               {column.Column{Type: column.Long}, Int64, []byte{0x80}, false},
		"a cut float":              {column.Column{Type: column.Float}, Float, make([]byte, 3), false},
		"a cut double":             {column.Column{Type: column.Double}, Double, make([]byte, 7), false},
		"no string":                {column.Column{Type: column.String}, String, nil, false},
		"a cut string":             {column.Column{Type: column.String}, String, []byte{4, 'x'}, false},
		"a cut size":               {column.Column{Type: column.String}, String, []byte{0x80}, false},
		"a long size":              {column.Column{Type: column.String}, String, []byte{0x80, 1, 'x'}, false},
		"a negative size":          {column.Column{Type: column.String}, String, []byte{1, 'x'}, false},
		"a long negative size":     {column.Column{Type: column.String}, String, []byte{0x81, 1, 'x'}, false},
		"a cut ordinal":            {enum, String, []byte{0x80}, false},
		"an ordinal of no symbol":  {enum, String, []byte{4}, false},
		"a negative ordinal":       {enum, String, []byte{1}, false},
		"a cut decimal":            {decimal, Decimal32, []byte{4, 1}, false},
		"a decimal of five digits": {decimal, Decimal32, []byte{4, 0x27, 0x10}, true},
		"a decimal of 129 bits":    {wide, Decimal128, append([]byte{34, 1}, make([]byte, 16)...), true},
		"a day before the year 1":  {column.Column{Type: column.Int, Logical: column.LogicalDate}, Date, []byte{0xf5, 0xe4, 0x57}, true},
		"a day of the year 10000":  {column.Column{Type: column.Int, Logical: column.LogicalDate}, Date, []byte{0xc2, 0x82, 0xe6, 0x02}, true},
	} {
		a := newAvroValues(&c.column, c.typ)
		n, _, err := a.append(new(encoding.Values), c.data[:len(c.data):len(c.data)], 1, 1<<20)
		if errors.Is(err, errCut) == c.invalid || errors.As(err, new(*valueError)) != c.invalid {
			t.Errorf("%s: %d values, %v", name, n, err)
		}
	}
}
