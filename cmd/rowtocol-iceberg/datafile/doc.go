// Package datafile makes entries of a table's manifests from the footers of files: numbers of
// rows, of nulls and of bytes, and the bounds of columns.
//
// Bounds have the type of the table's column: milliseconds become microseconds, an int a long.
// They are left out where they are not certain: in lists and maps, whose bounds no reader
// uses, for text that is not UTF-8, and for fixed bytes that were cut. A bound may be lower
// than the least value, or greater than the greatest: Parquet has the first 64 bytes of text.
package datafile
