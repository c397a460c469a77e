package mapper

import (
	"context"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// task is the state of the shredder's goroutine.
type task struct {
	*workspace
	cfg      *Config
	sources  []Source
	emit     func(RowGroup) error
	shredder *shred.Shredder
	// trial, if damaged blocks are left out as a whole, walks each block before
	// shredder does.
	trial  *shred.Shredder
	minRow int
	// resolver applies resolution, the resolution of the current source, in the memory
	// of resolved.
	resolver     *shred.Resolver
	resolution   *shred.Resolution
	resolved     []byte
	group        *group // nil between row groups
	groups       int    // number of row groups that were emitted
	stats        Stats
	reportedRows int64 // number of rows that Progress was called with
	lostRows     int64
	growth       damage.Growth // growth of the current source
	growing      string        // name of the current source
	given        Row           // the row that the sink gets
	ascending    *ascending    // nil if rows may have any order
	whole        *wholeRows    // nil if the format takes columns
	openErr      error         // why no row group can be begun
	invalid      column.InvalidText
	undecoded    *inputBlock // the block that the shredder waited for when the context ended
	// sampled, if the task is a sample, replaces the spill: it has the sizes of each
	// column.
	sampled []SampleColumn
}

func newTask(cfg *Config, sources []Source, emit func(RowGroup) error) *task {
	t := &task{
		workspace: cfg.Workspaces.take(cfg), cfg: cfg, sources: sources, emit: emit,
		minRow: cfg.Mapping.MinRowSize(),
	}
	t.memory.flush, t.memory.err = t.flush, nil
	t.shredder = shred.NewShredder(cfg.Mapping, t.bufs)
	if w, ok := cfg.Writer.(format.RowWriter); ok {
		t.openErr = t.openRows(w)
	}
	if t.trialBufs != nil {
		t.trial = shred.NewShredder(cfg.Mapping, t.trialBufs)
	}
	return t
}

// openShredder makes a shredder that finds the keys for the sink, and the fields by which rows must
// be sorted, and handles strings that are not UTF-8 as the format requires. Rows with such strings
// are not damaged, so the trial walk does not refuse them.
func (t *task) openShredder() (err error) {
	var keys []string
	if t.cfg.RowSink != nil {
		keys = t.cfg.RowSink.Keys()
		t.given.Keys = make([][]byte, len(keys))
	}
	if w, ok := t.cfg.Writer.(format.SortedWriter); ok && len(w.SortedBy()) > 0 {
		if t.ascending, err = newAscending(t.cfg.Mapping.Schema, w.SortedBy(), len(keys)); err != nil {
			return err
		}
		keys = append(slices.Clip(keys), w.SortedBy()...)
	}
	if len(keys) > 0 {
		if t.shredder, err = shred.NewKeyShredder(t.cfg.Mapping, t.bufs, keys); err != nil {
			return err
		}
	}
	if w, ok := t.cfg.Writer.(format.ColumnWriter); ok {
		t.invalid = w.InvalidText()
		t.shredder.SetInvalid(t.invalid)
	}
	return nil
}

// run maps the whole input and emits its row groups. It leaves its memory to other tasks
// before it emits the last row group.
func (t *task) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	in := &reader{
		sources: t.sources, cfg: t.cfg, workers: &t.workers, blocks: t.blocks, memory: &t.memory, scanner: &t.scanner,
		order: make(chan *inputBlock, cap(t.workers.decode)), resume: make(chan struct{}, 1),
	}
	if t.cfg.MaxOpen > 0 {
		in.open = make(chan struct{}, t.cfg.MaxOpen)
	}
	t.memory.ctx = ctx
	t.workers.start(ctx, t.cfg.Helpers)
	in.start(ctx)
	last, err := t.shred(in)
	cancel()
	in.done.Wait()
	t.workers.running.Wait()
	if t.undecoded != nil {
		t.blocks.release(t.undecoded)
	}
	for b := range in.order { // blocks that the shredder did not get
		t.blocks.release(b)
	}
	if n := t.shredder.InvalidUTF8(); t.invalid == column.ReplaceInvalid {
		t.stats.Inexact.Strings = n
	} else {
		t.stats.InvalidUTF8 = n
	}
	if err != nil {
		t.workspace.close()
		if t.group != nil {
			_ = t.group.close() // the folder removes its files in any case
		}
		return err
	}
	t.memory.Give(t.resolved)
	t.cfg.Workspaces.release(t.workspace)
	t.workspace = nil
	if last == nil {
		return nil
	}
	return t.emit(*last)
}

// shred shreds all input blocks. It returns the last row group, or nil if all row
// groups were emitted.
func (t *task) shred(in *reader) (*RowGroup, error) {
	for {
		b, ok := helpUntil(&t.workers, &t.workers.states[0], in.order)
		if !ok {
			break
		}
		if _, ok = helpUntil(&t.workers, &t.workers.states[0], b.ready); !ok {
			t.undecoded = b
			break
		}
		err := t.take(in, b)
		t.blocks.release(b)
		if err != nil {
			return nil, t.cause(err)
		}
	}
	if err := context.Cause(t.workers.ctx); err != nil {
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

// take shreds a block that is ready. If there was no memory for the block before, take
// reads and decodes it first.
func (t *task) take(in *reader, b *inputBlock) error {
	if b.unread {
		if err := in.readNow(t.memory.ctx, b); err != nil {
			return err
		}
		if b.err == nil {
			in.decodeAhead(b, &t.workers.states[0], &b.src.Source)
		}
	}
	if b.need > 0 {
		if err := t.decodeNow(b, &b.src.Source); err != nil {
			return err
		}
	}
	err := b.err
	if b.src != nil {
		err = t.block(b, b.src.Source)
	}
	if err == nil && t.cfg.Progress != nil {
		t.cfg.Progress(t.unreportedRows(), b.lost.Len()-b.progress.reported)
	}
	return err
}

// open begins a row group if none is open.
func (t *task) open() (err error) {
	if t.group == nil {
		t.group, err = newGroup(t)
	}
	return err
}

// flush ends the encoding of all blocks that were closed.
func (t *task) flush() error {
	if t.group == nil {
		return nil
	}
	return t.group.storeAll()
}

// finishGroup closes all blocks and the row group. The caller closes the row group's
// spill.
func (t *task) finishGroup() (RowGroup, error) {
	g := t.group
	outputs, err := g.finish()
	if err != nil {
		return RowGroup{}, err
	}
	t.group = nil
	return RowGroup{Rows: g.rows, Outputs: outputs, Spill: g.spill}, nil
}
