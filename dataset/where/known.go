package where

import "github.com/rowtocol/rowtocol/column"

// truth is what is known of a condition when some fields are.
type truth int8

const (
	unknown truth = iota
	holds
	fails
)

// Excludes reports whether the condition cannot hold in a row of which some columns
// are known: vectors with one row, by the columns' numbers.
func (p *Predicate) Excludes(known map[int]*column.Vector) (bool, error) {
	fields := map[*field]bool{}
	for _, f := range p.fields {
		all := f.leaf.Column < 0 || known[f.leaf.Column] != nil
		for _, col := range f.leaf.Optional {
			all = all && known[col] != nil
		}
		if !all {
			continue
		}
		fields[f] = true
		if err := f.load(known, 1); err != nil {
			return false, err
		}
	}
	return judge(p.root, fields, &p.scratch) == fails, nil
}

// judge finds out what fields that are loaded with one row say of a condition.
func judge(c condition, known map[*field]bool, s *scratch) truth {
	switch c := c.(type) {
	case and:
		left, right := judge(c.left, known, s), judge(c.right, known, s)
		return either(left, right, fails, holds)
	case or:
		left, right := judge(c.left, known, s), judge(c.right, known, s)
		return either(left, right, holds, fails)
	case not:
		switch judge(c.condition, known, s) {
		case holds:
			return fails
		case fails:
			return holds
		}
		return unknown
	}
	//guard: values of another batch would decide
	if !decided(c, known) {
		return unknown
	}
	var match [1]bool
	if c.eval(match[:], s); match[0] {
		return holds
	}
	return fails
}

// either is one if that is the truth of a side, and other if it is that of both.
func either(left, right, one, other truth) truth {
	switch {
	case left == one || right == one:
		return one
	case left == other && right == other:
		return other
	}
	return unknown
}

// decided reports whether all fields of a condition that is no logic are known.
func decided(c condition, known map[*field]bool) bool {
	switch c := c.(type) {
	case constant:
		return true
	case isNull:
		return known[c.f]
	case isTrue:
		return known[c.f]
	case ints:
		return known[c.f]
	case floats:
		return known[c.f]
	case text:
		return known[c.f]
	case symbols:
		return known[c.f]
	case tested:
		return given(c.operand, known)
	case missing:
		return given(c.operand, known)
	case pairwise:
		return given(c.left, known) && given(c.right, known)
	}
	return false
}

// given reports whether an operand's value is known.
func given(o operand, known map[*field]bool) bool {
	switch o := o.(type) {
	case *value:
		return true
	case *field:
		return known[o]
	case *computed:
		for _, f := range o.fields {
			if !known[f] {
				return false
			}
		}
		return true
	}
	return false
}
