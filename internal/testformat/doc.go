// Package testformat is a column format for tests, and an example for authors
// of formats: it implements format.Format whole, in as many ways unlike Trevni
// as the seam allows, and as simply as that allows. It is named "split". The
// built program has it only with the build tag testformat.
//
// # A part
//
// A part is a directory of a file per column and a file that describes them:
//
//	part-00000-0-0123456789abcdef.split/
//	    00000.col  00001.col  …  index
//
// Numbers are little-endian and of fixed width; a text is a u32 length and its
// bytes. A column file is its blocks, one behind the other, and nothing else:
//
//	┌─────────┬────────────────────────────────────┬─────────┐
//	│ sum u32 │ payload, compressed with the codec │ crc u32 │ …
//	└─────────┴────────────────────────────────────┴─────────┘
//	             ┌─────────────────────┬─────────────────┐
//	   payload   │ lengths, u32 each   │ values          │
//	             └─────────────────────┴─────────────────┘
//
// crc is the CRC-32C of all the block's bytes before it. sum is the CRC-32C of
// lengths and values of the column from its first block to the end of this one,
// before what follows is done to them: each double is stored as its difference
// (by exclusive or) from the one before it, which may be in the block before.
// Both need the blocks in row order. Other values are encoded as package column
// says, booleans as a byte each; only array columns have lengths.
//
// The index:
//
//	"SPLIT" u8 version │ u64 rows │ text codec │ text marker │ text schema │ u32 columns
//	each column:  text name │ u8 type │ u8 array │ u32 parent + 1 │ u32 blocks
//	each block:   u32 rows │ u32 units │ u64 items │ u32 payload bytes │ u32 stored bytes
//	              u32 sum │ u64 double before the block │ u8 n, n bytes min │ u8 n, n bytes max
//	u32 CRC-32C of all bytes before it
//
// The units of a block are what a cursor reads of it: lengths in an array
// column, else values. Items are what they give to the column's children: the
// sum of the lengths, or the values. Nulls without lengths take no bytes and are
// not counted there: there are as many as the parent has items. Stored bytes are
// those of the compressed payload. A bound of no bytes is not known: bounds are
// kept where they have at most 16 bytes and the order of the values is clear.
package testformat
