package lineage

import "github.com/rowtocol/rowtocol/avro/shred"

// maxFields bounds the fields of a schema in an event, nested ones included.
const maxFields = 10_000

// fieldsOf returns the fields of the rows of an Avro schema. It returns nil if the schema has none
// or too many. As in OpenLineage's documentation, the items of an array are named _element, the
// keys of a map key, and its values value.
func fieldsOf(schema string) []facets {
	s, err := shred.ParseSchema(schema)
	if err != nil {
		return nil // the run has no schema: it had no inputs, or failed early
	}
	w := &fieldWalker{seen: map[*shred.Node]bool{}}
	fields := w.fieldsBelow(s.Root())
	//guard: bounds the fields of an event
	if w.fields > maxFields {
		return nil
	}
	return fields
}

// fieldWalker collects fields. It expands each record once, at its first occurrence.
type fieldWalker struct {
	seen   map[*shred.Node]bool
	fields int
}

// fieldsBelow returns the fields of a type.
func (w *fieldWalker) fieldsBelow(n *shred.Node) []facets {
	var fields []facets
	switch n.Kind {
	case shred.KindRecord:
		//guard: stops at a recursive type
		if w.seen[n] {
			return nil
		}
		w.seen[n] = true
		for _, f := range n.Fields {
			fields = append(fields, w.field(f.Name, f.Type))
		}
	case shred.KindArray:
		fields = append(fields, w.field("_element", n.Items))
	case shred.KindMap:
		w.fields++
		fields = append(fields, facets{"name": "key", "type": "string"}, w.field("value", n.Items))
	case shred.KindUnion:
		for _, b := range n.Branches {
			if b.Kind != shred.KindNull {
				fields = append(fields, w.field(b.FullName(), b))
			}
		}
	}
	return fields
}

// field returns a field with its nested fields. A nullable field has the type of its
// values.
func (w *fieldWalker) field(name string, n *shred.Node) facets {
	w.fields++
	n, _ = n.Optional()
	kind := n.Kind.String()
	if n.Logical != "" {
		kind += " (" + n.Logical + ")"
	}
	f := facets{"name": name, "type": kind}
	if fields := w.fieldsBelow(n); fields != nil {
		f["fields"] = fields
	}
	return f
}
