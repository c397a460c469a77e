package cfile

import (
	"errors"
	"fmt"
)

// Sizes of blocks, those of Kudu.
const (
	DefaultBlockSize      = 256 << 10 // Options.BlockSize
	DefaultIndexBlockSize = 32 << 10  // Options.IndexBlockSize
	maxBlockSize          = 8 << 20   // leaves room below maxBlock for the rest of a block
)

// MaxValue is the most bytes of a BINARY value that a file can hold: a block takes 16 MiB
// before compression, and this leaves room for the rest of a block with one value.
const MaxValue = maxBlock - valueOverhead

// BlocksCRCKey is the key in the metadata of the CRC-32C, little-endian, of the checksums
// of all blocks in the order of the file. Without it two files whose blocks have
// the same sizes would have the same CRC-32C as a whole, with any bytes in the blocks: bytes
// with their own checksum after them add nothing to one of the same kind.
const BlocksCRCKey = "rowtocol.blocks"

// Options say what a file is to be. They are for a Writer and, in the adapter, for each
// column.
type Options struct {
	Type        Type
	Encoding    Encoding    // Auto: the type's default
	Compression Compression // 0: NoCompression
	Nullable    bool        // rows have Valid

	// BlockSize is where a data block ends, by the rules of each encoding: it is about
	// the bytes of its encoded values (of BIT_SHUFFLE and of the codes of DICT: of the
	// values), and also those of the dictionary. 0 is DefaultBlockSize; at most 8 MiB.
	BlockSize int
	// IndexBlockSize is where an index block of two or more entries ends, before
	// compression. 0 is DefaultIndexBlockSize; at most 8 MiB.
	IndexBlockSize int

	Positional bool // a positional index; a file needs this index or the next
	ValueIndex bool // a value index: values ascend, which the writer takes on trust, and are not null
	// KeyBounds adds the first and the last key of the value index to the metadata, as
	// min_key and max_key, if there are any rows.
	KeyBounds bool
	// BlocksCRC adds BlocksCRCKey to the metadata.
	BlocksCRC bool

	NoChecksums bool
	Metadata    []Pair // goes to the footer
}

// Validate returns what is wrong with o. The defaults need not be filled in.
func (o *Options) Validate() error {
	switch {
	case !o.Type.valid():
		return fmt.Errorf("%v is no type of a CFile", o.Type)
	case !o.Type.allows(o.Encoding):
		return fmt.Errorf("%v cannot be encoded as %v", o.Type, o.Encoding)
	case o.Compression != 0 && !o.Compression.valid():
		return fmt.Errorf("%v is no compression of a CFile", o.Compression)
	case o.BlockSize < 0 || o.BlockSize > maxBlockSize:
		return fmt.Errorf("a block size of %d bytes: it is at most %d", o.BlockSize, maxBlockSize)
	case o.IndexBlockSize < 0 || o.IndexBlockSize > maxBlockSize:
		return fmt.Errorf("an index block size of %d bytes: it is at most %d", o.IndexBlockSize, maxBlockSize)
	case !o.Positional && !o.ValueIndex:
		return errors.New("a CFile without any index cannot be read")
	case o.ValueIndex && o.Nullable:
		return errors.New("nulls have no place in a value index")
	case o.ValueIndex && !o.Type.Keyed():
		return fmt.Errorf("%v has no key for a value index", o.Type)
	case o.KeyBounds && !o.ValueIndex:
		return errors.New("bounds of keys need a value index")
	case o.BlocksCRC && o.NoChecksums:
		return errors.New("a checksum of checksums needs checksums")
	}
	return nil
}

// withDefaults returns o with the defaults in place of zeros.
func (o Options) withDefaults() Options {
	o.Encoding = o.Encoding.resolve(o.Type)
	if o.Compression == 0 {
		o.Compression = NoCompression
	}
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.IndexBlockSize == 0 {
		o.IndexBlockSize = DefaultIndexBlockSize
	}
	return o
}

// TooLongError is about a value that is longer than MaxValue, or than MaxKey in a value
// index.
type TooLongError struct {
	Row         int64 // its number in the file, from 0
	Size, Limit int   // bytes that it has, and that it may have
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("row %d: a value of %d bytes, and a CFile takes %d", e.Row, e.Size, e.Limit)
}

// checkLengths returns an error if one of the values is too long for a file, or for its
// value index. ordinal is that of the first of the rows.
func (o *Options) checkLengths(ordinal int64, r *Rows) error {
	limit := MaxValue
	if o.ValueIndex {
		limit = MaxKey
	}
	for i := range r.BinaryLen() {
		//guard: refuses a value that no block can hold
		if size := int(r.Offsets[i+1] - r.Offsets[i]); size > limit {
			row := i
			if o.Nullable {
				row = rowsOf(r.Valid, i+1) - 1
			}
			return &TooLongError{Row: ordinal + int64(row), Size: size, Limit: limit}
		}
	}
	return nil
}
