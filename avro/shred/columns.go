package shred

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	// maxColumns bounds the columns of a mapping.
	maxColumns = 100_000
	// maxSteps bounds the types that a row visits. It matters only for schemas that
	// have far more records without fields than columns.
	maxSteps = 10 * maxColumns
	// maxNames bounds the bytes of all columns' names and paths together.
	maxNames = 64 << 20
)

// Options shape the columns of a schema.
type Options struct {
	// RecursiveBytes keeps a type that contains itself as a column of bytes with Avro
	// data. If it is not set, a recursive schema is an error.
	RecursiveBytes bool
	// Memory, if set, is called with the approximate memory of the columns before they
	// are made. Map returns its error.
	Memory interface{ Check(bytes int64) error }
}

// Mapping is a schema with the columns that its rows fill, in the order and with the
// names of the Trevni specification. It is immutable.
type Mapping struct {
	Schema  *Schema
	Columns []column.Column
	root    *step
}

// step is a type at a place in the schema, with the columns that it fills.
type step struct {
	node     *Node
	col      int  // column of a leaf's values, or of an array's or a map's lengths; else -1
	raw      bool // the type is a recursive record, and col holds its datum as bytes
	key      int  // column of a map's keys
	items    *step
	fields   []*step
	branches []branch
}

// leaf reports whether the step has one value in one column.
func (s *step) leaf() bool { return s.raw || s.node.Kind.Simple() }

// branch is a branch of a union.
type branch struct {
	col  int   // column of the lengths, 0 or 1, and of a leaf's values; -1 for null
	step *step // nil for null
}

// Map assigns columns to a schema. The schema must not be recursive, unless RecursiveBytes
// is set. It must have columns, at most 100,000 of them, with distinct names, and at most
// 1,000 levels. Otherwise the error is a *damage.Error of kind damage.Unsupported, whose
// Path is the dotted path of the type. Map checks these limits, and Options.Memory, before
// it allocates columns.
func Map(s *Schema, opts Options) (*Mapping, error) {
	sz := sizer{recursive: map[*Node]int{}, sizes: map[*Node]size{}}
	expanded, err := sz.check(s.root)
	if err != nil {
		return nil, err
	}
	if opts.Memory != nil {
		//guard: checks memory before a schema is expanded
		if err := opts.Memory.Check(expanded.memory()); err != nil {
			return nil, fmt.Errorf("schema of %d columns: %w", expanded.columns, err)
		}
	}
	m := &mapper{
		mapping: &Mapping{Schema: s},
		sizer:   &sz, opts: opts,
		names: map[string]string{},
	}
	root, err := m.expand(s.root, nil, -1)
	if err != nil {
		return nil, err
	}
	m.mapping.root = root
	if len(m.mapping.Columns) == 0 {
		return nil, damage.New(damage.Unsupported, "", -1, "schema %s has no columns", s.root.FullName())
	}
	return m.mapping, nil
}

// mapper builds a Mapping. The path of the current type is a stack of bytes, which is cut
// back after each type. Only the path of a column becomes a string.
type mapper struct {
	mapping *Mapping
	sizer   *sizer
	opts    Options
	names   map[string]string // dotted paths by column name
	bytes   int               // size of all names and paths
	path    []byte            // column path
	fields  []string          // dotted path
}

// expand returns the step of type n, which is a part of type in. above is the column of the
// array around it, or -1.
func (m *mapper) expand(n, in *Node, above int) (*step, error) {
	s := &step{node: n, col: -1, key: -1}
	if m.sizer.recurs(in, n) {
		if !m.opts.RecursiveBytes {
			return nil, m.unsupported("recursive schema: %s contains itself", n.FullName())
		}
		s.raw = true
	}
	var err error
	switch {
	case s.leaf():
		s.col, err = m.leaf(s, column.Column{Parent: above})
	case n.Kind == KindRecord:
		err = m.record(s, above)
	case n.Kind == KindArray:
		defer m.enter("", "[]", "[]")()
		s.col, s.items, err = m.sequence(n.Items, n, column.Column{Parent: above, Array: true, Def: 1, Rep: 1})
	case n.Kind == KindMap:
		err = m.mapType(s, above)
	default:
		err = m.union(s, above)
	}
	return s, err
}

func (m *mapper) record(s *step, above int) error {
	s.fields = make([]*step, len(s.node.Fields))
	for i, f := range s.node.Fields {
		leave := m.enter("#", f.Name, "."+f.Name)
		var err error
		if s.fields[i], err = m.expand(f.Type, s.node, above); err != nil {
			return err
		}
		leave()
	}
	return nil
}

func (m *mapper) mapType(s *step, above int) error {
	defer m.enter("", ">", "{}")()
	var err error
	if s.col, err = m.add(column.Column{Type: column.Null, Array: true, Parent: above, Def: 1, Rep: 1}); err != nil {
		return err
	}
	leave := m.enter("", "key", "")
	if s.key, err = m.add(column.Column{Type: column.String, Parent: s.col}); err != nil {
		return err
	}
	leave()
	defer m.enter("", "value", "")()
	s.items, err = m.expand(s.node.Items, s.node, s.col)
	return err
}

func (m *mapper) union(s *step, above int) error {
	s.branches = make([]branch, len(s.node.Branches))
	_, null := s.node.Optional()
	def := uint16(1)
	if null < 0 && slices.ContainsFunc(s.node.Branches, func(n *Node) bool { return n.Kind == KindNull }) {
		def = 2 // the union and its branch are optional
	}
	for i, n := range s.node.Branches {
		b := &s.branches[i]
		b.col = -1
		if n.Kind == KindNull {
			continue
		}
		leave := m.enter("/", n.FullName(), "")
		var err error
		b.col, b.step, err = m.sequence(n, s.node, column.Column{Parent: above, Array: true, Optional: true, Nullable: null >= 0, Def: def})
		if err != nil {
			return err
		}
		leave()
	}
	return nil
}

// sequence adds the column c of lengths, and the columns of the values. Simple values are in
// c itself, other values in columns below c.
func (m *mapper) sequence(n, in *Node, c column.Column) (col int, s *step, err error) {
	s = &step{node: n, col: -1, key: -1, raw: m.opts.RecursiveBytes && m.sizer.recurs(in, n)}
	if s.leaf() {
		s.col, err = m.leaf(s, c)
		return s.col, s, err
	}
	if col, err = m.add(c); err != nil {
		return 0, nil, err
	}
	s, err = m.expand(n, in, col)
	return col, s, err
}

func (m *mapper) leaf(s *step, c column.Column) (int, error) {
	if c.Type = leafType(s); c.Type == column.Null {
		c.Def++ // the level of a value that never occurs
	}
	if !s.raw {
		addMeaning(&c, s.node)
	}
	if len(m.path) == 0 {
		defer m.enter("", s.node.FullName(), "")()
	}
	return m.add(c)
}

// addMeaning sets the meaning of a column's values from their type.
func addMeaning(c *column.Column, n *Node) {
	if c.Logical = n.LogicalType(); c.Logical == column.LogicalDecimal {
		c.Precision, c.Scale = n.Precision, n.Scale
	}
	switch n.Kind {
	case KindFixed:
		c.FixedSize = n.Size
	case KindEnum:
		c.Symbols = n.Symbols
	}
}

var leafTypes = [...]column.Type{
	KindNull: column.Null, KindBoolean: column.Boolean, KindInt: column.Int, KindLong: column.Long,
	KindFloat: column.Float, KindDouble: column.Double, KindBytes: column.Bytes, KindString: column.String,
	KindFixed: column.Bytes, KindEnum: column.Int,
}

func leafType(s *step) column.Type {
	if s.raw {
		return column.Bytes
	}
	return leafTypes[s.node.Kind]
}

// add appends the column, named by the current path. Its levels become those of the column
// around it and its own together.
func (m *mapper) add(c column.Column) (int, error) {
	c.Name = string(m.path)
	path := m.dotted()
	//guard: bounds the memory for names of columns
	if m.bytes += len(c.Name) + len(path); m.bytes > maxNames {
		return 0, m.unsupported("column names of more than %d bytes together", maxNames)
	}
	//guard: rejects two fields with the same column name
	if first, ok := m.names[c.Name]; ok {
		return 0, m.unsupported("its column %q is also that of field %s", c.Name, first)
	}
	m.names[c.Name] = path
	if c.Parent >= 0 {
		above := &m.mapping.Columns[c.Parent]
		c.Def, c.Rep = c.Def+above.Def, c.Rep+above.Rep
	}
	if c.Def > column.MaxDef || c.Rep > column.MaxRep { // more than maxLevels allows
		return 0, m.unsupported("its definition level is %d, its repetition level %d", c.Def, c.Rep)
	}
	m.mapping.Columns = append(m.mapping.Columns, c)
	return len(m.mapping.Columns) - 1, nil
}

// dotted returns the path of the current type as errors name it.
func (m *mapper) dotted() string {
	return strings.TrimPrefix(strings.Join(m.fields, ""), ".")
}

// enter adds name to the column path, after the separator unless the path is empty, and
// field to the dotted path. leave undoes both.
func (m *mapper) enter(separator, name, field string) (leave func()) {
	path, fields := len(m.path), len(m.fields)
	if path > 0 {
		m.path = append(m.path, separator...)
	}
	m.path = append(m.path, name...)
	m.fields = append(m.fields, field)
	return func() { m.path, m.fields = m.path[:path], m.fields[:fields] }
}

func (m *mapper) unsupported(reason string, args ...any) error {
	e := damage.New(damage.Unsupported, "", -1, reason, args...)
	e.Path = m.dotted()
	return e
}
