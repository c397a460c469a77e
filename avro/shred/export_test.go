package shred

// RowPlainly is Row without shortcuts.
func (s *Shredder) RowPlainly(datum []byte) (int, error) { return s.row(datum, nil) }

// LimitRows makes the assembler reject rows of more bytes.
func (a *Assembler) LimitRows(bytes int) { a.limit = bytes }

// WithoutStrips makes the assembler assemble one element at a time.
func (a *Assembler) WithoutStrips() {
	var without func(joints []joint) []joint
	without = func(joints []joint) (out []joint) {
		for _, j := range joints {
			if j.code == joinStrip {
				out = append(out, j.items...)
				continue
			}
			j.items = without(j.items)
			for i := range j.branches {
				j.branches[i].joints = without(j.branches[i].joints)
			}
			out = append(out, j)
		}
		return out
	}
	a.joints = without(a.joints)
}

// StripMemory returns how many bytes the strips hold.
func (a *Assembler) StripMemory() (n int) {
	for i := range a.feeds {
		if s := a.feeds[i].strip; s != nil && s.cols[0].feed == &a.feeds[i] {
			n += cap(s.data) + cap(s.kept) + cap(s.coded) + 4*cap(s.pairs)
		}
	}
	return n
}
