package where

import "slices"

// unionTest translates the comparison of a union of several types with the literal null. The
// union is null if no branch has a value. For other comparisons it returns nil.
func (t *translator) unionTest(n *node, o operator, negated bool) (condition, error) {
	path, null := n.kids[0], n.kids[1]
	if path.op == opConst {
		path, null = null, path
	}
	if path.op != opPath || null.op != opConst || null.value.kind != kindNull || o != equal && o != unequal {
		return nil, nil
	}
	w := &walk{translator: t, n: path, f: &field{column: -1}, place: t.scope.place}
	if w.walk(path.parts) == nil || w.types == nil {
		return nil, nil
	}
	all := &node{op: opAnd, pos: n.pos, end: n.end}
	for _, name := range w.types {
		branch := *path
		branch.parts, branch.text = append(slices.Clone(path.parts), part{text: name}), name
		all.kids = append(all.kids, &node{op: opCompare, text: string(equal), kids: []*node{&branch, null}, pos: n.pos, end: n.end})
	}
	return t.condition(all, negated != (o == unequal))
}
