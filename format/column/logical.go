package column

import (
	"slices"
	"time"
)

// Logical is a logical type of the Avro specification.
type Logical uint8

// The logical types, with the types that they annotate. LogicalNone means that there is
// no logical type.
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

var logicalNames = [...]string{
	LogicalDate: "date", LogicalTimeMillis: "time-millis", LogicalTimeMicros: "time-micros",
	LogicalTimestampMillis: "timestamp-millis", LogicalTimestampMicros: "timestamp-micros", LogicalTimestampNanos: "timestamp-nanos",
	LogicalLocalMillis: "local-timestamp-millis", LogicalLocalMicros: "local-timestamp-micros", LogicalLocalNanos: "local-timestamp-nanos",
	LogicalDecimal: "decimal", LogicalUUID: "uuid", LogicalDuration: "duration",
}

// String returns the name of the type in the Avro specification, or "" for LogicalNone.
func (l Logical) String() string { return logicalNames[l] }

// times holds the unit of each type that counts time, and the layout in which it is printed.
var times = [...]struct {
	unit   time.Duration
	layout string
}{
	LogicalDate:            {24 * time.Hour, time.DateOnly},
	LogicalTimeMillis:      {time.Millisecond, time.TimeOnly},
	LogicalTimeMicros:      {time.Microsecond, time.TimeOnly},
	LogicalTimestampMillis: {time.Millisecond, time.RFC3339},
	LogicalTimestampMicros: {time.Microsecond, time.RFC3339},
	LogicalTimestampNanos:  {time.Nanosecond, time.RFC3339},
	LogicalLocalMillis:     {time.Millisecond, localLayout},
	LogicalLocalMicros:     {time.Microsecond, localLayout},
	LogicalLocalNanos:      {time.Nanosecond, localLayout},
	LogicalDuration:        {},
}

const localLayout = "2006-01-02T15:04:05"

// Unit returns the unit of a type that counts the time since 1970 or since midnight. It
// returns 0 for other types.
func (l Logical) Unit() time.Duration { return times[l].unit }

// Layout returns the layout, as package time defines it, of a type with a Unit. The layout
// has no fraction of a second.
func (l Logical) Layout() string { return times[l].layout }

// Clock reports whether values are times of day.
func (l Logical) Clock() bool { return times[l].layout == time.TimeOnly }

// Local reports whether values are timestamps in no stated time zone.
func (l Logical) Local() bool { return times[l].layout == localLayout }

// ParseLogical is the inverse of String; ok is false for an unknown name.
func ParseLogical(name string) (l Logical, ok bool) {
	i := slices.Index(logicalNames[:], name)
	return Logical(max(i, 0)), i >= 0
}
