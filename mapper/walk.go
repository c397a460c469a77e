package mapper

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

const (
	// trialBytes is how much of a block a trial walk keeps, and forgets.
	trialBytes = 1 << 20
	// leastRow is the memory for rows that are resolved; larger ones get more.
	leastRow = 64 << 10
)

// block shreds one input block, or records its loss.
func (t *task) block(b *inputBlock, src Source) error {
	if b.err == nil {
		b.err = t.checkRows(b, src)
	}
	if b.err == nil && t.trial != nil {
		b.err = t.walk(b, src, t.trial, nil)
		t.trialBufs.Reset()
	}
	if b.err != nil {
		if _, damaged := b.err.(*damage.Error); b.final || !damaged || t.cfg.OnDamage == Fail {
			return b.err
		}
		return t.lose(src, b.lost, b.block.Rows, b.err)
	}
	t.stats.Bytes += b.lost.Len()
	return t.walk(b, src, t.shredder, t)
}

// walk shreds the rows of a block and checks that they fill it. Each row is
// reported to the task, unless that is nil.
func (t *task) walk(b *inputBlock, src Source, s *shred.Shredder, report *task) error {
	t.resolveBy(src.Resolution)
	defer t.shrinkRow()
	rest, empty, tried := b.rows, s.EmptyItems(), 0
	for row := range b.block.Rows {
		if report != nil {
			if err := report.open(); err != nil {
				return err
			}
		}
		datum, n, err := t.shredRow(s, rest)
		//guard: rows would be left out for want of memory, as if they were damaged
		if t.memory.err != nil {
			err = t.memory.err
		}
		if err != nil {
			return locate(err, src, &b.block, row, len(b.rows)-len(rest))
		}
		//guard: a few bytes could claim items without end, a million in each row
		if s.EmptyItems()-empty > maxEmptyItems {
			return locate(damage.New(damage.Count, "", 0, "more than %d array items that take no bytes; no more are taken in a block", maxEmptyItems),
				src, &b.block, row, len(b.rows)-len(rest))
		}
		if report != nil {
			var done *inputBlock
			if row == b.block.Rows-1 {
				done = b
			}
			if err := report.row(datum, done); err != nil {
				return err
			}
		} else if tried += len(datum); tried >= trialBytes {
			t.trialBufs.Reset()
			tried = 0
		}
		rest = rest[n:]
	}
	//guard: rows that the block does not count would be dropped
	if len(rest) > 0 {
		return damage.New(damage.Count, src.Name, b.block.Offset, "%d bytes left after the block's %d rows", len(rest), b.block.Rows)
	}
	return nil
}

// resolveBy makes rows resolved by a resolution; nil is none.
func (t *task) resolveBy(by *shred.Resolution) {
	if by == t.resolution {
		return
	}
	t.resolution, t.resolver = by, shred.NewResolver(by, t.cfg.MaxInputBlock)
	if by != nil {
		t.resolver.Within(t.resolved)
	}
}

// shredRow shreds a row, resolved if need be, for which it finds as much memory as
// the row needs.
func (t *task) shredRow(s *shred.Shredder, rows []byte) (datum []byte, n int, err error) {
	for {
		datum, n, err = t.resolver.Shred(s, rows)
		if err == nil || !errors.Is(err, shred.ErrRoom) {
			return datum, n, err
		}
		if err := t.growRow(); err != nil {
			return nil, 0, err
		}
	}
}

// growRow takes more memory for a resolved row.
func (t *task) growRow() error {
	had, most := max(len(t.resolved), leastRow/4), t.resolver.Room()
	t.memory.Give(t.resolved)
	t.resolved = nil
	more, err := t.memory.take(min(4*had, most))
	if err != nil {
		// Half of that may be there.
		more, err = t.memory.take(min(2*had, most))
	}
	if err != nil {
		return fmt.Errorf("it resolves to a row of more than %d bytes: %w", had, err)
	}
	t.resolved = more
	t.resolver.Within(more)
	return nil
}

// shrinkRow gives back what an unusually large row took.
func (t *task) shrinkRow() {
	if len(t.resolved) > leastRow {
		t.memory.Give(t.resolved)
		t.resolved = nil
		t.resolver.Within(nil)
	}
}

// row accounts for a shredded row: blocks that are due are closed, and the row
// group is finished if it is full. It may be the last of an input block, whose
// memory is then left to the column blocks.
func (t *task) row(datum []byte, last *inputBlock) error {
	g := t.group
	if t.cfg.RowSink != nil {
		if err := t.sink(datum); err != nil {
			return err
		}
	}
	if last != nil {
		last.releaseRows(&t.memory)
	}
	g.rows++
	t.stats.Rows++
	if due := t.bufs.Due(); len(due) > 0 {
		for _, col := range due {
			if err := g.closeBlock(col); err != nil {
				return err
			}
		}
		t.bufs.ClearDue()
	}
	full, err := g.full(len(datum))
	if err != nil || !full {
		return err
	}
	done, err := t.finishGroup()
	if err != nil {
		return err
	}
	t.groups++
	done.More = true
	return t.emit(done)
}

// sink gives the sink the row that was shredded last.
func (t *task) sink(datum []byte) error {
	r := &t.given
	r.Group, r.Number, r.Datum = t.groups, t.group.rows, datum
	for i := range r.Keys {
		from, to := t.shredder.Key(i)
		r.Keys[i] = datum[from:to]
	}
	return t.cfg.RowSink.Row(r)
}
