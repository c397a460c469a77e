package shred

import (
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// levels walks an op that only layout Levels has.
func (s *Shredder) levels(o *op, p int) int {
	switch o.code {
	case opItem:
		o.buf.Item()
	case opEntry:
		o.buf.Entry()
	case opList:
		around := o.buf.BeginList()
		p = s.counted(o, p)
		o.buf.EndList(around)
	case opNullUnion:
		return s.nullUnion(o, p)
	case opRowEnd:
		//guard: rejects a row whose levels take too much memory
		if !s.bufs.EndRow() {
			return s.fail(damage.Unsupported, p, "nulls and empty lists of a row in too many columns")
		}
	}
	return p
}

// nullUnion walks a union of null and several other branches. The index is checked again if
// null is not chosen.
func (s *Shredder) nullUnion(o *op, p int) int {
	branches := o.more.branches
	chosen, q := s.index(p, len(branches), "union index %d of %d branches")
	if q < 0 {
		return q
	}
	if branches[chosen].buf != nil {
		return s.union(o, p)
	}
	for i := range branches {
		if b := branches[i].buf; b != nil {
			b.Null()
		}
	}
	return q
}

// prepare prepares the compiler for layout Levels.
func (c *compiler) prepare(m *Mapping) {
	c.levels = true
	c.leaves = make([]int, len(m.Columns))
	for i := len(m.Columns) - 1; i >= 0; i-- {
		if !c.buffer(i).Place() {
			c.leaves[i] = 1
			c.allLeaves++
		}
		if p := m.Columns[i].Parent; p >= 0 {
			c.leaves[p] += c.leaves[i]
		}
	}
}

// null appends the op of null. Below a place, nulls need no op.
func (c *compiler) null(ops []op, s *step, name string) []op {
	if col := &c.columns[s.col]; !c.levels || col.Array || col.Parent >= 0 {
		return ops
	}
	return append(ops, op{code: opEntry, buf: c.buffer(s.col), more: &details{name: name}})
}

// unionGrows adds a union to the growth. Its index adds a length to the column of each branch.
func (c *compiler) unionGrows(s *step) {
	if !c.levels {
		c.growth = max(c.growth, len(s.branches))
	}
}

// listGrows adds an array or a map to the growth. Items without bytes have entries, too.
func (c *compiler) listGrows(s *step) {
	if c.levels {
		c.growth = max(c.growth, c.leaves[s.col])
		c.unbounded = c.unbounded || s.node.Kind == KindArray && s.node.Items.least == 0
	}
}

// endRow appends the op at the end of a row.
func (c *compiler) endRow(ops []op, m *Mapping) []op {
	if slices.ContainsFunc(m.Columns, func(col column.Column) bool { return col.Parent >= 0 }) {
		ops = append(ops, op{code: opRowEnd, more: &details{}})
	}
	return ops
}
