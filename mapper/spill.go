package mapper

import (
	"fmt"

	"github.com/rowtocol/rowtocol/column"
)

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
	if err := g.makeRoom(b); err != nil {
		return err
	}
	job, err := g.rg.Begin(col, &b.block)
	if err != nil {
		return err
	}
	e.begin(b, job)
	g.upper += g.rg.Bound(col, 0, 0)
	return nil
}

// makeRoom takes memory for what a block beyond the usual size is encoded to.
func (g *group) makeRoom(b *encodeBlock) (err error) {
	data, usual := len(b.block.Data), column.BlockMemory(g.t.cfg.BlockSize)
	if cap(b.block.Data) <= usual {
		return nil
	}
	b.large = true
	room := g.rg.Bound(b.col, data, len(b.block.Lengths))
	if b.stored, err = g.t.memory.take(int(room)); err != nil {
		return fmt.Errorf("column %s: values of %d bytes: %w", g.t.cfg.Mapping.Columns[b.col].Name, data, err)
	}
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
	g.t.encoders.release(b, &g.t.memory)
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
