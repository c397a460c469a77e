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
// Once its vectors have grown, it allocates nothing per row or batch.
//
//	for b.Next() {
//		use(b.Rows(), b.Vector(0))
//	}
//	if err := b.Err(); err != nil { … }
type Batches struct {
	rows    *selection
	columns *columns
	maxRows int
	rest    []span // rows found and not yet read
	origins []origin
	scan    *Scan        // resolves the rows; nil if they are read unchanged
	reader  *budget.Heap // memory of the caller that reads the batches
	made    int64        // bytes of reader that ReserveBatch reserved
	err     error
}

// origin maps the rows of a batch from one on to those of a part.
type origin struct {
	first int32 // in the batch
	part  int32
	row   int64 // in the part
}

// Batches starts to read columns. ctx bounds the reads.
func (d *Dataset) Batches(ctx context.Context, q Query) (*Batches, error) {
	if q.BatchRows < 0 {
		return nil, queryf("batches of %d rows", q.BatchRows)
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
	b := &Batches{rows: s, maxRows: q.BatchRows, reader: s.dataset.list.memory.NewHeap()}
	if b.maxRows == 0 {
		b.maxRows = defaultBatchRows
	}
	if len(s.dataset.sections) > 0 {
		return b, b.bind()
	}
	return b, nil
}

// bind prepares to read columns of the selection's section.
func (b *Batches) bind() error {
	s := b.rows
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

// Mapping returns the columns that are read, in the order of the schema; nil for the output of no input.
func (b *Batches) Mapping() *shred.Mapping { return b.rows.mapping }

// Reserve accounts for n bytes that the reader of the batches keeps until Close.
func (b *Batches) Reserve(n int64) error { return b.reader.Reserve(n) }

// ReserveBatch accounts for n bytes that the reader adds to this batch beyond copies of
// its vectors. Next releases them.
func (b *Batches) ReserveBatch(n int64) error {
	if err := b.reader.Reserve(n); err != nil {
		return err
	}
	b.made += n
	return nil
}

// Next reads the next batch, and reports whether there was one. It reuses the vectors
// of the batch before. A batch has the number of rows asked for, or fewer if they are
// large or the last.
func (b *Batches) Next() bool {
	if b.err != nil {
		return false
	}
	if b.columns == nil {
		b.err = io.EOF
		return false
	}
	b.columns.reset()
	b.reader.Release(b.made)
	b.made = 0
	b.origins = b.origins[:0]
	b.err = b.fill()
	if b.err != nil && !errors.Is(b.err, io.EOF) {
		b.columns.reset()
	}
	b.rows.stats.Rows += int64(b.columns.rows)
	return b.columns.rows > 0
}

// fill reads rows until the batch is full. It returns io.EOF after the last row.
func (b *Batches) fill() error {
	for b.columns.rows < b.maxRows {
		if err := b.rows.ctx.Err(); err != nil {
			return err
		}
		if len(b.rest) == 0 {
			file := b.rows.file
			var err error
			b.rest, err = b.rows.next()
			if errors.Is(err, io.EOF) && b.columns.rows > 0 && b.rows.more() {
				return nil // the next rows have other columns
			}
			if errors.Is(err, io.EOF) {
				if err = b.rows.follow(); err == nil {
					err = b.bind()
				}
			}
			if err != nil {
				return err
			}
			if len(b.rest) == 0 {
				continue
			}
			if b.rows.file != file {
				if err := b.columns.bind(b.rows.file); err != nil {
					return b.rows.located(err)
				}
			}
		}
		n, err := b.columns.read(b.rest, b.maxRows)
		if err != nil {
			return b.rows.located(err)
		}
		if n == 0 {
			return nil
		}
		b.noteOrigins(n)
		b.rest = after(b.rest, int64(n))
	}
	return nil
}

// noteOrigins notes that the last n rows of the batch are the first of rest.
func (b *Batches) noteOrigins(n int) {
	for _, s := range b.rest {
		if n <= 0 {
			return
		}
		b.origins = append(b.origins, origin{int32(b.columns.rows - n), int32(b.rows.part), b.rows.file.first + s.from})
		n -= int(s.to - s.from)
	}
}

// Origin returns the part of a row of the batch, and its number there.
func (b *Batches) Origin(i int) (part string, row int64) {
	after, _ := slices.BinarySearchFunc(b.origins, int32(i)+1, func(o origin, row int32) int { return cmp.Compare(o.first, row) })
	o := b.origins[after-1]
	return b.rows.dataset.Parts()[o.part].Name, o.row + int64(int32(i)-o.first)
}

// Rows returns the number of rows in the batch.
func (b *Batches) Rows() int {
	if b.columns == nil {
		return 0
	}
	return b.columns.rows
}

// Vector returns the values of a column of Mapping in the batch. A child column has the
// values of all items of its parent in the batch, in order. The vector is valid until
// Next.
func (b *Batches) Vector(col int) *column.Vector { return b.columns.vectors[col] }

// Err returns the error that ended the reading, or nil at the end of the rows.
func (b *Batches) Err() error {
	if errors.Is(b.err, io.EOF) {
		return nil
	}
	return b.err
}

// Stats returns the figures of the reading so far.
func (b *Batches) Stats() Stats {
	if b.scan == nil {
		return b.rows.stats
	}
	s := b.scan.Stats()
	s.Rows = b.rows.stats.Rows
	return s
}

// Close ends the reading. The vectors stay valid.
func (b *Batches) Close() {
	b.rows.end()
	b.reader.Close()
	if b.columns != nil {
		b.columns.memory.heap.Close()
	}
	if b.err == nil {
		b.err = io.EOF
	}
}
