// Package encoding encodes and decodes the bodies of CFile data blocks. Its
// caller, package cfile, handles the null bitmap of a block, its compression and
// its checksum.
//
// Functions named Append… append the body of one block with the given values.
// A Decoder reads the values of one body at a time. Integers are little-endian
// unless noted; varint is an unsigned LEB128 of at most 32 bits. An ordinal is
// the number of the block's first row in its file.
//
//	plain, fixed width  | count: 4 | ordinal: 4 | value: width | value | …
//
//	plain, BOOL         | count: 4 | ordinal: 4 | bits, the first in the lowest bit, padded to whole bytes |
//
//	plain, BINARY       | ordinal: 4 | count: 4 | end of the data: 4 | data | group varints: offsets |
//	                    each offset is that of a value in the body; the first is 12
//
//	RLE                 | count: 4 | ordinal: 4 | run | run | …
//	  repeat            | varint: 2 × times | value: width, BOOL 1 |
//	  literal           | varint: 2 × groups of 8 + 1 | values, BOOL as bits |
//	                    the last group has only the values up to the count
//
//	prefix              | group varint: count, ordinal, restart interval, 0 | entry | entry | …
//	                    | restart: 4 | restart: 4 | … | restarts: 4 |
//	  entry             | varint: bytes shared with the value before | varint: others | others |
//	                    the first entry of each restart interval shares nothing; a restart is
//	                    the place of such an entry in the body, except of the very first
//
//	group varint        | group varint: count, least, ordinal, 0 | group varints: value - least |
//
//	dictionary          | 1: 4 | bit shuffle of codes |   or   | 2: 4 | plain, BINARY |
//	                    the words of a file are one plain BINARY block; a code is the number of a word
//
//	bit shuffle         | ordinal: 4 | count: 4 | size of the body: 4 | count, rounded up to a multiple of 8: 4 | width: 4 |
//	                    | size: 4, big-endian | LZ4 block | size | LZ4 block | …
//
// A group varint is four 32-bit integers: a byte with their lengths minus one in
// two bits each, the first in the highest, then the integers cut to those
// lengths. The last of several groups is padded with zeros.
//
// The encoders write the same bytes as Kudu for the same values.
package encoding
