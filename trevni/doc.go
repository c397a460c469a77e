// Package trevni is a library for Trevni column files, usable on its own: it
// reads (Open, File.Cursor), verifies (File.Verify), dumps (File.Dump) and
// writes them (NewWriter), and its adapter NewFormat lets the pipeline write
// them from spilled blocks. It knows nothing of Avro: the schema of the rows
// is a piece of metadata to it.
//
// # File
//
// Integers are little-endian; varint is Avro's zig-zag long; bytes and string
// are a varint length and so many bytes.
//
//	file    +-----------------------+----------+----------+-- - --+
//	        | header                | column 0 | column 1 |       |
//	        +-----------------------+----------+----------+-- - --+
//
//	header  | "Trv" | version: 1 byte | rows: 8 bytes | columns: 4 bytes |
//	        | file metadata | metadata of column 0 | metadata of column 1 | …
//	        | start of column 0: 8 bytes | start of column 1: 8 bytes | …
//
//	metadata  | pairs: varint | key: string | value: bytes | key | value | …
//
//	column  | blocks: 4 bytes | descriptor 0 | descriptor 1 | … | block 0 | block 1 | …
//
//	descriptor  | rows: 4 bytes | raw size: 4 bytes | stored size: 4 bytes | first value |
//
//	block   | codec(values): stored size | checksum: 0 or 4 bytes |
//
// The version is 2; 0 and 1, which have no repeated lengths, are read too.
// A start is the offset of the column's block count in the file. Rows are
// top-level rows, in children as well. The first value is there only in columns
// with the metadata key trevni.values; there the column's key
// rowtocol.ascending, a byte, is 1 if no value is less than the one before it:
// the index is kept for any column, but bounds values in ascending ones only.
// A block ends at a row boundary.
//
// # Checksums
//
// A block's checksum is the CRC-32 of its values before the codec: "crc32",
// big-endian, in files of Java and of this package; "crc-32", little-endian,
// by the specification. Java writes 0 for it where the codec is null: a column
// of nothing but zeros is accepted there, and File.Unverified tells.
//
// The rest of a file of this package is covered by three metadata keys. Each holds
// a CRC-32C, 4 bytes little-endian; Java passes them over.
//
//	file metadata    rowtocol.header   of the header, its own four bytes taken as zero
//	                 rowtocol.blocks   of the CRC-32Cs, 4 bytes little-endian each, of all
//	                                   blocks as they are stored, checksums included
//	column metadata  rowtocol.table    of the column's block count and descriptors
//
// Open compares the first, and File.Blocks and all that needs a block table the
// last. In such files the bytes of a column end where the next one, or the file,
// does. The CRC of the blocks is File.Verify's alone: it tells of changed bits
// that a codec has no use for. A file in which rowtocol.header, the first pair
// there, or one of the columns' rowtocol.table is missing is damaged; one without
// either is another writer's, and has nothing but its blocks' checksums.
//
// # Values
//
//	null              nothing
//	boolean           a bit, least significant first; after a length a new byte
//	int, long         varint of at most 5, 10 bytes
//	fixed32, float    4 bytes
//	fixed64, double   8 bytes
//	string, bytes     varint length, then the bytes
//
// In an array column each sequence of values is preceded by its length, a
// varint int. A negative length is a repeat: -(2n-3) is n zeros, -(2n-2) n ones.
// A column with a parent has a value (as an array, a sequence) for each item of
// that array column, and no lengths of the parent's own.
package trevni
