package mapper

import (
	"context"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Feed maps rows that the caller gives one after another, in place of sources. It makes
// the same row groups as Run does of the same rows. It belongs to one goroutine.
type Feed struct {
	t      *task
	cancel context.CancelFunc
	next   Place // of a row that follows the last one in its source
}

// Place says where a row comes from, for errors.
type Place struct {
	Source string
	Row    int64 // number of the row in the source, from 0
}

// NewFeed returns a Feed that calls emit with each row group, in order. The caller closes
// the Feed, and the spills that emit gets. MaxInputBlock, OnDamage, Quarantine,
// MaxLostRows, Helpers, MaxOpen, Workspaces, RowSink and Progress of the configuration have no
// meaning for a Feed.
func NewFeed(ctx context.Context, cfg Config, emit func(RowGroup) error) (*Feed, error) {
	cfg.OnDamage, cfg.Workspaces, cfg.RowSink = Fail, new(Workspaces), nil
	t := newTask(&cfg, nil, emit)
	if err := t.openShredder(); err != nil {
		t.workspace.close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	t.memory.ctx = ctx
	t.workers.start(ctx, nil)
	return &Feed{t: t, cancel: cancel}, nil
}

// Write adds a row, which is one datum of the mapping's schema. It does not keep datum.
// An error of a value names its source, row and field. It may be the error of an earlier
// row. After an error only Close is useful.
func (f *Feed) Write(datum []byte, at Place) error {
	t := f.t
	if err := t.open(); err != nil {
		return err
	}
	if g := t.group; g.rows == 0 || at != f.next {
		g.gaps = g.gaps || g.rows > 0 && at.Source == f.next.Source
		g.enter(at.Source, -1, at.Row)
	}
	f.next = Place{at.Source, at.Row + 1}
	n, err := t.shredder.Row(datum)
	//guard: reports missing memory, not damage
	if t.memory.err != nil {
		err = t.memory.err
	}
	//guard: rejects bytes after a row
	if err == nil && n < len(datum) {
		err = damage.New(damage.Trailing, "", -1, "%d bytes after the row", len(datum)-n)
	}
	if d, ok := err.(*damage.Error); ok {
		d.File, d.Offset, d.Row = at.Source, -1, at.Row
	}
	if err == nil {
		err = t.row(datum, nil)
	}
	if err != nil {
		return t.cause(err)
	}
	return nil
}

// Finish emits the last row group. Without rows, it emits one row group without rows.
func (f *Feed) Finish() error {
	t := f.t
	if t.group == nil && t.groups > 0 {
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	g, err := t.finishGroup()
	if err != nil {
		return t.cause(err)
	}
	t.groups++
	return t.emit(g)
}

// Close ends the goroutines, and releases the memory and the spill of an unfinished row
// group.
func (f *Feed) Close() error {
	f.cancel()
	f.t.workers.running.Wait()
	f.t.workspace.close()
	if f.t.group != nil {
		return f.t.group.close()
	}
	return nil
}
