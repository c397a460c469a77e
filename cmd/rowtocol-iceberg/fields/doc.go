// Package fields finds the columns of a table: those of the files, as their footers
// describe them, and the keys of directories.
//
//	Parquet                              Iceberg
//	BOOLEAN, FLOAT, DOUBLE               boolean, float, double
//	INT32, INT64                         int, long
//	INT32 DATE                           date
//	INT64 TIME(MICROS)                   time
//	INT64 TIMESTAMP(MILLIS or MICROS)    timestamp; timestamptz if adjusted to UTC
//	DECIMAL of up to 38 digits           decimal
//	BYTE_ARRAY STRING                    string
//	BYTE_ARRAY                           binary
//	FIXED_LEN_BYTE_ARRAY(n)              fixed(n)
//	LIST, MAP, group                     list, map, struct
//
// A union of several types is a struct with a field for each, as in Parquet. The package
// refuses other types, such as times in milliseconds and timestamps in nanoseconds. It names
// the path of the column.
//
// A schema that changes makes a table change by the rules of Iceberg: new columns are
// optional, int becomes long, float double, and a decimal gets more digits. A column that
// files lack becomes optional, but is not removed.
package fields
