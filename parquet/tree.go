package parquet

import (
	"fmt"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/intern"
)

// tree is the Parquet schema of rows with an Avro schema. It is immutable.
type tree struct {
	schema  string // the Avro schema
	mapping *shred.Mapping
	// elements are the nodes of the schema, depth first, the root first.
	elements []pq.SchemaElement
	// leaves are the column chunks, in the order of the file.
	leaves []leaf
	// leafOf has, for each column of the mapping, the leaf with its levels: that of the column
	// itself, or the first one below it.
	leafOf []int
	// partial is set if the Parquet schema leaves out, or keeps as bytes, parts of the Avro
	// schema: records without fields, and types that contain themselves.
	partial bool
	times   times
	// retimed is set if a stored type differs from that of the rows because of times.
	retimed bool
}

// leaf is a column chunk.
type leaf struct {
	*column.Column          // of the rows
	unit           unit     // of the stored values
	number         int      // number of the column in the mapping
	path           []string // names from the root to the leaf, without the root's name
	physical       pq.Type
	size           int // size of a FIXED_LEN_BYTE_ARRAY
	def, rep       int // level of a value, the highest in the file
	// presence is set for a column that has only levels. In the file, its values are true.
	presence bool
}

// treeKey is what a tree depends on.
type treeKey struct {
	schema string
	stored times
}

// trees has the trees that are in use. Most files of a process have the same one, and a tree of a
// thousand columns takes as long to make as a million values to read.
var trees intern.Values[treeKey, tree]

// newTree returns the Parquet schema for an Avro schema. Several files may share it.
func newTree(schema string, stored times) (*tree, error) {
	return trees.Get(treeKey{schema, stored}, func() (*tree, error) { return buildTree(schema, stored) })
}

func buildTree(schema string, stored times) (*tree, error) {
	parsed, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	// Only rows that were shredded with this option can have a recursive schema.
	m, err := shred.Map(parsed, shred.Options{RecursiveBytes: true})
	if err != nil {
		return nil, err
	}
	t := &tree{schema: schema, mapping: m, leafOf: make([]int, len(m.Columns)), times: stored}
	for i := range t.leafOf {
		t.leafOf[i] = -1
	}
	b := treeBuilder{tree: t}
	root := m.Root()
	b.group(root.Type().FullName(), pq.Required, pq.LogicalType{}, func() {
		if root.Type().Kind == shred.KindRecord {
			b.fields(root)
			return
		}
		b.place(root, root.Type().FullName(), pq.Required, -1)
	})
	t.elements[0].RepetitionType.Reset() // the root has none
	for i := len(m.Columns) - 1; i >= 0; i-- {
		if parent := m.Columns[i].Parent; parent >= 0 {
			t.leafOf[parent] = t.leafOf[i]
		}
	}
	return t, nil
}

// treeBuilder adds the places of an Avro schema to a tree, depth first.
type treeBuilder struct {
	*tree
	path []string
}

// itemLevel returns the definition level from which on an entry is an item of an array or map
// column, or a value of an optional one.
func (t *tree) itemLevel(col int) int {
	c := &t.mapping.Columns[col]
	if l := &t.leaves[t.leafOf[col]]; l.number == col && c.Type == column.Null && !l.presence {
		return int(c.Def) - 1 // an item is a null, which is not present
	}
	return int(c.Def)
}

// group adds a group and the children that add adds.
func (b *treeBuilder) group(name string, r pq.FieldRepetitionType, t pq.LogicalType, add func()) {
	at, depth := len(b.elements), len(b.path)
	b.elements = append(b.elements, groupElement(name, r, t))
	if at > 0 {
		b.path = append(b.path, name)
	}
	children := int32(0)
	b.children(&children, add)
	b.elements[at].NumChildren.Set(children)
	b.path = b.path[:depth]
}

// children counts the direct children that add adds.
func (b *treeBuilder) children(n *int32, add func()) {
	from := len(b.elements)
	add()
	for i := from; i < len(b.elements); *n++ {
		i = b.after(i)
	}
}

// after returns the index of the element after the one at i and everything below it.
func (b *treeBuilder) after(i int) int {
	left := 1
	for left > 0 {
		left += int(b.elements[i].NumChildren.V) - 1
		i++
	}
	return i
}

// place adds the nodes of one place. lengths is the column of the place's lengths, if it is
// an item or a branch, or else -1.
func (b *treeBuilder) place(p shred.Place, name string, r pq.FieldRepetitionType, lengths int) {
	kind := p.Type().Kind
	switch {
	case p.Raw():
		b.partial = true
		b.leaf(p.Column(), name, r, p)
	case p.Leaf():
		if kind == shred.KindNull {
			r = pq.Optional
		}
		b.leaf(p.Column(), name, r, p)
	case empty(p):
		b.partial = true
		if lengths >= 0 {
			b.presence(lengths, name, r)
		}
	case kind == shred.KindRecord:
		b.group(name, r, pq.LogicalType{}, func() { b.fields(p) })
	case kind == shred.KindArray:
		b.group(name, r, pq.LogicalType{Value: &pq.ListType{}}, func() {
			b.group("list", pq.Repeated, pq.LogicalType{}, func() {
				b.place(p.Items(), "element", pq.Required, p.Column())
			})
		})
	case kind == shred.KindMap:
		var t pq.LogicalType
		if !empty(p.Items()) { // engines refuse a map without values
			t.Value = &pq.MapType{}
		}
		b.group(name, r, t, func() {
			b.group("key_value", pq.Repeated, pq.LogicalType{}, func() {
				b.key(p.Key())
				b.place(p.Items(), "value", pq.Required, -1)
			})
		})
	default:
		b.union(p, name, r)
	}
}

func (b *treeBuilder) fields(p shred.Place) {
	for i, f := range p.Type().Fields {
		b.place(p.Field(i), f.Name, pq.Required, -1)
	}
}

// union adds an optional node, or a group with a member for each branch except null.
func (b *treeBuilder) union(p shred.Place, name string, r pq.FieldRepetitionType) {
	_, null := p.Type().Optional()
	if null >= 0 {
		lengths, branch := p.Branch(1 - null)
		b.place(branch, name, pq.Optional, lengths)
		return
	}
	for _, branch := range p.Type().Branches {
		if branch.Kind == shred.KindNull {
			r = pq.Optional
		}
	}
	b.group(name, r, pq.LogicalType{}, func() {
		members := 0
		for i := range p.Type().Branches {
			if lengths, branch := p.Branch(i); lengths >= 0 {
				b.place(branch, fmt.Sprintf("member%d", members), pq.Optional, lengths)
				members++
			}
		}
	})
}

// empty reports whether a place has no column below it.
func empty(p shred.Place) bool {
	switch p.Type().Kind {
	case shred.KindRecord:
		for i := range p.Type().Fields {
			if !empty(p.Field(i)) {
				return false
			}
		}
		return true
	case shred.KindUnion:
		for i := range p.Type().Branches {
			if lengths, _ := p.Branch(i); lengths >= 0 {
				return false
			}
		}
		return true
	}
	return false
}

// leaf adds the column chunk of a column with values.
func (b *treeBuilder) leaf(number int, name string, r pq.FieldRepetitionType, p shred.Place) {
	l, stored := b.newLeaf(number, name)
	b.add(l, leafElement(l, stored, name, r, p.Type().Kind == shred.KindString && !p.Raw()))
}

// key adds the column chunk of a map's keys.
func (b *treeBuilder) key(number int) {
	l, stored := b.newLeaf(number, "key")
	b.add(l, leafElement(l, stored, "key", pq.Required, true))
}

// presence adds the column chunk of a column that has only lengths.
func (b *treeBuilder) presence(number int, name string, r pq.FieldRepetitionType) {
	l, stored := b.newLeaf(number, name)
	l.presence, l.physical = true, pq.Boolean
	b.add(l, leafElement(l, stored, name, r, false))
}

// newLeaf returns a leaf, and the column of its stored values.
func (b *treeBuilder) newLeaf(number int, name string) (l *leaf, stored *column.Column) {
	c := &b.mapping.Columns[number]
	stored = b.times.column(c)
	b.retimed = b.retimed || stored != c
	l = &leaf{Column: c, unit: unitOfStored(c, stored), number: number, def: int(c.Def), rep: int(c.Rep)}
	l.path = append(append([]string(nil), b.path...), name)
	l.physical, l.size = physicalOf(stored)
	return l, stored
}

func (b *treeBuilder) add(l *leaf, e pq.SchemaElement) {
	b.leafOf[l.number] = len(b.leaves)
	b.elements, b.leaves = append(b.elements, e), append(b.leaves, *l)
}
