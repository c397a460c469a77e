package mapper

// blockProgress is how much of a block was told as progress. A large block counts while it
// is worked on: the passes over it (to decompress it, to count what it decompresses to, to
// try its rows, to shred them) may take minutes. How many passes there are is not known
// before, so each but the last counts for half of what is left of the block's size.
type blockProgress struct {
	tell func(rows, bytes int64) // nil if nobody wants to know
	size int64                   // stored bytes that the block counts for when it is done
	told int64                   // of size
	from int64                   // of size, before the pass
	goal int64                   // of size, after the pass
	read func(done, of int)      // tells of a decoder's progress
}

// of says what the block counts for, and returns what its decoder calls.
func (p *blockProgress) of(size int64, tell func(rows, bytes int64)) func(done, of int) {
	p.size, p.tell = size, tell
	if tell == nil {
		return nil
	}
	if p.read == nil {
		p.read = func(done, of int) { p.passed(0, float64(done)/float64(of)) }
	}
	return p.read
}

// begin begins a pass, which may be the last.
func (p *blockProgress) begin(last bool) {
	p.from, p.goal = p.told, p.size
	if !last {
		p.goal -= (p.size - p.told) / 2
	}
}

// walked tells that a walk over the rows of a block has come to a row.
func (t *task) walked(b *inputBlock, row int64) {
	if t.cfg.Progress != nil {
		b.progress.passed(t.untoldRows(), float64(row)/float64(b.block.Rows))
	}
}

// untoldRows returns the number of rows that were converted since its last call.
func (t *task) untoldRows() int64 {
	rows := t.stats.Rows - t.toldRows
	t.toldRows = t.stats.Rows
	return rows
}

// passed tells that a part of a pass is done, and that rows more were converted.
func (p *blockProgress) passed(rows int64, part float64) {
	now := p.from + int64(float64(p.goal-p.from)*part)
	p.tell(rows, now-p.told)
	p.told = now
}
