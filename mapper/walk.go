package mapper

import (
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	// walkStep is the number of bytes of rows after which a walk reports progress, and a
	// trial walk resets its buffers.
	walkStep = 1 << 20
	// rowWeight is the number of bytes by which walkStep counts a row in addition to its
	// own bytes, because a row may have no bytes.
	rowWeight = 16
)

// block shreds one input block, or records its loss.
func (t *task) block(b *inputBlock, src Source) error {
	if b.err == nil {
		b.err = t.checkRows(b, src)
	}
	if b.err == nil {
		if err := t.grow(b, src); err != nil {
			return err
		}
	}
	if b.err == nil && t.trial != nil {
		b.err = t.walk(b, src, t.trial)
		t.trialBufs.Reset()
	}
	if b.err != nil {
		if _, damaged := b.err.(*damage.Error); b.final || !damaged || t.cfg.OnDamage == Fail {
			return b.err
		}
		return t.recordLoss(src, b.lost, b.block.Rows, b.err)
	}
	items := t.shredder.EmptyItems()
	err := t.walk(b, src, t.shredder)
	t.growth.Rows += t.shredder.EmptyItems() - items
	return err
}

// grow adds a block to the growth of its source. The error ends the task, even if damage
// is allowed.
func (t *task) grow(b *inputBlock, src Source) error {
	if t.growing != src.Name {
		t.growing, t.growth = src.Name, damage.Growth{}
	}
	t.growth.Stored += b.lost.Len()
	t.growth.Bytes += int64(len(b.rows))
	t.growth.Rows += b.block.Rows
	return t.growth.Check(src.Name, b.block.Offset)
}

// walk shreds the rows of a block with s, and checks that they fill the block. Unless s
// is the trial shredder, walk adds the rows to the row group.
func (t *task) walk(b *inputBlock, src Source, s *shred.Shredder) error {
	trial := s == t.trial
	t.resolveBy(src.Resolution)
	defer t.shrinkRow()
	defer func() {
		//guard: counts inexact values once
		if inexact := t.resolver.TakeInexact(); !trial {
			t.stats.Inexact = t.stats.Inexact.Plus(inexact)
		}
	}()
	b.progress.begin(!trial)
	rest, empty, walked := b.rows, s.EmptyItems(), 0
	for row := range b.block.Rows {
		if !trial {
			if err := t.open(); err != nil {
				return err
			}
			if row == 0 || t.group.rows == 0 {
				t.group.enter(src.Name, b.block.Offset, row)
			}
		}
		datum, n, err := t.shredRow(s, rest)
		//guard: reports missing memory, not damage
		if t.memory.err != nil {
			err = t.memory.err
		}
		if err != nil {
			return locate(err, src, &b.block, row, len(b.rows)-len(rest))
		}
		//guard: bounds the items without bytes
		if s.EmptyItems()-empty > maxEmptyItems {
			return locate(damage.New(damage.Count, "", 0, "more than %d array items that take no bytes, the limit for a block", maxEmptyItems),
				src, &b.block, row, len(b.rows)-len(rest))
		}
		if !trial {
			var done *inputBlock
			if row == b.block.Rows-1 {
				done = b
			}
			if err := t.row(datum, done); err != nil {
				return err
			}
		}
		rest = rest[n:]
		if walked += max(n, len(datum)) + rowWeight; walked >= walkStep {
			walked = 0
			t.walked(b, row+1)
			if trial {
				t.trialBufs.Reset()
			}
		}
	}
	//guard: rejects rows that the block does not count
	if len(rest) > 0 {
		return damage.New(damage.Count, src.Name, b.block.Offset, "%d bytes left after the block's %d rows", len(rest), b.block.Rows)
	}
	return nil
}

// sink passes the last shredded row to the sink.
func (t *task) sink() error {
	r := &t.given
	r.Group, r.Number = t.groups, t.group.rows
	for i := range r.Keys {
		r.Keys[i] = t.shredder.Key(i)
	}
	return t.cfg.RowSink.Row(r)
}
