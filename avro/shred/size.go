package shred

import (
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// itemsName is the longest component in the names of items' columns.
const itemsName = ">value"

// size counts the expansion of a type. A count stops at one more than its limit.
type size struct {
	columns, steps, levels int
	names                  int // approximate bytes of names and paths
}

// The memory of a mapping while it is made: for a column besides its names, and for a
// type at a place.
const (
	mappedColumn = 640
	mappedStep   = 160
)

// memory returns the approximate memory, in bytes, of the mapping of a type while it is made.
func (s *size) memory() int64 {
	return int64(s.columns)*mappedColumn + int64(s.steps)*mappedStep + int64(s.names)
}

// add adds a part of the type. The names of its columns have one more component, of
// component bytes.
func (s *size) add(part size, component int) {
	s.columns = min(s.columns+part.columns, maxColumns+1)
	s.steps = min(s.steps+part.steps, maxSteps+1)
	s.levels = max(s.levels, part.levels)
	s.names = min(s.names+part.names+part.columns*2*(component+1), maxNames+1)
}

// sizer measures the expansion of every type once. It also finds the types that contain
// themselves: the strongly connected components of the graph of types (Tarjan's algorithm).
type sizer struct {
	recursive map[*Node]int // component of each type on a cycle
	sizes     map[*Node]size

	order map[*Node]int
	low   map[*Node]int
	stack []*Node
}

// check returns the expansion of a schema, or an error if it is too large.
func (z *sizer) check(root *Node) (s size, err error) {
	z.order, z.low = map[*Node]int{}, map[*Node]int{}
	if !z.connect(root, 1) {
		return s, tooDeep()
	}
	switch s = z.measure(root); {
	//guard: bounds how deep types nest
	case s.levels > maxLevels:
		return s, tooDeep()
	//guard: bounds the number of columns
	case s.columns > maxColumns:
		return s, damage.New(damage.Unsupported, "", -1, "schema expands to more than %d columns", maxColumns)
	//guard: bounds the work of expanding a schema
	case s.steps > maxSteps:
		return s, damage.New(damage.Unsupported, "", -1, "schema expands to more than %d types", maxSteps)
	}
	return s, nil
}

// recurs reports whether the record n, used in the type in, closes a cycle.
func (z *sizer) recurs(in, n *Node) bool {
	if in == nil || n.Kind != KindRecord {
		return false
	}
	c, ok := z.recursive[n]
	d, also := z.recursive[in]
	return ok && also && c == d
}

// done is the low of a type whose component is complete.
const done = math.MaxInt

// connect is Tarjan's algorithm. It returns false if a path has too many types.
func (z *sizer) connect(n *Node, depth int) bool {
	if depth > maxLevels {
		return false
	}
	z.order[n] = len(z.order)
	z.low[n] = z.order[n]
	mark := len(z.stack)
	z.stack = append(z.stack, n)
	loop := false
	for c := range n.children {
		if c.Kind.Simple() {
			continue // it has no parts, and so it is on no cycle
		}
		loop = loop || c == n
		if _, seen := z.order[c]; !seen {
			if !z.connect(c, depth+1) {
				return false
			}
			z.low[n] = min(z.low[n], z.low[c])
		} else if z.low[c] != done {
			z.low[n] = min(z.low[n], z.order[c])
		}
	}
	if z.low[n] != z.order[n] {
		return true
	}
	component := z.stack[mark:]
	for _, c := range component {
		z.low[c] = done
		if loop || len(component) > 1 {
			z.recursive[c] = z.order[n]
		}
	}
	z.stack = z.stack[:mark]
	return true
}

// children yields the direct parts of n.
func (n *Node) children(yield func(*Node) bool) {
	if n.Items != nil && !yield(n.Items) {
		return
	}
	for i := range n.Fields {
		if !yield(n.Fields[i].Type) {
			return
		}
	}
	for _, b := range n.Branches {
		if !yield(b) {
			return
		}
	}
}

// measure returns the size of a type that does not contain itself.
func (z *sizer) measure(n *Node) size {
	if s, ok := z.sizes[n]; ok {
		return s
	}
	if n.Kind.Simple() {
		return size{columns: 1, steps: 1, levels: 1}
	}
	s := size{steps: 1}
	if n.Kind == KindMap {
		s.columns = 2
	}
	field := 0
	for c := range n.children {
		leaf := c.Kind.Simple()
		child := size{columns: 1, steps: 1, levels: 1}
		if z.recurs(n, c) {
			leaf = true
		} else {
			child = z.measure(c)
		}
		component := len(itemsName)
		switch {
		case n.Kind == KindRecord:
			component = len(n.Fields[field].Name)
			field++
		case n.Kind == KindUnion:
			component = len(c.FullName())
		}
		switch {
		case n.Kind == KindUnion && c.Kind == KindNull:
			child.columns = 0
		case !leaf && (n.Kind == KindArray || n.Kind == KindUnion):
			child.columns++
		}
		s.add(child, component)
	}
	s.levels++
	z.sizes[n] = s
	return s
}
