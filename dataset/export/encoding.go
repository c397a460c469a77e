package export

import (
	"io"
)

// Encoding is how rows of one schema are written. Goroutines may share it.
//
// An output is the header, and then the bytes of any number of encoders, one after the
// other. Each encoder belongs to one goroutine and encodes some consecutive rows.
type Encoding interface {
	// Header returns the bytes before the first row, if there are any. The caller does not
	// change them.
	Header() []byte
	// NewEncoder returns an encoder. It writes long rows to w: see Encoder.Append.
	NewEncoder(w io.Writer) (Encoder, error)
}

// Encoder encodes rows. A row is the bytes of its datum.
type Encoder interface {
	// Append appends a row to dst, and returns the extended buffer. It writes the text of a
	// long row in pieces: dst and the text so far to the encoder's writer, again and again.
	// It then returns a buffer that has only the rest. So the bytes of a row are those that
	// were written to the writer, followed by those in the buffer. After an error, the
	// buffer has complete rows only, but a long row can be incomplete in the writer. Append
	// does not keep row.
	Append(dst, row []byte) ([]byte, error)
	// End appends the rows that Append kept. Further rows may follow.
	End(dst []byte) ([]byte, error)
	// Memory returns the most memory of Append that depends on the size of a row, in bytes.
	Memory(row int) int64
}

// Writer writes rows to an output. The output is complete only after Close.
type Writer interface {
	// Write writes the row with this datum. It does not keep datum.
	Write(datum []byte) error
	// Memory returns the most memory of Write that depends on the size of a row, in bytes.
	Memory(row int) int64
	// Close writes pending bytes. It does not close the output.
	Close() error
}

// NewWriter returns a Writer of an encoding. It begins with the header.
func NewWriter(w io.Writer, e Encoding) (Writer, error) {
	encoder, err := e.NewEncoder(w)
	if err != nil {
		return nil, err
	}
	return &writer{Encoder: encoder, w: w, pending: append(make([]byte, 0, 2*pendingSize), e.Header()...)}, nil
}

// pendingSize is the number of bytes from which a writer writes them.
const pendingSize = 64 << 10

type writer struct {
	Encoder
	w       io.Writer
	pending []byte
}

// Write implements Writer.
func (w *writer) Write(row []byte) (err error) {
	w.pending, err = w.Append(w.pending, row)
	if err != nil || len(w.pending) < pendingSize {
		return err
	}
	return w.flush()
}

// Close implements Writer.
func (w *writer) Close() (err error) {
	if w.pending, err = w.End(w.pending); err != nil {
		return err
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.w.Write(w.pending)
	w.pending = w.pending[:0]
	return err
}

// line is the text of a row that is being encoded. A long line is written in pieces.
type line struct {
	w       io.Writer
	in      datum
	begin   int // where the line begins in the buffer; 0 if its beginning was written
	written int // number of bytes of the line that were written
}

const (
	// longText is the length in bytes from which text is written in pieces. It is a multiple of
	// 3, so that the base64 of pieces needs no padding between them.
	longText = 96 << 10
	// longLine is the length in bytes from which the text of a line is written in pieces.
	// Shorter lines stay in the buffer with the lines before them.
	longLine = 48 << 10
)

// start begins a line after the bytes of dst.
func (l *line) start(dst, row []byte) {
	l.in, l.begin, l.written = datum{row: row}, len(dst), 0
}

// flush writes dst if it is long and has much of the line, and returns the buffer to go on with.
func (l *line) flush(dst []byte) []byte {
	if len(dst) < longText || len(dst)-l.begin < longLine {
		return dst
	}
	return l.write(dst)
}

func (l *line) write(dst []byte) []byte {
	if l.written += len(dst) - l.begin; l.written > maxText {
		l.in.fail(errText)
	}
	if l.in.err == nil {
		_, err := l.w.Write(dst)
		if err == nil {
			l.begin = 0
			return dst[:0]
		}
		l.in.fail(err)
	}
	//guard: does not collect the rest of a line that failed
	return dst[:l.begin]
}

// finish returns the buffer with the line, or without it after an error.
func (l *line) finish(dst []byte) ([]byte, error) {
	if err := l.in.end(); err != nil {
		return dst[:l.begin], err
	}
	return dst, nil
}
