package shred

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// Same reports whether the schemas are the same schema: all rows of one schema are rows of
// the other, with the same meaning. Equal must be full names, types, the order of fields and
// of union branches, symbols, sizes, logical types that are known and fit their type, and
// properties with a meaning (connect.name, connect.parameters, and those that begin with
// adjust-to-utc). Differences lists other differences.
func (s *Schema) Same(other *Schema) bool {
	return s.text == other.text || s.Identity() == other.Identity()
}

// Identity returns a text that is equal for two schemas exactly if they are the same: see
// Same. Each call builds the text again.
func (s *Schema) Identity() string {
	var w identityWriter
	w.node(s.root)
	return w.String()
}

// identityWriter writes types. A named type is written where it occurs first.
type identityWriter struct {
	strings.Builder
	seen map[*Node]bool
}

func (w *identityWriter) node(n *Node) {
	w.WriteString(n.Kind.String())
	if n.Name != "" {
		w.quoted(n.Name)
		if w.seen[n] {
			return
		}
		if w.seen == nil {
			w.seen = map[*Node]bool{}
		}
		w.seen[n] = true
	}
	if l := n.LogicalType(); l != column.LogicalNone {
		w.WriteString(" " + n.logicalText())
	}
	w.WriteString(n.meanings.text())
	switch n.Kind {
	case KindFixed:
		w.WriteString(" " + strconv.Itoa(n.Size))
	case KindEnum:
		w.WriteByte('(')
		for _, symbol := range n.Symbols {
			w.quoted(symbol)
		}
		w.WriteByte(')')
	case KindRecord:
		w.WriteByte('(')
		for _, f := range n.Fields {
			w.quoted(f.Name)
			w.WriteString(f.meanings.text())
			w.node(f.Type)
		}
		w.WriteByte(')')
	case KindArray, KindMap:
		w.WriteByte('(')
		w.node(n.Items)
		w.WriteByte(')')
	case KindUnion:
		w.WriteByte('(')
		for _, b := range n.Branches {
			w.node(b)
			w.WriteByte(',')
		}
		w.WriteByte(')')
	}
}

func (w *identityWriter) quoted(s string) { w.WriteString(strconv.Quote(s)) }

// Differences returns the differences of other, which must be the same schema, in aliases,
// defaults and properties that are not ignored. Each entry names the place and the
// difference.
func (s *Schema) Differences(other *Schema) []string {
	d := differences{seen: map[*Node]bool{}}
	d.node("", s.root, other.root)
	return d.found
}

// differences walks two schemas that are the same.
type differences struct {
	seen  map[*Node]bool
	found []string
}

func (d *differences) note(place, what string, differs bool) {
	if differs {
		d.found = append(d.found, place+": "+what)
	}
}

func (d *differences) node(path string, a, b *Node) {
	if a.Name != "" {
		if d.seen[a] {
			return
		}
		d.seen[a] = true
	}
	place := "type " + quote(a.FullName())
	if path != "" {
		place = "field " + quote(path)
	}
	d.note(place, "the aliases of its type", !slices.Equal(a.Aliases, b.Aliases))
	d.note(place, "the default of its enum", a.Default != b.Default)
	for _, key := range a.others.differing(b.others) {
		d.note(place, quote(key), true)
	}
	switch a.Kind {
	case KindRecord:
		for i := range a.Fields {
			d.field(below(path, a.Fields[i].Name), &a.Fields[i], &b.Fields[i])
		}
	case KindArray, KindMap:
		d.node(below(path, itemPath(a)), a.Items, b.Items)
	case KindUnion:
		for i := range a.Branches {
			d.node(path, a.Branches[i], b.Branches[i])
		}
	}
}

func (d *differences) field(path string, a, b *Field) {
	place := "field " + quote(path)
	d.note(place, "its aliases", !slices.Equal(a.Aliases, b.Aliases))
	d.note(place, "its default", a.hasDefault != b.hasDefault || jsonText(a.value) != jsonText(b.value))
	for _, key := range a.others.differing(b.others) {
		d.note(place, quote(key), true)
	}
	d.node(path, a.Type, b.Type)
}
