package witness

import (
	"context"
	"fmt"
	"io"
)

// listed is the most differences that a Result describes. Further ones are only counted.
const listed = 20

// Input is one of the Avro files from which the columns were made.
type Input struct {
	Name string
	R    io.ReaderAt
	Size int64
	// Blocks starts to read the file's blocks with the caller's own container reader. It says
	// where blocks begin and how many rows they have. It decompresses them only if goavro's
	// container reader fails.
	Blocks func() (Blocks, error)
	// Lossy says that the conversion left out damaged parts of the file. Blocks leaves
	// out the same parts, and goavro's container reader is not used.
	Lossy bool
	// Schema is the schema to which the conversion resolved the rows. It is "" if the
	// rows were not resolved.
	Schema string
	// Close, unless nil, is called when the input is no longer read.
	Close func()
}

// Blocks returns the blocks in file order, and io.EOF at the end. Before Next allocates memory for
// a block, it calls reserve with the bytes that the block takes in all, until it is compared. Its
// caller releases them.
type Blocks interface {
	Next(ctx context.Context, reserve func(bytes int64) error) (Block, error)
}

// Block is a block of an input.
type Block struct {
	Start, End int64 // range in the file, with its count, its size and its sync marker
	Rows       int64
	Size       int64 // bytes of the rows, about
	// Decode returns the decompressed rows. It is called once at most, on any goroutine.
	Decode func() ([]byte, error)
}

// Rows returns the rows of the columns. Next appends the Avro encoding of the next row to
// dst, and returns io.EOF at the end.
type Rows interface {
	Next(dst []byte) ([]byte, error)
}

// NotCompared describes the rows of an input that no decoder could read.
type NotCompared struct {
	Input  string `json:"input"`
	Row    int64  `json:"row"`    // number of the first such row in the input, from 0
	Rows   int64  `json:"rows"`   // number of rows
	Reason string `json:"reason"` // error of the first row
}

// Difference is a row that differs between the input and the columns.
type Difference struct {
	Input string `json:"input,omitempty"`
	Row   int64  `json:"row"` // number of the row in the input, or in the columns if Input is empty
	Path  string `json:"path,omitempty"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// String returns one line for people.
func (d Difference) String() string {
	where := fmt.Sprintf("row %d", d.Row)
	if d.Input != "" {
		where = d.Input + ": " + where
	}
	if d.Path != "" {
		where += ", field " + d.Path
	}
	return fmt.Sprintf("%s: the input has %s, the columns have %s", where, d.Want, d.Got)
}

// Result is the result of a comparison. The columns equal the inputs only if Different
// is 0 and NotCompared is empty.
type Result struct {
	Inputs      int           `json:"inputs"`
	Compared    int64         `json:"compared"`          // number of compared rows
	ByGoavro    int64         `json:"by_goavro"`         // number of rows that goavro decoded
	ByHamba     int64         `json:"by_hamba"`          // number of rows that hamba decoded
	OwnBlocks   int           `json:"own_blocks"`        // number of inputs whose container goavro did not read
	Renamed     int           `json:"renamed"`           // number of inputs whose names were changed for goavro
	NotCompared []NotCompared `json:"not_compared"`      // rows that no decoder could read
	Different   int64         `json:"different"`         // number of rows that differ
	First       []Difference  `json:"first_differences"` // the first rows that differ
}

// Skipped returns the number of rows that were not compared.
func (r *Result) Skipped() int64 {
	var n int64
	for _, s := range r.NotCompared {
		n += s.Rows
	}
	return n
}
