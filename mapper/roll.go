package mapper

import "github.com/rowtocol/rowtocol/format/column"

// maxGroupRows is the number of rows and items without bytes at which a row group of any
// size ends. Every reader accepts a file with so many (see damage.Growth). The last row
// may add 1<<20 items.
const maxGroupRows = 1<<28 - 1<<20

// row accounts for a shredded row. It closes the blocks that are due, and finishes a
// full row group. If the row is the last one of its input block, last is that block,
// whose memory is then free for column blocks.
func (t *task) row(datum []byte, last *inputBlock) error {
	if t.whole != nil {
		return t.wholeRow(datum, last)
	}
	g := t.group
	if t.cfg.RowSink != nil {
		if err := t.sink(datum); err != nil {
			return g.locate(err, &column.Block{FirstRow: g.rows, Rows: 1})
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
	return t.emitGroup()
}

// emitGroup finishes and emits a row group that is not the last one.
func (t *task) emitGroup() error {
	done, err := t.finishGroup()
	if err != nil {
		return err
	}
	t.groups++
	done.More = true
	return t.emit(done)
}

// size returns an upper bound of the outputs: the size of stored blocks, and the
// format's bound for blocks that are open or being encoded.
func (g *group) size() int64 {
	size := g.rg.Size()
	for _, b := range g.t.encoders.begun() {
		size += g.rg.Bound(b.col, b.block.Rows, len(b.block.Data), len(b.block.Lengths))
	}
	for i := range g.t.bufs.Cols {
		data, lengths := g.t.bufs.Cols[i].Size()
		size += g.rg.Bound(i, g.rows-g.t.bufs.Cols[i].FirstRow(), data, lengths)
	}
	return size
}

// full reports, after a row of rowBytes, whether the row group is full. Before it decides,
// all closed blocks are encoded, so the decision depends only on the rows. Two cheap tests
// first find most row groups that are not full.
func (g *group) full(rowBytes int) (bool, error) {
	//guard: bounds the rows of a row group
	if g.spill != nil && g.rows+g.t.shredder.EmptyItems()-g.empty >= maxGroupRows {
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
