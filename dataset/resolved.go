package dataset

import (
	"context"
	"math"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// resolvedReader reads rows, resolves them to the schema of a query, and makes columns of them.
// It is a spanReader.
type resolvedReader struct {
	rows    *rowReader
	mapping *shred.Mapping
	row     []byte
	block   *rowBlock  // nil before the first range
	file    *queryPart // some rows of the range
	origins origins    // of these rows
	places  []place    // place after each of these rows
	err     error      // error that follows these rows
}

func newResolvedReader(ctx context.Context, p *Plan, m *shred.Mapping) *resolvedReader {
	return &resolvedReader{rows: newRowReader(ctx, p), mapping: m}
}

func (r *resolvedReader) begin(rows *rowRange) (moved bool, err error) {
	r.closeFile()
	if moved = r.block == nil; moved {
		r.block = newRowBlock(r.mapping, allColumns(r.mapping), false, r.rows.plan.dataset.list.memory)
	}
	if err := r.block.begin(r.rows.plan.dataset.list.Path); err != nil {
		return false, err
	}
	r.err = nil
	return moved, r.rows.begin(rows)
}

func (r *resolvedReader) next() ([]span, error) {
	r.closeFile()
	if r.err != nil {
		return nil, r.err
	}
	r.origins, r.places = r.origins[:0], r.places[:0]
	r.block.start(math.MaxInt64)
	if r.err = r.fill(); r.block.rows == 0 {
		return nil, r.err
	}
	r.file = r.block.part(0, nil)
	return []span{{0, r.file.rows}}, nil
}

// fill adds rows to the block until it is full.
func (r *resolvedReader) fill() (err error) {
	for !r.block.full() {
		if r.row, err = r.rows.next(r.row[:0]); err != nil {
			return err
		}
		if _, err = r.block.add(r.row); err != nil {
			return in(r.block.name, err)
		}
		part, row := r.rows.origin()
		r.origins.add(len(r.places), part, row)
		r.places = append(r.places, r.rows.last)
		if cap(r.row) > keptRow && len(r.row) < cap(r.row)/4 {
			r.row = nil // frees an unusually large one
		}
	}
	return nil
}

// keptRow is the memory that is always kept for the next row.
const keptRow = 1 << 20

func (r *resolvedReader) opened() *queryPart { return r.file }

func (r *resolvedReader) chosen() (all []column.Column, numbers []int) {
	return r.mapping.Columns, allColumns(r.mapping)
}

// allColumns returns the numbers of all columns of a mapping.
func allColumns(m *shred.Mapping) []int {
	numbers := make([]int, len(m.Columns))
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

func (r *resolvedReader) at(row int64) place { return r.places[row-1] }

func (r *resolvedReader) note(o *origins, first int, rows span) {
	for i := rows.from; i < rows.to; i++ {
		part, row := r.origins.of(int(i))
		o.add(first+int(i-rows.from), part, row)
	}
}

func (r *resolvedReader) located(err error) error { return in(r.rows.plan.dataset.list.Path, err) }
func (r *resolvedReader) passTurn()               {} // a query with a schema has no turns
func (r *resolvedReader) done() bool              { return r.rows.done() }
func (r *resolvedReader) takeStats() Stats        { return r.rows.takeStats() }

func (r *resolvedReader) close() {
	r.closeFile()
	r.rows.close()
	if r.block != nil {
		r.block.close()
	}
}

func (r *resolvedReader) closeFile() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
