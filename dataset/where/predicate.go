package where

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
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

// Bound is a demand of the condition on a column that has a value in every row.
type Bound struct {
	Column int
	test   condition
}

// Bounds returns demands that every selected row meets.
func (p *Predicate) Bounds() []Bound { return appendBounds(nil, p.root) }

func appendBounds(b []Bound, c condition) []Bound {
	switch c := c.(type) {
	case and:
		for _, c := range c {
			b = appendBounds(b, c)
		}
	case ints:
		if _, _, ok := c.t.limits(); ok && c.bounded() {
			return append(b, Bound{c.column, c})
		}
	case floats:
		if _, _, ok := c.t.limits(); ok && c.bounded() {
			return append(b, Bound{c.column, c})
		}
	case text:
		if (c.lo != nil || c.hi != nil) && c.bounded() {
			return append(b, Bound{c.column, c})
		}
	}
	return b
}

// Before reports whether a value is before all allowed values. encoded is the value as the
// column encodes it. Numbers are ordered by value, with NaN last, and texts by their bytes,
// as in a column's index.
func (b Bound) Before(encoded []byte) bool {
	switch c := b.test.(type) {
	case ints:
		v, _ := binary.Varint(encoded)
		return v < c.t.lower()
	case floats:
		return c.decode(encoded) < c.t.lower()
	case text:
		return c.lo != nil && bytes.Compare(c.ordered(column.Sized(encoded)), c.lo) < 0
	}
	return false
}

// After reports whether a value is after all allowed values.
func (b Bound) After(encoded []byte) bool {
	switch c := b.test.(type) {
	case ints:
		v, _ := binary.Varint(encoded)
		return v > c.t.upper()
	case floats:
		return !(c.decode(encoded) <= c.t.upper()) // NaN is last
	case text:
		return c.hi != nil && bytes.Compare(c.ordered(column.Sized(encoded)), c.hi) > 0
	}
	return false
}

func (t *bounds[T]) lower() T {
	lo, _, _ := t.limits()
	return lo
}

func (t *bounds[T]) upper() T {
	_, hi, _ := t.limits()
	return hi
}

// decode decodes a complete value of the column.
func (c floats) decode(encoded []byte) float64 {
	if c.typ.Kind == shred.KindFloat {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(encoded)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(encoded))
}
