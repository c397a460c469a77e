package dataset

const (
	// turnColumns is the least number of columns that are read by turns, and turnBytes about how
	// many stored bytes a turn has. A turn has at least leastTurn rows. If its results are made of
	// rows, it has no more, so that the values stay in a processor's cache.
	turnColumns = 128
	turnBytes   = 8 << 20
	leastTurn   = 64
	// loadedBytes is the most memory for values of a turn that a reader of rows copies from blocks.
	loadedBytes = 4 << 20
)

// A turn is a range of a part with many columns, whose blocks have the rows of many ranges. Readers
// with columns of their own would each decode all blocks, and pass over the rows of the others. So
// they use the same columns by turns, in row order. A reader takes the values of its rows out of the
// blocks, passes the columns on, and then makes results of the values. Other readers that have nothing
// to do help it with some of the columns.
type turn struct {
	from <-chan *sharedPart // the part as the reader of the range before left it; nil for the first range
	to   chan<- *sharedPart // the same for the range after; nil for the last one
}

// sharedPart is an open part that readers use by turns.
type sharedPart struct {
	file    *queryPart
	cursors *cursors // before the next range; nil before the first range
	read    Stats    // figures since the part was passed on
}

// close closes the part. It returns the figures since the part was passed on.
func (p *sharedPart) close() Stats {
	p.file.Close() // counts bytes that were read ahead
	return p.read
}

// abandon closes a part that no reader will take, if there is one.
func abandon(from <-chan *sharedPart) (read Stats) {
	select {
	case p := <-from:
		return p.close()
	default:
		return Stats{}
	}
}

// rowsOfTurn returns how many rows of a part a turn has, or 0 if the part is not read by turns. stored
// is the number of bytes in the columns of the query.
func (r *ranges) rowsOfTurn(p *Part, stored int64) int64 {
	query := &r.plan.query
	if r.turnRows == 0 || query.Where != "" || query.Only != nil || r.plan.sections[r.section].inFiles < turnColumns || p.format == nil || keepsRows(p.format) {
		return 0
	}
	rows := turnBytes / (stored/max(p.Rows, 1) + 1)
	return max(min(rows, r.turnRows)/leastTurn*leastTurn, leastTurn)
}

// addTurn makes a range a turn. last says that no range of the part follows.
func (r *ranges) addTurn(g *rowRange, last bool) {
	g.turn = &turn{from: r.turns}
	r.turns = nil
	if !last {
		next := make(chan *sharedPart, 1)
		g.turn.to, r.turns = next, next
	}
}

// endTurns closes the part of the next turn, if readers had it open.
func (r *ranges) endTurns() {
	r.stats = abandon(r.turns).Plus(r.stats)
	r.turns = nil
}

// takeTurn waits for the part of the range. The reader of the first range opens it.
func (r *matchReader) takeTurn(t *turn) (err error) {
	if t.from == nil {
		opened := new(sharedPart)
		if opened.file, err = r.plan.dataset.openPart(r.ctx, r.section.section, r.part, true, &opened.read); err != nil {
			return err
		}
		opened.file.prepare(r.section.reread, r.section.inFiles)
		r.shared = opened
	} else {
		select {
		case r.shared = <-t.from:
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	r.file, r.borrowed, r.rest, r.todo = r.shared.file, true, r.todo, nil
	return nil
}

// bindCursors returns cursors at the start of the range in a part: own, unless the part is used by
// turns.
func (r *matchReader) bindCursors(own *cursors, file *queryPart) (*cursors, error) {
	switch {
	case r.shared == nil:
		return own, own.bind(file)
	case r.shared.cursors == nil:
		r.shared.cursors = newCursors(own.all, own.numbers)
		return r.shared.cursors, r.shared.cursors.bind(file)
	}
	return r.shared.cursors, nil
}

// passTurn passes the part of the range on, if the reader still has it. After the last range it
// closes the part.
func (r *matchReader) passTurn() {
	p := r.shared
	if p == nil {
		return
	}
	r.shared = nil
	to := r.rows.turn.to
	if to == nil {
		r.stats = p.close().Plus(r.stats)
		return
	}
	r.stats, p.read = p.read.Plus(r.stats), Stats{}
	to <- p
}
