package witness

import "github.com/hamba/avro/v2"

// loops numbers the types that contain themselves, from 1. Types that contain each other have the
// same number.
type loops map[avro.Schema]int

// raw reports whether the columns keep values of type s, as a part of type in, as Avro data: a record
// is kept so within a type that the record contains.
func (l loops) raw(in, s avro.Schema) bool {
	r, ok := s.(*avro.RecordSchema)
	return ok && r.Prop(mapAttribute) == nil && l[s] > 0 && l[in] == l[s]
}

// loopsOf finds the loops of a schema with Tarjan's algorithm.
func loopsOf(s avro.Schema) loops {
	f := loopFinder{order: map[avro.Schema]int{}, loops: loops{}}
	f.visit(s)
	return f.loops
}

type loopFinder struct {
	order map[avro.Schema]int // numbers of the types that were visited, from 1
	open  []avro.Schema       // visited types whose loop is not known yet
	loops loops
}

// closed is the order of a type whose loop is known.
const closed = int(^uint(0) >> 1)

// visit returns the least order of the open types that s contains, itself included.
func (f *loopFinder) visit(s avro.Schema) (least int) {
	s = deref(s)
	if n := f.order[s]; n > 0 {
		return n
	}
	number, first := len(f.order)+1, len(f.open)
	f.order[s], f.open, least = number, append(f.open, s), number
	again := false
	for _, part := range parts(s) {
		again = again || deref(part) == s
		least = min(least, f.visit(part))
	}
	if least < number {
		return least
	}
	for _, member := range f.open[first:] {
		f.order[member] = closed
		if again || len(f.open)-first > 1 {
			f.loops[member] = number
		}
	}
	f.open = f.open[:first]
	return closed
}
