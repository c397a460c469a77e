package dataset

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// resultsWaiting is the most results of a range that wait for those before them. Their memory is bounded
// by their maker.
const resultsWaiting = 1 << 10

// storedShare is the part of the free memory that stored blocks of several ranges may take.
const storedShare = 8

// Results are what several goroutines make of ranges of rows, merged in row order. The reading
// starts with the first call of Next. A range that is read ahead of others keeps at most some
// results and then waits. If memory is too short for several readers, the rest is read by one.
// A result that Next does not return is released, if it has a method Release. Results belong to
// one goroutine.
type Results[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	plan   *Plan
	start  func(ctx context.Context, workers int) resultMaker[T]

	readers  int           // number of goroutines that read
	stop     func()        // stops these goroutines; nil if none run
	returned bool          // Next returned rows of these goroutines
	slots    chan *slot[T] // ranges in row order

	mu     sync.Mutex
	fewer  *sync.Cond // is signalled when a range ended
	begun  int        // number of ranges that were taken and have not ended
	stored int64      // bytes of stored blocks of these ranges
	ranges *ranges
	again  []*rowRange // ranges that are read again, before the rest
	ended  bool        // the last range was taken

	head  *slot[T] // range whose results are returned
	stats Stats
	err   error
}

// slot holds the results of a range.
type slot[T any] struct {
	rows    *rowRange // nil after the last range
	results chan *result[T]
	at      place // place after the results that were returned
	err     error // error after the results; set before results is closed
}

// result is a result with the figures since the result before.
type result[T any] struct {
	value T
	stats Stats
	end   place // place after the rows of the result
}

// resultMaker makes results of ranges. It belongs to one goroutine. For the same range it makes the
// same results.
type resultMaker[T any] interface {
	// make reads a range and passes its results to emit. It returns the first error of emit.
	make(rows *rowRange, emit func(*result[T]) error) error
	// done reports whether the limit is reached, so that no other range has rows.
	done() bool
	// close ends the reading, and returns the figures since the last result.
	close() Stats
}

func newResults[T any](ctx context.Context, p *Plan, ranges *ranges, start func(ctx context.Context, workers int) resultMaker[T]) *Results[T] {
	r := &Results[T]{plan: p, start: start, readers: p.workers(), ranges: ranges, stats: p.Totals()}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.fewer = sync.NewCond(&r.mu)
	return r
}

// run starts the goroutines.
func (r *Results[T]) run() {
	ctx, cancel := context.WithCancel(r.ctx)
	r.slots, r.begun, r.stored, r.returned = make(chan *slot[T], r.most()+1), 0, 0, false
	var readers sync.WaitGroup
	for range r.readers {
		readers.Go(func() { r.read(ctx) })
	}
	r.stop = func() {
		r.mu.Lock()
		cancel()
		r.fewer.Broadcast()
		r.mu.Unlock()
		readers.Wait()
	}
}

// read reads ranges until the last one was taken, or until an error.
func (r *Results[T]) read(ctx context.Context) {
	m := r.start(ctx, r.readers)
	defer func() {
		read := m.close()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ranges.stats = read.dropped().Plus(r.ranges.stats)
	}()
	for {
		s := r.take(ctx)
		if s == nil {
			return
		}
		s.err = m.make(s.rows, func(made *result[T]) error {
			select {
			case s.results <- made:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if s.err == nil && m.done() {
			r.finish()
		}
		close(s.results)
		if s.err != nil {
			return
		}
	}
}

// finish says that no other range has rows.
func (r *Results[T]) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges.err = io.EOF
}

// most returns the most ranges that are begun and have not ended. A reader that is ahead goes on
// while another finishes its range.
func (r *Results[T]) most() int { return 2 * r.readers }

// take takes the next range. It waits while too many ranges have not ended, or have too many
// stored blocks. After the last range, and once ctx has ended, it returns nil.
func (r *Results[T]) take(ctx context.Context) *slot[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	memory := r.plan.dataset.list.memory
	for r.begun > 0 && (r.begun >= r.most() || r.stored > memory.Available()/storedShare) && ctx.Err() == nil {
		r.fewer.Wait()
	}
	if r.ended || ctx.Err() != nil {
		return nil
	}
	s := new(slot[T])
	if len(r.again) > 0 {
		s.rows, r.again = r.again[0], r.again[1:]
	} else {
		s.rows, s.err = r.ranges.next(r.ctx)
	}
	if s.rows != nil {
		s.rows.parallel = r.readers > 1
	}
	waiting := resultsWaiting
	if s.rows != nil && s.rows.turn != nil {
		waiting = turnResults
	}
	s.results = make(chan *result[T], waiting)
	r.slots <- s
	r.begun++
	r.stored += s.rows.stored()
	if s.err != nil {
		r.ended = true
		close(s.results)
		return nil
	}
	return s
}

// end says that a range has ended.
func (r *Results[T]) end(s *slot[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun--
	r.stored -= s.rows.stored()
	r.fewer.Broadcast()
}

// Next returns the next result, or io.EOF after the last one. After an error, every later call
// fails. The error is the first in row order, and the results before it were returned.
func (r *Results[T]) Next() (value T, err error) {
	for r.err == nil {
		if r.stop == nil {
			r.run()
		}
		if r.head == nil {
			select {
			case r.head = <-r.slots:
			case <-r.ctx.Done():
				r.err = r.ctx.Err()
			}
			continue
		}
		select {
		case made, ok := <-r.head.results:
			if ok {
				r.returned = r.returned || made.end != r.head.at
				r.head.at, r.stats = made.end, made.stats.Plus(r.stats)
				return made.value, nil
			}
			r.endRange()
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		}
	}
	return value, r.err
}

// endRange ends the range whose results were returned.
func (r *Results[T]) endRange() {
	s := r.head
	if errors.As(s.err, new(*budget.Error)) && r.Alone() {
		return
	}
	r.head = nil
	r.end(s)
	r.stats = s.rows.abandon().Plus(r.stats) // left if reading was cancelled
	if r.err = s.err; r.err == nil {
		r.stats.Passed += s.rows.count()
	}
	s.rows.release()
}

// Alone stops the readers, which frees their memory, and lets one reader read the rest from the next
// call of Next on: the rows of begun ranges that were not returned, and all later ranges. It reports
// whether that can help: there were several readers, or the reader was ahead of the rows that Next
// returned. Next must have been called.
func (r *Results[T]) Alone() bool {
	//guard: gives up if a reader without results lacks memory, or has counted matches
	if r.stop == nil || r.readers == 1 && (!r.returned || r.plan.oneReader()) {
		return false
	}
	r.stop()
	r.stop = nil
	var again []*rowRange
	for _, s := range r.unread() {
		if s.rows != nil {
			s.rows.resume(s.at)
			again = append(again, s.rows)
		}
	}
	r.again, r.readers, r.ended = append(again, r.again...), 1, false
	r.ranges.retry()
	r.ranges.endTurns()
	return true
}

// unread returns the ranges whose results were not all returned, without these results. All readers
// have stopped.
func (r *Results[T]) unread() (slots []*slot[T]) {
	if r.head != nil {
		slots, r.head = append(slots, r.head), nil
	}
	for len(r.slots) > 0 {
		slots = append(slots, <-r.slots)
	}
	for _, s := range slots {
		r.drop(s)
		r.stats = s.rows.abandon().Plus(r.stats)
	}
	return slots
}

// drop releases the results of a range that were not returned.
func (r *Results[T]) drop(s *slot[T]) {
	for made := range s.results {
		r.stats = made.stats.dropped().Plus(r.stats)
		if value, ok := any(made.value).(interface{ Release() }); ok {
			value.Release()
		}
	}
}

// Stats returns what the query has read so far.
func (r *Results[T]) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	read := r.ranges.stats.Plus(r.stats)
	if r.head != nil && r.head.rows != nil {
		read.Passed += r.head.rows.before(r.head.at)
	}
	return read
}

// Close ends the reading. It waits for the readers.
func (r *Results[T]) Close() {
	r.cancel()
	if r.stop != nil {
		r.stop()
	}
	if r.err == nil {
		r.err = errClosed
	}
	r.ranges.close()
	for _, rows := range r.again {
		rows.release()
	}
	for _, s := range r.unread() {
		s.rows.release()
	}
}
