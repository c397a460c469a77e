package shred

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
)

// NewPartialShredder returns a Shredder that fills bufs with only some columns of the mapping.
// columns are their numbers, ascending and each with its parents, as Mapping.Project returns
// them. bufs must be made for these columns, with layout Interleaved. Row checks the whole datum
// like any Shredder, but does not check that text of the other columns is UTF-8. If there are no
// columns, Row only finds the size of a datum.
func NewPartialShredder(m *Mapping, columns []int, bufs *column.Buffers) *Shredder {
	c := compiler{columns: m.Columns, bufs: bufs, numbers: make([]int, len(m.Columns))}
	for i := range c.numbers {
		c.numbers[i] = -1
	}
	for i, col := range columns {
		c.numbers[col] = i
	}
	return c.shredder(m)
}

// wants reports whether a step fills a column that is wanted. The answer for a record, whose
// fields are asked one by one, is always true.
func (c *compiler) wants(s *step) bool {
	switch {
	case c.numbers == nil || s.node.Kind == KindRecord && !s.raw:
		return true
	case s.node.Kind == KindUnion:
		return slices.ContainsFunc(s.branches, func(b branch) bool { return b.step != nil && c.buffer(b.col) != nil })
	}
	return c.buffer(s.col) != nil
}

// appendUnwanted appends a step whose columns are not wanted to the op that passes over such
// steps.
func (c *compiler) appendUnwanted(ops []op, s *step, name string) []op {
	if s.node.Kind == KindNull {
		return ops
	}
	if n := len(ops); n == 0 || ops[n-1].code != opPass {
		ops = append(ops, op{code: opPass, more: &details{}})
	}
	d := ops[len(ops)-1].more
	d.items = c.appendPass(d.items, s, name)
	return ops
}

// appendPass appends the ops of a step for pass. These ops have no buffer. All values of a fixed
// size are opFixedWidth, and a union of null and any other branch is optional. Adjacent ints,
// longs, or values of a fixed size are one op, which has its parts in details.items.
func (c *compiler) appendPass(ops []op, s *step, name string) []op {
	switch {
	case s.raw:
		return append(ops, op{code: opRaw, more: &details{name: name, node: s.node}})
	case s.node.Kind == KindNull:
		return ops
	case s.node.Kind == KindRecord:
		for i, f := range s.fields {
			ops = c.appendPass(ops, f, join(name, s.node.Fields[i].Name))
		}
		return ops
	case s.node.Kind == KindArray, s.node.Kind == KindMap:
		d := &details{name: name, minSize: s.leastItem()}
		if s.node.Kind == KindMap {
			d.items = c.appendPass(d.items, s.keyStep(), "{}")
		}
		d.items = c.appendPass(d.items, s.items, itemPath(s.node))
		return append(ops, op{code: opCounted, more: d})
	case s.node.Kind == KindUnion:
		return appendUnion(ops, c.passUnion(s, name))
	}
	o := c.simple(s, name)
	o.more.node = s.node
	if o.code == opFixed {
		o.code = opFixedWidth
	}
	return appendJoined(ops, o)
}

// appendJoined appends an op, or makes it a part of the op before it.
func appendJoined(ops []op, o op) []op {
	joined := o.code
	switch o.code {
	case opInt:
		joined = opInts
	case opLong:
		joined = opLongs
	case opFixedWidth:
	default:
		return append(ops, o)
	}
	if n := len(ops); n == 0 || ops[n-1].optional || ops[n-1].code != o.code && ops[n-1].code != joined {
		return append(ops, o)
	}
	last := &ops[len(ops)-1]
	size := last.n + o.n
	//guard: keeps sums of sizes within 32 bits
	if size > math.MaxInt32 {
		return append(ops, o)
	}
	if last.more.items == nil {
		last.more = &details{items: []op{*last}}
	}
	last.more.items = append(last.more.items, o)
	if last.code, last.n = joined, size; joined != opFixedWidth {
		last.n = uint32(len(last.more.items))
	}
	return ops
}

// nulls is how many nulls pass compares at once.
const nulls = 8

// appendUnion appends the op of a union, and counts the op for up to nulls-1 ops before it.
func appendUnion(ops []op, o op) []op {
	if o.sameNull = 1; !o.optional {
		return append(ops, o)
	}
	for i := len(ops) - 1; i >= 0 && ops[i].optional && ops[i].null == o.null && ops[i].sameNull < nulls; i-- {
		ops[i].sameNull++
	}
	return append(ops, o)
}

func (c *compiler) passUnion(s *step, name string) op {
	i := slices.IndexFunc(s.branches, func(b branch) bool { return b.step == nil })
	if i >= 0 && len(s.branches) == 2 {
		inner := c.appendPass(nil, s.branches[1-i].step, "")
		o := op{code: opNullable, more: &details{name: name, items: inner}}
		if s.branches[1-i].step.leaf() {
			o = inner[0]
			o.more.name = name
		}
		o.optional, o.null = true, uint8(i)
		return o
	}
	branches := make([]branchOps, len(s.branches))
	for i, b := range s.branches {
		if b.step != nil {
			branches[i].ops = c.appendPass(nil, b.step, "")
		}
	}
	return op{code: opUnion, more: &details{name: name, branches: branches}}
}

// pass walks ops of appendPass n times, from position p on. It returns the position after the
// data, or -1 with s.err set. It takes shortcuts as run does.
func (s *Shredder) pass(ops []op, p, n int) int {
	b := s.ahead
	for range n {
		for i := 0; i < len(ops); i++ {
			o := &ops[i]
			if len(b)-p < reach || o.optional && b[p]|2 != 2 { // the index 0 or 1 is the byte 0 or 2
				if p = s.passStep(o, p); p < 0 {
					return s.failed(o)
				}
				continue
			}
			if o.optional {
				if o.sameNull == nulls && binary.LittleEndian.Uint64(b[p:]) == uint64(2*o.null)*ones {
					p += nulls
					i += nulls - 1
					continue
				}
				if p++; b[p-1] == 2*o.null {
					continue
				}
			}
			c := b[p]
			switch o.code {
			case opInt, opLong:
				word := binary.LittleEndian.Uint64(b[p:])
				ends := ^word & high
				if value := word & (ends ^ (ends - 1)); value>>(o.n&63) == 0 {
					p += (bits.TrailingZeros64(ends) + 1) / 8
					continue
				}
			case opFixedWidth:
				if int(o.n) <= len(b)-p {
					p += int(o.n)
					continue
				}
			case opSized, opString:
				if c&0x81 == 0 { // the length takes one byte and is not negative
					p += 1 + int(c>>1)
					continue
				}
				if next := b[p+1]; c&1 == 0 && next < 0x80 { // it takes two bytes
					//guard: leaves a value that reaches beyond its block to passValue
					if end := p + 2 + int(c&0x7f)>>1 + int(next)<<6; end <= len(b) {
						p = end
						continue
					}
				}
			case opBoolean:
				if c <= 1 {
					p++
					continue
				}
			case opEnum:
				if c&0x81 == 0 && uint32(c>>1) < o.n {
					p++
					continue
				}
			case opCounted:
				if c == 0 {
					p++
					continue
				}
			}
			if p = s.passValue(o, p); p < 0 {
				return s.failed(o)
			}
		}
	}
	return p
}

// ones has the lowest bit of each byte set, as high has the highest.
const ones = high / 0x80

// passVarints returns the position after several ints or longs, or 0 if one of them is unusually
// long. It finds the ends of those in eight bytes at once.
func passVarints(o *op, b []byte, p int) int {
	for left := int(o.n); left > 0; {
		if len(b)-p < 8 {
			return 0
		}
		word := binary.LittleEndian.Uint64(b[p:])
		ends := ^word & high
		more := ^ends & high
		// An int of five bytes may be too large, and a long of nine bytes or more has no end here.
		if ends == 0 || o.code == opInts && more&(more<<8)&(more<<16)&(more<<24) != 0 {
			return 0
		}
		found := bits.OnesCount64(ends)
		for ; found > left; found-- {
			ends &^= 1 << (63 - bits.LeadingZeros64(ends))
		}
		left -= found
		p += 8 - bits.LeadingZeros64(ends)/8
	}
	return p
}

// passStep walks one op without shortcuts.
func (s *Shredder) passStep(o *op, p int) int {
	if o.optional {
		i, q := s.index(p, 2, "union index %d of %d branches")
		if q < 0 || i == int(o.null) {
			return q
		}
		p = q
	}
	return s.passValue(o, p)
}

// passValue walks the value of an op, by its code.
func (s *Shredder) passValue(o *op, p int) int {
	switch {
	case o.code == opCounted:
		_, q := s.blocks(o, p)
		return q
	case o.code == opNullable:
		return s.pass(o.more.items, p, 1)
	case o.code == opUnion:
		i, q := s.index(p, len(o.more.branches), "union index %d of %d branches")
		if q < 0 {
			return q
		}
		return s.pass(o.more.branches[i].ops, q, 1)
	case o.more.node != nil:
		return s.skip(o.more.node, p, 0)
	case o.code == opInts || o.code == opLongs:
		if q := passVarints(o, s.ahead, p); q > 0 {
			return q
		}
	}
	for i := range o.more.items {
		part := &o.more.items[i]
		if p = s.skip(part.more.node, p, 0); p < 0 {
			return s.failed(part)
		}
	}
	return p
}
