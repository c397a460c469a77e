package shred

// joinCode is how an Assembler makes one place of the row.
type joinCode uint8

const (
	joinValue    joinCode = iota // a value, copied unchanged
	joinOptional                 // a union of null and a value, whose length and value share a column
	joinNullable                 // a union of null and any other branch
	joinValues                   // an array whose lengths and values share a column
	joinPairs                    // a map with one column of values
	joinItems                    // any other array or map
	joinUnion                    // any other union
	joinEnum
	joinFixed
	joinRaw   // a datum of node, kept as Avro bytes
	joinStrip // items, which a strip assembles for many elements at a time
)

// joint is one step of the compiled assembly, like op in the walk. Records have no joint.
type joint struct {
	code joinCode
	null byte // encoded index of null; 2-null is the encoded index of the other branch
	col  *feed

	items    []joint       // joints of an item of an array or a map, with its key, or of a nullable's branch
	least    int           // smallest size of an item, in bytes
	branches []branchJoint // branches of a union
	node     *Node         // type of an enum, a fixed or a raw datum
	strip    *strip
}

// branchJoint is one branch of a union. col is nil for null.
type branchJoint struct {
	col    *feed
	joints []joint
}

// joiner binds a mapping's steps to the columns that they read.
type joiner struct {
	cols []*feed
}

// joints returns the joints of one step. It makes a strip of many consecutive joints that
// have one column each.
func (c *joiner) joints(s *step) []joint { return strips(c.appendStep(nil, s)) }

func strips(joints []joint) []joint {
	simple := func(code joinCode) bool { return code == joinValue || code == joinOptional || code == joinEnum }
	var out []joint
	for len(joints) > 0 {
		n := 0
		for n < len(joints) && simple(joints[n].code) {
			n++
		}
		if s := newStrip(joints[:n]); s != nil {
			out = append(out, joint{code: joinStrip, col: joints[0].col, items: joints[:n], strip: s})
		} else {
			n = max(n, 1)
			out = append(out, joints[:n]...)
		}
		joints = joints[n:]
	}
	return out
}

// appendStep appends the joints of one step.
func (c *joiner) appendStep(joints []joint, s *step) []joint {
	j := joint{node: s.node}
	switch {
	case s.raw:
		j.code = joinRaw
	case s.node.Kind == KindRecord:
		for _, f := range s.fields {
			joints = c.appendStep(joints, f)
		}
		return joints
	case s.node.Kind == KindUnion:
		return append(joints, c.union(s))
	case s.node.Kind == KindArray || s.node.Kind == KindMap:
		return append(joints, c.sequence(s))
	case s.node.Kind == KindEnum:
		j.code = joinEnum
	case s.node.Kind == KindFixed:
		j.code = joinFixed
	}
	j.col = c.cols[s.col]
	return append(joints, j)
}

// sequence returns the joint of an array or a map.
func (c *joiner) sequence(s *step) joint {
	j := joint{code: joinItems, col: c.cols[s.col], least: s.items.node.least}
	if s.key >= 0 {
		j.least++
		j.items = append(j.items, joint{code: joinValue, col: c.cols[s.key]})
	}
	j.items = c.appendStep(j.items, s.items)
	last := len(j.items) - 1
	simple := last >= 0 && j.items[last].code == joinValue
	switch {
	case simple && s.items.col == s.col:
		j.code = joinValues
	case simple && s.key >= 0 && last == 1:
		j.code = joinPairs
	default:
		j.items = strips(j.items)
	}
	return j
}

func (c *joiner) union(s *step) joint {
	j := joint{code: joinUnion, branches: make([]branchJoint, len(s.branches))}
	null := -1
	for i, b := range s.branches {
		if b.step == nil {
			null = i
			continue
		}
		j.branches[i] = branchJoint{c.cols[b.col], c.joints(b.step)}
	}
	if len(j.branches) != 2 || null < 0 {
		return j
	}
	b := j.branches[1-null]
	j = joint{code: joinNullable, null: byte(2 * null), col: b.col, items: b.joints}
	if len(b.joints) == 1 && b.joints[0].code == joinValue && b.joints[0].col == b.col {
		j.code = joinOptional
	}
	return j
}
