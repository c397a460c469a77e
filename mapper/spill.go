package mapper

// storeFirst waits for the block that was begun first and spills it.
func (g *group) storeFirst() error {
	b, err := g.t.encoders.first()
	if err != nil {
		return err
	}
	if err = b.err; err == nil {
		err = g.end(b)
	}
	if err != nil {
		return g.locate(err, &b.block)
	}
	g.t.encoders.release(b, &g.t.memory)
	return nil
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
