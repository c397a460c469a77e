package mapper

import (
	"context"
	"fmt"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

const (
	// maxEmptyRows bounds the rows of one input block that may take no bytes:
	// their count is not bounded by the block's size.
	maxEmptyRows = 1 << 24
	// maxEmptyItems bounds the array items of one input block that take no bytes,
	// for the same reason.
	maxEmptyItems = 1 << 24
	// maxGroupRows ends a row group whatever its size; Java's signed
	// arithmetic sets it.
	maxGroupRows = 1 << 30
)

// task is the shredding goroutine's state.
type task struct {
	*workspace
	cfg      *Config
	sources  []Source
	emit     func(RowGroup) error
	shredder *shred.Shredder
	// trial walks a block before the shredder does when damaged blocks are to
	// be left out whole.
	trial  *shred.Shredder
	minRow int
	// resolver applies resolution, that of the source that is being shredded.
	resolver   *shred.Resolver
	resolution *shred.Resolution
	group      *group // nil between row groups
	groups     int    // emitted
	stats      Stats
	lostRows   int64
	given      Row         // to the sink
	undecoded  *inputBlock // that the shredder waited for when the context ended
	// sampled takes the place of the spill if the task is a sample: what each
	// column took.
	sampled []SampleColumn
}

func newTask(cfg *Config, sources []Source, emit func(RowGroup) error) *task {
	t := &task{
		workspace: cfg.Workspaces.take(cfg), cfg: cfg, sources: sources, emit: emit,
		minRow: cfg.Mapping.MinRowSize(),
	}
	t.shredder = shred.NewShredder(cfg.Mapping, t.bufs)
	if t.trialBufs != nil {
		t.trial = shred.NewShredder(cfg.Mapping, t.trialBufs)
	}
	return t
}

// openSink makes the shredder one that knows where the keys are for the sink.
func (t *task) openSink() (err error) {
	keys := t.cfg.RowSink.Keys()
	t.given.Keys = make([][]byte, len(keys))
	t.shredder, err = shred.NewKeyShredder(t.cfg.Mapping, t.bufs, keys)
	return err
}

// run maps the whole input, emits row groups but for the last, and returns
// that. By then it has left its memory to other tasks.
func (t *task) run(ctx context.Context) (*RowGroup, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := &input{
		sources: t.sources, cfg: t.cfg, pool: &t.pool, blocks: t.blocks, scanner: &t.scanner,
		order: make(chan *inputBlock, cap(t.pool.decode)),
	}
	t.pool.start(ctx)
	in.start(ctx)
	last, err := t.shred(in)
	cancel()
	in.done.Wait()
	t.pool.running.Wait()
	if t.undecoded != nil {
		t.blocks.giveBack(t.undecoded)
	}
	for b := range in.order { // what the shredder did not take
		t.blocks.giveBack(b)
	}
	t.stats.InvalidUTF8 = t.shredder.InvalidUTF8()
	if err != nil {
		t.blocks.abandon()
		t.workspace.close()
		if t.group != nil {
			_ = t.group.close() // what is left goes with the folder
		}
		return nil, err
	}
	t.cfg.Workspaces.giveBack(t.workspace)
	t.workspace = nil
	return last, nil
}

// shred shreds all input blocks and returns the last row group, if there is one
// that was not emitted.
func (t *task) shred(in *input) (*RowGroup, error) {
	for {
		b, ok := await(&t.pool, &t.pool.workers[0], in.order)
		if !ok {
			break
		}
		if _, ok = await(&t.pool, &t.pool.workers[0], b.ready); !ok {
			t.undecoded = b
			break
		}
		rows := t.stats.Rows
		err := b.err
		if b.src != nil {
			err = t.block(b, b.src.Source)
		}
		if err == nil && t.cfg.Progress != nil {
			t.cfg.Progress(t.stats.Rows-rows, b.lost.Len())
		}
		t.blocks.giveBack(b)
		if err != nil {
			return nil, err
		}
	}
	if err := context.Cause(t.pool.ctx); err != nil {
		return nil, err
	}
	if t.group == nil && t.groups > 0 {
		return nil, nil
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	g, err := t.finishGroup()
	return &g, err
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
	minRow := t.minRow
	if src.Resolution != nil {
		minRow = src.Resolution.MinRowSize()
	}
	if minRow > 0 {
		//guard: rows would be made until the bytes end, of a count that they contradict
		if most := int64(len(b.rows) / minRow); b.block.Rows > most {
			return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows of at least %d bytes, but holds %d bytes",
				b.block.Rows, minRow, len(b.rows))
		}
		return nil
	}
	//guard: a few bytes could claim rows without end
	if b.block.Rows > maxEmptyRows {
		return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows that may take no bytes; at most %d are taken",
			b.block.Rows, maxEmptyRows)
	}
	return nil
}

// walk shreds the rows of a block and checks that they fill it. Each row is
// reported to the task, unless that is nil.
func (t *task) walk(b *inputBlock, src Source, s *shred.Shredder, report *task) error {
	if by := src.Resolution; by != t.resolution {
		t.resolution, t.resolver = by, shred.NewResolver(by, t.cfg.blockLimit())
	}
	rest, empty := b.rows, s.EmptyItems()
	for row := range b.block.Rows {
		if report != nil {
			if err := report.open(); err != nil {
				return err
			}
		}
		datum, n, err := t.resolver.Shred(s, rest)
		if err != nil {
			err = locate(err, src, &b.block, row, len(b.rows)-len(rest))
			if refused := t.cfg.refusal(err); refused != nil {
				return refused
			}
			return err
		}
		//guard: a few bytes could claim items without end, a million in each row
		if s.EmptyItems()-empty > maxEmptyItems {
			return locate(damage.New(damage.Count, "", 0, "more than %d array items that take no bytes; no more are taken in a block", maxEmptyItems),
				src, &b.block, row, len(b.rows)-len(rest))
		}
		if report != nil {
			if err := report.row(datum); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	//guard: rows that the block does not count would be dropped
	if len(rest) > 0 {
		return damage.New(damage.Count, src.Name, b.block.Offset, "%d bytes left after the block's %d rows", len(rest), b.block.Rows)
	}
	return nil
}

// row accounts for a shredded row: blocks that are due are closed, and the row
// group is finished if it is full.
func (t *task) row(datum []byte) error {
	g := t.group
	if t.cfg.RowSink != nil {
		if err := t.sink(datum); err != nil {
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

// open makes sure that there is a row group.
func (t *task) open() (err error) {
	if t.group == nil {
		t.group, err = newGroup(t)
	}
	return err
}

// finishGroup closes all blocks and the row group, whose spill is then the
// caller's.
func (t *task) finishGroup() (RowGroup, error) {
	g := t.group
	outputs, err := g.finish()
	if err != nil {
		return RowGroup{}, fmt.Errorf("finish row group of %d rows: %w", g.rows, err)
	}
	t.group = nil
	return RowGroup{Rows: g.rows, Outputs: outputs, Spill: g.spill}, nil
}
