package format

import (
	"io"

	"github.com/rowtocol/rowtocol/format/column"
)

// Writer makes row groups of one format with one set of options. It is a ColumnWriter
// or a RowWriter.
type Writer interface {
	// Memory returns the most bytes of memory that a row group has besides its open blocks
	// and the blocks that are being encoded. columns is its number of columns, and blockSize
	// the size of their blocks.
	Memory(columns, blockSize int) int64
}

// Warner is a Writer of a format whose readers do not accept all schemas that it can store.
type Warner interface {
	Writer
	// Warnings returns what these readers refuse or change in rows with an Avro schema, which is
	// valid.
	Warnings(schema string) []string
}

// ColumnWriter is a Writer of a format that keeps columns apart.
type ColumnWriter interface {
	Writer
	// Layout returns how the shredder must arrange the blocks.
	Layout() column.Layout
	// InvalidText returns what the shredder must do with strings that are not UTF-8.
	InvalidText() column.InvalidText
	// NewRowGroup starts a row group of the given columns. Blocks are closed when they have
	// blockSize bytes before compression. schema is the rows' Avro schema as JSON.
	// NewRowGroup fails if the options do not fit the columns.
	NewRowGroup(schema string, cols []column.Column, blockSize int) (RowGroup, error)
}

// SortedWriter is a ColumnWriter of row groups whose rows may have to be sorted.
type SortedWriter interface {
	ColumnWriter
	// SortedBy returns the paths of the fields by which the rows of a row group must ascend,
	// nulls first. Rows that are equal in the first field must ascend by the next one. Without
	// fields, rows may have any order. Package rowkey defines the order of values.
	SortedBy() []string
}

// FileWriter is a ColumnWriter whose row groups are parts of one file. Each row group has one
// output, which Finish returns and which follows that of the row group before it. A row group
// ends before the next one begins. All of them have the same schema.
type FileWriter interface {
	ColumnWriter
	// End returns what follows the row groups. There is at least one row group. The file has the
	// metadata ExportKey.
	End() (Output, error)
}

// Group is the state of one row group. Its methods are called by one goroutine at a
// time. Only EncodeJob.Encode runs on other goroutines.
type Group interface {
	// Size returns the size of all outputs if nothing more is added. This includes headers,
	// tables, and the stored bytes of the ended blocks or the admitted rows. Before Finish
	// the result may be an upper bound. It depends only on what was added.
	Size() int64
	// Finish returns the outputs of the complete row group.
	Finish(rows int64) ([]Output, error)
}

// RowGroup is a row group of columns.
type RowGroup interface {
	Group
	// Begin adds a finished block of a column. It is called in the order of the rows, so it
	// maintains what depends on this order: dictionaries, checks of the order, keys of an index.
	// The block belongs to the job until Encode returns.
	Begin(col int, block *column.Block) (EncodeJob, error)
	// End ends a job. stored is the number of bytes that its result has in the spill. End is
	// called once per job, in the order of Begin.
	End(col int, job EncodeJob, stored int) error
	// Bound returns the most bytes that a block can add to Size, including its entries in
	// tables. rows, data and lengths are the numbers of the block's rows, bytes of Data and
	// Lengths: see column.Block.
	// Earlier blocks do not raise the result.
	Bound(col int, rows int64, data, lengths int) int64
	// Growth returns the most bytes that one more byte of row data adds to Bound. One more
	// length adds up to four times as much.
	Growth() int64
}

// RowWriter is a Writer of a format that keeps rows whole.
type RowWriter interface {
	Writer
	// Key returns the paths of the fields that the rows are sorted by; at least one.
	Key() []string
	// NewRows starts a row group. schema is the rows' Avro schema as JSON.
	NewRows(schema string) (Rows, error)
}

// Rows is a row group of whole rows, in the order of their keys. First call Admit with each
// row, in the order of the input. Then call Start, and Append with each row in the order of
// the keys, and Finish at the end. The written bytes are the spill's column 0.
type Rows interface {
	Group
	// Admit counts a row in Size. Append appends the row later. If the format cannot hold the row,
	// the error is a *damage.Error.
	Admit(key, datum []byte) error
	// Start begins the output, whose bytes are written to w.
	Start(w io.Writer) error
	// Append appends a row. Its key must not be less than the key of the row before. Package
	// rowkey made the key, and datum holds the row's Avro bytes. Both are valid only during
	// the call.
	Append(key, datum []byte) error
}

// EncodeJob compresses and checksums one block. Encode may run on any goroutine, concurrently
// with other jobs. Jobs must be started in the order of Begin: Encode may wait for earlier jobs
// of the same column.
type EncodeJob interface {
	// Bound returns the most bytes that Encode appends. For an unusually large block the
	// result includes the working memory of Encode.
	Bound() int64
	// Encode appends the stored block to dst and returns it.
	Encode(dst []byte) ([]byte, error)
}

// Output is one file of a row group.
type Output struct {
	// Name is the file's name in the directory of the part. It is empty if the part is a
	// single file.
	Name string
	// Role is the purpose of the file within its format.
	Role string
	// Size is the sum of the pieces' lengths.
	Size   int64
	Pieces []Piece
}

// Piece is a range of bytes of an output. If Column is negative, the bytes are Literal.
// Otherwise they are the range [Offset, Offset+Length) of the column's spill.
type Piece struct {
	Literal []byte
	Column  int
	Offset  int64
	Length  int64
}

// Literal returns the piece that holds b.
func Literal(b []byte) Piece { return Piece{Literal: b, Column: -1, Length: int64(len(b))} }

// Spilled returns the piece that holds a range of a column's spill.
func Spilled(col int, offset, length int64) Piece {
	return Piece{Column: col, Offset: offset, Length: length}
}
