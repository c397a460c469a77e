package shred

import (
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
)

// opcode is how the walk handles one place of the datum.
type opcode uint8

const (
	opInt        opcode = iota // int; in range, all bits of its encoding from bit n on are 0: see varintSize
	opLong                     // long, with n as for opInt
	opFixedWidth               // n bytes, copied: float and double
	opSized                    // a length and bytes, copied: bytes
	opString                   // as opSized, and counts invalid UTF-8
	opBoolean
	opEnum        // n symbols
	opFixed       // n bytes, given a length
	opRaw         // one datum of node, kept as Avro bytes
	opNullable    // a union of null and one branch that is not simple
	opUnion       // any other union
	opSimpleArray // an array with its items in buf
	opCounted     // an array with its items in columns below buf, or a map
	opPass        // values of columns that are not wanted: see pass.go
	opPlace       // no bytes of the datum: its position is stored in s.places[n]

	// The next codes are only for pass: see pass.go.

	opInts  // n ints
	opLongs // n longs

	// The other codes are only for layout Levels: see levels.go.

	opEntry     // no bytes: an entry of a null
	opItem      // no bytes: an item of buf begins
	opList      // opCounted, with columns below buf
	opNullUnion // opUnion of null and more than one other branch
	opRowEnd    // no bytes: the row ends
)

// op is one step of the compiled walk. Records have no op. The ops of their fields are in
// the list of ops around the record. A row of many columns has a long list, so op is small.
// Fields that only some steps need are in details.
type op struct {
	code opcode
	// optional makes the step a union of null and the type of code, whose length and
	// value share buf. null is the index of null.
	optional bool
	null     uint8
	sameNull uint8          // for pass: how many optional ops, from this one on, have the same null
	n        uint32         // a shift, a size, a number of symbols or an index: see opcode
	buf      *column.Buffer // column of the values, or of the lengths of an array, map or nullable
	more     *details
}

// details are the parts of an op that errors and compound types need.
type details struct {
	name     string // path component, for errors
	items    []op   // ops of an item of an array or a map, with its key, or of a nullable's branch
	minSize  int    // smallest size of an item of an array or a map, in bytes
	branches []branchOps
	node     *Node // type of a raw datum
}

// branchOps is one branch of a union. buf is nil for null.
type branchOps struct {
	buf *column.Buffer
	ops []op
}

// compiler binds a mapping's steps to the buffers that they fill.
type compiler struct {
	columns []column.Column
	bufs    *column.Buffers
	// growth is the largest number of columns to which one byte of a datum can add a
	// length. With layout Levels, it is the largest number of leaves at and below a list.
	growth int
	// unbounded is set if a value without bytes takes bytes in some column.
	unbounded bool
	keys      []*step // fields whose places are recorded
	numbers   []int   // index in bufs of each column, or -1 for one that is not wanted; nil if all are
	levels    bool    // the layout is Levels
	leaves    []int   // with layout Levels, the number of leaves at and below each column
	allLeaves int
}

// shredder compiles a mapping.
func (c *compiler) shredder(m *Mapping) *Shredder {
	if c.bufs.Layout() == column.Levels {
		c.prepare(m)
	}
	ops := c.appendStep(nil, m.root, "")
	if c.levels {
		ops = c.endRow(ops, m)
	}
	s := &Shredder{ops: ops, bufs: c.bufs, leaves: c.allLeaves, growth: c.growth, unbounded: c.unbounded, places: make([]int, 2*len(c.keys))}
	for _, k := range c.keys {
		s.keys = append(s.keys, k.node)
	}
	return s
}

// buffer returns the buffer of a column, or nil if the column is not wanted.
func (c *compiler) buffer(col int) *column.Buffer {
	if c.numbers != nil {
		if col = c.numbers[col]; col < 0 {
			return nil
		}
	}
	return &c.bufs.Cols[col]
}

// appendStep appends the ops of one step.
func (c *compiler) appendStep(ops []op, s *step, name string) []op {
	if !c.wants(s) {
		return c.appendUnwanted(ops, s, name)
	}
	if s.raw {
		return append(ops, op{code: opRaw, buf: c.buffer(s.col), more: &details{name: name, node: s.node}})
	}
	switch s.node.Kind {
	case KindNull:
		return c.null(ops, s, name)
	case KindRecord:
		for i, f := range s.fields {
			ops = c.appendField(ops, f, join(name, s.node.Fields[i].Name))
		}
		return ops
	case KindArray, KindMap:
		return append(ops, c.sequence(s, name))
	case KindUnion:
		return append(ops, c.union(s, name))
	}
	return append(ops, c.simple(s, name))
}

// simple returns the op of a value that fills one column.
func (c *compiler) simple(s *step, name string) op {
	o := op{buf: c.buffer(s.col), more: &details{name: name}}
	switch n := s.node; n.Kind {
	case KindBoolean:
		o.code = opBoolean
	case KindInt:
		o.code, o.n = opInt, 36
	case KindLong:
		o.code, o.n = opLong, 63
	case KindFloat:
		o.code, o.n = opFixedWidth, 4
	case KindDouble:
		o.code, o.n = opFixedWidth, 8
	case KindBytes:
		o.code = opSized
	case KindString:
		o.code = opString
	case KindEnum:
		o.code, o.n = opEnum, uint32(len(n.Symbols))
	case KindFixed:
		o.code, o.n = opFixed, uint32(n.Size)
		c.unbounded = c.unbounded || n.Size == 0 && o.buf != nil
	}
	return o
}

// sequence returns the op of an array or a map. A map is an array of keys and values,
// which have columns of their own.
func (c *compiler) sequence(s *step, name string) op {
	d := &details{name: name, minSize: s.leastItem()}
	o := op{code: opCounted, buf: c.buffer(s.col), more: d}
	if o.buf.Place() {
		o.code = opList
		d.items = append(d.items, op{code: opItem, buf: o.buf})
	}
	c.listGrows(s)
	if s.node.Kind == KindMap {
		d.items = c.appendStep(d.items, s.keyStep(), "{}")
		d.items = c.appendStep(d.items, s.items, "{}")
		return o
	}
	if s.items.leaf() {
		o.code = opSimpleArray
	}
	d.items = c.appendStep(d.items, s.items, "[]")
	return o
}

// leastItem returns the smallest size of an item of an array or a map, with its key.
func (s *step) leastItem() int {
	if s.node.Kind == KindMap {
		return s.node.Items.least + 1
	}
	return s.node.Items.least
}

// keyStep returns the step of a map's keys.
func (s *step) keyStep() *step { return &step{node: &Node{Kind: KindString}, col: s.key} }

func (c *compiler) union(s *step, name string) op {
	c.unionGrows(s)
	if i := slices.IndexFunc(s.branches, func(b branch) bool { return b.step == nil }); i >= 0 && len(s.branches) == 2 {
		return c.nullable(s.branches[1-i], uint8(i), name)
	}
	branches := make([]branchOps, len(s.branches))
	for i, b := range s.branches {
		if b.step != nil {
			branches[i] = branchOps{buf: c.buffer(b.col), ops: c.appendStep(nil, b.step, "")}
		}
	}
	code := opUnion
	if c.levels && slices.ContainsFunc(branches, func(b branchOps) bool { return b.buf == nil }) {
		code = opNullUnion
	}
	return op{code: code, more: &details{name: name, branches: branches}}
}

// nullable returns the op of a union of b and null, the most common union. null is the
// index of null.
func (c *compiler) nullable(b branch, null uint8, name string) op {
	if b.step.leaf() {
		o := c.appendStep(nil, b.step, name)[0]
		o.optional, o.null = true, null
		return o
	}
	return op{code: opNullable, null: null, buf: c.buffer(b.col), more: &details{name: name, items: c.appendStep(nil, b.step, "")}}
}

// measureLeast sets the smallest size of a datum for root and every type that it contains.
// Large numbers saturate. In the first round, a recursive type is measured with 0 for types
// that are not measured yet. The second round gives a better bound. The result of each
// round is a lower bound.
func measureLeast(root *Node) {
	var nodes []*Node // parts come before the types that contain them
	seen := make(map[*Node]bool)
	var visit func(*Node)
	visit = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for part := range n.children {
			visit(part)
		}
		nodes = append(nodes, n)
	}
	visit(root)
	for range 2 {
		for _, n := range nodes {
			n.least = leastOf(n)
		}
	}
}

// leastOf returns the smallest size of a node's datum, from the sizes of its parts.
func leastOf(n *Node) int {
	switch n.Kind {
	case KindNull:
		return 0
	case KindFloat:
		return 4
	case KindDouble:
		return 8
	case KindFixed:
		return n.Size
	case KindRecord:
		size := 0
		for _, f := range n.Fields {
			size = min(size+f.Type.least, math.MaxInt32)
		}
		return size
	case KindUnion:
		size := math.MaxInt32
		for _, b := range n.Branches {
			size = min(size, 1+b.least)
		}
		return size
	}
	return 1
}

// MinRowSize returns the smallest size of a row's datum in bytes, or 0 if a row may have no
// bytes.
func (m *Mapping) MinRowSize() int { return m.Schema.Root().least }
