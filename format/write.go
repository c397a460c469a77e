package format

import (
	"io"

	"github.com/rowtocol/rowtocol/format/column"
)

// Writer makes row groups of one format with one set of options. It is a ColumnWriter or a
// RowWriter.
type Writer interface {
	// Memory is the most bytes that a row group of so many columns, with blocks
	// of so many bytes, takes beside its open blocks and those being encoded.
	Memory(columns, blockSize int) int64
}

// ColumnWriter is a Writer of a format that keeps columns apart.
type ColumnWriter interface {
	Writer
	// Layout is how the shredder must arrange the blocks.
	Layout() column.Layout
	// NewRowGroup starts a row group of the given columns, whose raw blocks are
	// closed at blockSize bytes. schema is the rows' Avro schema as JSON. Errors
	// are the options' not fitting the columns.
	NewRowGroup(schema string, cols []column.Column, blockSize int) (RowGroup, error)
}

// Group is the state of one row group. Its methods are called by one goroutine at a
// time; only EncodeJob.Encode runs elsewhere.
type Group interface {
	// Size is the size of all outputs if nothing further came: headers and tables,
	// and the stored bytes of the ended blocks, or of the admitted rows. It may be
	// from above until Finish, and is exact then. It depends on what came alone.
	Size() int64
	// Finish names the outputs of the complete row group.
	Finish(rows int64) ([]Output, error)
}

// RowGroup is a row group of columns.
type RowGroup interface {
	Group
	// Begin takes a finished block of a column, in row order: the place for
	// state that needs order (dictionaries, sort checks, index keys). The
	// block belongs to the job until Encode returns.
	Begin(col int, block *column.Block) (EncodeJob, error)
	// End takes the number of bytes that the job's result has in the spill.
	// It is called once per job, in the order of Begin.
	End(col int, job EncodeJob, stored int) error
	// Bound is the most by which a block of so many rows, raw bytes of data and
	// split lengths can raise Size, its share of tables included. It is the same
	// whatever blocks came before, or less.
	Bound(col int, rows int64, data, lengths int) int64
	// Growth is the most by which a row more raises Bound, for each byte of data
	// that it has; for each length it is four times as much.
	Growth() int64
}

// RowWriter is a Writer of a format that keeps rows whole.
type RowWriter interface {
	Writer
	// Key are the fields by which the rows are sorted, by their paths; at least one.
	Key() []string
	// NewRows starts a row group. schema is the rows' Avro schema as JSON.
	NewRows(schema string) (Rows, error)
}

// Rows is a row group of whole rows, in the order of their keys. First Admit is called with
// each row in the order of the input, then Start, and then Append with each row in the order
// of the keys, before Finish. The bytes that it writes are the spill's column 0.
type Rows interface {
	Group
	// Admit makes Size count a row that is to come. A *damage.Error says why the format
	// cannot hold the row.
	Admit(key, datum []byte) error
	// Start begins the output, whose bytes are written to w.
	Start(w io.Writer) error
	// Append takes the row whose key comes next, or is the last one's: its key as
	// package rowkey makes it, and its Avro bytes, which both are valid during the call.
	Append(key, datum []byte) error
}

// EncodeJob compresses and checksums one block. Its methods may run on any
// goroutine, concurrently with other jobs.
type EncodeJob interface {
	// Bound is the most bytes that Encode appends. Of a block that is larger than
	// others it counts what Encode works with, too.
	Bound() int64
	// Encode appends the stored block to dst and returns it.
	Encode(dst []byte) ([]byte, error)
}

// Output is one file of a row group.
type Output struct {
	// Name is the file's name in the directory that the part is; empty if the
	// part is this file alone.
	Name string
	// Role says what the file is to its format.
	Role string
	// Size is the sum of the pieces' lengths.
	Size   int64
	Pieces []Piece
}

// Piece is a range of bytes of an output: Literal where Column is negative,
// else the range [Offset, Offset+Length) of the column's spill.
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
