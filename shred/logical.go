package shred

import (
	"encoding/json"
	"math"
)

// Logical is a logical type of the Avro specification.
type Logical uint8

// The logical types, with the types that they annotate. The first is none.
const (
	LogicalNone            Logical = iota
	LogicalDate                    // int: days since 1970-01-01
	LogicalTimeMillis              // int: milliseconds since midnight
	LogicalTimeMicros              // long
	LogicalTimestampMillis         // long: since 1970-01-01T00:00:00 UTC
	LogicalTimestampMicros         // long
	LogicalTimestampNanos          // long
	LogicalLocalMillis             // long: as timestamps, in no stated time zone
	LogicalLocalMicros             // long
	LogicalLocalNanos              // long
	LogicalDecimal                 // bytes, fixed: two's complement, big-endian, times 10^-Scale
	LogicalUUID                    // string, or fixed of 16 bytes
	LogicalDuration                // fixed of 12 bytes: months, days, milliseconds, little-endian
)

var logicals = map[string]struct {
	logical Logical
	kinds   []Kind
}{
	"date":                   {LogicalDate, []Kind{KindInt}},
	"time-millis":            {LogicalTimeMillis, []Kind{KindInt}},
	"time-micros":            {LogicalTimeMicros, []Kind{KindLong}},
	"timestamp-millis":       {LogicalTimestampMillis, []Kind{KindLong}},
	"timestamp-micros":       {LogicalTimestampMicros, []Kind{KindLong}},
	"timestamp-nanos":        {LogicalTimestampNanos, []Kind{KindLong}},
	"local-timestamp-millis": {LogicalLocalMillis, []Kind{KindLong}},
	"local-timestamp-micros": {LogicalLocalMicros, []Kind{KindLong}},
	"local-timestamp-nanos":  {LogicalLocalNanos, []Kind{KindLong}},
	"decimal":                {LogicalDecimal, []Kind{KindBytes, KindFixed}},
	"uuid":                   {LogicalUUID, []Kind{KindString, KindFixed}},
	"duration":               {LogicalDuration, []Kind{KindFixed}},
}

// LogicalType returns the node's logical type. It is LogicalNone where the
// schema states none, or one that is unknown or does not fit the type, which
// the specification says to ignore.
func (n *Node) LogicalType() Logical {
	l, ok := logicals[n.Logical]
	if !ok {
		return LogicalNone
	}
	for _, kind := range l.kinds {
		if kind == n.Kind && n.fits(l.logical) {
			return l.logical
		}
	}
	return LogicalNone
}

// fits checks what a logical type asks beyond the kind.
func (n *Node) fits(l Logical) bool {
	switch l {
	case LogicalDecimal:
		return n.Precision > 0 && n.Scale >= 0 && n.Scale <= n.Precision &&
			(n.Kind == KindBytes || n.Precision <= maxPrecision(n.Size))
	case LogicalUUID:
		return n.Kind == KindString || n.Size == 16
	case LogicalDuration:
		return n.Size == 12
	}
	return true
}

// maxPrecision is the number of decimal digits that a two's complement number
// of so many bytes is sure to hold.
func maxPrecision(size int) int {
	return int(math.Floor(math.Log10(2) * (8*float64(size) - 1)))
}

// number returns a property that is an integer, or 0.
func number(v any) int {
	n, _ := v.(json.Number)
	i, err := n.Int64()
	if err != nil || i != int64(int32(i)) {
		return 0
	}
	return int(i)
}
