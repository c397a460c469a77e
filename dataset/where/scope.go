package where

import (
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// scope has the fields of the rows, or of the items of an array or a map. Names of fields are
// relative to a scope.
type scope struct {
	place  shred.Place
	keys   int // column of the keys if the items are of a map; otherwise -1
	outer  *scope
	fields map[string]*field
	order  []*field
	anys   []*anyOf
	start  int // number of rows or items before the loaded rows or items
}

func newScope(place shred.Place, keys int, outer *scope) *scope {
	return &scope{place: place, keys: keys, outer: outer, fields: map[string]*field{}}
}

// begin starts with the values of a batch.
func (s *scope) begin(vectors map[int]*column.Vector) {
	s.start = 0
	for _, f := range s.order {
		f.begin(vectors)
	}
	for _, a := range s.anys {
		a.lengths = vectors[a.column].Lengths
		a.items.begin(vectors)
	}
}

// load moves to the next rows or items.
func (s *scope) load(n int) {
	for _, f := range s.order {
		f.load(s.start, n)
	}
	s.start += n
}

// walk is the path from a scope to a field.
type walk struct {
	*translator
	n     *node
	f     *field
	place shred.Place
	path  string   // path so far
	types []string // types of the union at the end of path, if there are several
}

// field returns the field of a node. Nodes with the same path have the same field.
func (t *translator) field(n *node) (*field, error) {
	path := t.source(n) + "\x00" + n.text
	if f := t.scope.fields[path]; f != nil {
		return f, nil
	}
	w := &walk{translator: t, n: n, f: &field{column: -1}, place: t.scope.place}
	if err := w.walk(n.parts); err != nil {
		return nil, err
	}
	f := w.f
	f.path = w.path
	t.need(f.optional...)
	if l := f.lookup; l != nil {
		t.need(l.column, l.keys)
		t.need(l.inner...)
	}
	if f.column >= 0 {
		t.need(f.column)
	}
	t.scope.fields[path] = f
	t.scope.order = append(t.scope.order, f)
	return f, nil
}

// need records that the condition reads columns.
func (t *translator) need(columns ...int) {
	for _, c := range columns {
		t.columns[c] = true
	}
}

func (w *walk) walk(parts []part) error {
	if w.scope.keys >= 0 {
		if len(parts) == 0 || parts[0].text != "key" && parts[0].text != "value" {
			return w.refuse("an item of a map has a key and a value; name one of them")
		}
		if parts[0].text == "key" {
			w.f.column = w.scope.keys
			return w.simple(&shred.Node{Kind: shred.KindString}, parts[1:])
		}
		w.path, parts = "value", parts[1:]
	}
	for len(parts) > 0 {
		if parts[0].key {
			if err := w.lookup(parts[0].text); err != nil {
				return err
			}
			parts = parts[1:]
			continue
		}
		var names []string
		for len(parts) > 0 && !parts[0].key {
			names, parts = append(names, parts[0].text), parts[1:]
		}
		if err := w.names(strings.Join(names, ".")); err != nil {
			return err
		}
	}
	return w.end()
}

// refuse returns an error with the place of the field.
func (w *walk) refuse(reason string, args ...any) error {
	return w.refused(w.n, reason, args...)
}

// simple ends at a simple type.
func (w *walk) simple(n *shred.Node, rest []part) error {
	if len(rest) > 0 {
		return w.refuse("%s is of a simple type and has nothing below it", w.path)
	}
	w.f.typ, w.f.kind, w.f.uuid = n, kindOf(n), n.LogicalType() == column.LogicalUUID
	return nil
}

// end checks the end of the path.
func (w *walk) end() error {
	if _, err := w.branch(""); err != nil || w.f.typ != nil {
		return err
	}
	if !w.place.Leaf() {
		w.f.kind, w.f.place = kindGroup, w.place
		return nil
	}
	if w.place.Raw() {
		return w.refuse("%s is in a part of the rows that contains itself, whose values are not decoded", w.path)
	}
	w.f.column = w.place.Column()
	return w.simple(w.place.Type(), nil)
}

// names follows a path through records.
func (w *walk) names(path string) error {
	for rest := path; rest != ""; {
		var err error
		if rest, err = w.branch(rest); err != nil || rest == "" {
			return err
		}
		kind := w.place.Type().Kind
		switch {
		case w.f.typ != nil || w.place.Leaf():
			return w.unknown(rest)
		case kind == shred.KindArray:
			return w.refuse("%s is an array, and a row can have many of its items; write any(%s, %s == ...)", w.path, w.path, rest)
		case kind == shred.KindMap:
			return w.refuse("%s is a map; write %s['%s'], or any(%s, key == ... and value == ...)", w.path, w.path, rest, w.path)
		}
		below, left, ok := w.place.FieldAt(rest)
		if !ok {
			return w.unknown(rest)
		}
		w.place = below
		w.pass(strings.TrimSuffix(strings.TrimSuffix(rest, left), "."))
		rest = left
	}
	return nil
}

// pass adds a name to the path.
func (w *walk) pass(name string) { w.path = strings.TrimPrefix(w.path+"."+name, ".") }

// branch moves to a branch of a union. If there are several types besides null, path begins
// with the name of the branch.
func (w *walk) branch(path string) (rest string, err error) {
	for !w.place.Raw() && w.place.Type().Kind == shred.KindUnion && w.f.typ == nil {
		var some, names []string
		chosen := -1
		for i, b := range w.place.Type().Branches {
			if b.Kind == shred.KindNull {
				continue
			}
			some, chosen = append(some, b.FullName()), i
			names = append(names, strings.TrimPrefix(w.path+"."+b.FullName(), "."))
		}
		if len(some) == 0 {
			w.f.typ, w.f.kind = &shred.Node{Kind: shred.KindNull}, kindNull
			return path, nil
		}
		if len(some) > 1 {
			chosen, rest = w.named(path)
			if chosen < 0 {
				if path == "" {
					w.types = some
				}
				return "", w.refuse("%s has values of several types; name one of them: %s", w.path, strings.Join(names, " or "))
			}
			w.pass(strings.TrimSuffix(strings.TrimSuffix(path, rest), "."))
			path = rest
		}
		lengths, below := w.place.Branch(chosen)
		if w.place = below; w.f.lookup != nil {
			w.f.lookup.inner = append(w.f.lookup.inner, lengths)
		} else {
			w.f.optional = append(w.f.optional, lengths)
		}
	}
	return path, nil
}

// named returns the branch of a union that a path begins with.
func (w *walk) named(path string) (branch int, rest string) {
	for i, b := range w.place.Type().Branches {
		_, short := shred.SplitName(b.FullName())
		for _, name := range []string{b.FullName(), short} {
			if b.Kind == shred.KindNull {
				continue
			}
			if path == name {
				return i, ""
			}
			if rest, ok := strings.CutPrefix(path, name+"."); ok {
				return i, rest
			}
		}
	}
	return -1, path
}

// lookup moves to the value of a key.
func (w *walk) lookup(key string) error {
	if _, err := w.branch(""); err != nil {
		return err
	}
	if w.f.typ != nil || w.place.Leaf() {
		return w.refuse("%s is not a map and has no keys", w.path)
	}
	switch w.place.Type().Kind {
	case shred.KindRecord:
		below, rest, ok := w.place.FieldAt(key)
		if !ok || rest != "" {
			return w.unknown(key)
		}
		w.place = below
		w.pass(key)
		return nil
	case shred.KindArray:
		return w.refuse("%s is an array and has no keys; write any(%s, # == ...)", w.path, w.path)
	}
	if w.f.lookup != nil {
		return w.refuse("a key is looked up in one map only; write any(%s, key == '%s' and ...)", w.path, key)
	}
	w.f.lookup = &lookup{column: w.place.Column(), keys: w.place.Key(), key: []byte(key)}
	w.place = w.place.Items()
	w.path += fmt.Sprintf("['%s']", key)
	return nil
}

// unknown returns the error for an unknown name.
func (w *walk) unknown(rest string) error {
	if w.f.typ != nil || w.place.Leaf() {
		return w.refuse("%s is of a simple type, and has no field %s", w.path, rest)
	}
	e := w.place.Unknown(rest)
	near := make([]string, len(e.Near))
	for i, name := range e.Near {
		near[i] = strings.TrimPrefix(w.path+"."+quotedPath(name), ".")
	}
	reason := fmt.Sprintf("there is no field %s", strings.TrimPrefix(w.path+"."+rest, "."))
	_, _, ofRows := w.mapping.Root().FieldAt(rest)
	switch {
	case w.scope.outer != nil && ofRows:
		reason += " in the items; inside any() only fields of the item can be named"
	case constantAlternative(strings.ToLower(rest)) != "":
		reason += "; " + constantAlternative(strings.ToLower(rest))
	case len(near) > 0:
		reason += "; did you mean " + strings.Join(near, " or ") + "?"
	case w.scope.outer != nil:
		reason += " in the items; inside any() only fields of the item can be named"
	}
	return w.refuse("%s", reason)
}

// quotedPath returns a path in the syntax of the language.
func quotedPath(path string) string {
	for _, part := range strings.Split(path, ".") {
		if part == "" || name(part) != part || part[0] >= '0' && part[0] <= '9' || words[strings.ToLower(part)] {
			return "`" + path + "`"
		}
	}
	return path
}
