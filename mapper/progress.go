package mapper

// blockProgress is how much of a block was reported as progress. Progress is reported
// also within a large block, because each pass over it may take minutes. The passes
// decompress the block, count its decompressed bytes, try its rows, and shred them.
// Their number is not known in advance, so each pass but the last is counted as half of
// the rest.
type blockProgress struct {
	report   func(rows, bytes int64) // nil if progress is not wanted
	size     int64                   // stored bytes of the block
	reported int64                   // bytes of size that were reported
	from     int64                   // bytes of size to report before the pass
	goal     int64                   // bytes of size to report after the pass
	read     func(done, total int)   // reports a decoder's progress
}

// start sets the block's size and returns the function that its decoder calls.
func (p *blockProgress) start(size int64, report func(rows, bytes int64)) func(done, total int) {
	p.size, p.report = size, report
	if report == nil {
		return nil
	}
	if p.read == nil {
		p.read = func(done, total int) { p.passed(0, float64(done)/float64(total)) }
	}
	return p.read
}

// begin begins a pass over the block.
func (p *blockProgress) begin(last bool) {
	p.from, p.goal = p.reported, p.size
	if !last {
		p.goal -= (p.size - p.reported) / 2
	}
}

// walked reports that a walk over a block has done its first rows.
func (t *task) walked(b *inputBlock, row int64) {
	if t.cfg.Progress != nil {
		b.progress.passed(t.unreportedRows(), float64(row)/float64(b.block.Rows))
	}
}

// unreportedRows returns the number of rows that were converted since its last call.
func (t *task) unreportedRows() int64 {
	rows := t.stats.Rows - t.reportedRows
	t.reportedRows = t.stats.Rows
	return rows
}

// passed reports that a part of the pass is done, and more rows converted.
func (p *blockProgress) passed(rows int64, part float64) {
	now := p.from + int64(float64(p.goal-p.from)*part)
	p.report(rows, now-p.reported)
	p.reported = now
}
