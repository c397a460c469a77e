package format

import (
	"context"
	"io"

	"github.com/rowtocol/rowtocol/format/column"
)

// DefaultMaxBlock is the default of OpenOptions.MaxBlock, in bytes.
const DefaultMaxBlock = 512 << 20

// OpenOptions are the options of opening a part.
type OpenOptions struct {
	// MaxBlock is the size in bytes of the largest uncompressed block to decode; a
	// larger one is reported as damage.Unsupported. 0 means DefaultMaxBlock.
	MaxBlock int64
	// Memory accounts for large blocks, tables and headers in memory. It may be nil. When a
	// part is no longer used, its opener releases what is still reserved.
	Memory column.Account
}

// EnsureDefaults returns the options with defaults in place of zeros.
func (o OpenOptions) EnsureDefaults() OpenOptions {
	if o.MaxBlock <= 0 {
		o.MaxBlock = DefaultMaxBlock
	}
	if o.Memory == nil {
		o.Memory = column.Unlimited{}
	}
	return o
}

// File is a file of a part as the format reads it. ReadAt is for headers. On remote storage each
// call of ReadAt is a request, unless it continues the one before it.
type File interface {
	io.ReaderAt
	// Name returns the file's path, for messages. If the part is a directory, the last
	// element of the path is Output.Name.
	Name() string
	// Size returns the file's length in bytes.
	Size() int64
	// ReadBlock is like ReadAt, for a stored block of a column. The blocks of the column
	// follow each other up to the offset end. On remote storage, blocks that are read in
	// order are read ahead, up to end.
	ReadBlock(p []byte, col int, off, end int64) (int, error)
	// ReadTable is like ReadBlock, for bytes of the column that are no block and lie before
	// its blocks: the block table, or a dictionary.
	ReadTable(p []byte, col int, off, end int64) (int, error)
}

// Part is an open row group, or a file of several, whose rows follow each other. It may be
// used concurrently; each of its cursors and
// readers belongs to one goroutine. Errors of its methods are *damage.Error, or wrap an
// error of the files' reader. Its results must not be changed.
type Part interface {
	// Version returns the version of the format.
	Version() int
	// Rows returns the number of rows.
	Rows() int64
	// Schema returns the Avro schema of the rows as JSON, or "" if the part has no
	// schema.
	Schema() string
	// Metadata returns the metadata of the part, the schema included.
	Metadata() []Metadata
	// Columns returns the columns, in the order of the schema.
	Columns() []Column
	// Blocks returns the blocks of a column, in the order of their rows. A Searcher leaves out
	// what they say of the values.
	Blocks(col int) ([]Block, error)
	// Verify decodes the whole part and checks it. It returns all damage joined, and
	// stops at any other error, such as cancellation. It calls run, which may be nil, with
	// pieces of its work. Each piece accounts for its own memory.
	Verify(ctx context.Context, run Runner) error
	// Unverified reports whether a block without a valid checksum has been accepted so
	// far.
	Unverified() bool
	// Dump writes every byte of the part with its meaning. An error of w ends it.
	Dump(w io.Writer) error
}

// ColumnPart is a Part of a format that keeps columns apart.
type ColumnPart interface {
	Part
	// Cursor returns a cursor before the first row of a column.
	Cursor(col int) (Cursor, error)
}

// Searcher is a ColumnPart that can look for values of a column without reading its blocks.
type Searcher interface {
	ColumnPart
	// Bounds sets Min, Max and Presence of the blocks of a column, which are all those that
	// Blocks returns.
	Bounds(col int, blocks []Block) error
	// Lacks reports whether no row from row to end has one of the values in a column. It chooses
	// end, the first row that it says nothing of. lacks is false if the answer is not known. The
	// values are encoded as the column stores them. row is less than Rows.
	Lacks(col int, values [][]byte, row int64) (lacks bool, end int64, err error)
}

// NativePart is a ColumnPart of a format with types and encodings of its own.
type NativePart interface {
	ColumnPart
	// Native describes how a column is stored, in the terms of the format.
	Native(col int) Native
}

// Native is how a column is stored, in the terms of its format. The type of a column that has only
// lengths is that of the place in the schema. It has no encodings.
type Native struct {
	Type      string
	Encodings []string // of the blocks
}

// Holder is a Part that holds something other than the rows of a table.
type Holder interface {
	Part
	// Contents returns a short description of the contents.
	Contents() string
}

// RowPart is a Part of a format that keeps rows whole. Schema returns the schema of the rows
// that its readers return. Columns describes how the rows are stored.
type RowPart interface {
	Part
	// Read returns a reader before the first row.
	Read() (RowReader, error)
}

// RowReader returns the rows of a part one after another. It belongs to one goroutine.
type RowReader interface {
	// Next returns the Avro bytes of the next row, valid until the next call, or io.EOF
	// after the last row. After an error it keeps failing.
	Next() ([]byte, error)
	// Close releases the reader's memory.
	Close()
}

// ExportKey is the key of metadata that a file has if a FileWriter wrote it. No part of an output
// has it.
const ExportKey = "rowtocol.export"

// Metadata is a pair of a key and a value.
type Metadata struct {
	Key    string
	Value  []byte
	Binary bool // the value is not text
	Schema bool // the value is Part.Schema
}

// Column is a column of a part.
type Column struct {
	column.Column
	Codec    string
	Checksum string
	Indexed  bool // the part keeps a value of each block
	// Filter is the number of bytes of the column's Bloom filter, or 0 if it has none.
	Filter int64
}

// Block is a block of a column.
type Block struct {
	FirstRow   int64 // row number of the first row
	Rows       int64
	RawSize    int64 // bytes before the codec
	StoredSize int64 // bytes in the file, without a checksum
	// Min and Max are encoded values that bound all values of the block. They are nil if
	// they are not known.
	Min, Max []byte
	Presence Presence
}

// Presence says which rows of a block have a value of the column. An item of a list that is
// null is no value.
type Presence uint8

// The presences of a block.
const (
	SomeValues Presence = iota // it is not known, or some rows have values and some have not
	OnlyValues                 // each row has a value, and no item is null
	NoValues                   // no row has a value
)

// Cursor reads the values of one column in order. After an error it fails until it
// seeks.
type Cursor interface {
	// SeekRow moves before the first value of a row. In an array column it moves before the
	// row's length, and in a child column before the first item of the row.
	SeekRow(row int64) error
	// Skip passes over the next n values, or lengths of an array column, that Read would
	// append. items is how many items the column's children have for them.
	Skip(n int64) (items int64, err error)
	// Read appends up to n values that the column stores per row, or per item of its
	// parent. For an array column it appends up to n lengths, and the values of each. Unless
	// n is 0 it appends at least one. It stops at the end of a block and may stop earlier.
	// read is how many it appended. items is how many items the column's children have for
	// them: the sum of the lengths, or read. Read returns io.EOF at the end of the column,
	// and column.ErrFull if not even one fits the vector. A cursor whose values are not in
	// Avro's encoding clears v.Encoded.
	Read(v *column.Vector, n int) (read, items int, err error)
}
