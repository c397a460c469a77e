package delta

import (
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/cfile"
)

// blockSize is Kudu's, of delta files.
const blockSize = 32 << 10

// Delta is a change of a row, and when it was.
type Delta struct {
	Key
	Change
}

// Writer writes a DeltaFile. It holds a block in memory.
type Writer struct {
	file  *cfile.Writer
	order Order
	stats Stats
	last  Key
	any   bool // whether there was a delta
	value []byte
	rows  cfile.Rows // that the file does not have yet
	err   error
}

// NewWriter writes the header of a file, whose deltas come in the order.
func NewWriter(w io.Writer, order Order) (*Writer, error) {
	if order > Undo {
		return nil, fmt.Errorf("there is no order %d of deltas", order)
	}
	file, err := cfile.NewWriter(w, cfile.Options{
		Type: cfile.Binary, Encoding: cfile.Plain, Compression: cfile.LZ4, BlockSize: blockSize,
		ValueIndex: true, WholeKeys: true, Key: appendKey,
	})
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, order: order, stats: noStats()}, nil
}

// appendKey appends what the index has of a value: its key, as it is.
func appendKey(dst, value []byte) ([]byte, error) {
	_, rest, err := parseKey(value)
	if err != nil {
		return nil, err
	}
	return append(dst, value[:len(value)-len(rest)]...), nil
}

// Append adds a delta, which must not come before the one before it in the file's order.
// After an error each call returns the same.
func (w *Writer) Append(d *Delta) error {
	if w.err == nil {
		w.err = w.append(d)
	}
	return w.err
}

func (w *Writer) append(d *Delta) (err error) {
	//guard: a delta out of order would not be found
	if w.any && w.order.compare(w.last, d.Key) > 0 {
		return fmt.Errorf("the delta of row %d at %d comes behind that of row %d at %d", d.Row, d.Timestamp, w.last.Row, w.last.Timestamp)
	}
	if w.value, err = d.Append(d.Key.append(w.value[:0])); err != nil {
		return fmt.Errorf("row %d: %w", d.Row, err)
	}
	//guard: offsets of 32 bits would cut a delta of 4 GiB
	if len(w.value) > cfile.MaxValue {
		return fmt.Errorf("row %d: a delta of %d bytes, and a DeltaFile takes %d", d.Row, len(w.value), cfile.MaxValue)
	}
	w.rows.AppendBinary(w.value)
	w.stats.add(d.Timestamp, &d.Change)
	w.last, w.any = d.Key, true
	if len(w.rows.Data) >= blockSize {
		return w.flush()
	}
	return nil
}

// flush hands the rows over.
func (w *Writer) flush() error {
	err := w.file.Append(&w.rows)
	w.rows.Reset()
	return err
}

// errClosed is the error of calls after Close.
var errClosed = errors.New("the DeltaFile is closed")

// ErrNoDeltas is the error of Close of a file without deltas: there is none in Kudu.
var ErrNoDeltas = errors.New("a DeltaFile has at least one delta")

// Close writes what is left of the deltas, the index, the statistics and the footer. It does
// not close what the file is written to. A file that was not closed is not one.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

func (w *Writer) finish() error {
	if !w.any {
		return ErrNoDeltas
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.file.AddMetadata(statsKey, w.stats.append(nil))
	return w.file.Close()
}
