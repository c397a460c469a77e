// Package hfile is a library for HFiles, HBase's and Hudi's sorted files of keys and values.
// It is usable on its own: it reads files of version 3 (Open, Reader.Scan) and writes files
// that both HBase and Hudi read (NewWriter). Its adapter Format lets the pipeline write and
// read parts that are such files.
//
// # File
//
// Integers are big-endian; VInt is Hadoop's variable-length integer, varint that of protobuf;
// a message is a protobuf message of HBase's HFile.proto.
//
//	+-------------------------------------------------------+
//	| data blocks; between them leaves of the index and     |
//	| chunks of the Bloom filter, as they become full       |
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
//	block    | magic: 8 | n: 4 | raw size: 4 | offset of the previous block of its magic: 8 |
//	         | checksum kind: 1 | bytes per checksum: 4 | covered: 4 |
//	         | payload: covered - 33 | checksums: n - payload |
//
//	trailer  | magic: 8 | length: varint | FileTrailerProto | zeros | minor version: 1 | major: 3 |
//
// # Checksums
//
// Each checksum covers as many bytes of header and stored payload as the header says.
// Together they cover every byte of a block but the checksums. Files of Hudi's writer have
// the kind NULL, in which the bytes of the checksums have no meaning. The trailer has no checksum.
//
// # Compression
//
// The payload of each block is compressed separately, with the codec of the trailer: GZ is a
// gzip member; SNAPPY, LZ4 and ZSTD are in the framing of Hadoop's block codecs.
//
// # Data blocks
//
//	cell  | key length: 4 | value length: 4 | key | value | tags length: 2 | tags | version: VInt |
//	key   | row length: 2 | row | family length: 1 | family | qualifier | timestamp: 8 | type: 1 |
//
// Cells are in the order of their keys (Key.Compare). Cells have tags if the file info has
// hfile.MAX_TAGS_LEN, and a version if it has KEY_VALUE_VERSION 1. Data blocks with an encoding
// (prefix, diff) and encrypted files are refused.
//
// # Indexes
//
// An index is a B-tree. As long as its root is small, the index has one level. An entry's key is
// not above the first key of its block, and not below the last key before that block.
//
//	root      | offset: 8 | size: 4 | key length: VInt | key | …
//	          | with several levels also the middle data block: leaf's offset: 8, size: 4, entry: 4 |
//	below     | n: 4 | place of each entry and of the end: 4 (n + 1) | offset: 8 | size: 4 | key | …
//
// In the root of Hudi's older files, the key length is a varint, and the key is only the row's
// length and the row.
//
// # Bloom filter
//
// A compound filter has chunks. Each chunk has the bits of the rows from its first row up to the
// first row of the next chunk. Bit i of a key is |h + i·g| modulo the chunk's bits, where h is the
// key's hash with the seed 0, and g its hash with the seed h. Hudi's filter is another: see HudiBloom.
package hfile
