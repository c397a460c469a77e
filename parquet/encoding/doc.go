// Package encoding encodes and decodes what the pages of Parquet files hold: levels,
// values and indexes of a dictionary. Its caller, package parquet, handles the headers
// of pages, compression and checksums.
//
// Functions named Append… append the bytes of values. Their source is values in Avro's
// encoding as column buffers hold them, slices of values, or plain values that such a
// function made: these are not checked again. Functions named Decode…
// and the types named …Decoder do the inverse. They decode any number of values at a
// time, so memory does not depend on the number that a page claims to hold. Numbers of
// values are not negative. Integers are little-endian; varint is an unsigned LEB128, and
// zigzag a signed one.
//
//	hybrid              | run | run | …
//	  repeat            | varint: 2 × times | value: as many bytes as width needs |
//	  literal           | varint: 2 × groups + 1 | group | group | …
//	                    a group is 8 values of width bits each, the first in the lowest bits
//
//	plain, INT32 …      | value: 4 or 8 | value | …
//	plain, BOOLEAN      | bits, the first in the lowest bit, padded to whole bytes |
//	plain, BYTE_ARRAY   | length: 4 | bytes | length | bytes | …
//	plain, fixed        | bytes | bytes | …
//
//	delta               | varint: deltas of a block | varint: miniblocks of a block |
//	                    | varint: count | zigzag: first value | block | block | …
//	  block             | zigzag: least delta | width: 1 | width | … | miniblock | …
//	  miniblock         delta - least delta of the next values, of width bits each; there are a
//	                    multiple of 32, those after the last value are 0, and a miniblock that
//	                    has no value is left out
//
//	delta length        | delta: lengths | bytes of all values |
//
//	delta byte array    | delta: bytes shared with the value before | delta length: other bytes |
//
//	byte stream split   | byte 0 of all values | byte 1 of all values | …
//
// In Parquet's words these are RLE (levels) and RLE_DICTIONARY (indexes), PLAIN,
// DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY and BYTE_STREAM_SPLIT.
// Blocks of deltas that are written have 128 deltas in 4 miniblocks.
//
// Errors about the bytes have no location; the caller knows the page. They wrap
// io.ErrUnexpectedEOF if the bytes end too early. After an error the values that were
// appended are undefined, and a decoder may only be Reset.
package encoding
