// Package parquet writes and reads Apache Parquet files of rows with an Avro schema. Its adapter
// Format lets the pipeline write parts, each of which is a file of one row group, write files of
// several, and read both. Package encoding has the encodings of values and levels.
//
// # File
//
// Integers are little-endian. Headers, indexes and the footer are structures of
// parquet.thrift in Thrift's compact protocol. Numbers after colons are sizes in bytes.
//
//	file    +-------+---------+-- - --+---------+---------+-----------+--------+-----------+-------+
//	        | magic | chunk 0 |       | filters | indexes | checksums | footer | length: 4 | magic |
//	        +-------+---------+-- - --+---------+---------+-----------+--------+-----------+-------+
//
//	magic   | "PAR1" |
//
//	chunk   | dictionary page, if the column has a dictionary | data page 0 | data page 1 | … |
//
//	page    | PageHeader | stored bytes |
//
//	filters | Bloom filter of a chunk | … |
//
//	filter  | BloomFilterHeader | blocks: 32 each |
//
//	indexes | ColumnIndex of chunk 0 | … | OffsetIndex of chunk 0 | OffsetIndex of chunk 1 | … |
//
//	footer  | FileMetaData: length |
//
// A column chunk belongs to a leaf of the Parquet schema (tree.go), which is a column of the
// Avro mapping. A file without rows has no row group. The chunks of a row group follow those
// of the row group before, and so do their checksums. A file that is not a part has the entry
// rowtocol.export in the footer's metadata. There are column indexes only for
// columns whose pages all have bounds or no values. All column indexes of all row groups come
// first, then an offset index for each chunk.
//
// # Checksums
//
// Parquet itself has checksums of pages only. The CRC-32 in a PageHeader covers the stored
// bytes of its page. A table before the footer has the CRC-32C of each PageHeader, ColumnIndex,
// OffsetIndex and Bloom filter:
//
//	checksums  | of chunk 0 | of chunk 1 | … |
//
//	of a chunk | header of the dictionary page, if there is one: 4 | header of data page 0: 4 | …
//	           | ColumnIndex, if there is one: 4 | OffsetIndex: 4 | Bloom filter, if there is one: 4 |
//
// The entry rowtocol.crc of the footer's metadata has the size of this table in bytes, its
// CRC-32C, and the CRC-32C of the footer, calculated with zeros in place of its eight digits:
//
//	table 52 89abcdef footer 01234567
//
// Together the checksums cover every byte but the two magics and the length of the footer,
// which must fit FileMetaData. Open checks the last magic always, but the first one only in
// files of up to 64 KiB, which it reads whole. Verify and Dump always check both. A file of
// another writer has no such table.
//
// # Data pages
//
// The stored bytes of a page of version 1 are compressed as a whole, those of version 2 without
// the levels:
//
//	page    | repetition levels | definition levels | values |
//	levels  | size: 4, in version 1 | hybrid |
//	values  | plain values |
//	        | width of a number: 1 | numbers of dictionary words: hybrid |
//	        | size: 4 | booleans: hybrid |
//	        | delta, delta length, delta byte array, or byte stream split |
//
// Columns whose highest level is 0 have no such levels. A page begins with a row, and has at
// most 20,000 rows. A page with more than about 1 MiB or 2^20 entries ends with the row. Its bytes
// are counted as plain values, also if they are encoded in another way. In an encoding with a
// header, a page without values has this header, too, because other readers expect it.
//
// The reader refuses by name what it does not know: encryption, other encodings and codecs,
// and files without an offset index or without an Avro schema.
//
// # Dictionaries
//
// The values of a column are numbered in the order of the rows, by jobs that take turns. The
// dictionary ends, and plain pages follow, once it is full, if nearly all of the first 4,096
// values are distinct, or if it saves no bytes. This depends only on the values, so the bytes
// of a file do not depend on the number of workers.
//
// # Bloom filters
//
// A chunk has a Bloom filter if the options name its column. It is a split-block filter of the
// XXH64 hashes of the plain values: of strings without their lengths. The writer inserts the
// plain values of pages, and at the end the words of the dictionary, into a filter of up to 1 MiB.
// Then it folds the filter, two neighbouring blocks into one, as long as the filter finds at most
// 1 % of the values that the column does not have. With more than about 800,000 distinct values, it
// finds more.
//
// Floats, doubles and decimals of bytes have no filter, because equal numbers can have different
// bytes.
//
// # Schema
//
// The footer's metadata has the Avro schema as parquet.avro.schema, or as
// rowtocol.avro.schema if the file leaves out parts of it or keeps them as bytes. The reader
// maps this schema to the same tree and checks that the file has it.
//
// If times are stored in other types than those of the rows, rowtocol.times has the name of
// these types: spark or iceberg. Then rowtocol.avro.schema has the schema of the rows, and
// parquet.avro.schema that of the stored values. Readers multiply or divide by 1,000.
//
// # Bounds
//
// Bounds of pages and chunks are in the indexes and in the footer. Strings are cut to 64
// bytes. A page with NaN has no bounds, and its chunk has neither bounds nor a column index:
// engines that order NaN among numbers, or forget it, would skip rows by bounds that leave it out.
// The reader accepts such bounds of other writers, because no condition takes NaN for a number.
// A zero that is a least value is -0.0, one that is a greatest value is 0.0. Strings and bytes
// compare as unsigned bytes, decimals as numbers. A column index also counts the nulls of each
// page. Bounds and counts hold for all values in the rows of a page, so conditions skip pages
// of optional fields and of lists, too.
package parquet
