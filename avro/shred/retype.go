package shred

import (
	"maps"

	"github.com/rowtocol/rowtocol/format/column"
)

// Retype returns the text of the schema with other logical types for times. retyped returns the
// logical type in place of one, or LogicalNone for the bare int or long. Other properties stay.
// A default whose meaning would change is left out. ok is false if there is no such schema,
// because a union would have two longs.
func (s *Schema) Retype(retyped func(column.Logical) column.Logical) (text string, ok bool, err error) {
	raw, err := decodeJSON(s.text)
	if err != nil {
		return "", false, err
	}
	r := retyper{retyped: retyped, ok: true}
	if text, err = encodeJSON(r.typ(raw, s.root)); err != nil {
		return "", false, schemaError(err)
	}
	return text, r.ok, nil
}

// retyper changes the JSON of a schema. It visits each definition once.
type retyper struct {
	retyped func(column.Logical) column.Logical
	changes int // number of types that were changed
	ok      bool
}

// typ returns the JSON of a type. It changes parts of raw.
func (r *retyper) typ(raw any, n *Node) any {
	raw = unwrap(raw)
	if isReference(raw) {
		return raw
	}
	object, _ := raw.(map[string]any)
	switch n.Kind {
	case KindInt, KindLong:
		return r.number(raw, n)
	case KindUnion:
		branches, longs := raw.([]any), 0
		for i, b := range n.Branches {
			branches[i] = r.typ(branches[i], b)
			if b.Kind == KindInt || b.Kind == KindLong {
				if kind, _ := r.kind(b); kind == KindLong {
					longs++
				}
			}
		}
		r.ok = r.ok && longs < 2
	case KindArray:
		object["items"] = r.typ(object["items"], n.Items)
	case KindMap:
		object["values"] = r.typ(object["values"], n.Items)
	case KindRecord:
		list, _ := object["fields"].([]any)
		for i := range n.Fields {
			field, _ := list[i].(map[string]any)
			before := r.changes
			field["type"] = r.typ(field["type"], n.Fields[i].Type)
			if r.changes > before && field["default"] != nil { // null stays
				delete(field, "default")
			}
		}
	}
	return raw
}

// kind returns the new type of an int or a long.
func (r *retyper) kind(n *Node) (Kind, column.Logical) {
	to := r.retyped(n.LogicalType())
	if to == n.LogicalType() || to == column.LogicalNone {
		return n.Kind, to
	}
	return logicals[to.String()].kinds[0], to
}

// number returns the JSON of an int or a long.
func (r *retyper) number(raw any, n *Node) any {
	kind, to := r.kind(n)
	if to == n.LogicalType() {
		return raw
	}
	r.changes++
	object := maps.Clone(raw.(map[string]any))
	object["type"] = kind.String()
	if delete(object, "logicalType"); to != column.LogicalNone {
		object["logicalType"] = to.String()
	}
	return object
}
