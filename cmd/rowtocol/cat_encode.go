package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
)

// encode writes all rows of the plan. Workers encode them where they are read. After an error, the
// rows before it have been written.
func (c *catInput) encode(ctx context.Context, e export.Encoding, out io.Writer) error {
	if _, err := out.Write(e.Header()); err != nil {
		return err
	}
	r := dataset.RowResults(ctx, c.plan, func(w *dataset.Waiting) func(*dataset.Rows, func(*dataset.Buffer) error) error {
		return (&rowEncoder{encoding: e, waiting: w}).encode
	})
	defer func() {
		r.Close()
		c.stats = r.Stats()
	}()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(b.Data); err != nil {
			return err
		}
		b.Release()
		if c.progress != nil {
			c.progress(r.Stats())
		}
	}
}

// rowEncoder encodes the rows of ranges into buffers. It belongs to one worker.
type rowEncoder struct {
	encoding export.Encoding
	waiting  *dataset.Waiting
	encoder  export.Encoder
	emit     func(*dataset.Buffer) error
	buffer   *dataset.Buffer // the buffer that is filled; nil between ranges
	begun    bool            // the beginning of the row was passed on
	row      []byte
}

// fullBuffer is the number of bytes from which a buffer is passed on.
const fullBuffer = dataset.BufferSize * 3 / 4

// encode encodes the rows of a range. After an error, the rows before it are passed on, unless they
// are read again.
func (e *rowEncoder) encode(rows *dataset.Rows, emit func(*dataset.Buffer) error) (err error) {
	e.emit = emit
	if e.encoder == nil {
		if e.encoder, err = e.encoding.NewEncoder(e); err != nil {
			return err
		}
	}
	if e.buffer, err = e.waiting.Buffer(); err != nil {
		return err
	}
	for err == nil {
		err = e.next(rows)
	}
	//guard: leaves rows that are read again to whole blocks
	if e.buffer == nil || e.waiting.Retries(err) {
		return err
	}
	var ended error
	if e.buffer.Data, ended = e.encoder.End(e.buffer.Data); ended == nil {
		ended = e.pass()
	}
	if ended != nil || errors.Is(err, io.EOF) {
		return ended
	}
	return err
}

// next encodes the next row.
func (e *rowEncoder) next(rows *dataset.Rows) (err error) {
	if cap(e.row) > keptRow && len(e.row) < cap(e.row)/4 {
		e.row = nil // frees an unusually large row
	}
	row, err := rows.Next(e.row[:0])
	if err != nil {
		return err // the memory of the last row is kept for the next range
	}
	e.row = row
	if len(e.row) >= largeRow {
		rows.Unread()
		free, err := e.room(len(e.row))
		if err != nil {
			return err
		}
		defer free()
		rows.Read()
	}
	e.begun = false
	if e.buffer.Data, err = e.encoder.Append(e.buffer.Data, e.row); err != nil || len(e.buffer.Data) < fullBuffer && !e.begun {
		return err
	}
	if err := e.pass(); err != nil {
		return err
	}
	e.buffer, err = e.waiting.Buffer()
	return err
}

// room reserves memory for encoding a row of n bytes, until free is called.
func (e *rowEncoder) room(n int) (free func(), err error) {
	need := e.encoder.Memory(n)
	if need == 0 {
		return func() {}, nil
	}
	if e.buffer.Data, err = e.encoder.End(e.buffer.Data); err != nil {
		return nil, err
	}
	if err := e.pass(); err != nil { // Reserve waits for all buffers
		return nil, err
	}
	if free, err = e.waiting.Reserve(need); err != nil {
		return nil, fmt.Errorf("a row of %d bytes: %w", n, err)
	}
	if e.buffer, err = e.waiting.Buffer(); err != nil {
		free()
		return nil, err
	}
	return free, nil
}

// pass passes the buffer on.
func (e *rowEncoder) pass() error {
	b := e.buffer
	e.buffer = nil
	return e.emit(b)
}

// Write implements io.Writer for pieces of long rows.
func (e *rowEncoder) Write(text []byte) (n int, err error) {
	e.begun = true
	for n < len(text) {
		b, err := e.waiting.Buffer()
		if err != nil {
			return n, err
		}
		b.Data = append(b.Data, text[n:min(n+dataset.BufferSize, len(text))]...)
		n += len(b.Data)
		if err := e.emit(b); err != nil {
			return n, err
		}
	}
	return n, nil
}
