package column

import "slices"

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

var logicalNames = [...]string{
	LogicalDate: "date", LogicalTimeMillis: "time-millis", LogicalTimeMicros: "time-micros",
	LogicalTimestampMillis: "timestamp-millis", LogicalTimestampMicros: "timestamp-micros", LogicalTimestampNanos: "timestamp-nanos",
	LogicalLocalMillis: "local-timestamp-millis", LogicalLocalMicros: "local-timestamp-micros", LogicalLocalNanos: "local-timestamp-nanos",
	LogicalDecimal: "decimal", LogicalUUID: "uuid", LogicalDuration: "duration",
}

// String returns the name that the Avro specification gives the type; it is empty for
// LogicalNone.
func (l Logical) String() string { return logicalNames[l] }

// ParseLogical is the inverse of String; ok is false for an unknown name.
func ParseLogical(name string) (l Logical, ok bool) {
	i := slices.Index(logicalNames[:], name)
	return Logical(max(i, 0)), i >= 0
}
