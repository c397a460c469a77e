package where

import "github.com/rowtocol/rowtocol/avro/shred"

// condition is a test that each row of a batch passes or fails.
type condition interface {
	// eval sets match for each row. s lends memory to eval.
	eval(match []bool, s *scratch)
}

// scratch lends match slices to nested conditions.
type scratch struct{ free [][]bool }

func (s *scratch) take(rows int) []bool {
	if n := len(s.free); n > 0 {
		m := s.free[n-1]
		s.free = s.free[:n-1]
		if cap(m) >= rows {
			return m[:rows]
		}
	}
	return make([]bool, rows)
}

func (s *scratch) release(m []bool) { s.free = append(s.free, m) }

// and is true if all conditions are true.
type and []condition

func (c and) eval(match []bool, s *scratch) {
	c[0].eval(match, s)
	other := s.take(len(match))
	for _, c := range c[1:] {
		c.eval(other, s)
		for i, m := range other {
			match[i] = match[i] && m
		}
	}
	s.release(other)
}

// or is true if any condition is true.
type or []condition

func (c or) eval(match []bool, s *scratch) {
	c[0].eval(match, s)
	other := s.take(len(match))
	for _, c := range c[1:] {
		c.eval(other, s)
		for i, m := range other {
			match[i] = match[i] || m
		}
	}
	s.release(other)
}

// constant is true for all rows or for none.
type constant bool

func (c constant) eval(match []bool, _ *scratch) {
	for i := range match {
		match[i] = bool(c)
	}
}

// isNull is true if a field has no value. If negated, it is true if the field has a value.
type isNull struct {
	*field
	not bool
}

func (c isNull) eval(match []bool, _ *scratch) {
	for i := range match {
		match[i] = (c.kind == kindNull || c.index(i) < 0) != c.not
	}
}

// isTrue is true if a boolean field is true. If negated, it is true if the field is false.
type isTrue struct {
	*field
	not bool
}

func (c isTrue) eval(match []bool, _ *scratch) {
	values := c.values.Bools
	for i := range match {
		at := c.index(i)
		match[i] = at >= 0 && values[at] != c.not
	}
}

// ints is a test of an integer field.
type ints struct {
	*field
	t bounds[int64]
}

func (c ints) eval(match []bool, _ *scratch) {
	if c.typ.Kind == shred.KindInt {
		evalBounds(c.values.Ints, c.field, &c.t, match)
	} else {
		evalBounds(c.values.Longs, c.field, &c.t, match)
	}
}

// floats is a test of a floating-point field.
type floats struct {
	*field
	t bounds[float64]
}

func (c floats) eval(match []bool, _ *scratch) {
	if c.typ.Kind == shred.KindFloat {
		evalBounds(c.values.Floats, c.field, &c.t, match)
	} else {
		evalBounds(c.values.Doubles, c.field, &c.t, match)
	}
}

// evalBounds tests the values of a column.
func evalBounds[V int32 | int64 | float32 | float64, T int64 | float64](values []V, f *field, t *bounds[T], match []bool) {
	lo, hi, not, at := t.lo, t.hi, t.not, f.at
	switch {
	case t.set != nil:
		for i := range match {
			v := f.index(i)
			match[i] = v >= 0 && t.holds(T(values[v]))
		}
	case at == nil:
		for i, v := range values[f.base:][:len(match)] {
			match[i] = (lo <= T(v) && T(v) <= hi) != not
		}
	default:
		for i, a := range at {
			if match[i] = a >= 0; a >= 0 {
				v := T(values[a])
				match[i] = (lo <= v && v <= hi) != not
			}
		}
	}
}

// text is a test of a text field.
type text struct {
	*field
	holds func([]byte) bool
	// lo and hi, if not nil, bound the text that passes.
	lo, hi []byte
	// set, if not nil, has all texts that pass, as they are stored.
	set [][]byte
}

func (c text) eval(match []bool, _ *scratch) {
	if c.uuid {
		for i := range match {
			at := c.index(i)
			match[i] = at >= 0 && c.holds(c.text(at))
		}
		return
	}
	for i := range match {
		at := c.index(i)
		match[i] = at >= 0 && c.holds(c.bytes(at))
	}
}

// symbols is a test of an enum. It has the outcome for each symbol.
type symbols struct {
	*field
	holds []bool
}

func (c symbols) eval(match []bool, _ *scratch) {
	for i := range match {
		at := c.index(i)
		match[i] = at >= 0 && c.holds[c.values.Ints[at]]
	}
}

// operand has a value in each row.
type operand interface {
	value(row int) value
	knowable
}

// tested is a test of one operand that is not null.
type tested struct {
	operand
	holds func(*value) bool
}

func (c tested) eval(match []bool, _ *scratch) {
	for i := range match {
		v := c.value(i)
		match[i] = v.kind != kindNull && c.holds(&v)
	}
}

// pairwise is a test of two operands that are not null.
type pairwise struct {
	left, right operand
	holds       func(a, b *value) bool
}

func (c pairwise) eval(match []bool, _ *scratch) {
	for i := range match {
		a := c.left.value(i)
		if a.kind == kindNull {
			match[i] = false
			continue
		}
		b := c.right.value(i)
		match[i] = b.kind != kindNull && c.holds(&a, &b)
	}
}

// missing is true if an operand is null. If negated, it is true if the operand is not null.
type missing struct {
	operand
	not bool
}

func (c missing) eval(match []bool, _ *scratch) {
	for i := range match {
		v := c.value(i)
		match[i] = (v.kind == kindNull) != c.not
	}
}
