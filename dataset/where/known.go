package where

import (
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
)

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
	//guard: decides only by values of this batch
	if k, ok := c.(knowable); !ok || !k.known(known) {
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

// knowable is a condition that is no logic, or an operand.
type knowable interface {
	// known reports whether all fields in it are among some.
	known(fields map[*field]bool) bool
}

func (f *field) known(fields map[*field]bool) bool { return fields[f] }

func (constant) known(map[*field]bool) bool { return true }

func (v *value) known(map[*field]bool) bool { return true }

func (c *computed) known(fields map[*field]bool) bool {
	return !slices.ContainsFunc(c.fields, func(f *field) bool { return !fields[f] })
}

func (c pairwise) known(fields map[*field]bool) bool {
	return c.left.known(fields) && c.right.known(fields)
}
