package dataset

import (
	"context"

	"github.com/rowtocol/rowtocol/internal/parallel"
)

const (
	// turnColumns is the least number of columns that are read by turns, and turnBytes about how
	// many stored bytes a turn has. A turn has at least leastTurn rows. If its results are made of
	// rows, it has no more, so that the values stay in a processor's cache.
	turnColumns = 128
	turnBytes   = 8 << 20
	leastTurn   = 64
	// turnResults is the most results of a turn that wait for those before them.
	turnResults = 64
	// loadedBytes is the most memory for values of a turn that a reader of rows copies from blocks.
	loadedBytes = 4 << 20
)

// A turn is a range of a part with many columns, whose blocks have the rows of many ranges. Readers
// with columns of their own would each decode all blocks, and pass over the rows of the others. So
// they use the same columns by turns, in row order. A reader takes the values of its rows out of the
// blocks, passes the columns on, and then makes results of the values. The rows of a turn are one span.
type turn struct {
	from <-chan *turnPart // the part as the reader of the range before left it; nil for the first range
	to   chan<- *turnPart // the same for the range after; nil for the last one
}

// turnPart is an open part that readers use by turns.
type turnPart struct {
	file    *queryPart
	cursors *cursors // cursors at the start of the next turn; nil before the first one
	read    Stats    // figures since the part was passed on
	// do calls fn for 0 to n-1 on several goroutines, and returns the error of the lowest number.
	do func(n int, fn func(i int) error) error
}

// openTurns opens the part of the first turn.
func (r *matchReader) openTurns() (*turnPart, error) {
	workers := parallel.NewWorkers(r.plan.workers())
	p := &turnPart{do: func(n int, fn func(i int) error) error {
		return workers.Do(r.ctx, n, func(_ context.Context, i int) error { return fn(i) })
	}}
	file, err := r.plan.openPart(r.ctx, r.section, r.part, &p.read)
	if err != nil {
		r.stats = p.read.Plus(r.stats)
		return nil, err
	}
	file.prepare(r.section.reread, r.section.inFiles)
	p.file, file.turns = file, p
	return p, nil
}

// close closes the part. It returns the figures since the part was passed on.
func (p *turnPart) close() Stats {
	p.file.Close() // counts bytes that were read ahead
	return p.read
}

// abandon closes a part that no reader will take, if there is one.
func abandon(from <-chan *turnPart) (read Stats) {
	select {
	case p := <-from:
		return p.close()
	default:
		return Stats{}
	}
}

// abandon closes the part that waits for the reader of the range, if there is one. The range may be
// nil.
func (r *rowRange) abandon() (read Stats) {
	if r == nil || r.turn == nil {
		return Stats{}
	}
	return abandon(r.turn.from)
}

// rowsOfTurn returns how many rows of a part a turn has, or 0 if the part is not read by turns. stored
// is the number of bytes in the columns of the query.
func (r *ranges) rowsOfTurn(p *Part, stored int64) int64 {
	query := &r.plan.query
	switch {
	case r.turnRows == 0, query.Where != "", query.Only != nil: // all rows of a turn are read
		return 0
	case r.plan.sections[r.section].inFiles < turnColumns, p.format == nil, keepsRows(p.format):
		return 0
	}
	rows := turnBytes / (stored/max(p.Rows, 1) + 1)
	return max(min(rows, r.turnRows)/leastTurn*leastTurn, leastTurn)
}

// addTurn makes a range a turn. last says that no range of the part follows.
func (r *ranges) addTurn(g *rowRange, last bool) {
	g.turn = &turn{from: r.nextTurn}
	r.nextTurn = nil
	if !last {
		next := make(chan *turnPart, 1)
		g.turn.to, r.nextTurn = next, next
	}
}

// endTurns closes the part of the next turn, if readers had it open.
func (r *ranges) endTurns() {
	r.stats = abandon(r.nextTurn).Plus(r.stats)
	r.nextTurn = nil
}

// takeTurn waits for the part of the range. The reader of the first range opens it.
func (r *matchReader) takeTurn(t *turn) (err error) {
	if t.from == nil {
		if r.held, err = r.openTurns(); err != nil {
			return err
		}
	} else {
		select {
		case r.held = <-t.from:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	r.file, r.rest, r.todo = r.held.file, r.todo, nil
	r.announce(r.rest)
	return nil
}

// passTurn passes the part of the range on, if the reader still has it. After the last range it
// closes the part.
func (r *matchReader) passTurn() {
	p := r.held
	if p == nil {
		return
	}
	r.held = nil
	to := r.rows.turn.to
	if to == nil {
		r.stats = p.close().Plus(r.stats)
		return
	}
	r.stats, p.read = p.read.Plus(r.stats), Stats{}
	to <- p
}

// bindCursors returns cursors at the start of a range in its part: own, or those that came with the
// part.
func bindCursors(own *cursors, file *queryPart) (*cursors, error) {
	p := file.turns
	if p == nil {
		return own, own.bind(file)
	}
	if p.cursors == nil {
		c := newCursors(own.all, own.numbers)
		if err := c.bind(file); err != nil {
			return nil, err
		}
		p.cursors = c
	}
	return p.cursors, nil
}
