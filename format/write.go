package format

import (
	"io"

	"github.com/rowtocol/rowtocol/format/column"
)

// Writer makes row groups of one format with one set of options. It is a ColumnWriter
// or a RowWriter.
type Writer interface {
	// Memory returns the most bytes that a row group of columns columns, with blocks of
	// blockSize bytes, takes besides its open blocks and those being encoded.
	Memory(columns, blockSize int) int64
}

// ColumnWriter is a Writer of a format that keeps columns apart.
type ColumnWriter interface {
	Writer
	// Layout returns how the shredder must arrange the blocks.
	Layout() column.Layout
	// NewRowGroup starts a row group of the given columns, whose raw blocks are closed
	// at blockSize bytes. schema is the rows' Avro schema as JSON. It fails if the
	// options do not fit the columns.
	NewRowGroup(schema string, cols []column.Column, blockSize int) (RowGroup, error)
}

// Group is the state of one row group. Its methods are called by one goroutine at a
// time; only EncodeJob.Encode runs elsewhere.
type Group interface {
	// Size returns the size of all outputs if nothing more is added: headers, tables,
	// and the stored bytes of the ended blocks or the admitted rows. It may be an upper
	// bound until Finish, and is exact then. It depends only on what was added.
	Size() int64
	// Finish returns the outputs of the complete row group.
	Finish(rows int64) ([]Output, error)
}

// RowGroup is a row group of columns.
type RowGroup interface {
	Group
	// Begin takes a finished block of a column, in row order: the place for state that
	// needs order (dictionaries, sort checks, index keys). The block belongs to the job
	// until Encode returns.
	Begin(col int, block *column.Block) (EncodeJob, error)
	// End takes the number of bytes that the job's result has in the spill.
	// It is called once per job, in the order of Begin.
	End(col int, job EncodeJob, stored int) error
	// Bound returns the most by which a block of this many rows, raw bytes of data and
	// split lengths can raise Size, with its share of tables. Earlier blocks do not
	// raise it.
	Bound(col int, rows int64, data, lengths int) int64
	// Growth returns the most by which one more row raises Bound, for each byte of its
	// data; each length raises it by four times as much.
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

// Rows is a row group of whole rows, in the order of their keys. Call Admit with each
// row in the order of the input, then Start, then Append with each row in the order of
// the keys, then Finish. The written bytes are the spill's column 0.
type Rows interface {
	Group
	// Admit makes Size count a row that will be appended. If the format cannot hold the
	// row, the error is a *damage.Error.
	Admit(key, datum []byte) error
	// Start begins the output, whose bytes are written to w.
	Start(w io.Writer) error
	// Append appends a row whose key is not less than the last one's. key is made by
	// package rowkey and datum holds the row's Avro bytes; both are valid only during
	// the call.
	Append(key, datum []byte) error
}

// EncodeJob compresses and checksums one block. Its methods may run on any goroutine,
// concurrently with other jobs.
type EncodeJob interface {
	// Bound returns the most bytes that Encode appends. For an unusually large block it
	// includes the working memory of Encode.
	Bound() int64
	// Encode appends the stored block to dst and returns it.
	Encode(dst []byte) ([]byte, error)
}

// Output is one file of a row group.
type Output struct {
	// Name is the file's name in the directory of the part; empty if the part is this
	// file alone.
	Name string
	// Role is the purpose of the file within its format.
	Role string
	// Size is the sum of the pieces' lengths.
	Size   int64
	Pieces []Piece
}

// Piece is a range of bytes of an output: Literal if Column is negative, otherwise the
// range [Offset, Offset+Length) of the column's spill.
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
