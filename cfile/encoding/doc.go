// Package encoding encodes and decodes the bodies of CFile data blocks. It
// knows bytes and values only: the null bitmap of a block, its compression and
// its checksum are package cfile's, which is its caller.
//
// Functions named Append… append the body of one block with the given values;
// a Decoder gives the values of one body at a time. Integers are little-endian
// unless said; varint is an unsigned LEB128 of at most 32 bits. An ordinal is
// the number of the block's first row in its file.
//
//	plain, fixed width  | count: 4 | ordinal: 4 | value: width | value | …
//
//	plain, BOOL         | count: 4 | ordinal: 4 | bits, the first in the lowest bit, to a whole byte |
//
//	plain, BINARY       | ordinal: 4 | count: 4 | end of the data: 4 | data | group varints: offsets |
//	                    an offset is where a value begins in the body; the first is 12
//
//	RLE                 | count: 4 | ordinal: 4 | run | run | …
//	  repeat            | varint: 2 × times | value: width, BOOL 1 |
//	  literal           | varint: 2 × groups of 8 + 1 | values side by side, BOOL as bits |
//	                    the values of the last group that are past the count are left out
//
//	prefix              | group varint: count, ordinal, restart interval, 0 | entry | entry | …
//	                    | restart: 4 | restart: 4 | … | restarts: 4 |
//	  entry             | varint: bytes shared with the value before | varint: others | others |
//	                    each restart interval an entry shares nothing; all such entries but
//	                    the first have their place in the body among the restarts
//
//	group varint        | group varint: count, least, ordinal, 0 | group varints: value - least |
//
//	dictionary          | 1: 4 | bit shuffle of numbers of words |   or   | 2: 4 | plain, BINARY |
//	                    the words are one plain BINARY block for the whole file
//
//	bit shuffle         | ordinal: 4 | count: 4 | size of the body: 4 | count to a multiple of 8: 4 | width: 4 |
//	                    | size: 4, big-endian | LZ4 block | size | LZ4 block | …
//
// A group varint is four 32-bit integers: a byte with their lengths less one in
// two bits each, the first in the highest, then the integers cut to those
// lengths. The last group of several is filled up with zeros.
//
// The encoders give the bytes that Kudu gives for the same values.
package encoding
