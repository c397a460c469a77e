package cfile

import (
	"errors"
	"fmt"
)

// Kudu's sizes of blocks.
const (
	DefaultBlockSize      = 256 << 10 // Options.BlockSize
	DefaultIndexBlockSize = 32 << 10  // Options.IndexBlockSize
	maxBlockSize          = 8 << 20   // leaves room below maxBlock for the rest of a block
)

// MaxValue is the most bytes of a BINARY value that a file can hold: a block holds 16 MiB
// before compression, and this leaves room for the rest of a block with one value.
const MaxValue = maxBlock - valueOverhead

// BlocksCRCKey is the metadata key of the CRC-32C, little-endian, of the checksums of all
// blocks in the order of the file. Without it, any two files whose blocks have the same sizes
// would have the same CRC-32C as a whole: bytes followed by their own CRC-32C do not change
// the CRC-32C of a file.
const BlocksCRCKey = "rowtocol.blocks"

// Options describe a file to write. They are for a Writer and, in the adapter, for each file
// of a column.
type Options struct {
	Type        Type
	Encoding    Encoding    // Auto: the type's default
	Compression Compression // 0: NoCompression
	Nullable    bool        // rows have Valid

	// BlockSize is the size at which a data block ends, by the rules of each encoding. It is
	// about the size of the encoded values. For BIT_SHUFFLE and codes of DICT it is the size of
	// the values. It is also the size of a full dictionary. 0 is DefaultBlockSize, and the limit
	// is 8 MiB.
	BlockSize int
	// IndexBlockSize is the size, before compression, at which an index block of two or more
	// entries ends. 0 is DefaultIndexBlockSize; the limit is 8 MiB.
	IndexBlockSize int

	Positional bool // a positional index; a file needs this index or the next
	ValueIndex bool // a value index: values ascend, which the Writer does not check, and are not null
	// KeyBounds adds the first and the last key of the value index to the metadata, as
	// min_key and max_key, if there are any rows.
	KeyBounds bool
	// BlocksCRC adds BlocksCRCKey to the metadata.
	BlocksCRC bool

	NoChecksums bool
	Metadata    []Pair // metadata of the footer
}

// Validate returns an error if o is not valid. Zero values stand for the defaults.
func (o *Options) Validate() error {
	switch {
	case !o.Type.valid():
		return fmt.Errorf("%v is not a type of a CFile", o.Type)
	case !o.Type.allows(o.Encoding):
		return fmt.Errorf("%v cannot be encoded as %v", o.Type, o.Encoding)
	case o.Compression != 0 && !o.Compression.valid():
		return fmt.Errorf("%v is not a compression of a CFile", o.Compression)
	case o.BlockSize < 0 || o.BlockSize > maxBlockSize:
		return fmt.Errorf("a block size of %d bytes is not from 0 to %d", o.BlockSize, maxBlockSize)
	case o.IndexBlockSize < 0 || o.IndexBlockSize > maxBlockSize:
		return fmt.Errorf("an index block size of %d bytes is not from 0 to %d", o.IndexBlockSize, maxBlockSize)
	case !o.Positional && !o.ValueIndex:
		return errors.New("a CFile without any index cannot be read")
	case o.ValueIndex && o.Nullable:
		return errors.New("a value index cannot have nulls")
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

// TooLongError reports a value that is longer than MaxValue, or than MaxKey in a value
// index.
type TooLongError struct {
	Row         int64 // number of the row in the file, from 0
	Size, Limit int   // bytes that the value has, and may have at most
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("row %d: a value of %d bytes exceeds the limit of %d", e.Row, e.Size, e.Limit)
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
