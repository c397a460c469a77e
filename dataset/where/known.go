package where

import (
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
)

// truth is the value of a condition if only some of its fields are known.
type truth int8

const (
	unknown truth = iota
	holds
	fails
)

// Excludes reports whether the condition cannot hold for a row with these known
// columns: vectors with one row, by the numbers of the columns.
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
	return evaluateKnown(p.root, fields, &p.scratch) == fails
}

// evaluateKnown evaluates a condition with fields that are loaded with one row.
func evaluateKnown(c condition, known map[*field]bool, s *scratch) truth {
	switch c := c.(type) {
	case and:
		return combine(c, known, s, fails, holds)
	case or:
		return combine(c, known, s, holds, fails)
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

// combine returns decisive if any condition has the truth decisive, and other if all
// conditions have the truth other. Otherwise it returns unknown.
func combine(all []condition, known map[*field]bool, s *scratch, decisive, other truth) truth {
	result := other
	for _, c := range all {
		switch evaluateKnown(c, known, s) {
		case decisive:
			return decisive
		case unknown:
			result = unknown
		}
	}
	return result
}

// knowable is an operand, or a condition without logic.
type knowable interface {
	// known reports whether fields has all fields of the operand or condition.
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
