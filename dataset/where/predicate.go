package where

import (
	"maps"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// Predicate is a condition on the rows of a mapping. It belongs to one goroutine.
type Predicate struct {
	root    condition
	rows    *scope
	columns []int
	vectors map[int]*column.Vector
	scratch scratch
}

// Parse reads a condition on the rows of a mapping. If the text is not in the language, or
// does not fit the schema, the error is an *Error.
func Parse(text string, m *shred.Mapping) (*Predicate, error) {
	tree, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	rows := newScope(m.Root(), -1, nil)
	t := &translator{text: text, mapping: m, scope: rows, columns: map[int]bool{}}
	root, err := t.condition(tree, false)
	if err != nil {
		return nil, err
	}
	return &Predicate{
		root: root, rows: rows, vectors: map[int]*column.Vector{},
		columns: slices.Sorted(maps.Keys(t.columns)),
	}, nil
}

// Columns returns the columns of the mapping that the condition needs, ascending.
func (p *Predicate) Columns() []int { return p.columns }

// Eval sets, for each row of a batch, whether the condition is true. vectors are the vectors
// of Columns. They must have len(match) rows, and must not contradict the schema.
func (p *Predicate) Eval(vectors []*column.Vector, match []bool) {
	for i, col := range p.columns {
		p.vectors[col] = vectors[i]
	}
	p.rows.begin(p.vectors)
	p.rows.load(len(match))
	p.root.eval(match, &p.scratch)
}
