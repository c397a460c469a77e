// Package parquet writes and reads Apache Parquet files of one row group each, for rows with
// an Avro schema. Its adapter Format lets the pipeline write and read parts, each of which
// is such a file. Package encoding has the encodings of values and levels.
//
// # File
//
// Integers are little-endian. Headers, indexes and the footer are structures of
// parquet.thrift in Thrift's compact protocol.
//
//	file    | "PAR1" | column chunk | … | column index | … | offset index | …
//	        | table of checksums | footer | length of the footer: 4 | "PAR1" |
//
//	chunk   | dictionary page, if the column has a dictionary | data page | … |
//
//	page    | PageHeader | stored bytes |
//
//	footer  | FileMetaData |
//
// A column chunk belongs to a leaf of the Parquet schema (tree.go), which is a column of the
// Avro mapping. A file without rows has no row group. There are column indexes only for
// columns whose pages all have bounds or no values. All column indexes come first, then an
// offset index for each chunk.
//
// # Data pages
//
// The stored bytes of a page are compressed as a whole. The writer makes pages of version 1:
//
//	page    | repetition levels | definition levels | values |
//	levels  | size: 4 | hybrid: size |
//	values  | plain values |
//	        | width of a number: 1 | numbers of dictionary words: hybrid |
//
// Columns whose highest level is 0 have no such levels. A page begins with a row, and has at
// most 20,000 rows. A page with more than about 1 MiB or 2^20 entries ends with the row. The
// reader also accepts pages of version 2, the delta encodings, BYTE_STREAM_SPLIT and RLE of
// booleans. It refuses by name what it does not know: encryption, other encodings and codecs,
// and files with several row groups, without an offset index or without an Avro schema.
//
// # Dictionaries
//
// The values of a column are numbered in the order of the rows, by jobs that take turns. The
// dictionary ends, and plain pages follow, once it is full, if nearly all of the first 4,096
// values are distinct, or if it saves no bytes. This depends only on the values, so the bytes
// of a file do not depend on the number of workers.
//
// # Schema
//
// The footer's metadata has the Avro schema as parquet.avro.schema, or as
// rowtocol.avro.schema if the file leaves out parts of it or keeps them as bytes. The reader
// maps this schema to the same tree and checks that the file has it.
//
// # Checksums
//
// The CRC-32 of a page header covers the stored bytes of the page. The table before the
// footer has the CRC-32C of each page header, column index and offset index. The footer's
// metadata has the size and the CRC-32C of this table, and the CRC-32C of the footer itself
// (integrity.go). Together they cover every byte between the two magics. A file of another
// writer has no such table.
//
// # Bounds
//
// Bounds of pages and chunks are in the indexes and in the footer. Strings are cut to 64
// bytes. NaN does not count: a page of only NaN has no bounds, and its chunk no column index.
// A zero that is a least value is -0.0, one that is a greatest value is 0.0. Strings and bytes
// compare as unsigned bytes, decimals as numbers.
package parquet
