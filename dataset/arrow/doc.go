// Package arrow gives the columns of a dataset as Apache Arrow arrays, and
// writes them as an Arrow stream or a Parquet file. Arrays are made of blocks
// of columns, never of rows.
//
// # Types
//
// A field can be null exactly where Avro's can. The fields of a row are those
// of its record; a row of any other type is one field, value.
//
//	null, boolean          null, bool
//	int, long              int32, int64
//	float, double          float32, float64
//	bytes                  binary
//	string                 utf8; what is not UTF-8 becomes U+FFFD
//	fixed                  fixed_size_binary; of no bytes: binary
//	enum                   a dictionary of utf8, of the smallest index that fits;
//	                       inside an array or a map utf8
//	record                 struct
//	array                  list
//	map                    map of utf8
//	null and one type      that type, nullable
//	other unions           dense_union; a child per branch, null's of type null
//	a type inside itself   binary: the Avro encoding
//	date                   date32
//	time-millis, -micros   time32(ms), time64(us)
//	timestamp-*            timestamp(ms, us, ns), UTC
//	local-timestamp-*      timestamp(ms, us, ns), without time zone
//	decimal                decimal128, decimal256; of more than 76 digits, the
//	                       type below it
//	uuid                   the type below it: utf8, fixed_size_binary(16)
//	duration               the type below it: fixed_size_binary(12)
//
// Parquet has no unions, and no groups without fields, and few engines know
// them in Arrow. In the form Structs a union is a struct with a nullable field
// for each branch but null, and a record without fields is a boolean, true. The
// children of both are named as the types, without the namespace where that is
// enough to tell them apart.
//
// Spark knows neither nanoseconds nor times of day in Parquet. In the form Spark
// all timestamps are timestamp(us), and time-millis and time-micros int32 and
// int64. A timestamp that is no whole number of microseconds, or too many of
// them, is an error.
//
// A decimal with more digits than its type has is an error.
package arrow
