package shred

import (
	"encoding/binary"
	"fmt"
	"maps"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// Project returns the mapping of rows reduced to the fields in paths, and for each of
// its columns the index of the same column in m.
//
// A path is the names of fields, joined by dots. It selects the field with all its parts.
// Arrays, maps and unions on the way have no name in the path. In a union, a path selects
// all branches that have the field. The name of a column is a path too. It selects the type
// of the column: a column of lengths selects the whole array, map or branch.
//
// The reduced rows stay readable: a map keeps its keys, and a union keeps all its branches,
// reduced to the parts that distinguish them. Order, names, defaults and all other properties
// are kept. If a named type is reduced in different ways, it becomes several types. The
// second type has the suffix _2, the third _3, and so on.
//
// The error is a *PathError if a path names no field or column.
func (m *Mapping) Project(paths []string) (*Mapping, []int, error) {
	chosen := &selection{}
	for _, path := range paths {
		if path == "" || !chosen.choose(m.root, path) && !chosen.chooseColumn(m, m.root, path) {
			return nil, nil, m.unknown(path)
		}
	}
	p := &projection{ids: map[string]int{}, definitions: map[*Node]any{}, names: map[reducedType]string{}, taken: map[string]bool{}}
	settled := p.settle(m.root, chosen)
	raw, err := decodeJSON(m.Schema.text)
	if err != nil {
		return nil, nil, err
	}
	p.define(raw, m.Schema.root)
	text, err := encodeJSON(p.typ(raw, m.Schema.root, settled, ""))
	if err != nil {
		return nil, nil, schemaError(err)
	}
	schema, err := ParseSchema(text)
	if err != nil {
		return nil, nil, err
	}
	reduced, columns := m.reduce(schema, settled)
	return reduced, columns, nil
}

// selection says what to keep of a step: the whole step, or the parts that are not nil. Parts
// are a record's fields, a union's branches, or the items of an array or a map.
type selection struct {
	whole bool
	parts []*selection
	id    int // set by settle; equal for equal selections of the same type
}

var whole = &selection{whole: true}

// part returns the selection of part i of n parts. If part i has none yet, it returns an empty
// one, which the caller adds.
func (c *selection) part(i, n int) *selection {
	if c.parts == nil {
		c.parts = make([]*selection, n)
	}
	if c.parts[i] == nil {
		return &selection{}
	}
	return c.parts[i]
}

// choose adds the type that a path names below s, and reports whether there is one.
func (c *selection) choose(s *step, path string) (found bool) {
	if path == "" {
		c.whole = true
		return true
	}
	if s.leaf() {
		return false
	}
	s.each(func(i, n int, name string, below *step) {
		rest, ok := path, true
		if s.node.Kind == KindRecord {
			rest, ok = inField(path, name)
		}
		if !ok {
			return
		}
		if part := c.part(i, n); part.choose(below, rest) {
			c.parts[i], found = part, true
		}
	})
	return found
}

// inField returns the rest of a path below the field.
func inField(path, field string) (rest string, ok bool) {
	if path == field {
		return "", true
	}
	return strings.CutPrefix(path, field+".")
}

// chooseColumn adds the step of a column.
func (c *selection) chooseColumn(m *Mapping, s *step, name string) (found bool) {
	if s.leaf() {
		c.whole = c.whole || m.Columns[s.col].Name == name
		return m.Columns[s.col].Name == name
	}
	if s.col >= 0 && m.Columns[s.col].Name == name {
		c.whole = true
		return true
	}
	if s.key >= 0 && m.Columns[s.key].Name == name {
		return true // keys are always kept
	}
	s.each(func(i, n int, _ string, below *step) {
		part := c.part(i, n)
		if s.node.Kind == KindUnion && m.Columns[s.branches[i].col].Name == name {
			part.whole, found = true, true
			c.parts[i] = part
		} else if part.chooseColumn(m, below, name) {
			c.parts[i], found = part, true
		}
	})
	return found
}

// each calls visit for the n parts of a step: fields, items, or branches except null.
func (s *step) each(visit func(i, n int, name string, below *step)) {
	switch {
	case s.items != nil:
		visit(0, 1, "", s.items)
	case s.node.Kind == KindRecord:
		for i, f := range s.fields {
			visit(i, len(s.fields), s.node.Fields[i].Name, f)
		}
	default:
		for i, b := range s.branches {
			if b.step != nil {
				visit(i, len(s.branches), "", b.step)
			}
		}
	}
}

// projection makes the text of the reduced schema.
type projection struct {
	ids         map[string]int         // IDs of selections, by the IDs of their parts
	definitions map[*Node]any          // JSON of named types
	names       map[reducedType]string // full names of types that were written
	taken       map[string]bool
}

// reducedType is a named type with the part of it that is kept.
type reducedType struct {
	node *Node
	id   int
}

// settle completes a selection: it adds the parts that are always kept. If all parts are
// selected, it returns whole.
func (p *projection) settle(s *step, c *selection) *selection {
	if s.leaf() || c != nil && c.whole {
		return whole
	}
	settled, all := &selection{}, true
	var key []byte
	s.each(func(i, n int, _ string, below *step) {
		var chosen *selection
		if c != nil && c.parts != nil {
			chosen = c.parts[i]
		}
		if settled.parts == nil {
			settled.parts = make([]*selection, n)
		}
		if chosen == nil && s.node.Kind == KindRecord {
			all = false
			return
		}
		part := p.settle(below, chosen)
		settled.parts[i], all = part, all && part.whole
		key = binary.AppendVarint(binary.AppendVarint(key, int64(i)), int64(part.id))
	})
	if all {
		return whole
	}
	if _, ok := p.ids[string(key)]; !ok {
		p.ids[string(key)] = len(p.ids) + 1 // 0 is whole
	}
	settled.id = p.ids[string(key)]
	return settled
}

// of returns the selection of part i.
func (c *selection) of(i int) *selection {
	if c.whole {
		return whole
	}
	return c.parts[i]
}

// define finds the JSON of each named type's definition.
func (p *projection) define(raw any, n *Node) {
	raw = unwrap(raw)
	if list, ok := raw.([]any); ok {
		for i, b := range n.Branches {
			p.define(list[i], b)
		}
		return
	}
	object, _ := raw.(map[string]any)
	if isReference(raw) {
		return
	}
	if n.Name != "" {
		p.definitions[n], p.taken[n.Name] = object, true
	}
	switch n.Kind {
	case KindRecord:
		fields, _ := object["fields"].([]any)
		for i, f := range n.Fields {
			field, _ := fields[i].(map[string]any)
			p.define(field["type"], f.Type)
		}
	case KindArray:
		p.define(object["items"], n.Items)
	case KindMap:
		p.define(object["values"], n.Items)
	}
}

// isReference reports whether a type's JSON is the name of a type defined elsewhere.
func isReference(raw any) bool {
	name, ok := raw.(string)
	if object, isObject := raw.(map[string]any); isObject {
		name, ok = object["type"].(string)
	}
	_, known := parseKind(name)
	return ok && !known
}

// typ returns the JSON of a type in a namespace, reduced to c.
func (p *projection) typ(raw any, n *Node, c *selection, space string) any {
	raw = unwrap(raw)
	if n.Name != "" {
		return p.named(raw, n, c, space)
	}
	switch n.Kind {
	case KindUnion:
		branches := make([]any, len(n.Branches))
		for i, b := range n.Branches {
			part := c.of(i)
			if part == nil { // null
				part = whole
			}
			branches[i] = p.typ(raw.([]any)[i], b, part, space)
		}
		return branches
	case KindArray:
		return p.items(raw, "items", n, c, space)
	case KindMap:
		return p.items(raw, "values", n, c, space)
	}
	return raw
}

func (p *projection) items(raw any, key string, n *Node, c *selection, space string) any {
	object := maps.Clone(raw.(map[string]any))
	object[key] = p.typ(object[key], n.Items, c.of(0), space)
	return object
}

// named returns the definition of a named type at its first occurrence, later its name.
func (p *projection) named(raw any, n *Node, c *selection, space string) any {
	t := reducedType{n, c.id}
	if name, ok := p.names[t]; ok {
		if isReference(raw) && name == n.Name {
			return raw // unchanged, because its meaning may depend on the namespace
		}
		return name
	}
	name := n.Name
	if _, ok := p.names[reducedType{n, -1}]; ok {
		for i := 2; p.taken[name]; i++ {
			name = fmt.Sprintf("%s_%d", n.Name, i)
		}
	}
	p.names[t], p.names[reducedType{n, -1}], p.taken[name] = name, name, true
	object := maps.Clone(p.definitions[n].(map[string]any))
	space = setName(object, name, space)
	if n.Kind != KindRecord {
		return object
	}
	list, _ := object["fields"].([]any)
	fields := []any{}
	for i, f := range n.Fields {
		part := c.of(i)
		if part == nil {
			continue
		}
		field := maps.Clone(list[i].(map[string]any))
		field["type"] = p.typ(field["type"], f.Type, part, space)
		if v, ok := field["default"]; ok {
			field["default"] = reduceDefault(v, f.Type, part)
		}
		fields = append(fields, field)
	}
	object["fields"] = fields
	return object
}

// setName gives a definition its full name, unless the written name means the same in the
// enclosing namespace. It returns the type's own namespace.
func setName(object map[string]any, full, space string) string {
	own, last := SplitName(full)
	name, _ := object["name"].(string)
	written, ok := object["namespace"].(string)
	if !ok {
		written = space
	}
	if !strings.Contains(name, ".") && written != "" {
		name = written + "." + name
	}
	if name == full {
		return own
	}
	object["name"] = last
	if object["namespace"] = own; own == "" && space == "" {
		delete(object, "namespace")
	}
	return own
}

// reduceDefault removes the fields that are not kept from a default. It does not change a
// default that does not fit its type.
func reduceDefault(v any, n *Node, c *selection) any {
	if c == nil || c.whole {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		reduced := make(map[string]any, len(v))
		switch n.Kind {
		case KindRecord:
			for i, f := range n.Fields {
				if x, ok := v[f.Name]; ok && c.parts[i] != nil {
					reduced[f.Name] = reduceDefault(x, f.Type, c.parts[i])
				}
			}
			return reduced
		case KindMap:
			for key, x := range v {
				reduced[key] = reduceDefault(x, n.Items, c.parts[0])
			}
			return reduced
		}
	case []any:
		if n.Kind == KindArray {
			reduced := make([]any, len(v))
			for i := range v {
				reduced[i] = reduceDefault(v[i], n.Items, c.parts[0])
			}
			return reduced
		}
	}
	if n.Kind == KindUnion && len(n.Branches) > 0 { // a default belongs to the first branch
		return reduceDefault(v, n.Branches[0], c.parts[0])
	}
	return v
}

// reduce returns the mapping of the reduced schema: the kept steps of m, with the new numbers
// of their columns. Columns keep their names.
func (m *Mapping) reduce(schema *Schema, c *selection) (*Mapping, []int) {
	used := make([]bool, len(m.Columns))
	m.root.mark(c, used)
	columns, numbers := []int{}, make([]int, len(m.Columns))
	for i := range used {
		if used[i] {
			numbers[i] = len(columns)
			columns = append(columns, i)
		}
	}
	return &Mapping{Schema: schema, Columns: column.Choose(m.Columns, columns), root: m.root.reduce(c, schema.root, numbers)}, columns
}

// mark marks the columns of the kept part.
func (s *step) mark(c *selection, used []bool) {
	for _, col := range []int{s.col, s.key} {
		if col >= 0 {
			used[col] = true
		}
	}
	s.each(func(i, _ int, _ string, below *step) {
		if s.node.Kind == KindUnion {
			used[s.branches[i].col] = true
		}
		if part := c.of(i); part != nil {
			below.mark(part, used)
		}
	})
}

// reduce copies the kept part of the step, for type n and with the columns' new
// numbers.
func (s *step) reduce(c *selection, n *Node, numbers []int) *step {
	r := *s
	r.node, r.fields, r.branches = n, nil, make([]branch, len(s.branches))
	if s.col >= 0 {
		r.col = numbers[s.col]
	}
	if s.key >= 0 {
		r.key = numbers[s.key]
	}
	if s.leaf() {
		return &r
	}
	for i, b := range s.branches {
		if r.branches[i] = b; b.step != nil {
			r.branches[i].col = numbers[b.col]
			r.branches[i].step = b.step.reduce(c.of(i), n.Branches[i], numbers)
		}
	}
	for i, f := range s.fields {
		if part := c.of(i); part != nil {
			r.fields = append(r.fields, f.reduce(part, n.Fields[len(r.fields)].Type, numbers))
		}
	}
	if s.items != nil {
		r.items = s.items.reduce(c.of(0), n.Items, numbers)
	}
	return &r
}
