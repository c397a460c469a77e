// Package hfile is a library for HFiles, HBase's and Hudi's sorted files of keys and values,
// usable on its own: it reads version 3 of them (Open, Reader.Scan) and writes files that the
// readers of both take (NewWriter). Its adapter Format lets the pipeline write and read parts
// that are such files.
//
// # File
//
// Integers are big-endian; VInt is Hadoop's variable-length integer, varint that of protobuf;
// a message is a protobuf message of HBase's HFile.proto.
//
//	+-------------------------------------------------------+
//	| data blocks; between them leaves of the index and     |
//	| chunks of the Bloom filter, as they get full          |
//	+-------------------------------------------------------+
//	| meta blocks                                           |
//	| index blocks between leaves and root                  |
//	+-------------------------------------------------------+  load on open
//	| root of the data index                                |
//	| meta index                                            |
//	| file info                                             |
//	| Bloom filter's parameters and index, if there is one  |
//	+-------------------------------------------------------+
//	| trailer: 4096                                         |
//	+-------------------------------------------------------+
//
//	block    | magic: 8 | n: 4 | raw size: 4 | offset of the one before of its magic: 8 |
//	         | checksum kind: 1 | bytes per checksum: 4 | covered: 4 |
//	         | payload: covered - 33 | checksums: n - payload |
//
//	trailer  | magic: 8 | length: varint | FileTrailerProto | zeros | minor version: 1 | major: 3 |
//
// # Checksums
//
// Each checksum is of as many bytes of header and payload as the header says, the payload as
// it is stored. Together they cover every byte of a block but the checksums. Files of Hudi's
// writer have the kind NULL: bytes without meaning in their place. The trailer has none.
//
// # Compression
//
// The payloads of all blocks of a file are compressed on their own, with the codec of the
// trailer: GZ, a gzip member; SNAPPY, LZ4 and ZSTD in the framing of Hadoop's block codecs.
//
// # Data blocks
//
//	cell  | key length: 4 | value length: 4 | key | value | tags length: 2 | tags | version: VInt |
//	key   | row length: 2 | row | family length: 1 | family | qualifier | timestamp: 8 | type: 1 |
//
// Cells are in the order of their keys (Key.Compare). Tags are there if the file info has
// hfile.MAX_TAGS_LEN, the version if it has KEY_VALUE_VERSION 1. Data blocks with an encoding
// (prefix, diff) and encrypted files are refused.
//
// # Indexes
//
// An index is a B-tree, of one level while its root is small. An entry's key is not above the
// first one of what it leads to, and not below the last one of what is before that.
//
//	root      | offset: 8 | size: 4 | key length: VInt | key | …
//	          | of several levels also the middle data block: leaf's offset: 8, size: 4, entry: 4 |
//	below     | n: 4 | place of each entry and of the end: 4 (n + 1) | offset: 8 | size: 4 | key | …
//
// Hudi's older files have a varint in the root, and the row with its length as the key.
//
// # Bloom filter
//
// A compound filter has chunks, each with the bits of the rows from its first one up to the
// next chunk's. Bit i of a key is |h + i·g| modulo the chunk's bits, where h is its hash with the
// seed 0, and g with the seed h. Hudi's filter is another one, a meta block: see HudiBloom.
package hfile
