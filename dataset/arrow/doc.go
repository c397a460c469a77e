// Package arrow converts the columns of a dataset to Apache Arrow arrays, and writes
// them as an Arrow stream. It makes arrays from blocks of columns, never from rows.
//
// Records makes the record batches of a query. A program that reads batches on several
// goroutines prepares a Schema once, and has a Maker on each goroutine. The arrays borrow
// the memory of the batch's vectors where Arrow has values in the same form.
//
// # Types
//
// A field can be null exactly if its Avro type can be null. The fields of a row are the
// fields of its record. A row of any other type has one field, value.
//
//	null, boolean          null, bool
//	int, long              int32, int64
//	float, double          float32, float64
//	bytes                  binary
//	string                 utf8; invalid UTF-8 becomes U+FFFD
//	fixed                  fixed_size_binary; binary if the size is 0
//	enum                   a dictionary of utf8, with the smallest index type that
//	                       fits; utf8 inside an array or a map
//	record                 struct
//	array                  list
//	map                    map of utf8
//	null and one type      that type, nullable
//	other unions           dense_union with a child per branch, also for null
//	a type inside itself   binary: the Avro encoding
//	date                   date32
//	time-millis, -micros   time32(ms), time64(us)
//	timestamp-*            timestamp(ms, us, ns), UTC
//	local-timestamp-*      timestamp(ms, us, ns), without time zone
//	decimal                decimal128, decimal256; with more than 76 digits, the
//	                       annotated type
//	uuid                   the annotated type: utf8, fixed_size_binary(16)
//	duration               the annotated type: fixed_size_binary(12)
//
// Few engines support unions, and structs without fields. In the form Structs, a union is a
// struct with a nullable field for each branch except null, and a record without fields is a
// boolean, true. Branches of both forms have the names of their types, without namespaces if
// these names are distinct.
//
// Spark supports neither nanoseconds nor times of day. In the form Spark, all timestamps are
// timestamp(us), and time-millis and time-micros are int32 and int64. A timestamp that microseconds
// of 64 bits do not represent exactly is an error.
//
// A decimal with more digits than its type has is an error.
package arrow
