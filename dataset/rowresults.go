package dataset

import (
	"context"
	"io"
)

// Rows are the rows of a range, for a function that makes results of them. They belong to one
// goroutine.
type Rows struct {
	*rowReader
	count  int64 // rows returned since the last result
	before place // place before the last row
	after  place // place after the last row, while it is unread
}

// Next appends the Avro bytes of the next row to dst. It returns io.EOF after the last row of the
// range.
func (r *Rows) Next(dst []byte) ([]byte, error) {
	r.before = r.last
	row, err := r.rowReader.next(dst)
	if err == nil {
		r.count++
	}
	return row, err
}

// Unread says that results do not have the last row until Read is called.
func (r *Rows) Unread() {
	r.last, r.after = r.before, r.last
	r.count--
}

// Read says that the next result has the row that was unread.
func (r *Rows) Read() {
	r.last = r.after
	r.count++
}

// RowResults reads the rows of a plan on its workers. start is called for each worker. The
// function that it returns is called for each range of rows, makes results of all its rows, and
// passes them to emit. It passes on errors of Next, but io.EOF, and of emit. The same rows must give
// the same results, even if they are read again: see Waiting.Retries. A row that begins in a result
// is complete in the results before the next call of Next. Results that hold a Buffer of the worker
// wait within bounds.
func RowResults[T any](ctx context.Context, p *Plan, start func(w *Waiting) func(rows *Rows, emit func(T) error) error) *Results[T] {
	p = p.begin()
	ranges := newRanges(p, rowsBlock)
	ranges.turnRows = leastTurn
	return newResults(ctx, p, ranges, func(ctx context.Context, workers int) resultMaker[T] {
		w := newWaiting(ctx, p.dataset.list.memory, workers)
		return &rowResults[T]{rows: Rows{rowReader: newRowReader(ctx, p)}, waiting: w, of: start(w)}
	})
}

// rowResults makes results of rows. It is a resultMaker.
type rowResults[T any] struct {
	rows    Rows
	waiting *Waiting
	of      func(rows *Rows, emit func(T) error) error
}

func (m *rowResults[T]) make(rows *rowRange, emit func(*result[T]) error) error {
	if err := m.rows.begin(rows); err != nil {
		return err
	}
	return m.of(&m.rows, func(value T) error {
		stats := m.rows.takeStats()
		stats.Rows, m.rows.count = m.rows.count, 0
		m.waiting.passed = m.waiting.passed || stats.Rows > 0 && !m.rows.plan.oneReader()
		return emit(&result[T]{value, stats, m.rows.last})
	})
}

func (m *rowResults[T]) done() bool { return m.rows.done() }

func (m *rowResults[T]) close() Stats {
	m.rows.close()
	m.waiting.close()
	return m.rows.takeStats()
}

// rowBatch is consecutive rows.
type rowBatch struct {
	*Buffer
	ends    []int // end of each row in Data
	origins origins
}

// row returns row i.
func (b *rowBatch) row(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.Data[start:b.ends[i]]
}

const (
	// batchedRows is the most rows in a rowBatch, and fullBatch the bytes of a full one. A row
	// that is not large fits after fullBatch bytes.
	batchedRows = 4096
	fullBatch   = BufferSize * 3 / 4
)

// rowBatches reads the rows of a plan in batches.
func rowBatches(ctx context.Context, p *Plan) *Results[*rowBatch] {
	return RowResults(ctx, p, func(w *Waiting) func(*Rows, func(*rowBatch) error) error {
		var row []byte
		return func(rows *Rows, emit func(*rowBatch) error) error {
			for {
				buffer, err := w.Buffer()
				if err != nil {
					return err
				}
				batch := &rowBatch{Buffer: buffer}
				row, err = batch.fill(rows, row)
				if len(batch.ends) == 0 {
					buffer.Release()
				} else if err := emit(batch); err != nil {
					return err
				}
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
			}
		}
	})
}

// fill adds rows until the buffer is full.
func (b *rowBatch) fill(rows *Rows, row []byte) (_ []byte, err error) {
	for len(b.Data) < fullBatch && len(b.ends) < batchedRows {
		if cap(row) > keptRow && len(row) < cap(row)/4 {
			row = nil // frees an unusually large one
		}
		if row, err = rows.Next(row[:0]); err != nil {
			return row, err
		}
		if err := b.Grow(len(row)); err != nil {
			rows.Unread()
			return row, err
		}
		part, number := rows.origin()
		b.origins.add(len(b.ends), part, number)
		b.Data = append(b.Data, row...)
		b.ends = append(b.ends, len(b.Data))
	}
	return row, nil
}
