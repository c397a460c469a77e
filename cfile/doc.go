// Package cfile is a library for CFiles, Apache Kudu's files of one column each, usable on
// its own: it reads them, row by row or at a row or value that an index leads to (Open,
// File.Cursor), and writes them (NewWriter). Its adapter Format lets the pipeline write and
// read parts that have such a file for each column. Package encoding has the encodings of
// values, packages bloom and delta the other kinds of files that Kudu builds on CFiles.
//
// # File
//
// Integers are little-endian unless said; varint is an unsigned LEB128; a message is a
// protobuf message of Kudu's cfile.proto.
//
//	file    +--------+---------+---------+-- - --+--------+
//	        | header | block 0 | block 1 |       | footer |
//	        +--------+---------+---------+-- - --+--------+
//
//	header  | magic: 8 | length: 4 | CFileHeaderPB: length | CRC-32C: 4 |
//
//	block   | stored bytes | CRC-32C: 4 |
//
//	footer  | CRC-32C: 4 | CFileFooterPB: length | magic: 8 | length: 4 |
//
// The magic is "kuducfl2", or "kuducfil" in version 1 of the container, and the same at both
// ends. Blocks follow each other without gaps: data blocks, between them the index blocks
// that were full, after them the others, those of the positional index first, each index's
// root as its last, and a dictionary if there is one. The footer says where the roots and the
// dictionary are; a pointer to a block counts its checksum in. Header and footer messages
// have at most 64 KiB.
//
// # Checksums
//
// A file has all checksums or none: bit 0 of the footer's incompatible features tells. Each
// is of the other bytes of its header, block or footer, as they are in the file. Together
// they cover every byte, so that reading the header, the footer and all blocks reports every
// byte that has changed. If the bit itself has, the header betrays it, which still has its
// checksum.
//
// # Compression
//
// The stored bytes of all kinds of blocks are those of the block, or with a compression:
//
//	version 2  | size of the block: 4 | compressed, or as they are if that is their size |
//	version 1  | compressed size: 4 | size of the block: 4 | compressed |
//
// # Data blocks
//
// A block has consecutive rows. The ordinal of its first row is in the encoding's own header;
// package encoding draws those.
//
//	not nullable  | encoded values |
//	nullable      | rows: varint | size: varint | bitmap: size | encoded values that are not null |
//
// The bitmap is run-length encoded, a 1 for each row that has a value. Data blocks of arrays,
// which Kudu writes from 1.19 on, are refused.
//
// # Indexes
//
// An index is a B-tree. Its leaves have an entry for each data block, other index blocks for
// each index block below.
//
//	index block  | entry | entry | … | place of each entry in the block: 4 each
//	             | IndexBlockTrailerPB: number of entries; leaf 0 or inner 1 | its length: 4 |
//	entry        | length: varint | key | offset: varint | size: varint |
//
// The key of a block in the positional index is the ordinal of its first row, 4 bytes
// big-endian. In the value index, which files may have whose values ascend, it is the first
// value as AppendKey encodes it, cut after the first byte in which it differs from the last
// value of the block before; that of the first data block is cut to a byte. DeltaFiles have
// whole keys. An index block goes by the key of its first entry. Blocks are written before
// what points to them and in the order of the index: a pointer to anything else is damage,
// and so there are no cycles.
//
// # BloomFiles
//
// A BloomFile has the keys of a rowset as Bloom filters. It is a CFile of type BINARY,
// encoding PLAIN, without compression, rows and positional index. Each data block is the
// filter of some of the keys, in their order:
//
//	block  | length of header: 4 | BloomBlockHeaderPB: 1 num_hash_functions int32 | bits |
//
// # DeltaFiles
//
// A DeltaFile has what happened to the rows of a rowset. It is a CFile of type BINARY,
// encoding PLAIN, with a value index only, and the metadata key deltafilestats. Deltas ascend
// by row; those of one row ascend by timestamp in a REDO file, which says what became of rows
// after they were written, and descend in an UNDO file, which says what they were before.
// Nothing in the file says which of the two it is.
//
//	value     | row: sorted varint | timestamp: sorted varint | change |
//
//	UPDATE    | 1 | cell | cell | … |    at least one
//	DELETE    | 2 |
//	REINSERT  | 3 | cell | cell | … |
//	cell      | column ID: varint | 0 |                          null
//	          | column ID: varint | length + 1: varint | value |
//
// Sorted varints sort, as bytes, as the numbers do; they are big-endian:
//
//	0 … 240          | n |
//	241 … 2287       | 241 + (n-240)/256 | (n-240)%256 |
//	2288 … 67823     | 249 | n-2288: 2 bytes |
//	67824 … 2⁶⁴-1    | 247 + k | n: k bytes, as few as hold it, at least 3 |
//
// No other software reads DeltaFiles outside of a tablet: this is after Kudu's sources, with
// their examples of bytes in the tests. Of Kudu 1.18.1 the functions that take keys and
// changes apart, called by themselves, once made the same of 3,019 values.
package cfile
