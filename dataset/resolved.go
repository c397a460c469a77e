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
	block   *rowBlock // nil before the first range
	made    *chunks
	source  *resolvedRows
	file    *queryPart
}

func newResolvedReader(ctx context.Context, p *Plan, m *shred.Mapping) *resolvedReader {
	r := &resolvedReader{rows: newRowReader(ctx, p), mapping: m}
	r.source = &resolvedRows{rows: r.rows}
	return r
}

func (r *resolvedReader) begin(rows *rowRange) (moved bool, err error) {
	r.closeFile()
	if moved = r.block == nil; moved {
		r.block = newRowBlock(r.mapping, allColumns(r.mapping), false, r.rows.plan.dataset.list.memory)
	}
	if err := r.block.begin(r.rows.plan.dataset.list.Path); err != nil {
		return false, err
	}
	r.made = newChunks(r.block, 0, r.source, nil)
	return moved, r.rows.begin(rows)
}

func (r *resolvedReader) next() (_ []span, err error) {
	r.closeFile()
	r.source.origins, r.source.places = r.source.origins[:0], r.source.places[:0]
	if r.file, err = r.made.next(r.rows.ctx, 0, math.MaxInt64, new(Stats)); err != nil {
		return nil, err
	}
	return []span{{0, r.file.rows}}, nil
}

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

func (r *resolvedReader) at(row int64) place { return r.source.places[row-1] }

func (r *resolvedReader) note(o *origins, first int, rows span) {
	for i := rows.from; i < rows.to; i++ {
		part, row := r.source.origins.of(int(i))
		o.add(first+int(i-rows.from), part, row)
	}
}

func (r *resolvedReader) located(err error) error { return in(r.rows.plan.dataset.list.Path, err) }
func (r *resolvedReader) done() bool              { return r.rows.done() }
func (r *resolvedReader) takeStats() Stats        { return r.rows.takeStats() }
func (r *resolvedReader) figures() Stats          { return r.rows.figures() }

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

// resolvedRows are resolved rows of a range. It is a rowSource.
type resolvedRows struct {
	rows    *rowReader
	row     []byte
	origins origins // of the rows of the last chunk
	places  []place // place after each row of the last chunk
}

func (r *resolvedRows) skip(context.Context, int64) (int64, error) { return 0, nil }

func (r *resolvedRows) fill(_ context.Context, b *rowBlock) (err error) {
	for !b.full() {
		if r.row, err = r.rows.next(r.row[:0]); err != nil {
			return err
		}
		if _, err = b.add(r.row); err != nil {
			return in(b.name, err)
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

// bytesRead returns 0: the reader of the rows counts them.
func (r *resolvedRows) bytesRead() int64 { return 0 }

// close does nothing: the owner of the rows closes them.
func (r *resolvedRows) close() {}
