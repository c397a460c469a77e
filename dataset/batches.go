package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
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
	*Batch        // the current batch
	plan          *Plan
	mapping       *shred.Mapping
	source        *sequence[*batchReader]
	callerHeap    *budget.Heap // memory that the caller reserved by Reserve and ReserveBatch
	batchReserved int64        // bytes that ReserveBatch reserved for the current batch
	rows          int64        // number of rows returned
	err           error
}

// Batches checks the query and returns its batches. Next reads them, and fails once ctx
// has ended.
func (d *Dataset) Batches(ctx context.Context, q Query) (*Batches, error) {
	p, err := d.Plan(q)
	if err != nil {
		return nil, err
	}
	return p.Batches(ctx)
}

// Batches returns the rows of the plan in batches. Next reads them, and fails once ctx has ended.
func (p *Plan) Batches(ctx context.Context) (*Batches, error) {
	m, err := p.Mapping()
	if err != nil {
		return nil, err
	}
	p = p.begin()
	return &Batches{
		Batch: &Batch{plan: p}, plan: p, mapping: m, source: newSequence(ctx, p, newBatchReader(ctx, p, m)), callerHeap: p.dataset.list.memory.NewHeap(),
	}, nil
}

// Mapping returns the columns that are read, in the order of the schema. It returns nil
// if the dataset is an output that was made without inputs and Query.Schema is nil.
func (b *Batches) Mapping() *shred.Mapping { return b.mapping }

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
// was one. A batch has Query.BatchRows rows. It has fewer if the rows are large, and at the end
// of a range of rows: each range is a few MiB of stored columns, and rows of different schemas
// are in different ranges. An error drops the rows that were already read for the batch.
func (b *Batches) Next() bool {
	if b.err != nil {
		return false
	}
	b.callerHeap.Release(b.batchReserved)
	b.batchReserved = 0
	if b.err = b.next(); b.err != nil {
		b.Batch = &Batch{plan: b.plan}
		return false
	}
	b.rows += int64(b.Rows())
	return true
}

func (b *Batches) next() error {
	for {
		err := io.EOF
		if b.source.rows != nil {
			b.Batch, err = b.source.reader.next()
		}
		if err != io.EOF {
			return err
		}
		if err := b.source.next(); err != nil {
			return err
		}
	}
}

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
	read := b.source.stats()
	read.Rows = b.rows
	return read
}

// Close ends the reading. The vectors of the last batch stay valid.
func (b *Batches) Close() {
	b.source.close()
	b.callerHeap.Close()
	if b.err == nil {
		b.err = io.EOF
	}
}
