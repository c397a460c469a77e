package where

import (
	"bytes"
	"math"
	"slices"
)

// in translates a test whether a value is one of several constants.
func (t *translator) in(n *node, negated bool) (condition, error) {
	left, err := t.single(n.kids[0])
	if err != nil {
		return nil, err
	}
	if left.constant != nil {
		return nil, t.noField(left)
	}
	null := false
	var all []condition
	for _, k := range n.kids[1:] {
		c, err := t.term(k)
		switch {
		case err != nil:
			return nil, err
		case c.constant == nil:
			return nil, t.refused(k, "%s is not a constant; a list has constants only", t.quote(k))
		case c.kind == kindNull:
			null = true
			continue
		}
		one, err := t.test(left, equal, c, false)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	switch {
	case null && negated: // with null in the list, not in is unknown or false
		return constant(false), nil
	case len(all) == 0:
		return constant(negated), nil
	}
	return oneOf(all, negated), nil
}

// oneOf returns the condition that one of several tests for equality of the same term is true.
func oneOf(all []condition, negated bool) condition {
	switch first := all[0].(type) {
	case ints:
		return ints{first.field, setOf(all, negated, func(c condition) bounds[int64] { return c.(ints).t })}
	case floats:
		return floats{first.field, setOf(all, negated, func(c condition) bounds[float64] { return c.(floats).t })}
	case decimals:
		d := decimals{field: first.field, set: map[string]bool{}, not: negated}
		for _, c := range all {
			if c := c.(decimals); c.lo != nil {
				d.set[string(c.lo)] = true
			}
		}
		return d
	case symbols:
		return symbolTest(first.field, func(b []byte) bool {
			at := slices.Index(first.typ.Symbols, string(b))
			return slices.ContainsFunc(all, func(c condition) bool { return c.(symbols).holds[at] }) != negated
		})
	case text:
		return textSet(first.field, all, negated)
	case isTrue:
		some := func(not bool) bool {
			return slices.ContainsFunc(all, func(c condition) bool { return c.(isTrue).not == not })
		}
		return or{isTrue{first.field, true}.or(some(true) != negated), isTrue{first.field, false}.or(some(false) != negated)}
	}
	tests := make([]func(*value) bool, len(all))
	for i, c := range all {
		tests[i] = c.(tested).holds
	}
	return tested{all[0].(tested).operand, func(v *value) bool {
		return slices.ContainsFunc(tests, func(holds func(*value) bool) bool { return holds(v) }) != negated
	}}
}

// or returns the condition if test is set, and otherwise a condition that is never true.
func (c isTrue) or(test bool) condition {
	if test {
		return c
	}
	return constant(false)
}

// textSet is oneOf for tests of text.
func textSet(f *field, all []condition, negated bool) condition {
	set := map[string]bool{}
	c := text{field: f, lo: all[0].(text).lo, hi: all[0].(text).hi}
	for _, test := range all {
		test := test.(text)
		set[string(test.hi)] = true
		c.set = append(c.set, test.set...)
		if bytes.Compare(test.lo, c.lo) < 0 {
			c.lo = test.lo
		}
		if bytes.Compare(test.hi, c.hi) > 0 {
			c.hi = test.hi
		}
	}
	if negated {
		c.lo, c.hi, c.set = nil, nil, nil
	}
	c.holds = func(b []byte) bool { return set[string(b)] != negated }
	return c
}

// setOf makes the ascending set of the numbers that tests for equality allow.
func setOf[T int64 | float64](all []condition, negated bool, of func(condition) bounds[T]) bounds[T] {
	var set []T
	for _, c := range all {
		if b := of(c); b.lo == b.hi {
			set = append(set, b.lo)
		}
	}
	if len(set) == 0 {
		return always[T](negated)
	}
	slices.Sort(set)
	return bounds[T]{set: slices.Compact(set), not: negated}
}

// inRange translates a test whether a value is one of the integers from one constant to
// another.
func (t *translator) inRange(n *node, negated bool) (condition, error) {
	left, err := t.single(n.kids[0])
	if err != nil {
		return nil, err
	}
	var ends [2]int64
	for i, k := range n.kids[1:] {
		c, err := t.term(k)
		if err != nil {
			return nil, err
		}
		if c.constant == nil || c.kind != kindInt {
			return nil, t.refused(k, "a range has two constant integers, as in 1..9; write between for others")
		}
		ends[i] = c.constant.i
	}
	b := bounds[int64]{lo: ends[0], hi: ends[1], not: negated}
	switch {
	case left.constant != nil:
		return nil, t.noField(left)
	case left.field != nil && left.kind.integer():
		return ints{left.field, b}, nil
	case left.kind == kindInt:
		return tested{left.computed, func(v *value) bool { return b.holds(v.i) }}, nil
	case left.kind == kindFloat:
		low, high := floatBoundsOf(greaterEqual, b.lo), floatBoundsOf(lessEqual, b.hi)
		return tested{left.operand(), func(v *value) bool {
			return (low.holds(v.f) && high.holds(v.f) && v.f == math.Floor(v.f)) != negated
		}}, nil
	}
	return nil, t.refused(left.node, "%s is %s; only an integer or a floating-point number is in a range, write between", t.quote(left.node), left.kind)
}
