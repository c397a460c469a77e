package trevni

import (
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Writer writes a whole file from values. The format needs all sizes before the first
// byte, so Writer keeps the compressed file in memory until Close. For more data, use
// Format with spills.
//
// Append the values of each row to the columns' buffers, then call EndRow. After an
// error every later call returns the same error.
type Writer struct {
	w      io.Writer
	group  *rowGroup
	bufs   *column.Buffers
	stored [][]byte
	block  column.Block
	rows   int64
	err    error
}

var errClosed = errors.New("trevni: the writer is closed")

// NewWriter starts a file that Close will write to w. schema is the rows' Avro schema, which
// Java's reader needs. If schema is empty, the file has none. The options must fit the columns.
func NewWriter(w io.Writer, schema string, cols []column.Column, o Options) (*Writer, error) {
	g, err := newRowGroup(o, schema, cols)
	if err != nil {
		return nil, err
	}
	return &Writer{
		w: w, group: g, bufs: column.NewBuffers(cols, column.Interleaved, BlockSize),
		stored: make([][]byte, len(cols)),
	}, nil
}

// Column returns the buffer for the values of a column. It belongs to the writer and is
// valid until Close.
func (w *Writer) Column(col int) *column.Buffer { return &w.bufs.Cols[col] }

// EndRow ends a row. All values of the row must have been appended.
func (w *Writer) EndRow() error {
	w.rows++
	for _, col := range w.bufs.Due() {
		w.finish(col)
	}
	w.bufs.ClearDue()
	if w.rows%maxRows == 0 {
		w.finishAll()
	}
	return w.err
}

// finishAll closes the open blocks.
func (w *Writer) finishAll() {
	for col := range w.stored {
		if w.group.columns[col].begun < w.rows {
			w.finish(col)
		}
	}
}

// finish encodes the open block of a column.
func (w *Writer) finish(col int) {
	//guard: writes nothing after a block that failed
	if w.err != nil {
		return
	}
	w.bufs.Cols[col].Finish(w.rows, &w.block)
	job, err := w.group.Begin(col, &w.block)
	if err == nil {
		before := len(w.stored[col])
		if w.stored[col], err = job.Encode(w.stored[col]); err == nil {
			err = w.group.End(col, job, len(w.stored[col])-before)
		}
	}
	w.err = err
}

// Close writes the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.finishAll()
	//guard: refuses a file in which a block is missing
	if w.err != nil {
		return w.err
	}
	outputs, err := w.group.Finish(w.rows)
	if err == nil {
		err = w.write(outputs[0].Pieces)
	}
	if w.err = err; err == nil {
		w.err = errClosed
	}
	return err
}

func (w *Writer) write(pieces []format.Piece) error {
	for _, p := range pieces {
		b := p.Literal
		if p.Column >= 0 {
			b = w.stored[p.Column][p.Offset : p.Offset+p.Length]
		}
		if _, err := w.w.Write(b); err != nil {
			return fmt.Errorf("trevni: writing: %w", err)
		}
	}
	return nil
}
