package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// Batches reads the columns of rows, some rows at a time. It belongs to one goroutine.
// Once its vectors have grown, it allocates nothing per row or batch, unless a vector
// was so large that its memory is freed.
//
//	defer b.Close()
//	for b.Next() {
//		use(b.Rows(), b.Vector(0))
//	}
//	if err := b.Err(); err != nil { … }
type Batches struct {
	selection     *selection
	columns       *columns
	maxRows       int
	rest          []span // rows found and not yet read
	origins       []origin
	scan          *Scan        // the scan whose rows become columns, if Query.Schema is set; else nil
	callerHeap    *budget.Heap // memory that the caller reserved by Reserve and ReserveBatch
	batchReserved int64        // bytes that ReserveBatch reserved for the current batch
	err           error
}

// origin says where consecutive rows of a batch come from. They end before the first row
// of the next origin.
type origin struct {
	first int32 // number of the first of these rows in the batch
	part  int32 // index of their part in Dataset.Parts
	row   int64 // number of the first of these rows in the part
}

// Batches checks the query and returns its batches. Next reads them, and fails once ctx
// has ended.
func (d *Dataset) Batches(ctx context.Context, q Query) (*Batches, error) {
	if q.BatchRows < 0 {
		return nil, queryf("BatchRows %d is negative", q.BatchRows)
	}
	if q.Schema != nil {
		return d.resolvedBatches(ctx, q)
	}
	s, err := d.newSelection(ctx, q, ownSchema)
	if err != nil {
		return nil, err
	}
	return newBatches(s, q)
}

func ownSchema(s *selection) (*shred.Schema, error) { return s.mapping.Schema, nil }

func newBatches(s *selection, q Query) (*Batches, error) {
	b := &Batches{selection: s, maxRows: q.BatchRows, callerHeap: s.dataset.list.memory.NewHeap()}
	if b.maxRows == 0 {
		b.maxRows = defaultBatchRows
	}
	if len(s.dataset.sections) > 0 {
		return b, b.bind()
	}
	return b, nil
}

// bind prepares to read columns of the selection's section. Each section (the parts with
// one schema) numbers its columns in its own way.
func (b *Batches) bind() error {
	s := b.selection
	if b.columns != nil {
		b.columns.memory.heap.Close()
	}
	memory := vectorMemory{heap: s.dataset.list.memory.NewHeap(), copies: int64(s.query.Copies)}
	if err := memory.heap.Reserve(int64(len(s.columns)*(1+s.query.Copies)) * shred.ColumnMemory); err != nil {
		return fmt.Errorf("%d columns: %w", len(s.columns), err)
	}
	b.columns = newColumns(s.section.mapping.Columns, s.columns, memory)
	return nil
}

// Mapping returns the columns that are read, in the order of the schema. It returns nil
// if the dataset is an output that was made without inputs and Query.Schema is nil.
func (b *Batches) Mapping() *shred.Mapping { return b.selection.mapping }

// Reserve accounts for n bytes that the caller keeps until Close.
func (b *Batches) Reserve(n int64) error { return b.callerHeap.Reserve(n) }

// ReserveBatch accounts for n bytes that the caller allocates for the current batch, in
// addition to the copies that Query.Copies announces. Next releases them.
func (b *Batches) ReserveBatch(n int64) error {
	if err := b.callerHeap.Reserve(n); err != nil {
		return err
	}
	b.batchReserved += n
	return nil
}

// Next reads the next batch into the vectors of the last one, and reports whether there
// was one. A batch has Query.BatchRows rows. It has fewer if the rows are large, at the
// end of the rows, and before a part that has another schema. An error drops the rows
// that were already read for the batch.
func (b *Batches) Next() bool {
	if b.err != nil {
		return false
	}
	if b.columns == nil {
		b.err = io.EOF
		return false
	}
	b.columns.reset()
	b.callerHeap.Release(b.batchReserved)
	b.batchReserved = 0
	b.origins = b.origins[:0]
	b.err = b.fill()
	if b.err != nil && !errors.Is(b.err, io.EOF) {
		b.columns.reset()
	}
	b.selection.stats.Rows += int64(b.columns.rows)
	return b.columns.rows > 0
}

// fill reads rows until the batch is full. It returns io.EOF after the last row.
func (b *Batches) fill() error {
	for b.columns.rows < b.maxRows {
		if err := b.selection.ctx.Err(); err != nil {
			return err
		}
		if len(b.rest) == 0 {
			file := b.selection.file
			var err error
			b.rest, err = b.selection.next()
			if errors.Is(err, io.EOF) && b.columns.rows > 0 && b.selection.more() {
				return nil // the next section numbers its columns in another way
			}
			if errors.Is(err, io.EOF) {
				if err = b.selection.follow(); err == nil {
					err = b.bind()
				}
			}
			if err != nil {
				return err
			}
			if len(b.rest) == 0 {
				continue
			}
			if b.selection.file != file {
				if err := b.columns.bind(b.selection.file); err != nil {
					return b.selection.located(err)
				}
			}
		}
		n, err := b.columns.read(b.rest, b.maxRows)
		if err != nil {
			return b.selection.located(err)
		}
		if n == 0 {
			return nil
		}
		b.noteOrigins(n)
		b.rest = after(b.rest, int64(n))
	}
	return nil
}

// noteOrigins records where the last n rows of the batch come from: they are the first n
// rows of b.rest.
func (b *Batches) noteOrigins(n int) {
	for _, s := range b.rest {
		if n <= 0 {
			return
		}
		b.origins = append(b.origins, origin{int32(b.columns.rows - n), int32(b.selection.part), b.selection.file.first + s.from})
		n -= int(s.to - s.from)
	}
}

// Origin returns the name of the part that row i of the batch is from, and the row's
// number in that part. If Query.Schema is set, it returns the path of the dataset, and
// the row's number in the result.
func (b *Batches) Origin(i int) (part string, row int64) {
	// next is the first origin after row i.
	next, _ := slices.BinarySearchFunc(b.origins, int32(i)+1, func(o origin, row int32) int { return cmp.Compare(o.first, row) })
	o := b.origins[next-1]
	return b.selection.dataset.Parts()[o.part].Name, o.row + int64(int32(i)-o.first)
}

// Rows returns the number of rows in the batch.
func (b *Batches) Rows() int {
	if b.columns == nil {
		return 0
	}
	return b.columns.rows
}

// Vector returns the batch's values of column col of Mapping. A child column has the
// values of all items of its parent in the batch, in order. The vector is valid until
// the next call of Next. If Mapping returns nil, there are no vectors.
func (b *Batches) Vector(col int) *column.Vector { return b.columns.vectors[col] }

// Err returns the error that ended the reading. It returns nil at the end of the rows.
// Close does not change it.
func (b *Batches) Err() error {
	if errors.Is(b.err, io.EOF) {
		return nil
	}
	return b.err
}

// Stats returns what the query has read so far.
func (b *Batches) Stats() Stats {
	if b.scan == nil {
		return b.selection.stats
	}
	s := b.scan.Stats()
	s.Rows = b.selection.stats.Rows
	return s
}

// Close ends the reading. The vectors of the last batch stay valid.
func (b *Batches) Close() {
	b.selection.end()
	b.callerHeap.Close()
	if b.columns != nil {
		b.columns.memory.heap.Close()
	}
	if b.err == nil {
		b.err = io.EOF
	}
}
