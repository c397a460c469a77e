// Package ocf reads Avro object container files: the header, the blocks of any byte
// range, and the codecs. It works over an io.ReaderAt and a size, so it does not know
// where files live. It does not decode the rows of a block; package shred does.
//
// Reader decodes the blocks of a file or a stream in order. Scanner and Decoder return
// the stored blocks of a range and decode them, for callers that divide the work or go
// on after damage.
//
// The planner, mapper, dataset and witness call it.
//
// # The bytes
//
//	file     ┌────────────────────┬─────────┬─────────┬─ ─ ─
//	         │ header             │ block 0 │ block 1 │
//	         └────────────────────┴─────────┴─────────┴─ ─ ─
//
//	header   ┌───────────────┬───────────────────────┬─────────────┐
//	         │ 4f 62 6a 01   │ metadata:             │ sync marker │
//	         │ "Obj" and 1   │ map of string → bytes │ 16 bytes    │
//	         └───────────────┴───────────────────────┴─────────────┘
//
//	metadata ┌──────────┬─────────────────────┬─ ─ ─┬──────────┐
//	         │ count    │ count × (key value) │     │ 00       │
//	         └──────────┴─────────────────────┴─ ─ ─┴──────────┘
//	         ┌──────────┬────────┬────────────────────────┐
//	     or  │ −count   │ bytes  │ count × (key value)    │
//	         └──────────┴────────┴────────────────────────┘
//	         key and value are each a length and that many bytes.
//
//	block    ┌──────────┬──────────┬──────────────────┬─────────────┐
//	         │ rows     │ size     │ size bytes,      │ sync marker │
//	         │          │          │ compressed rows  │ 16 bytes    │
//	         └──────────┴──────────┴──────────────────┴─────────────┘
//
// Counts, lengths and sizes are Avro longs: zig-zag, then base 128, the low seven bits
// first, at most ten bytes. The metadata key avro.schema is required; without
// avro.codec the codec is null. If a key occurs twice, the last one counts, as in Java.
//
// A codec stores a block's rows as
//
//	null       the rows
//	deflate    RFC 1951, no zlib header; bytes after its end are ignored,
//	           because old Python writers left part of a checksum there
//	snappy     one raw Snappy block, then the CRC-32 (IEEE) of the
//	           uncompressed rows, 4 bytes, big-endian
//	zstandard  zstd frames
//	bzip2      bzip2 streams
//	xz         xz streams
//
// # Ranges
//
// A block belongs to the range in which it starts. A range that begins inside the file
// looks for the first sync marker that ends at or after its start; its first block
// follows that marker. So adjacent ranges together see every block once. As every
// reader of this format does, this trusts that rows do not hold the file's sync marker.
// If they do, the range that begins at such a marker reports damage.
//
// # Damage
//
// Bytes that break the format are a *damage.Error with the file's name and the absolute
// offset. Errors of the io.ReaderAt or io.Reader are returned wrapped and are never
// damage. A stream that ends anywhere but between blocks is damage.
package ocf
