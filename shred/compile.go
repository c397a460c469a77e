package shred

import (
	"math"

	"github.com/rowtocol/rowtocol/column"
)

// opcode is what the walk does at one place of the datum.
type opcode uint8

const (
	opInt opcode = iota
	opLong
	opFixedWidth // n bytes, copied: float and double
	opSized      // a length and bytes, copied: bytes
	opString     // as opSized, counting invalid UTF-8
	opBoolean
	opEnum     // n symbols
	opFixed    // n bytes, given a length
	opOptional // a union of null, at index n, and one branch
	opUnion
	opSimpleArray // an array with its items in buf itself
	opCounted     // an array with its items in columns below buf, or a map
	opRaw         // one datum of node, kept as its Avro bytes
)

// op is one step of the compiled walk. Records leave no op of their own: their
// fields' ops stand in the list of whatever holds the record.
type op struct {
	code     opcode
	buf      *column.Buffer // values, or lengths of array, map and optional
	n        int            // see the opcodes
	minSize  int            // arrays and maps: the least bytes of one item
	sub      []op           // items, map values or the optional's branch
	key      *column.Buffer // map keys
	branches []branchOps    // union
	node     *Node          // raw
	name     string         // path component, for errors
}

// branchOps is one branch of a union; buf is nil for null.
type branchOps struct {
	buf *column.Buffer
	ops []op
}

// compiler binds a mapping's steps to the buffers that they fill.
type compiler struct {
	bufs *column.Buffers
	// growth is the largest number of columns that one byte of a datum can
	// add a length to.
	growth int
	// zeroFixed is set when some column takes bytes for a value of none.
	zeroFixed bool
}

func (c *compiler) buffer(col int) *column.Buffer { return &c.bufs.Cols[col] }

// appendStep appends the ops of one step. into is the column that takes a
// simple value: the step's own, or that of the enclosing array or branch.
func (c *compiler) appendStep(ops []op, s *step, into int, name string) []op {
	if s.raw {
		return append(ops, op{code: opRaw, buf: c.buffer(into), node: s.node, name: name})
	}
	switch s.node.Kind {
	case KindNull:
		return ops
	case KindRecord:
		for i, f := range s.fields {
			ops = c.appendStep(ops, f, f.col, join(name, s.node.Fields[i].Name))
		}
		return ops
	case KindArray:
		o := op{code: opCounted, buf: c.buffer(s.col), minSize: minSize(s.node.Items), name: name}
		itemInto := s.items.col
		if s.simple {
			o.code, itemInto = opSimpleArray, s.col
		}
		o.sub = c.appendStep(nil, s.items, itemInto, "[]")
		return append(ops, o)
	case KindMap:
		o := op{code: opCounted, buf: c.buffer(s.col), key: c.buffer(s.key), name: name}
		o.minSize = 1 + minSize(s.node.Items)
		o.sub = c.appendStep(nil, s.items, s.items.col, "{}")
		return append(ops, o)
	case KindUnion:
		return append(ops, c.union(s, name))
	}
	return append(ops, c.simple(s.node, into, name))
}

// simple returns the op of a value that fills one column.
func (c *compiler) simple(n *Node, into int, name string) op {
	o := op{buf: c.buffer(into), name: name}
	switch n.Kind {
	case KindBoolean:
		o.code = opBoolean
	case KindInt:
		o.code = opInt
	case KindLong:
		o.code = opLong
	case KindFloat:
		o.code, o.n = opFixedWidth, 4
	case KindDouble:
		o.code, o.n = opFixedWidth, 8
	case KindBytes:
		o.code = opSized
	case KindString:
		o.code = opString
	case KindEnum:
		o.code, o.n = opEnum, len(n.Symbols)
	case KindFixed:
		o.code, o.n = opFixed, n.Size
		c.zeroFixed = c.zeroFixed || n.Size == 0
	}
	return o
}

func (c *compiler) union(s *step, name string) op {
	c.growth = max(c.growth, len(s.branches))
	branches := make([]branchOps, len(s.branches))
	null := -1
	for i, b := range s.branches {
		if b.step == nil {
			null = i
			continue
		}
		into := b.step.col
		if b.simple {
			into = b.col
		}
		branches[i] = branchOps{buf: c.buffer(b.col), ops: c.appendStep(nil, b.step, into, "")}
	}
	if len(branches) == 2 && null >= 0 {
		value := branches[1-null]
		return op{code: opOptional, n: null, buf: value.buf, sub: value.ops, name: name}
	}
	return op{code: opUnion, branches: branches, name: name}
}

// join extends a dotted path that names fields inside one list of ops.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// leastSizes computes the least size of a datum, once per node.
type leastSizes map[*Node]int

// minSize is the least number of bytes that a datum of the node takes. It
// saturates; a node inside its own definition counts nothing, which is a lower
// bound as well.
func minSize(n *Node) int { return make(leastSizes).of(n) }

func (z leastSizes) of(n *Node) int {
	if size, ok := z[n]; ok {
		return size
	}
	z[n] = 0
	size := 0
	switch n.Kind {
	case KindNull:
	case KindFloat:
		size = 4
	case KindDouble:
		size = 8
	case KindFixed:
		size = n.Size
	case KindRecord:
		for _, f := range n.Fields {
			size = min(size+z.of(f.Type), math.MaxInt32)
		}
	case KindUnion:
		size = math.MaxInt32
		for _, b := range n.Branches {
			size = min(size, 1+z.of(b))
		}
	default:
		size = 1
	}
	z[n] = size
	return size
}

// measureLeast notes the least size of every type that root is made of.
func measureLeast(root *Node) {
	sizes, seen := make(leastSizes), map[*Node]bool{root: true}
	for todo := []*Node{root}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n.least = sizes.of(n)
		for c := range n.children {
			if !seen[c] {
				seen[c] = true
				todo = append(todo, c)
			}
		}
	}
}

// MinRowSize is the least number of bytes of one row's datum; 0 for schemas
// whose rows may take none.
func (m *Mapping) MinRowSize() int { return minSize(m.Schema.Root()) }
