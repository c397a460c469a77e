package cfile

import (
	"fmt"

	"github.com/rowtocol/rowtocol/format/column"
)

// shape says which files a column of a part has.
//
//	column                                   files
//	without lengths, top-level               n.cf            a value for each row
//	without lengths, of an array's items     n.cf            a value for each item
//	one branch of a union with null, top     n.cf, nullable  a value or null for each row
//	any other with lengths                   n.lengths.cf    a length for each row, or item above
//	                                         n.cf            the items
//
// A column of type null has no file of values.
type shape struct {
	lengths, values bool
	nullable        bool // values has the nulls
}

func shapeOf(c *column.Column) shape {
	values := c.Type != column.Null
	nullable := values && c.Parent < 0 && c.Array && c.Optional && c.Nullable
	return shape{lengths: c.Array && !nullable, values: values, nullable: nullable}
}

// The contents of a column's files, by their names in a part's document.
const (
	holdsValues  = "values"
	holdsItems   = "items"
	holdsLengths = "lengths"
	holdsNulls   = "nulls" // of no file
)

// holds returns the content of the last, or only, file of a column.
func (s shape) holds(c *column.Column) string {
	switch {
	case !s.values && s.lengths:
		return holdsLengths
	case !s.values:
		return holdsNulls
	case s.lengths || c.Parent >= 0:
		return holdsItems
	}
	return holdsValues
}

// fileName returns the name of a column's file in its part.
func fileName(col int, lengths bool) string {
	if lengths {
		return fmt.Sprintf("%05d.lengths.cf", col)
	}
	return fmt.Sprintf("%05d.cf", col)
}

// The most digits of Kudu's decimals.
const (
	maxDecimal32  = 9
	maxDecimal64  = 18
	maxDecimal128 = 38
)

// typeOf returns the type of a column's values in the file. It depends on the meaning of the
// values, or only on the type that Avro stores if physical is set. ok is false for types that no
// Avro schema has.
func typeOf(c *column.Column, physical bool) (t Type, ok bool) {
	if !physical {
		if t, ok := logicalType(c); ok {
			return t, true
		}
	}
	switch c.Type {
	case column.Boolean:
		return Bool, true
	case column.Int:
		return Int32, true
	case column.Long:
		return Int64, true
	case column.Float:
		return Float, true
	case column.Double:
		return Double, true
	case column.String:
		return String, true
	case column.Bytes:
		return Binary, true
	}
	return 0, false
}

// logicalType returns Kudu's type for the meaning of a column's values. ok is false if Kudu has
// no such type.
func logicalType(c *column.Column) (t Type, ok bool) {
	switch {
	case c.Type == column.Int && c.Logical == column.LogicalDate:
		return Date, true
	case c.Type == column.Int && c.Symbols != nil:
		// A symbol that stands for two ordinals would not give the ordinal back.
		return String, distinct(c.Symbols)
	case c.Type == column.Long && c.Logical == column.LogicalTimestampMicros:
		return UnixtimeMicros, true
	// Only fixed-size bytes are unique for each number.
	case c.Type == column.Bytes && c.Logical == column.LogicalDecimal && c.FixedSize > 0:
		switch {
		case c.Precision <= maxDecimal32:
			return Decimal32, true
		case c.Precision <= maxDecimal64:
			return Decimal64, true
		case c.Precision <= maxDecimal128:
			return Decimal128, true
		}
	}
	return 0, false
}

func distinct(symbols []string) bool {
	seen := make(map[string]bool, len(symbols))
	for _, s := range symbols {
		if seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// The range of Kudu's dates, 0001-01-01 to 9999-12-31, in days.
const (
	minDate = -719162
	maxDate = 2932896
)
