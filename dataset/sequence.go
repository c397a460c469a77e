package dataset

import (
	"context"
	"io"
)

// sequence reads ranges one after another on the caller's goroutine.
type sequence[R rangeReader] struct {
	ctx    context.Context
	ranges *ranges
	reader R
	rows   *rowRange // the range that is read, or nil
	read   Stats     // figures of earlier ranges at least
}

// rangeReader is a reader of ranges.
type rangeReader interface {
	begin(rows *rowRange) error
	// done reports whether the limit is reached, so that no other range has rows.
	done() bool
	reached() place // place after the last row
	takeStats() Stats
	close()
}

func newSequence[R rangeReader](ctx context.Context, p *Plan, r R) *sequence[R] {
	return &sequence[R]{ctx: ctx, ranges: newRanges(p, batchedBlock), reader: r, read: p.Totals()}
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
		s.read.Passed += s.rows.count()
		s.rows.release()
		s.rows = nil
	}
}

// stats returns what was read.
func (s *sequence[R]) stats() Stats {
	s.read = s.reader.takeStats().Plus(s.read)
	read := s.ranges.stats.Plus(s.read)
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
