package shred

import (
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// PathError is an error for a path that names no usable field of a schema.
type PathError struct {
	Path   string
	Reason string   // what is wrong with the path
	Near   []string // paths that may have been meant, the likeliest first
}

// Error returns the path, the reason, and the paths that may have been meant.
func (e *PathError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("%q %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%q %s; did you mean %s?", e.Path, e.Reason, strings.Join(e.Near, " or "))
}

// unknown returns the error for a path that names no field.
func (m *Mapping) unknown(path string) error { return m.Root().Unknown(path) }

// Unknown returns the error for a path that names no field below the place. The error
// suggests paths that may have been meant.
func (p Place) Unknown(path string) *PathError {
	var all []string
	p.s.walkPaths("", func(p string) { all = append(all, p) })
	near := column.Nearest(path, all)
	if len(near) == 0 {
		near = longestPrefix(path, all)
	}
	return &PathError{Path: path, Reason: "is neither a field nor a column", Near: near}
}

// longestPrefix returns the longest of paths with which path begins. path may continue
// with a type of a union or a key of a map.
func longestPrefix(path string, paths []string) (longest []string) {
	best := ""
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(path, p); ok && rest != "" && strings.ContainsRune("./[#>", rune(rest[0])) && len(p) > len(best) {
			best, longest = p, []string{p}
		}
	}
	return longest
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

// FieldAt returns the field of the record that a dotted path begins with. Names may
// contain dots, so the field with the longest such name is returned. rest is the path below
// the field.
func (p Place) FieldAt(path string) (field Place, rest string, ok bool) {
	i := p.s.field(path)
	if i < 0 {
		return Place{}, path, false
	}
	rest, _ = inField(path, p.s.node.Fields[i].Name)
	return p.Field(i), rest, true
}

// field returns the index of the field that a path begins with, or -1. Names may contain
// dots, so it is the field with the longest such name.
func (s *step) field(path string) int {
	found := -1
	for i, f := range s.node.Fields {
		if _, ok := inField(path, f.Name); ok && (found < 0 || len(f.Name) > len(s.node.Fields[found].Name)) {
			found = i
		}
	}
	return found
}
