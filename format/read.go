package format

import (
	"context"
	"io"

	"github.com/rowtocol/rowtocol/format/column"
)

// DefaultMaxBlock is the default of OpenOptions.MaxBlock, in bytes.
const DefaultMaxBlock = 512 << 20

// OpenOptions say how a part is read.
type OpenOptions struct {
	// MaxBlock is the size in bytes of the largest uncompressed block that is
	// decoded; a file that claims more is reported as damage.Unsupported. 0 is
	// DefaultMaxBlock.
	MaxBlock int64
	// Memory accounts for blocks, tables and headers in memory, so far as they are
	// not small; nil if nobody does. Whoever opened the part releases what is left
	// when it is closed.
	Memory column.Account
}

// EnsureDefaults returns the options with the defaults in the place of zeros.
func (o OpenOptions) EnsureDefaults() OpenOptions {
	if o.MaxBlock <= 0 {
		o.MaxBlock = DefaultMaxBlock
	}
	if o.Memory == nil {
		o.Memory = column.Unlimited{}
	}
	return o
}

// File is a file of a part as the format reads it. ReadAt is for what says
// where the blocks are: on remote storage each is a request of its own, and nothing
// is read ahead.
type File interface {
	io.ReaderAt
	// Name is the file's path, for messages; its last element is the one that
	// Output.Name says, if the part is a directory.
	Name() string
	// Size is the file's length in bytes.
	Size() int64
	// ReadBlock is ReadAt for a stored block of a column, whose blocks follow
	// each other up to the offset end. On remote storage blocks that are read one
	// behind the other are read ahead, up to that end.
	ReadBlock(p []byte, col int, off, end int64) (int, error)
}

// Part is an open row group. It may be used concurrently; each of its cursors and readers
// belongs to one goroutine. Errors of its methods are *damage.Error, or wrap what
// reading reported. What it returns must not be changed.
type Part interface {
	// Version is that of the format.
	Version() int
	// Rows is the number of rows.
	Rows() int64
	// Schema is the Avro schema of the rows as JSON, empty if the part has none.
	Schema() string
	// Metadata is what else the part says of itself.
	Metadata() []Metadata
	// Columns are the columns, in the order of the schema.
	Columns() []Column
	// Blocks are the blocks of a column, in the order of their rows.
	Blocks(col int) ([]Block, error)
	// Verify decodes the whole part and checks it. It returns the damage that it
	// finds joined, and ends at what is none, such as the end of ctx.
	Verify(ctx context.Context) error
	// Unverified reports whether a block was accepted so far that has no valid
	// checksum.
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

// Holder is a Part that holds something else than the rows of a table.
type Holder interface {
	Part
	// Holds says in a few words what it has.
	Holds() string
}

// RowPart is a Part of a format that keeps rows whole. Schema is that of the data that
// its readers give. Its columns say how the rows are stored.
type RowPart interface {
	Part
	// Read returns a reader before the first row.
	Read() (RowReader, error)
}

// RowReader gives the rows of a part one after another. It belongs to one goroutine.
type RowReader interface {
	// Next returns the Avro bytes of the next row, which are valid until the next call;
	// io.EOF after the last. After an error it keeps failing.
	Next() ([]byte, error)
	// Close gives the reader's memory back.
	Close()
}

// Metadata is a pair of a key and what stands for it.
type Metadata struct {
	Key    string
	Value  []byte
	Binary bool // the value is no text
	Schema bool // the value is Part.Schema
}

// Column is a column of a part.
type Column struct {
	column.Column
	Codec    string
	Checksum string
	Indexed  bool // the part keeps a value of each block
}

// Block is a block of a column.
type Block struct {
	FirstRow   int64 // row number of the first row
	Rows       int64
	RawSize    int64 // bytes before the codec
	StoredSize int64 // bytes in the file, but for a checksum
	// Min and Max are encoded values that are not greater, and not less, than
	// all of the block's; nil where that is not known.
	Min, Max []byte
}

// Cursor reads the values of one column in order. After an error it fails until
// it seeks.
type Cursor interface {
	// SeekRow moves before the first value of a row: in an array column before
	// the row's length, in a child column before the first of the row's items.
	SeekRow(row int64) error
	// Skip passes over the next n of what Read reads, and returns how many items
	// that gives the column's children.
	Skip(n int64) (items int64, err error)
	// Read appends at most n, and at least one unless n is 0, of what the column
	// stores per row, or per item of its parent: for an array column lengths and
	// their values, else values. read is how many it appended, and items how many
	// items that gives the column's children: the sum of the lengths, or read. It
	// stops where a block ends, and may stop before. io.EOF says that the column
	// has no more. column.ErrFull says that one more would not fit the vector. A
	// cursor that does not have the values as Avro encodes them clears v.Encoded.
	Read(v *column.Vector, n int) (read, items int, err error)
}
