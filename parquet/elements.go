package parquet

import (
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

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
func physicalOf(c *column.Column) (t pq.Type, size int) {
	switch c.Type {
	case column.Boolean:
		return pq.Boolean, 0
	case column.Int:
		if c.Symbols != nil {
			return pq.ByteArray, 0
		}
		return pq.Int32, 0
	case column.Long:
		return pq.Int64, 0
	case column.Float:
		return pq.Float, 0
	case column.Double:
		return pq.Double, 0
	case column.Null:
		return pq.Int32, 0
	}
	if c.FixedSize > 0 {
		return pq.FixedLenByteArray, c.FixedSize
	}
	return pq.ByteArray, 0
}

func groupElement(name string, r pq.FieldRepetitionType, t pq.LogicalType) pq.SchemaElement {
	e := pq.SchemaElement{Name: name, LogicalType: t, RepetitionType: thrift.New(r)}
	switch t.Value.(type) {
	case *pq.ListType:
		e.ConvertedType.Set(deprecated.List)
	case *pq.MapType:
		e.ConvertedType.Set(deprecated.Map)
	}
	return e
}

// leafElement returns the element of a leaf with the type of its stored values. text reports
// whether the Avro type is string.
func leafElement(l *leaf, stored *column.Column, name string, r pq.FieldRepetitionType, text bool) pq.SchemaElement {
	e := pq.SchemaElement{Name: name, Type: thrift.New(l.physical), RepetitionType: thrift.New(r)}
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
func annotate(e *pq.SchemaElement, c *column.Column, text bool) {
	switch c.Logical {
	case column.LogicalDate:
		e.LogicalType.Value = &pq.DateType{}
		e.ConvertedType.Set(deprecated.Date)
	case column.LogicalTimeMillis:
		e.LogicalType.Value = &pq.TimeType{Unit: unitOf(c)}
		e.ConvertedType.Set(deprecated.TimeMillis)
	case column.LogicalTimeMicros:
		e.LogicalType.Value = &pq.TimeType{Unit: unitOf(c)}
		e.ConvertedType.Set(deprecated.TimeMicros)
	case column.LogicalTimestampMillis, column.LogicalTimestampMicros, column.LogicalTimestampNanos:
		e.LogicalType.Value = &pq.TimestampType{IsAdjustedToUTC: true, Unit: unitOf(c)}
		switch c.Logical {
		case column.LogicalTimestampMillis:
			e.ConvertedType.Set(deprecated.TimestampMillis)
		case column.LogicalTimestampMicros:
			e.ConvertedType.Set(deprecated.TimestampMicros)
		}
	case column.LogicalLocalMillis, column.LogicalLocalMicros, column.LogicalLocalNanos:
		e.LogicalType.Value = &pq.TimestampType{Unit: unitOf(c)}
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
		e.LogicalType.Value = &pq.DecimalType{Precision: int32(c.Precision), Scale: int32(c.Scale)}
		e.ConvertedType.Set(deprecated.Decimal)
		e.Precision.Set(int32(c.Precision))
		e.Scale.Set(int32(c.Scale))
	default:
		if text || c.Symbols != nil {
			e.LogicalType.Value = &pq.StringType{}
			e.ConvertedType.Set(deprecated.UTF8)
		}
	}
}

// unitOf returns the unit of a column of times.
func unitOf(c *column.Column) pq.TimeUnit {
	switch c.Logical.Unit() {
	case time.Millisecond:
		return pq.TimeUnit{Value: &pq.MilliSeconds{}}
	case time.Microsecond:
		return pq.TimeUnit{Value: &pq.MicroSeconds{}}
	}
	return pq.TimeUnit{Value: &pq.NanoSeconds{}}
}

// decimals returns how many decimal places the annotation of an element gives its numbers: those
// of seconds for times, and the scale of decimals. It returns -1 if there is no such annotation.
func decimals(e *pq.SchemaElement) int32 {
	unit := pq.TimeUnit{}
	switch t := e.LogicalType.Value.(type) {
	case *pq.DecimalType:
		return t.Scale
	case *pq.TimeType:
		unit = t.Unit
	case *pq.TimestampType:
		unit = t.Unit
	}
	switch unit.Value.(type) {
	case *pq.MilliSeconds:
		return 3
	case *pq.MicroSeconds:
		return 6
	case *pq.NanoSeconds:
		return 9
	}
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.Decimal:
			return e.Scale.V
		case deprecated.TimeMillis, deprecated.TimestampMillis:
			return 3
		case deprecated.TimeMicros, deprecated.TimestampMicros:
			return 6
		}
	}
	return -1
}
