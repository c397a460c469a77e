package shred

import (
	"fmt"
	"slices"
	"strings"
)

// PathError is a path that names nothing in a schema, or nothing of use.
type PathError struct {
	Path   string
	Reason string   // what is wrong with it
	Near   []string // paths that may have been meant, the likeliest first
}

// Error names the path, the reason, and what may have been meant.
func (e *PathError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("%q %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%q %s; did you mean %s?", e.Path, e.Reason, strings.Join(e.Near, " or "))
}

// maxNear is the most paths that an error suggests.
const maxNear = 3

// unknown is the error for a path that names nothing.
func (m *Mapping) unknown(path string) error {
	e := &PathError{Path: path, Reason: "is no field and no column"}
	type near struct {
		path     string
		distance int
	}
	var all []near
	seen := map[string]bool{}
	m.root.walkPaths("", func(p string) {
		if seen[p] {
			return
		}
		seen[p] = true
		d := distance(strings.ToLower(path), strings.ToLower(p), 1+len(path)/3)
		if strings.HasSuffix(p, "."+path) {
			d = 1 // the way to it was left out
		}
		if d <= 1+len(path)/3 {
			all = append(all, near{p, d})
		}
	})
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	for _, n := range all[:min(len(all), maxNear)] {
		if n.distance <= all[0].distance+1 {
			e.Near = append(e.Near, n.path)
		}
	}
	return e
}

// walkPaths calls visit for the path of each field below s.
func (s *step) walkPaths(path string, visit func(string)) {
	if s.leaf() {
		return
	}
	s.each(func(_, _ int, name string, below *step) {
		p := path
		if s.node.Kind == KindRecord {
			p = join(path, name)
			visit(p)
		}
		below.walkPaths(p, visit)
	})
}

// distance is the number of bytes to insert, drop or change between two
// strings; more than limit is any number above it.
func distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Leaf is a field that has at most one value in a row, of a simple type.
type Leaf struct {
	// Type is the type of the value, which is never a union.
	Type *Node
	// Column holds the values; -1 if there can be none.
	Column int
	// Optional are the columns whose lengths say whether there is a value,
	// outermost first, each a child of the one before. A row has a value if all
	// of them have the length 1. The last may be Column itself.
	Optional []int
}

// Leaf finds the field that a path of names with dots between them leads to,
// through records and optional records. The error is a *PathError.
func (m *Mapping) Leaf(path string) (Leaf, error) {
	var leaf Leaf
	s, rest := m.root, path
	for {
		switch {
		case s.raw:
			return leaf, &PathError{Path: path, Reason: "is in a part of the rows that contains itself"}
		case s.node.Kind == KindUnion:
			b, optional := s.single()
			if !optional {
				return leaf, &PathError{Path: path, Reason: "has values of several types"}
			}
			if b == nil {
				leaf.Type, leaf.Column = &Node{Kind: KindNull}, -1
				return leaf, m.ends(path, rest)
			}
			leaf.Optional, s = append(leaf.Optional, b.col), b.step
			continue
		case s.node.Kind == KindArray || s.node.Kind == KindMap:
			return leaf, &PathError{Path: path, Reason: "leads to " + article(s.node.Kind) + ", of which a row can have many values"}
		case s.leaf():
			leaf.Type, leaf.Column = s.node, s.col
			return leaf, m.ends(path, rest)
		case rest == "":
			return leaf, &PathError{Path: path, Reason: "is a record; name a field of it"}
		}
		below := s.field(rest)
		if below < 0 {
			return leaf, m.unknown(path)
		}
		rest, _ = inField(rest, s.node.Fields[below].Name)
		s = s.fields[below]
	}
}

// ends is the error of a path that goes on below a simple type.
func (m *Mapping) ends(path, rest string) error {
	if rest != "" {
		return m.unknown(path)
	}
	return nil
}

// field returns the field that a path begins with, the one with the longest
// name: names may have dots in them. It is -1 if there is none.
func (s *step) field(path string) int {
	found := -1
	for i, f := range s.node.Fields {
		if _, ok := inField(path, f.Name); ok && (found < 0 || len(f.Name) > len(s.node.Fields[found].Name)) {
			found = i
		}
	}
	return found
}

// single returns the only branch of a union but null; nil if there is only
// null. ok is false if there are several.
func (s *step) single() (b *branch, ok bool) {
	for i := range s.branches {
		if s.branches[i].step == nil {
			continue
		}
		if b != nil {
			return nil, false
		}
		b = &s.branches[i]
	}
	return b, true
}

func article(k Kind) string {
	if k == KindArray {
		return "an array"
	}
	return "a map"
}
