// Package trevni is a library for Trevni column files, and is usable on its own. It reads
// (Open, File.Cursor), verifies (File.Verify), dumps (File.Dump) and writes (NewWriter) such
// files. Its adapter Format lets the pipeline write files from spilled blocks. The package
// knows nothing of Avro: the schema of the rows is metadata.
//
// # File
//
// Integers are little-endian. A varint is Avro's zig-zag long. Bytes and string are a varint
// length and that many bytes.
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
// The version is 2. Versions 0 and 1, which have no repeated lengths, are read too. A start is
// the offset of the column's block count in the file. Rows are top-level rows, in child
// columns as well. Only columns with the metadata key trevni.values have first values. The key
// rowtocol.ascending of such a column is a byte. It is 1 if no value is less than the value
// before it. Only in such ascending columns do the first values bound all values. A block ends
// at a row boundary.
//
// # Checksums
//
// A block's checksum is the CRC-32 of its values before compression. In files of Java and of
// this package it is called "crc32" and is big-endian. In the specification it is called
// "crc-32" and is little-endian. With the codec null, Java writes 0 instead. So a column is
// accepted if all its checksums are 0, and File.Unverified reports that.
//
// In files of this package, three metadata keys protect the rest. Each holds a CRC-32C,
// 4 bytes little-endian; Java ignores them.
//
//	file metadata    rowtocol.header   of the header, its own four bytes read as zero
//	                 rowtocol.blocks   of the CRC-32Cs, 4 bytes little-endian each, of all
//	                                   blocks as they are stored, checksums included
//	column metadata  rowtocol.table    of the column's block count and descriptors
//
// Open checks rowtocol.header. File.Blocks and everything else that needs a block table checks
// rowtocol.table. In files with these keys, a column ends where the next column begins, or at
// the end of the file. Only File.Verify checks rowtocol.blocks, which shows changed bits that
// a codec does not use. rowtocol.header comes first. If it is missing, or rowtocol.table of a
// column, the file is damaged. If all are missing, another writer made the file, and only its
// blocks have checksums.
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
// In an array column, each sequence of values follows its length, a varint int. A negative
// length is a repeat: -(2n-3) means n zeros, and -(2n-2) means n ones. A column with a parent
// has a value, or a sequence if it is an array column, for each item of the parent. It does
// not store the parent's lengths.
package trevni
