package where

import "github.com/rowtocol/rowtocol/format/column"

// truth is what is known of a condition when some fields are.
type truth int8

const (
	unknown truth = iota
	holds
	fails
)

// Excludes reports whether the condition cannot hold in a row of which some columns
// are known: vectors with one row, by the columns' numbers.
func (p *Predicate) Excludes(known map[int]*column.Vector) bool {
	fields := map[*field]bool{}
	for _, f := range p.rows.order {
		all := f.lookup == nil && (f.column < 0 || known[f.column] != nil)
		for _, col := range f.optional {
			all = all && known[col] != nil
		}
		if !all {
			continue
		}
		fields[f] = true
		f.begin(known)
		f.load(0, 1)
	}
	return judge(p.root, fields, &p.scratch) == fails
}

// judge finds out what fields that are loaded with one row say of a condition.
func judge(c condition, known map[*field]bool, s *scratch) truth {
	switch c := c.(type) {
	case and:
		return either(c, known, s, fails, holds)
	case or:
		return either(c, known, s, holds, fails)
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

// either is one if that is the truth of any condition, and other if it is that of
// all.
func either(all []condition, known map[*field]bool, s *scratch, one, other truth) truth {
	result := other
	for _, c := range all {
		switch judge(c, known, s) {
		case one:
			return one
		case unknown:
			result = unknown
		}
	}
	return result
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
	case decimals:
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
