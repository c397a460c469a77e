package dataset

import "context"

// RangeBatches are the batches of a range, for a function that makes results of them. They belong
// to one goroutine.
type RangeBatches struct {
	*batchReader
	count int64 // rows of batches returned since the last result
}

// Next returns the next batch, which is valid until the next call. It returns io.EOF after the
// last batch of the range.
func (r *RangeBatches) Next() (*Batch, error) {
	b, err := r.batchReader.next()
	if err == nil {
		r.count += int64(b.rows)
	}
	return b, err
}

// BatchResults is RowResults for batches, which have the columns of p.Mapping.
func BatchResults[T any](ctx context.Context, p *Plan, start func(w *Waiting) func(b *RangeBatches, emit func(T) error) error) (*Results[T], error) {
	m, err := p.Mapping()
	if err != nil {
		return nil, err
	}
	return newResults(ctx, p, func(ctx context.Context) resultMaker[T] {
		w := newWaiting(ctx, p.dataset.list.memory, p.workers())
		return &batchResults[T]{batches: RangeBatches{batchReader: newBatchReader(ctx, p, m)}, waiting: w, of: start(w)}
	}), nil
}

// batchResults makes results of batches. It is a resultMaker.
type batchResults[T any] struct {
	batches RangeBatches
	waiting *Waiting
	of      func(b *RangeBatches, emit func(T) error) error
}

func (m *batchResults[T]) make(rows *rowRange, emit func(result[T]) error) error {
	if err := m.batches.begin(rows); err != nil {
		return err
	}
	return m.of(&m.batches, func(value T) error {
		stats := m.batches.takeStats()
		stats.Rows, m.batches.count = m.batches.count, 0
		return emit(result[T]{value, stats, m.batches.last})
	})
}

func (m *batchResults[T]) done() bool { return m.batches.done() }

func (m *batchResults[T]) close() Stats {
	m.batches.close()
	m.waiting.close()
	return m.batches.figures()
}
