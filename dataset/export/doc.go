// Package export writes rows in forms that other programs read: JSON lines, CSV and
// Avro object container files. A row is the bytes of its datum, as dataset.Scan returns
// it.
//
// JSON, CSV and Avro prepare a schema: they return an Encoding, which goroutines may share.
// Its encoders append rows to buffers, each on a goroutine of its own. The header of the
// encoding and the bytes of the encoders, in the order of the rows, are the output.
// NewWriter does this for one goroutine.
//
// # JSON and CSV
//
// Values are written for people and for tools that do not know Avro:
//
//	null                       null, in CSV an empty field
//	boolean, int, long         a boolean or an exact integer
//	float, double              the shortest digits that read back the same, and
//	                           never an integer: 3.0, -0.0, 1e+21; "NaN",
//	                           "Infinity", "-Infinity"
//	string, enum               a string; bytes that are not UTF-8 as U+FFFD
//	bytes, fixed               base64
//	record, map                an object, in stored order
//	array                      an array
//	union                      the value itself
//	date                       "2026-01-31"
//	time-millis, -micros       "23:59:59.123", "23:59:59.123456"
//	timestamp-*                "2026-01-31T23:59:59.123Z", with 3, 6 or 9 digits
//	local-timestamp-*          the same without Z
//	decimal                    "-12.30", a string with all digits of the scale;
//	                           base64 if the scale is larger than 1,000, or
//	                           the value more than 1,000 bytes
//	uuid                       "01234567-89ab-cdef-0123-456789abcdef"
//	duration                   "P1M2DT3.004S": months, days, seconds
//
// Years outside 0 to 9999 have a sign and at least five digits. A time of day outside
// the day is written as its number.
//
// With UnionTags, JSON is Avro's own JSON encoding, which Avro's libraries read. A value
// of a union, unless it is null, is an object with the name of the value's type and the
// value. Bytes and fixed are strings of the characters U+0000 to U+00FF. Logical types
// have no effect.
package export
