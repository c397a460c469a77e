package shred

import "github.com/rowtocol/rowtocol/format/damage"

// maxDepth bounds the nesting of recursive data. The limit on schemas bounds the nesting of
// other data.
const maxDepth = 1000

// skip checks one datum of a node and returns the position after it, or -1 with the
// error set. It walks data that is kept as Avro bytes.
func (s *Shredder) skip(n *Node, p, depth int) int {
	//guard: bounds how deep data nests
	if depth > maxDepth {
		return s.fail(damage.Unsupported, p, "data nested more than %d levels deep", maxDepth)
	}
	switch n.Kind {
	case KindNull:
		return p
	case KindBoolean:
		if p < len(s.b) && s.b[p] > 1 {
			return s.fail(damage.Value, p, "boolean byte 0x%02x is neither 0 nor 1", s.b[p])
		}
		return s.skipBytes(p, 1)
	case KindInt:
		return s.varintEnd(p, maxInt)
	case KindLong:
		return s.varintEnd(p, maxLong)
	case KindFloat:
		return s.skipBytes(p, 4)
	case KindDouble:
		return s.skipBytes(p, 8)
	case KindFixed:
		return s.skipBytes(p, n.Size)
	case KindBytes, KindString:
		return s.skipSized(p)
	case KindEnum:
		_, q := s.index(p, len(n.Symbols), "enum ordinal %d of %d symbols")
		return q
	case KindRecord:
		for _, f := range n.Fields {
			if p = s.skip(f.Type, p, depth+1); p < 0 {
				s.at(f.Name)
				return p
			}
		}
		return p
	case KindUnion:
		i, q := s.index(p, len(n.Branches), "union index %d of %d branches")
		if q < 0 {
			return q
		}
		return s.skip(n.Branches[i], q, depth) // a union cannot hold itself directly
	}
	return s.skipItems(n, p, depth)
}

func (s *Shredder) skipBytes(p, n int) int {
	//guard: rejects a value that reaches beyond its block
	if n > len(s.b)-p {
		return s.truncated(p, n)
	}
	return p + n
}

func (s *Shredder) skipSized(p int) int {
	n, q := s.varint(p)
	if q < 0 {
		return q
	}
	if uint64(n) > uint64(len(s.b)-q) {
		return s.badLength(p, n, len(s.b)-q)
	}
	return q + int(n)
}

// skipItems skips the Avro blocks of an array or map.
func (s *Shredder) skipItems(n *Node, p, depth int) int {
	minSize := n.Items.least
	if n.Kind == KindMap {
		minSize++
	}
	for {
		count, end, q := s.blockCount(minSize, p)
		if q < 0 {
			return q
		}
		for range count {
			if n.Kind == KindMap {
				q = s.skipSized(q)
			}
			if q >= 0 {
				q = s.skip(n.Items, q, depth+1)
			}
			if q < 0 {
				s.at(itemPath(n))
				return q
			}
		}
		if end >= 0 && q != end {
			return s.fail(damage.Size, p, "items end %d bytes off their block's stated size", q-end)
		}
		if count == 0 {
			return q
		}
		p = q
	}
}
