// Package export writes rows in forms that other programs read: JSON lines, CSV and
// Avro object container files. It takes rows as the bytes of their datum, as
// dataset.Scan returns them.
//
// # JSON and CSV
//
// Values are written for people and for tools that do not know Avro:
//
//	null                       null, in CSV an empty field
//	boolean, int, long         as such; longs are exact
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
//	decimal                    "-12.30", all digits of its scale, as a string;
//	                           base64 beyond 1,000 digits of scale, or bytes
//	uuid                       "01234567-89ab-cdef-0123-456789abcdef"
//	duration                   "P1M2DT3.004S": months, days, seconds
//
// Years outside 0 to 9999 have a sign and at least five digits. A time of day outside
// the day is written as its number.
//
// With UnionTags, JSON is Avro's own encoding, which Avro's libraries read back. A
// value of a union, unless null, is an object with the name of its type and the value.
// Bytes and fixed are strings of the characters U+0000 to U+00FF. Logical types are not
// rendered.
package export
