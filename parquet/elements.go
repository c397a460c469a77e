package parquet

import (
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
)

// maxPrecision and maxDecimal are the highest precision and the most bytes of a decimal that
// engines read. Bytes of others have no annotation.
const (
	maxPrecision = 38
	maxDecimal   = 16
)

// isDecimal reports whether the column is a decimal in Parquet, too.
func isDecimal(c *column.Column) bool {
	return c.Logical == column.LogicalDecimal && c.Precision <= maxPrecision && c.FixedSize <= maxDecimal
}

// physicalOf returns the physical type of a column's values, and the size of each if it is
// FIXED_LEN_BYTE_ARRAY.
func physicalOf(c *column.Column) (t format.Type, size int) {
	switch c.Type {
	case column.Boolean:
		return format.Boolean, 0
	case column.Int:
		if c.Symbols != nil {
			return format.ByteArray, 0
		}
		return format.Int32, 0
	case column.Long:
		return format.Int64, 0
	case column.Float:
		return format.Float, 0
	case column.Double:
		return format.Double, 0
	case column.Null:
		return format.Int32, 0
	}
	if c.FixedSize > 0 {
		return format.FixedLenByteArray, c.FixedSize
	}
	return format.ByteArray, 0
}

func groupElement(name string, r format.FieldRepetitionType, t format.LogicalType) format.SchemaElement {
	e := format.SchemaElement{Name: name, LogicalType: t, RepetitionType: thrift.New(r)}
	switch t.Value.(type) {
	case *format.ListType:
		e.ConvertedType.Set(deprecated.List)
	case *format.MapType:
		e.ConvertedType.Set(deprecated.Map)
	}
	return e
}

// leafElement returns the element of a leaf with the type of its stored values. text reports
// whether the Avro type is string.
func leafElement(l *leaf, stored *column.Column, name string, r format.FieldRepetitionType, text bool) format.SchemaElement {
	e := format.SchemaElement{Name: name, Type: thrift.New(l.physical), RepetitionType: thrift.New(r)}
	if l.size > 0 {
		e.TypeLength.Set(int32(l.size))
	}
	if l.Type != column.Null {
		annotate(&e, stored, text)
	}
	return e
}

// annotate sets the logical type of a leaf, and the converted type for readers that do not
// know logical types.
func annotate(e *format.SchemaElement, c *column.Column, text bool) {
	switch c.Logical {
	case column.LogicalDate:
		e.LogicalType.Value = &format.DateType{}
		e.ConvertedType.Set(deprecated.Date)
	case column.LogicalTimeMillis:
		e.LogicalType.Value = &format.TimeType{Unit: unitOf(c)}
		e.ConvertedType.Set(deprecated.TimeMillis)
	case column.LogicalTimeMicros:
		e.LogicalType.Value = &format.TimeType{Unit: unitOf(c)}
		e.ConvertedType.Set(deprecated.TimeMicros)
	case column.LogicalTimestampMillis, column.LogicalTimestampMicros, column.LogicalTimestampNanos:
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: unitOf(c)}
		switch c.Logical {
		case column.LogicalTimestampMillis:
			e.ConvertedType.Set(deprecated.TimestampMillis)
		case column.LogicalTimestampMicros:
			e.ConvertedType.Set(deprecated.TimestampMicros)
		}
	case column.LogicalLocalMillis, column.LogicalLocalMicros, column.LogicalLocalNanos:
		e.LogicalType.Value = &format.TimestampType{Unit: unitOf(c)}
		switch c.Logical {
		case column.LogicalLocalMillis:
			e.ConvertedType.Set(deprecated.TimestampMillis)
		case column.LogicalLocalMicros:
			e.ConvertedType.Set(deprecated.TimestampMicros)
		}
	case column.LogicalDecimal:
		if !isDecimal(c) {
			return
		}
		e.LogicalType.Value = &format.DecimalType{Precision: int32(c.Precision), Scale: int32(c.Scale)}
		e.ConvertedType.Set(deprecated.Decimal)
		e.Precision.Set(int32(c.Precision))
		e.Scale.Set(int32(c.Scale))
	default:
		if text || c.Symbols != nil {
			e.LogicalType.Value = &format.StringType{}
			e.ConvertedType.Set(deprecated.UTF8)
		}
	}
}

// unitOf returns the unit of a column of times.
func unitOf(c *column.Column) format.TimeUnit {
	switch c.Logical.Unit() {
	case time.Millisecond:
		return format.TimeUnit{Value: &format.MilliSeconds{}}
	case time.Microsecond:
		return format.TimeUnit{Value: &format.MicroSeconds{}}
	}
	return format.TimeUnit{Value: &format.NanoSeconds{}}
}
