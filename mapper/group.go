package mapper

import (
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
)

// group is the open row group.
type group struct {
	t     *task
	rg    format.RowGroup
	spill *spill.Spill // nil if the row group is a sample
	rows  int64
	// upper is never less than what the outputs would take if the row group
	// ended now. It is kept with an addition per row, and made exact only
	// when it passes the ceiling.
	upper int64
	// perByte is the most bytes of outputs per byte of row; 0 is no bound.
	perByte int64
}

func newGroup(t *task) (*group, error) {
	cols := t.cfg.Mapping.Columns
	rg, err := t.cfg.Writer.NewRowGroup(t.cfg.Mapping.Schema.JSON(), cols)
	if err != nil {
		return nil, err
	}
	g := &group{t: t, rg: rg}
	if factor, ok := t.shredder.Growth(); ok {
		g.perByte = int64(factor) * format.MaxGrowth
	}
	for i := range cols {
		t.bufs.Cols[i].Start(0)
	}
	g.upper = g.size()
	if t.sampled != nil {
		return g, nil
	}
	if g.spill, err = t.cfg.Spill.New(len(cols), t.cfg.SpillOptions); err != nil {
		return nil, err
	}
	return g, nil
}

// close removes the spill of a row group that was not finished.
func (g *group) close() error { return g.spill.Close() }

// size is an upper bound of the outputs: exact for what is stored, the
// format's bound for blocks that are being encoded and for open ones.
func (g *group) size() int64 {
	size := g.rg.Size()
	for _, b := range g.t.encoders.begun() {
		size += g.rg.Bound(b.col, len(b.block.Data), len(b.block.Lengths))
	}
	for i := range g.t.bufs.Cols {
		data, lengths := g.t.bufs.Cols[i].Size()
		size += g.rg.Bound(i, data, lengths)
	}
	return size
}

// full decides, after a row of so many bytes, whether the row group is over.
// The decision is taken with every closed block encoded, so it depends on the
// rows alone; the two tests before it only find out when it would be "no".
func (g *group) full(rowBytes int) (bool, error) {
	if g.rows >= maxGroupRows {
		return true, nil
	}
	g.upper += int64(rowBytes) * g.perByte
	if g.perByte > 0 && g.upper <= g.t.cfg.RowGroupSize {
		return false, nil
	}
	if g.upper = g.size(); g.upper <= g.t.cfg.RowGroupSize {
		return false, nil
	}
	if err := g.storeAll(); err != nil {
		return false, err
	}
	g.upper = g.size()
	return g.upper > g.t.cfg.RowGroupSize, nil
}

// closeBlock hands the open block of a column to the encoders.
func (g *group) closeBlock(col int) error {
	e := g.t.encoders
	for !e.hasRoom() || e.firstReady() {
		if err := g.storeFirst(); err != nil {
			return err
		}
	}
	b := e.take(col)
	g.t.bufs.Cols[col].Finish(g.rows, &b.block)
	job, err := g.rg.Begin(col, &b.block)
	if err != nil {
		return err
	}
	e.begin(b, job)
	g.upper += g.rg.Bound(col, 0, 0)
	return nil
}

// storeFirst waits for the block that was begun first and spills it.
func (g *group) storeFirst() error {
	b, err := g.t.encoders.first()
	if err == nil {
		err = b.err
	}
	if err != nil {
		return err
	}
	err = g.end(b)
	g.t.encoders.release(b)
	return err
}

// end takes an encoded block.
func (g *group) end(b *encodeBlock) error {
	if g.t.sampled != nil {
		return g.measure(b)
	}
	if err := g.spill.Append(b.col, b.stored); err != nil {
		return err
	}
	return g.rg.End(b.col, b.job, len(b.stored))
}

// storeAll spills all begun blocks.
func (g *group) storeAll() error {
	for len(g.t.encoders.begun()) > 0 {
		if err := g.storeFirst(); err != nil {
			return err
		}
	}
	return nil
}

// finish closes what is open and returns the outputs.
func (g *group) finish() ([]format.Output, error) {
	for col := range g.t.bufs.Cols {
		if g.t.bufs.Cols[col].FirstRow() == g.rows {
			continue
		}
		if err := g.closeBlock(col); err != nil {
			return nil, err
		}
	}
	g.t.bufs.ClearDue()
	if err := g.storeAll(); err != nil {
		return nil, err
	}
	return g.rg.Finish(g.rows)
}
