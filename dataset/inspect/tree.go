package inspect

import "strings"

// node is one line of the page's tree: a column, or another place in the schema, such
// as a record. Sizes are the node's own.
type node struct {
	Label     string   `json:"label"` // name without the name of the node above
	Name      string   `json:"name"`
	Depth     int      `json:"depth"`
	Column    int      `json:"column"`         // number of the column; -1 if the node is not a column
	Type      string   `json:"type,omitempty"` // type in the schema
	StoredAs  string   `json:"as,omitempty"`
	Codec     string   `json:"codec,omitempty"`
	Encodings []string `json:"encodings,omitempty"`
	Values    *int64   `json:"values,omitempty"`
	Blocks    int64    `json:"blocks,omitempty"`
	Raw       int64    `json:"raw,omitempty"`
	Stored    int64    `json:"stored,omitempty"`

	below []*node
}

// tree nests columns by their names and returns the nodes depth first. Columns
// should be depth first, as shred.Map makes them. In another order, a place may
// occur more than once. There are at most twice as many nodes as columns, for
// names of any length and depth.
func tree(columns []Column) []*node {
	root := &node{Column: -1}
	above := []*node{root} // nodes above the last column, and the last column's node
	last := ""
	for i := range columns {
		c := &columns[i]
		shared := sharedPlace(last, c.Name)
		var split *node
		for len(above) > 1 && (shared == 0 || len(above[len(above)-1].Name) > shared) {
			split, above = above[len(above)-1], above[:len(above)-1]
		}
		top := above[len(above)-1]
		if len(top.Name) < shared {
			place := &node{Name: c.Name[:shared], Column: -1, below: []*node{split}}
			top.below[len(top.below)-1] = place
			above, top = append(above, place), place
		}
		n := &node{
			Name: c.Name, Column: c.Number, Type: c.SchemaType, StoredAs: c.StoredAs, Codec: c.Codec, Encodings: c.Encodings,
			Values: c.Values, Blocks: c.Blocks, Raw: c.Raw, Stored: c.Stored,
		}
		top.below = append(top.below, n)
		above, last = append(above, n), c.Name
	}
	return root.flatten([]*node{}, 0)
}

// flatten appends the nodes below n and labels them.
func (n *node) flatten(all []*node, depth int) []*node {
	for _, b := range n.below {
		b.Label, b.Depth = strings.TrimPrefix(b.Name[len(n.Name):], "#"), depth
		all = b.flatten(append(all, b), depth+1)
	}
	return all
}

// sharedPlace returns the length of the longest common beginning of both names
// that is the name of a place in the schema, or 0.
func sharedPlace(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && !(endsPlace(a, n) && endsPlace(b, n)) {
		n--
	}
	return n
}

// endsPlace reports whether the name of a place in the schema ends before name[i].
func endsPlace(name string, i int) bool {
	return i == len(name) || strings.IndexByte("#/[>", name[i]) >= 0 || name[i-1] == '>'
}
