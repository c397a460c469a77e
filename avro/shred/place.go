package shred

// Place is a type at one place of the rows, with the columns of its values. By places,
// readers of columns find the meaning of columns.
type Place struct{ s *step }

// Root returns the place of the rows themselves.
func (m *Mapping) Root() Place { return Place{m.root} }

// Type returns the type. For a branch of a union or an item of an array, it is the type of
// the branch or the item.
func (p Place) Type() *Node { return p.s.node }

// Raw reports whether the type contains itself and is kept as Avro data. The data is in
// Column.
func (p Place) Raw() bool { return p.s.raw }

// Leaf reports whether all values are in the one column Column.
func (p Place) Leaf() bool { return p.s.leaf() }

// Column returns the column of a leaf's values, or of the lengths of an array or a map. It
// returns -1 for a record and a union. A leaf that is an item or a branch can share its
// column with the lengths of the array or the branch.
func (p Place) Column() int { return p.s.col }

// Key returns the column of a map's keys.
func (p Place) Key() int { return p.s.key }

// Items returns the place of an array's items or a map's values.
func (p Place) Items() Place { return Place{p.s.items} }

// Field returns the place of field i of a record.
func (p Place) Field(i int) Place { return Place{p.s.fields[i]} }

// Branch returns the place of branch i of a union, and the column of its lengths, which
// are 0 or 1. The column is -1 for null, which has no place.
func (p Place) Branch(i int) (lengths int, branch Place) {
	b := p.s.branches[i]
	return b.col, Place{b.step}
}
