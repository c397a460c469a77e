package dataset

import (
	"context"

	"github.com/rowtocol/rowtocol/format/column"
)

// RangeBatches are the batches of a range, for a function that makes results of them. They belong
// to one goroutine.
type RangeBatches struct {
	*Batch // the current batch
	reader *batchReader
	count  int64          // rows of batches returned since the last result
	memory *Waiting       // memory that ReserveBatch reserves
	extra  int64          // bytes reserved for the current batch
	kept   chan vectorSet // sets that results no longer use
	sets   int            // number of sets of vectors of reader.columns
	most   int            // most of them
	full   []mark         // what the vectors of the first batch held
	spare  int64          // free memory that another set needs
}

// vectorSet is the vectors of a batch.
type vectorSet struct {
	vectors []*column.Vector
	sizes   []vectorSize
}

const (
	// mostSets is the most sets of vectors of a worker, if there are several workers.
	mostSets = 4
	// spareSets is the number of sets for which memory is left when another set is made.
	spareSets = 3
)

// begin starts with a range.
func (r *RangeBatches) begin(rows *rowRange) error {
	before := r.reader.columns
	err := r.reader.begin(rows)
	if r.reader.columns != before {
		r.kept, r.sets, r.spare = make(chan vectorSet, r.most), 1, 0
	}
	return err
}

// Next moves to the next batch, which is valid until the next call, unless Keep is called. It
// returns io.EOF after the last batch of the range.
func (r *RangeBatches) Next() (err error) {
	r.memory.release(r.extra)
	r.extra = 0
	if r.reader.columns.vectors == nil {
		if err := r.refill(); err != nil {
			return err
		}
	}
	if r.Batch, err = r.reader.next(); err == nil {
		r.count += int64(r.rows)
	}
	return err
}

// ReserveBatch accounts for n bytes that the caller allocates for the current batch, until the
// next call of Next. If the batch is kept, they are accounted for until its release.
func (r *RangeBatches) ReserveBatch(n int64) error {
	if err := r.memory.add(n); err != nil {
		return err
	}
	r.extra += n
	return nil
}

// Keep keeps the current batch for a result, until any goroutine calls release. If too many
// batches are kept, Next waits for a release.
func (r *RangeBatches) Keep() (release func()) {
	set, kept, extra := r.reader.columns.swap(vectorSet{}), r.kept, r.extra
	r.extra = 0
	if r.spare == 0 {
		r.full = r.full[:0]
		for i, size := range set.sizes {
			r.full = append(r.full, markOf(set.vectors[i]))
			r.spare += spareSets * (size.memory + r.reader.columns.memory.copies*size.used)
		}
	}
	return func() {
		r.memory.release(extra)
		kept <- set
	}
}

// refill gives the columns vectors after Keep.
func (r *RangeBatches) refill() error {
	if r.sets < r.most && len(r.kept) == 0 && r.reader.columns.memory.heap.Available() > r.spare {
		r.sets++
		return r.reader.columns.renew(r.full)
	}
	select {
	case set := <-r.kept:
		r.reader.columns.swap(set)
		return nil
	case <-r.reader.ctx.Done():
		return r.reader.ctx.Err()
	}
}

// BatchResults is RowResults for batches, which have the columns of p.Mapping.
func BatchResults[T any](ctx context.Context, p *Plan, start func() func(b *RangeBatches, emit func(T) error) error) (*Results[T], error) {
	m, err := p.Mapping()
	if err != nil {
		return nil, err
	}
	p = p.begin()
	ranges := newRanges(p, batchedBlock)
	if p.query.Schema == nil {
		ranges.turnRows = int64(p.batchRows())
	}
	return newResults(ctx, p, ranges, func(ctx context.Context, workers int) resultMaker[T] {
		most := 1
		if workers > 1 {
			most = mostSets
		}
		reader := newBatchReader(ctx, p, m)
		reader.firm = workers > 1 // one worker reads the rest, if there is too little memory for several
		b := RangeBatches{Batch: &Batch{plan: p}, reader: reader, memory: newWaiting(ctx, p.dataset.list.memory, workers), most: most}
		return &batchResults[T]{batches: b, of: start()}
	}), nil
}

// batchResults makes results of batches. It is a resultMaker.
type batchResults[T any] struct {
	batches RangeBatches
	of      func(b *RangeBatches, emit func(T) error) error
}

func (m *batchResults[T]) make(rows *rowRange, emit func(*result[T]) error) error {
	b := &m.batches
	if err := b.begin(rows); err != nil {
		return err
	}
	return m.of(b, func(value T) error {
		stats := b.reader.takeStats()
		stats.Rows, b.count = b.count, 0
		return emit(&result[T]{value, stats, b.reader.last})
	})
}

func (m *batchResults[T]) done() bool { return m.batches.reader.done() }

func (m *batchResults[T]) close() Stats {
	m.batches.reader.close()
	m.batches.memory.close()
	return m.batches.reader.takeStats()
}
