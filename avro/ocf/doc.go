// Package ocf reads Avro object container files: the header, the blocks of
// any byte range, and the codecs. It works over an io.ReaderAt and a size, so
// it does not know where files live. It does not look inside a block's rows;
// that is package shred.
//
//	Scanner and Decoder   stored blocks of a range, and what they decode to:
//	                      for who divides the work, or goes on after damage
//	Reader                decoded blocks of a file or a stream, in order
//
// Planner, mapper, dataset and witness call it.
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
// Counts, lengths and sizes are Avro longs: zig-zag, then base 128, the low
// seven bits first, at most ten bytes. The metadata key avro.schema is
// required; avro.codec may be absent and then means null. When a key occurs
// twice, the last one counts, as for Java.
//
// What a codec makes of a block's rows:
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
// A block belongs to the range in which it starts. A range that begins inside
// the file looks for the first sync marker that ends at or after its start,
// and the block after that marker is its first. So ranges that meet end to
// end see every block once. As in every reader of this format, this trusts
// that rows do not hold the file's sync marker; where they do, what follows
// is damage to the range that believed it.
//
// # Damage
//
// Bytes that break the format are a *damage.Error with the file's name and the
// absolute offset. Errors of the io.ReaderAt or io.Reader are passed on, wrapped,
// and are never damage; the end of a stream is, but between blocks.
package ocf
