package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// maxKeyLine bounds a key on standard input, in bytes.
const maxKeyLine = 1 << 20

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
		return r, &usageError{err}
	}
	return r, nil
}

// oneByOne returns an iterator over all, which returns io.EOF after the last item.
func oneByOne(all []lookup.RangeFunc) func() (lookup.RangeFunc, error) {
	return func() (lookup.RangeFunc, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		next := all[0]
		all = all[1:]
		return next, nil
	}
}

// keysOf returns an iterator over the keys on the lines of a text, which returns io.EOF after
// the last key.
func keysOf(in io.Reader) func() (lookup.RangeFunc, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxKeyLine)
	number := 0
	return func() (lookup.RangeFunc, error) {
		number++
		if lines.Scan() {
			ask, line := exactly(lines.Text()), number
			return func(s *rowkey.Spec) (rowkey.Range, error) {
				r, err := ask(s)
				if err != nil {
					return r, fmt.Errorf("line %d of standard input: %w", line, err)
				}
				return r, nil
			}, nil
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			return nil, usagef("line %d of standard input is longer than a key of %d bytes", number, maxKeyLine)
		} else if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return nil, io.EOF
	}
}

// finder writes the rows of requests, one request after another.
type finder struct {
	in    *catInput
	table *lookup.Table
	left  int64 // number of rows still to be found; negative is no limit
	next  func() (lookup.RangeFunc, error)
}

// A batch holds keys whose rows are read together, so that each part is opened once for all
// keys of the batch. These constants limit a batch.
const (
	batchKeys = 1000
	batchRows = 1000
)

// batchMemory bounds the bytes of a batch's rows while they are put in order.
const batchMemory = 16 << 20

var errBatchMemory = fmt.Errorf("the rows of several keys take more than %d bytes", batchMemory)

// answer writes all rows, or the rows before the first error.
func (f *finder) answer(ctx context.Context, w export.Writer) error {
	for {
		batch, err := f.batch(ctx)
		writeErr := f.write(ctx, w, batch)
		for _, rows := range batch {
			rows.Release()
		}
		switch {
		case writeErr != nil:
			return writeErr
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// batch finds the rows of the next keys. An error is about the key after these; it is io.EOF
// if there is no other key.
func (f *finder) batch(ctx context.Context) (batch []*lookup.Rows, err error) {
	for found := int64(0); len(batch) < batchKeys && found < batchRows; {
		if f.left == 0 {
			return batch, io.EOF
		}
		next, err := f.next()
		if err != nil {
			return batch, err
		}
		f.table.Limit(f.left)
		rows, err := f.table.Find(ctx, next)
		if err != nil {
			return batch, err
		}
		if f.left > 0 {
			f.left -= rows.Count
		}
		if rows.Count > 0 {
			batch = append(batch, rows)
			found += rows.Count
		}
	}
	return batch, nil
}

// write writes the rows of a batch, key by key. If they cannot be read together, because of
// damage or too little memory, write halves the batch. So all rows before the row that fails
// are written.
func (f *finder) write(ctx context.Context, w export.Writer, batch []*lookup.Rows) error {
	q := f.in.query
	q.Limit = -1 // the batch has at most the rows to print
	switch len(batch) {
	case 0:
		return nil
	case 1:
		q.Only = batch[0].Only
		return f.in.copyQuery(ctx, w, q)
	}
	h := &heldRows{at: map[rowAt]int{}}
	q.Only = merged(batch)
	memory := f.in.memory.NewHeap()
	defer memory.Close()
	err := f.in.hold(ctx, h, q, memory.Reserve)
	switch {
	case err == nil:
		for _, rows := range batch {
			f.in.stats.Rows += rows.Count
		}
		return h.write(w, batch)
	case !dividesBatch(err):
		return err
	}
	memory.Close()
	if err := f.write(ctx, w, batch[:len(batch)/2]); err != nil {
		return err
	}
	return f.write(ctx, w, batch[len(batch)/2:])
}

// dividesBatch reports whether a batch is divided and read again after an error. It is not
// divided after an error of storage, because each half would wait for the storage again.
func dividesBatch(err error) bool {
	var damaged *damage.Error
	var refused *budget.Error
	return errors.As(err, &damaged) || errors.As(err, &refused) || errors.Is(err, errBatchMemory)
}

// merged returns all rows of a batch, each once.
func merged(batch []*lookup.Rows) map[int][]int64 {
	all := map[int][]int64{}
	for _, rows := range batch {
		for part, numbers := range rows.Only {
			all[part] = append(all[part], numbers...)
		}
	}
	for part, numbers := range all {
		slices.Sort(numbers)
		all[part] = slices.Compact(numbers)
	}
	return all
}

// rowAt is the place of a row in a dataset.
type rowAt struct {
	part   int
	number int64
}

// heldRows holds rows to write them in another order.
type heldRows struct {
	data []byte
	ends []int         // end of each row in data
	at   map[rowAt]int // index in ends of the row at a place
}

// hold reads the rows of a query into h.
func (c *catInput) hold(ctx context.Context, h *heldRows, q dataset.Query, reserve func(int64) error) error {
	const placeMemory = 128 // memory of a row in ends and at, including spare capacity
	s, err := c.data.Scan(ctx, q)
	if err != nil {
		return err
	}
	defer s.Close()
	defer func() {
		read := s.Stats()
		read.Rows = 0 // rows are counted when they are written
		c.stats = c.stats.Plus(read)
	}()
	var row []byte
	for _, part := range slices.Sorted(maps.Keys(q.Only)) {
		for _, number := range q.Only[part] {
			if row, err = s.Next(row[:0]); err == nil && len(h.data)+len(row) > batchMemory {
				err = errBatchMemory
			}
			if err == nil {
				err = reserve(3*int64(len(row)) + placeMemory) // data may be copied as it grows
			}
			if err != nil {
				return err
			}
			h.at[rowAt{part, number}] = len(h.ends)
			h.data = append(h.data, row...)
			h.ends = append(h.ends, len(h.data))
		}
	}
	return nil
}

// write writes the rows key by key, and for each key in the order of the dataset.
func (h *heldRows) write(w export.Writer, batch []*lookup.Rows) error {
	for _, rows := range batch {
		for _, part := range slices.Sorted(maps.Keys(rows.Only)) {
			for _, number := range rows.Only[part] {
				i, start := h.at[rowAt{part, number}], 0
				if i > 0 {
					start = h.ends[i-1]
				}
				if err := w.Write(h.data[start:h.ends[i]]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
