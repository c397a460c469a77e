// Package ocf reads Avro object container files: the header, the blocks of any byte
// range, and the codecs. It reads from an io.ReaderAt or an io.Reader, so it does not
// depend on where files are stored. It does not decode the rows of a block. Package shred
// does that.
//
// Reader decodes the blocks of a file or a stream in order. Callers that divide the work,
// or go on after damage, use Scanner and Decoder instead: a Scanner returns the stored
// blocks of a range, and a Decoder decodes them.
//
// The planner and the packages mapper, dataset and witness call this package.
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
// first, at most ten bytes. The metadata key avro.schema is required. If avro.codec is
// missing, the codec is null. If a key occurs twice, the last value applies, as in Java.
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
// A block belongs to the range in which it starts. If a range begins inside the file, its
// first block follows the first sync marker that ends at or after the start of the
// range. So adjacent ranges together have every block once. Like every reader of this
// format, the scanner assumes that rows do not contain the file's sync marker. If rows
// contain it, a range that begins at such a marker reports damage.
//
// # Damage
//
// For bytes that break the format, the error is a *damage.Error with the file's name and
// the offset in the file. Errors of the io.ReaderAt or io.Reader are returned wrapped,
// and are never damage. A stream that does not end between blocks is damage.
package ocf
