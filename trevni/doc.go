// Package trevni is a library for Trevni column files, usable on its own. It reads
// (Open, File.Cursor), verifies (File.Verify), dumps (File.Dump) and writes them
// (NewWriter); its adapter Format lets the pipeline write them from spilled blocks.
// It knows nothing of Avro: the schema of the rows is metadata.
//
// # File
//
// Integers are little-endian; varint is Avro's zig-zag long; bytes and string are a
// varint length and that many bytes.
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
// The version is 2; versions 0 and 1, which have no repeated lengths, are read too. A
// start is the offset of the column's block count in the file. Rows are top-level rows,
// in children as well. The first value exists only in columns with the metadata key
// trevni.values. The key rowtocol.ascending of such a column, a byte, is 1 if no value
// is less than the one before it: any column may have first values, but only in
// ascending columns do they bound the values. A block ends at a row boundary.
//
// # Checksums
//
// A block's checksum is the CRC-32 of its values before the codec: "crc32", big-endian,
// in files of Java and of this package; "crc-32", little-endian, by the specification.
// Java writes 0 instead with the codec null: a column of nothing but zeros is accepted,
// and File.Unverified reports it.
//
// In files of this package, three metadata keys protect the rest. Each holds a CRC-32C,
// 4 bytes little-endian; Java ignores them.
//
//	file metadata    rowtocol.header   of the header, its own four bytes read as zero
//	                 rowtocol.blocks   of the CRC-32Cs, 4 bytes little-endian each, of all
//	                                   blocks as they are stored, checksums included
//	column metadata  rowtocol.table    of the column's block count and descriptors
//
// Open checks the first; File.Blocks and everything else that needs a block table
// checks the last. In such files a column's bytes end where the next one, or the file,
// does. Only File.Verify checks the CRC of the blocks, which shows changed bits that a
// codec does not use. If rowtocol.header, which comes first, or one of the columns'
// rowtocol.table is missing, the file is damaged. If all are missing, another writer
// made the file, and only its blocks have checksums.
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
// In an array column the length of each sequence of values, a varint int, precedes it.
// A negative length is a repeat: -(2n-3) is n zeros, -(2n-2) n ones. A column with a
// parent has a value (as an array, a sequence) for each item of that array column, and
// does not store the parent's lengths.
package trevni
