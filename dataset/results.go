package dataset

import (
	"context"
	"io"
	"sync"
)

// resultsWaiting is the most results of a range that wait for their turn. Their memory is bounded
// by their maker.
const resultsWaiting = 1 << 10

// storedShare is the part of the free memory that stored blocks of several ranges may take.
const storedShare = 8

// Results are what several goroutines make of ranges of rows, merged in row order. The reading
// starts with the first call of Next. A range that is read before its turn keeps at most some
// results and then waits. If memory is too short for several readers, the rest is read by one.
// Results belong to one goroutine.
type Results[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	plan   *Plan
	start  func(ctx context.Context, workers int) resultMaker[T]

	readers int           // number of goroutines that read
	stop    func()        // stops these goroutines; nil before the first call of Next
	slots   chan *slot[T] // ranges in row order

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
	results chan result[T]
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
	make(rows *rowRange, emit func(result[T]) error) error
	// done reports whether the limit is reached, so that no other range has rows.
	done() bool
	// close ends the reading, and returns the figures since the last result.
	close() Stats
}

func newResults[T any](ctx context.Context, p *Plan, start func(ctx context.Context, workers int) resultMaker[T]) *Results[T] {
	m := &Results[T]{plan: p, start: start, readers: p.workers(), ranges: newRanges(p), stats: p.Totals()}
	m.ctx, m.cancel = context.WithCancel(ctx)
	m.fewer = sync.NewCond(&m.mu)
	return m
}

// run starts the goroutines.
func (p *Results[T]) run() {
	ctx, cancel := context.WithCancel(p.ctx)
	p.slots, p.begun, p.stored = make(chan *slot[T], p.most()+1), 0, 0
	var readers sync.WaitGroup
	for range p.readers {
		readers.Go(func() { p.read(ctx) })
	}
	p.stop = func() {
		p.mu.Lock()
		cancel()
		p.fewer.Broadcast()
		p.mu.Unlock()
		readers.Wait()
	}
}

// read reads ranges until the last one was taken, or until an error.
func (p *Results[T]) read(ctx context.Context) {
	m := p.start(ctx, p.readers)
	defer func() {
		read := m.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ranges.stats = read.dropped().Plus(p.ranges.stats)
	}()
	for {
		s := p.take(ctx)
		if s == nil {
			return
		}
		s.err = m.make(s.rows, func(made result[T]) error {
			select {
			case s.results <- made:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if s.err == nil && m.done() {
			p.finish()
		}
		close(s.results)
		if s.err != nil {
			return
		}
	}
}

// finish says that no other range has rows.
func (p *Results[T]) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges.err = io.EOF
}

// most returns the most ranges that are begun and have not ended. A reader that is ahead goes on
// while another finishes its range.
func (p *Results[T]) most() int { return 2 * p.readers }

// take takes the next range. It waits while too many ranges have not ended, or have too many
// stored blocks. After the last range, and once ctx has ended, it returns nil.
func (p *Results[T]) take(ctx context.Context) *slot[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	memory := p.plan.dataset.list.memory
	for p.begun > 0 && (p.begun >= p.most() || p.stored > memory.Available()/storedShare) && ctx.Err() == nil {
		p.fewer.Wait()
	}
	if p.ended || ctx.Err() != nil {
		return nil
	}
	s := &slot[T]{results: make(chan result[T], resultsWaiting)}
	if len(p.again) > 0 {
		s.rows, p.again = p.again[0], p.again[1:]
	} else {
		s.rows, s.err = p.ranges.next(p.ctx)
	}
	p.slots <- s
	p.begun++
	p.stored += s.rows.stored()
	if s.err != nil {
		p.ended = true
		close(s.results)
		return nil
	}
	return s
}

// end says that a range has ended.
func (p *Results[T]) end(s *slot[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun--
	p.stored -= s.rows.stored()
	p.fewer.Broadcast()
}

// Next returns the next result, or io.EOF after the last one. After an error, every later call
// fails. The error is the first in row order, and the results before it were returned.
func (p *Results[T]) Next() (value T, err error) {
	if p.stop == nil && p.err == nil {
		p.run()
	}
	for p.err == nil {
		if p.head == nil {
			select {
			case p.head = <-p.slots:
			case <-p.ctx.Done():
				p.err = p.ctx.Err()
			}
			continue
		}
		select {
		case made, ok := <-p.head.results:
			if ok {
				p.head.at, p.stats = made.end, made.stats.Plus(p.stats)
				return made.value, nil
			}
			p.endRange()
		case <-p.ctx.Done():
			p.err = p.ctx.Err()
		}
	}
	return value, p.err
}

// endRange ends the range whose results were returned.
func (p *Results[T]) endRange() {
	s := p.head
	p.head = nil
	p.end(s)
	switch {
	case s.err == nil:
		p.stats.Passed += s.rows.count()
		s.rows.release()
	case retries(p.readers, s.err):
		p.readAlone(s)
	default:
		p.err = s.err
		s.rows.release()
	}
}

// readAlone stops all readers, which frees their memory, and reads the rest with one reader: the
// rows of a range that were not returned, and all later ranges.
func (p *Results[T]) readAlone(s *slot[T]) {
	p.stop()
	var again []*rowRange
	for {
		if s.rows != nil {
			s.rows.resume(s.at)
			again = append(again, s.rows)
		}
		for made := range s.results {
			p.stats = made.stats.dropped().Plus(p.stats)
		}
		if len(p.slots) == 0 {
			break
		}
		s = <-p.slots
	}
	p.again, p.readers, p.ended = append(again, p.again...), 1, false
	p.ranges.retry()
	p.run()
}

// Stats returns what the query has read so far.
func (p *Results[T]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	read := p.ranges.stats.Plus(p.stats)
	if p.head != nil && p.head.rows != nil {
		read.Passed += p.head.rows.before(p.head.at)
	}
	return read
}

// Close ends the reading. It waits for the readers.
func (p *Results[T]) Close() {
	p.cancel()
	if p.stop != nil {
		p.stop()
	}
	if p.err == nil {
		p.err = errClosed
	}
	p.ranges.close()
	for _, rows := range p.again {
		rows.release()
	}
	if p.head != nil {
		p.head.rows.release()
	}
	for len(p.slots) > 0 {
		s := <-p.slots
		s.rows.release()
	}
}

// sequence reads ranges one after another on the caller's goroutine.
type sequence[R rangeReader] struct {
	ctx    context.Context
	ranges *ranges
	reader R
	rows   *rowRange
	passed int64
}

// rangeReader is a reader of ranges.
type rangeReader interface {
	begin(rows *rowRange) error
	// done reports whether the limit is reached, so that no other range has rows.
	done() bool
	reached() place // place after the last row
	figures() Stats
	close()
}

func newSequence[R rangeReader](ctx context.Context, p *Plan, r R) *sequence[R] {
	return &sequence[R]{ctx: ctx, ranges: newRanges(p), reader: r}
}

// next moves the reader to the next range. After the last one it returns io.EOF.
func (s *sequence[R]) next() (err error) {
	s.endRange()
	err = io.EOF
	if !s.reader.done() {
		s.rows, err = s.ranges.next(s.ctx)
	}
	if err != nil {
		s.reader.close() // columns read ahead are no longer needed
		return err
	}
	return s.reader.begin(s.rows)
}

func (s *sequence[R]) endRange() {
	if s.rows != nil {
		s.passed += s.rows.count()
		s.rows.release()
		s.rows = nil
	}
}

// stats returns what was read.
func (s *sequence[R]) stats() Stats {
	read := s.reader.figures().Plus(s.ranges.stats).Plus(s.ranges.plan.Totals())
	read.Passed += s.passed
	if s.rows != nil {
		read.Passed += s.rows.before(s.reader.reached())
	}
	return read
}

func (s *sequence[R]) close() {
	s.reader.close()
	s.endRange()
	s.ranges.close()
}
