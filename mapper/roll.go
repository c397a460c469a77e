package mapper

import (
	"errors"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// maxGroupRows bounds the rows of a row group. If the format takes columns, array items
// without bytes count as rows. At this number the row group ends, even if it is smaller
// than RowGroupSize. Every reader of this program accepts a file with that many (see
// damage.Growth). The last row may add 1<<20 items. A sample has no such bound.
const maxGroupRows = 1<<28 - 1<<20

// row accounts for a row, and passes it to the RowSink. It closes the blocks that are due,
// and finishes a full row group. Formats of whole rows use wholeRow instead. last is the
// row's input block if the row is the final one in it, otherwise nil. row releases the
// memory of last, so that column blocks can use it.
func (t *task) row(datum []byte, last *inputBlock) error {
	if t.whole != nil {
		return t.wholeRow(datum, last)
	}
	g := t.group
	if t.ascending != nil {
		if err := t.ascending.check(t.shredder, g.rows == 0); err != nil {
			return g.locateRow(err)
		}
	}
	if t.cfg.RowSink != nil {
		if err := t.sink(); err != nil {
			return g.locateRow(err)
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

// locateRow adds the place in the input to an error about the last row.
func (g *group) locateRow(err error) error {
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		d.Row = g.rows
	}
	return g.locate(err, &column.Block{FirstRow: g.rows, Rows: 1})
}

// emitGroup finishes and emits a full row group. It sets More, because further rows may
// follow.
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

// openSize returns the bound of what the values and levels of open blocks add to size. No block may
// be in the encoders.
func (g *group) openSize() int64 {
	n := g.size() - g.rg.Size()
	for i := range g.t.bufs.Cols {
		n -= g.rg.Bound(i, 0, 0, 0)
	}
	return n
}

// GoesOn reports whether a row group that has reached its ceiling goes on instead of ending. It then
// closes its open blocks, and has the room that encoding them saves. open is the bound of what the
// open blocks add to the size of the row group. The row group goes on if open is more than an eighth
// of the ceiling, and if the blocks have on average more than a sixteenth of blockSize.
func GoesOn(open, ceiling int64, columns, blockSize int) bool {
	return open > max(ceiling/8, int64(columns)*int64(blockSize)/16)
}

// full reports, after a row of rowBytes, whether the row group is full. Cheap tests
// come first: the bound of rows, and two that recognize most row groups that are not full.
// Otherwise full encodes all closed blocks before it decides, so that the decision depends
// only on the rows.
func (g *group) full(rowBytes int) (bool, error) {
	//guard: bounds the rows of a row group
	if most := g.t.cfg.RowGroupRows; most > 0 && g.rows >= most {
		return true, nil
	}
	//guard: bounds the rows of a row group, and their items without bytes
	if g.spill != nil && g.rows+g.t.shredder.EmptyItems()-g.empty >= maxGroupRows {
		return true, nil
	}
	ceiling := g.t.cfg.RowGroupSize
	g.upper += g.perRow + int64(rowBytes)*g.perByte
	if g.perByte > 0 && g.upper <= ceiling {
		return false, nil
	}
	if g.upper = g.size(); g.upper <= ceiling {
		return false, nil
	}
	if err := g.storeAll(); err != nil {
		return false, err
	}
	if g.upper = g.size(); g.upper > ceiling && GoesOn(g.openSize(), ceiling, len(g.t.bufs.Cols), g.t.cfg.BlockSize) {
		if err := g.closeAll(); err != nil {
			return false, err
		}
		g.upper = g.size()
	}
	return g.upper > ceiling, nil
}
