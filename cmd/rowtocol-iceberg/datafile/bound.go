package datafile

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"
)

// bound returns a bound of Parquet as one of the table's type, as Iceberg serializes single
// values. ok is false if the bound is not known.
func bound(leaf *pq.SchemaElement, t iceberg.Type, b []byte) (_ []byte, ok bool) {
	if b == nil {
		return nil, false
	}
	switch t := t.(type) {
	case iceberg.BooleanType:
		return b, len(b) == 1
	case iceberg.Int32Type, iceberg.DateType:
		return b, len(b) == 4
	case iceberg.Int64Type, iceberg.TimeType:
		v, ok := integer(b)
		return long(v), ok
	case iceberg.TimestampType, iceberg.TimestampTzType:
		return timestamp(leaf, b)
	case iceberg.Float32Type:
		return b, len(b) == 4
	case iceberg.Float64Type:
		return double(b)
	case iceberg.StringType:
		return b, utf8.Valid(b)
	case iceberg.BinaryType:
		return b, true
	case iceberg.FixedType:
		return b, len(b) == t.Len()
	case iceberg.DecimalType:
		return shortest(b), true
	}
	return nil, false
}

func integer(b []byte) (v int64, ok bool) {
	switch len(b) {
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

func long(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// timestamp returns a bound in microseconds.
func timestamp(leaf *pq.SchemaElement, b []byte) (_ []byte, ok bool) {
	v, ok := integer(b)
	a, annotated := leaf.LogicalType.Value.(*pq.TimestampType)
	if !ok || !annotated {
		return nil, false
	}
	if _, millis := a.Unit.Value.(*pq.MilliSeconds); millis {
		//guard: leaves out a bound that would overflow
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return nil, false
		}
		v *= 1000
	}
	return long(v), true
}

func double(b []byte) (_ []byte, ok bool) {
	if len(b) == 4 {
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		return long(int64(math.Float64bits(v))), true
	}
	return b, len(b) == 8
}

// shortest returns a number in two's complement, big-endian, without bytes that only repeat the
// sign.
func shortest(b []byte) []byte {
	if len(b) == 0 {
		return []byte{0}
	}
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}
