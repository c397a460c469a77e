package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
)

// maxKeyLine bounds a key on standard input, in bytes.
const maxKeyLine = 1 << 20

// nextRequest returns the next request, and about how many bytes of memory it takes, or io.EOF
// after the last one.
type nextRequest func() (ask lookup.RangeFunc, size int, err error)

// asks returns what to look up in the index, or nil if the keys come from standard input.
func (f *lookupCommand) asks(keys []string) (all []lookup.RangeFunc) {
	switch {
	case f.ranged:
		from, to, _ := rowkey.CutRange(f.keys)
		return []lookup.RangeFunc{func(s *rowkey.Spec) (rowkey.Range, error) { return usable(s.Between(from, to)) }}
	case f.prefixed:
		return []lookup.RangeFunc{func(s *rowkey.Spec) (rowkey.Range, error) { return usable(s.Beginning(f.prefix)) }}
	case keys[0] == stdinName:
		return nil
	}
	for _, key := range keys {
		all = append(all, exactly(key))
	}
	return all
}

// exactly looks up one key.
func exactly(key string) lookup.RangeFunc {
	return func(s *rowkey.Spec) (rowkey.Range, error) { return usable(s.Exactly(key)) }
}

// usable turns an error in a key into a usage error.
func usable(r rowkey.Range, err error) (rowkey.Range, error) {
	if err != nil {
		return r, cli.AsUsage(err)
	}
	return r, nil
}

// oneByOne returns requests that are in memory already.
func oneByOne(all []lookup.RangeFunc) nextRequest {
	return func() (lookup.RangeFunc, int, error) {
		if len(all) == 0 {
			return nil, 0, io.EOF
		}
		next := all[0]
		all = all[1:]
		return next, 0, nil
	}
}

// keysOf returns requests for the keys on the lines of a text.
func keysOf(in io.Reader) nextRequest {
	const around = 128 // memory of a request without its key, in bytes
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxKeyLine)
	number := 0
	return func() (lookup.RangeFunc, int, error) {
		number++
		if lines.Scan() {
			key, line := lines.Text(), number
			return func(s *rowkey.Spec) (rowkey.Range, error) {
				r, err := usable(s.Exactly(key))
				if err != nil {
					return r, fmt.Errorf("line %d of standard input: %w", line, err)
				}
				return r, nil
			}, around + len(key), nil
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			return nil, 0, cli.Usagef("line %d of standard input is longer than a key of %d bytes", number, maxKeyLine)
		} else if err != nil {
			return nil, 0, fmt.Errorf("standard input: %w", err)
		}
		return nil, 0, io.EOF
	}
}

// finder writes the rows of requests, in the order of the requests. It finds and reads the rows
// of many requests together, in the order of the index and then of the dataset.
type finder struct {
	in    *catInput
	table *lookup.Table
	left  int64 // number of rows still to be written; negative is no limit
	next  nextRequest
	batch int // most requests in the next batch
}

const (
	// firstBatch is the most requests in the first batch. Each later batch may be twice as
	// large, as long as memory allows: the first rows come soon, and few batches read the
	// dataset.
	firstBatch = 1000
	// batchShare is the part of the free memory that the rows of a batch may take, and keysShare
	// the part that its requests may take.
	batchShare = 4
	keysShare  = 16
)

var errBatchMemory = errors.New("the rows of several keys take too much memory")

// answer writes all rows, or the rows before the first error.
func (f *finder) answer(ctx context.Context, w export.Writer) error {
	f.batch = firstBatch
	if f.left >= 0 {
		f.batch = int(min(f.left, firstBatch))
	}
	keys := f.in.memory.NewHeap()
	defer keys.Close()
	for f.left != 0 {
		asks, err := f.read(keys)
		most := f.batch
		if err := f.write(ctx, w, asks); err != nil {
			return err
		}
		keys.Close()
		switch {
		case f.left == 0 || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case f.batch == most && len(asks) == most: // the batch was not divided
			f.batch *= 2
		}
	}
	return nil
}

// read reads the next requests. An error is about the request after these; it is io.EOF if there
// is no other request.
func (f *finder) read(memory *budget.Heap) (asks []lookup.RangeFunc, err error) {
	most := memory.Available() / keysShare
	for held := int64(0); len(asks) < f.batch && held <= most; {
		ask, size, err := f.next()
		if err == nil {
			err = memory.Reserve(int64(size))
		}
		if err != nil {
			return asks, err
		}
		held += int64(size)
		asks = append(asks, ask)
	}
	return asks, nil
}

// write writes the rows of requests. If it cannot read them together, because of a wrong key,
// damage or too little memory, write halves the requests. So all rows before the row that fails
// are written.
func (f *finder) write(ctx context.Context, w export.Writer, asks []lookup.RangeFunc) error {
	switch {
	case f.left == 0 || len(asks) == 0:
		return nil
	case len(asks) == 1:
		return f.copyRows(ctx, w, asks[0])
	}
	rows, err := f.hold(ctx, w, asks)
	if err == nil {
		defer rows.close()
		return f.writeHeld(ctx, w, rows)
	}
	if !dividesBatch(err) {
		return err
	}
	half := len(asks) / 2
	f.batch = min(f.batch, half)
	if err := f.write(ctx, w, asks[:half]); err != nil {
		return err
	}
	return f.write(ctx, w, asks[half:])
}

// dividesBatch reports whether a batch is divided and read again after an error. It is not
// divided after an error of storage, because each half would wait for the storage again.
func dividesBatch(err error) bool {
	return errors.As(err, new(*damage.Error)) || errors.As(err, new(*budget.Error)) || cli.IsUsage(err) || errors.Is(err, errBatchMemory)
}

// copyRows writes the rows of one request as they are read.
func (f *finder) copyRows(ctx context.Context, w export.Writer, ask lookup.RangeFunc) error {
	f.table.Limit(f.left)
	rows, err := f.table.Find(ctx, ask)
	if err != nil {
		return err
	}
	defer rows.Release()
	if f.left > 0 {
		f.left -= rows.Count
	}
	if rows.Count == 0 {
		return nil
	}
	plan, err := f.in.plan.Only(rows.Only)
	if err != nil {
		return err
	}
	return f.in.copyScan(plan.Scan(ctx), w)
}

// heldRows are rows in memory, to be written in another order than they are read in.
type heldRows struct {
	found  *lookup.Rows
	rows   [][]byte // in the order of the dataset
	chunk  []byte   // memory of the last small rows
	memory *budget.Heap
	left   int64 // bytes that the rows may still take
	large  int   // size of the largest row
}

// heldChunk is the size in bytes of the pieces of memory for small rows.
const heldChunk = 64 << 10

// close releases the memory.
func (h *heldRows) close() {
	h.found.Release()
	h.memory.Close()
}

// hold finds and reads the rows of several requests. The caller closes them.
func (f *finder) hold(ctx context.Context, w export.Writer, asks []lookup.RangeFunc) (_ *heldRows, err error) {
	f.table.Limit(f.left)
	found, err := f.table.FindAll(ctx, asks)
	if err != nil {
		return nil, err
	}
	h := &heldRows{found: found, memory: f.in.memory.NewHeap()}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if found.Count == 0 {
		return h, nil
	}
	h.left = h.memory.Available() / batchShare
	if err := f.readInto(ctx, h); err != nil {
		return nil, err
	}
	if h.large >= largeRow {
		return h, h.memory.Reserve(w.Memory(h.large))
	}
	return h, nil
}

// readInto reads the rows that were found.
func (f *finder) readInto(ctx context.Context, h *heldRows) error {
	plan, err := f.in.plan.Only(h.found.Only)
	if err != nil {
		return err
	}
	s := plan.Scan(ctx)
	defer func() {
		s.Close()
		read := s.Stats()
		read.Rows = 0 // rows are counted when they are written
		f.in.stats = f.in.stats.Plus(read)
	}()
	n := 0
	for _, rows := range h.found.Only {
		n += len(rows)
	}
	const header = 24 // bytes of a slice
	if err := h.reserve(header * int64(n)); err != nil {
		return err
	}
	h.rows = make([][]byte, 0, n)
	var row []byte
	for {
		if row, err = s.Next(row[:0]); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = h.add(row)
		}
		if err != nil {
			return err
		}
		if cap(row) > keptRow && len(row) < cap(row)/4 {
			row = nil // frees an unusually large row
		}
	}
}

func (h *heldRows) reserve(bytes int64) error {
	if h.left -= bytes; h.left < 0 {
		return errBatchMemory
	}
	return h.memory.Reserve(bytes)
}

// add adds a copy of a row.
func (h *heldRows) add(row []byte) error {
	if len(row) > cap(h.chunk)-len(h.chunk) {
		size := max(heldChunk, len(row))
		if err := h.reserve(int64(size)); err != nil {
			return err
		}
		h.chunk = make([]byte, 0, size)
	}
	start := len(h.chunk)
	h.chunk = append(h.chunk, row...)
	h.rows = append(h.rows, h.chunk[start:])
	h.large = max(h.large, len(row))
	return nil
}

// writeHeld writes the rows request by request, and for each request in the order of the dataset.
func (f *finder) writeHeld(ctx context.Context, w export.Writer, h *heldRows) error {
	for n, i := range h.found.Order {
		if n%progressEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.Write(h.rows[i]); err != nil {
			return err
		}
		f.in.stats.Rows++
		if f.left > 0 {
			f.left--
		}
	}
	return nil
}
