package mapper

import "github.com/rowtocol/rowtocol/format/column"

// storeFirst waits for the block that was begun first, and spills it. If the group has
// failed, storeFirst returns the group's error: the failed block stays first, and is
// never ready again.
func (g *group) storeFirst() error {
	//guard: does not wait for a block that failed
	if g.err != nil {
		return g.err
	}
	b, err := g.t.encoders.first()
	if err != nil {
		return err
	}
	if err = b.err; err == nil {
		err = g.end(b)
	}
	if err != nil {
		return g.fail(err, &b.block)
	}
	g.t.encoders.release(b, &g.t.memory)
	return nil
}

// fail ends the group with the error of a column block. It returns the error with its
// place in the input.
func (g *group) fail(err error, b *column.Block) error {
	g.err = g.locate(err, b)
	return g.err
}

// end spills an encoded block.
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
	return g.err
}
