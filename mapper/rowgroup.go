package mapper

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/spill"
)

// group is the open row group.
type group struct {
	t     *task
	rg    format.RowGroup // nil if the format keeps rows whole
	whole format.Rows     // nil if the format keeps columns
	spill *spill.Spill    // nil if the row group is a sample
	rows  int64
	err   error // error of a column block, which ends the row group
	empty int64 // number of items without bytes before the row group
	// upper is an upper bound of the bytes of the outputs if the row group ended
	// now. Each row adds to upper. When upper passes RowGroupSize, full computes it
	// from the blocks.
	upper int64
	// perRow and perByte bound the bytes of outputs for each row, and for each byte of a row.
	// If perByte is 0, there is no bound.
	perRow, perByte int64
	// origins say where the rows come from, for errors about values that the format
	// cannot hold.
	origins []origin
	fewest  int // twice the number of origins that remained after some were dropped
	// gaps is set if rows of a source do not follow each other, in a Feed.
	gaps bool
}

func newGroup(t *task) (g *group, err error) {
	if t.openErr != nil {
		return nil, t.openErr
	}
	cols := t.cfg.Mapping.Columns
	g = &group{t: t, empty: t.shredder.EmptyItems()}
	for i := range cols {
		t.bufs.Cols[i].Start(0)
	}
	switch w := t.cfg.Writer.(type) {
	case format.RowWriter:
		g.whole, err = w.NewRows(t.cfg.Mapping.Schema.JSON())
	case format.ColumnWriter:
		if g.rg, err = w.NewRowGroup(t.cfg.Mapping.Schema.JSON(), cols, t.cfg.BlockSize); err != nil {
			break
		}
		if perRow, perByte, ok := t.shredder.Growth(); ok {
			g.perRow, g.perByte = int64(perRow)*g.rg.Growth(), int64(perByte)*g.rg.Growth()
		}
		g.upper = g.size()
	}
	if err != nil {
		return nil, err
	}
	if t.sampled != nil {
		return g, nil
	}
	spilled := len(cols)
	if g.whole != nil {
		spilled = 1 // the sorted output is the only column
		t.sorter.Start(t.cfg.Spill, t.cfg.SpillOptions)
	}
	if g.spill, err = t.cfg.Spill.New(spilled, t.cfg.SpillOptions); err != nil {
		return nil, err
	}
	return g, nil
}

// cause returns the error of the row group if the row group failed, and otherwise err.
// After such a failure, requests for memory fail with errors that do not name the cause.
func (t *task) cause(err error) error {
	if t.group != nil && t.group.err != nil {
		return t.group.err
	}
	return err
}

// close removes the spills of a row group that was not finished.
func (g *group) close() (err error) {
	if g.whole != nil {
		err = g.t.sorter.Reset()
	}
	return errors.Join(err, g.spill.Close())
}

// finish closes the open blocks and returns the outputs.
func (g *group) finish() ([]format.Output, error) {
	if g.whole != nil {
		return g.finishRows()
	}
	if err := g.closeAll(); err != nil {
		return nil, err
	}
	if g.t.sampled != nil {
		return nil, nil
	}
	outputs, err := g.rg.Finish(g.rows)
	if err != nil {
		return nil, fmt.Errorf("finish row group of %d rows: %w", g.rows, err)
	}
	return outputs, nil
}

// closeAll closes the open blocks of all columns, and stores them.
func (g *group) closeAll() error {
	for col := range g.t.bufs.Cols {
		if g.t.bufs.Cols[col].FirstRow() == g.rows {
			continue
		}
		if err := g.closeBlock(col); err != nil {
			return err
		}
	}
	g.t.bufs.ClearDue()
	return g.storeAll()
}
