package mapper

import (
	"context"
	"fmt"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

const (
	// maxEmptyRows bounds the rows of one input block that may take no bytes:
	// their count is not bounded by the block's size.
	maxEmptyRows = 1 << 24
	// maxGroupRows ends a row group whatever its size; Java's signed
	// arithmetic sets it.
	maxGroupRows = 1 << 30
)

// task is the shredding goroutine's state.
type task struct {
	ctx      context.Context
	cfg      Config
	emit     func(RowGroup) error
	bufs     *column.Buffers
	shredder *shred.Shredder
	// trial walks a block before the shredder does when damaged blocks are to
	// be left out whole; trialBufs take what it makes and are thrown away.
	trial     *shred.Shredder
	trialBufs *column.Buffers
	minRow    int
	encoders  *encoders
	group     *group
	emitted   bool
	stats     Stats
	lostRows  int64
}

func newTask(ctx context.Context, cfg Config, emit func(RowGroup) error) (*task, error) {
	t := &task{ctx: ctx, cfg: cfg, emit: emit, minRow: cfg.Mapping.MinRowSize()}
	t.bufs = column.NewBuffers(cfg.Mapping.Columns, cfg.Format.Layout(), cfg.BlockSize)
	t.shredder = shred.NewShredder(cfg.Mapping, t.bufs)
	if cfg.OnDamage != Fail {
		t.trialBufs = column.NewBuffers(cfg.Mapping.Columns, cfg.Format.Layout(), cfg.BlockSize)
		t.trial = shred.NewShredder(cfg.Mapping, t.trialBufs)
	}
	var err error
	if t.group, err = newGroup(t); err != nil {
		return nil, err
	}
	t.encoders = startEncoders(cfg.Workers)
	return t, nil
}

// run shreds all input blocks and emits the row groups.
func (t *task) run(in *input, sources []Source) error {
	for b := range in.order {
		select {
		case <-b.ready:
		case <-t.ctx.Done():
			return context.Cause(t.ctx)
		}
		rows := t.stats.Rows
		if err := t.block(b, sources[b.source]); err != nil {
			return err
		}
		if t.cfg.Progress != nil {
			t.cfg.Progress(t.stats.Rows-rows, b.lost.Len())
		}
		in.recycle(b)
	}
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	if t.group.rows > 0 || !t.emitted {
		return t.finishGroup()
	}
	return nil
}

// close stops the encoders and removes the spill of an unfinished row group.
func (t *task) close() error {
	t.encoders.stop()
	t.stats.InvalidUTF8 = t.shredder.InvalidUTF8()
	return t.group.close()
}

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

// checkRows refuses a block that cannot hold as many rows as it says.
func (t *task) checkRows(b *inputBlock, src Source) error {
	if b.block.Rows == 0 {
		return nil
	}
	if t.minRow > 0 {
		if most := int64(len(b.rows) / t.minRow); b.block.Rows > most {
			return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows of at least %d bytes, but holds %d bytes",
				b.block.Rows, t.minRow, len(b.rows))
		}
		return nil
	}
	if b.block.Rows > maxEmptyRows {
		return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows that may take no bytes; at most %d are taken",
			b.block.Rows, maxEmptyRows)
	}
	return nil
}

// walk shreds the rows of a block and checks that they fill it. Each row is
// reported to the task, unless that is nil.
func (t *task) walk(b *inputBlock, src Source, s *shred.Shredder, report *task) error {
	rest := b.rows
	for row := range b.block.Rows {
		n, err := s.Row(rest)
		if err != nil {
			return locate(err, src, &b.block, row, len(b.rows)-len(rest))
		}
		if report != nil {
			if err := report.row(rest[:n]); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return damage.New(damage.Count, src.Name, b.block.Offset, "%d bytes left after the block's %d rows", len(rest), b.block.Rows)
	}
	return nil
}

// row accounts for a shredded row: blocks that are due are closed, and the row
// group is finished if it is full.
func (t *task) row(datum []byte) error {
	g := t.group
	if g.sink != nil {
		if err := g.sink.Row(g.rows, datum); err != nil {
			return err
		}
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
	return t.finishGroup()
}

// finishGroup closes all blocks, emits the row group and starts the next.
func (t *task) finishGroup() error {
	g := t.group
	outputs, err := g.finish()
	if err != nil {
		return fmt.Errorf("finish row group of %d rows: %w", g.rows, err)
	}
	done := RowGroup{Rows: g.rows, Outputs: outputs, Spill: g.spill}
	g.spill = nil
	t.emitted = true
	if err := t.emit(done); err != nil {
		return err
	}
	if t.group, err = newGroup(t); err != nil {
		t.group = g
	}
	return err
}
