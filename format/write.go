package format

import "github.com/rowtocol/rowtocol/column"

// Writer makes row groups of one format with one set of options.
type Writer interface {
	// Layout is how the shredder must arrange the blocks.
	Layout() column.Layout
	// NewRowGroup starts a row group of the given columns. schema is the
	// rows' Avro schema as JSON. Errors are the options' not fitting the
	// columns.
	NewRowGroup(schema string, cols []column.Column) (RowGroup, error)
	// Memory is the most bytes that a row group of so many columns, with blocks
	// of so many bytes, takes beside its open blocks and those being encoded.
	Memory(columns, blockSize int) int64
}

// MaxGrowth is the most by which one more byte of data raises RowGroup.Bound.
const MaxGrowth = 3

// RowGroup is the state of one row group. Its methods are called by one
// goroutine at a time; only EncodeJob.Encode runs elsewhere.
type RowGroup interface {
	// Begin takes a finished block of a column, in row order: the place for
	// state that needs order (dictionaries, sort checks, index keys). The
	// block belongs to the job until Encode returns.
	Begin(col int, block *column.Block) (EncodeJob, error)
	// End takes the number of bytes that the job's result has in the spill.
	// It is called once per job, in the order of Begin.
	End(col int, job EncodeJob, stored int) error
	// Size is the exact size of all outputs if no further block came: headers
	// and tables, and the stored bytes of the ended blocks.
	Size() int64
	// Bound is the most by which a block of so many raw bytes of data and
	// split lengths can raise Size, its share of tables included. A byte more
	// raises it by MaxGrowth at most, a length more by four times as much.
	Bound(col int, data, lengths int) int64
	// Finish names the outputs of the complete row group.
	Finish(rows int64) ([]Output, error)
}

// EncodeJob compresses and checksums one block. Encode may run on any
// goroutine, concurrently with other jobs; it appends to dst and returns it.
type EncodeJob interface {
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

// Piece is a run of bytes of an output: Literal where Column is negative,
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
