package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// Batch is the values of columns of some rows, side by side.
type Batch struct {
	plan    *Plan
	rows    int
	vectors []*column.Vector
	origins origins
}

// Rows returns the number of rows in the batch.
func (b *Batch) Rows() int { return b.rows }

// Vector returns the batch's values of column col of the plan's mapping. A child column has the
// values of all items of its parent in the batch, in order. A caller that keeps the memory of a
// vector for longer than the batch replaces it by an empty vector, unless it keeps the batch. If
// the plan has no mapping, there are no vectors.
func (b *Batch) Vector(col int) *column.Vector { return b.vectors[col] }

// Origin returns the name of the part that row i of the batch is from, and the row's
// number in that part.
func (b *Batch) Origin(i int) (part string, row int64) {
	number, row := b.origins.of(i)
	return b.plan.dataset.Parts()[number].Name, row
}

// spanReader finds the rows of ranges that a query returns, as spans of rows of a part.
type spanReader interface {
	// begin starts with a range. It reports whether the chosen columns differ from those of
	// the range before.
	begin(rows *rowRange) (moved bool, err error)
	// next returns the next rows, at least one, or io.EOF after those of the range. All of them
	// are in the part that opened returns. The caller may change the spans until the next call.
	next() ([]span, error)
	opened() *queryPart
	// passTurn lets the next reader use the part of the range, if it waits for that.
	passTurn()
	chosen() (all []column.Column, numbers []int)
	at(row int64) place
	note(o *origins, first int, rows span)
	located(err error) error
	done() bool
	takeStats() Stats
	close()
}

// batchReader reads the rows of ranges in batches. It belongs to one goroutine.
type batchReader struct {
	spanReader
	ctx     context.Context
	plan    *Plan
	columns *columns
	own     *cursors // cursors over parts that are not used by turns
	maxRows int
	firm    bool // batches are not made smaller for lack of memory
	open    *queryPart
	found   []span // rows found and not yet read
	batch   Batch
	last    place // place after the last row of the batch
}

// newBatchReader returns a reader of batches with the columns of m, which is the plan's mapping.
func newBatchReader(ctx context.Context, p *Plan, m *shred.Mapping) *batchReader {
	b := &batchReader{ctx: ctx, plan: p, maxRows: p.batchRows(), batch: Batch{plan: p}}
	if p.query.Schema == nil {
		b.spanReader = newMatchReader(ctx, p, false)
	} else {
		b.spanReader = newResolvedReader(ctx, p, m)
	}
	return b
}

// begin starts with a range.
func (b *batchReader) begin(rows *rowRange) error {
	b.found, b.last = nil, place{}
	moved, err := b.spanReader.begin(rows)
	if err != nil || !moved {
		return err
	}
	b.closeColumns()
	copies := b.plan.query.Copies
	all, numbers := b.chosen()
	memory := vectorMemory{heap: b.plan.dataset.list.memory.NewHeap(), copies: int64(copies)}
	b.columns, b.open = newColumns(all, numbers, memory), nil
	b.columns.firm = b.firm
	b.own = b.columns.cursors
	if err := memory.heap.Reserve(int64(len(numbers)*(1+copies)) * shred.ColumnMemory); err != nil {
		return fmt.Errorf("%d columns: %w", len(numbers), err)
	}
	return nil
}

// next reads the next batch into the vectors of the last one. It returns io.EOF after the last row
// of the range. An error drops the rows that were already read for the batch.
func (b *batchReader) next() (*Batch, error) {
	if b.columns.rows > 0 { // empty vectors would lose their memory
		b.columns.reset()
	}
	b.batch.rows, b.batch.origins = 0, b.batch.origins[:0]
	err := b.fill()
	if err == io.EOF && b.columns.rows > 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	b.batch.rows, b.batch.vectors = b.columns.rows, b.columns.vectors
	return &b.batch, nil
}

// fill reads rows until the batch is full.
func (b *batchReader) fill() (err error) {
	for b.columns.rows < b.maxRows {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if len(b.found) == 0 {
			if b.found, err = b.spanReader.next(); err != nil {
				return err
			}
		}
		if file := b.opened(); file != b.open {
			cursors, err := bindCursors(b.own, file)
			switch {
			case errors.As(err, new(*budget.Error)) && b.columns.rows > 0 && !b.firm:
				return nil // the next batch has the memory of this one
			case err != nil:
				return b.located(err)
			}
			b.open, b.columns.cursors = file, cursors
		}
		b.columns.fresh = b.columns.rows == 0 // a batch does not depend on the rows before
		n, err := b.columns.read(b.found, b.maxRows)
		if err != nil {
			return b.located(err)
		}
		if n == 0 {
			return nil
		}
		if b.noteRead(n); len(b.found) == 0 {
			b.passTurn()
		}
	}
	return nil
}

// noteRead notes that the first n rows of b.found are the last rows of the batch.
func (b *batchReader) noteRead(n int) {
	first := b.columns.rows - n
	for n > 0 {
		s := b.found[0]
		rows := min(int64(n), s.to-s.from)
		s.to = s.from + rows
		b.note(&b.batch.origins, first, s)
		b.last = b.at(s.to)
		b.found = after(b.found, rows)
		first, n = first+int(rows), n-int(rows)
	}
}

// reached returns the place after the last row of the last batch.
func (b *batchReader) reached() place { return b.last }

func (b *batchReader) close() {
	b.spanReader.close()
	b.closeColumns()
}

func (b *batchReader) closeColumns() {
	if b.columns != nil {
		b.columns.memory.heap.Close()
	}
}
