package lineage

import "github.com/rowtocol/rowtocol/avro/shred"

// maxFields bounds the fields of a schema that is told, nested ones included.
const maxFields = 10_000

// fieldsOf are the fields of the rows of an Avro schema; nil if it has none, or too many.
// Items of arrays are called _element, keys and values of maps key and value, as
// OpenLineage's documentation does.
func fieldsOf(schema string) []facets {
	s, err := shred.ParseSchema(schema)
	if err != nil {
		return nil // no run, or one without inputs
	}
	w := &walk{told: map[*shred.Node]bool{}}
	fields := w.below(s.Root())
	//guard: bounds the fields of an event
	if w.fields > maxFields {
		return nil
	}
	return fields
}

// walk tells of the fields of each record once, where it comes first.
type walk struct {
	told   map[*shred.Node]bool
	fields int
}

// below are the fields of a type.
func (w *walk) below(n *shred.Node) []facets {
	var fields []facets
	switch n.Kind {
	case shred.KindRecord:
		//guard: writes a recursive type once
		if w.told[n] {
			return nil
		}
		w.told[n] = true
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

// field is a field and what is below it. One that may be null has the type that it has
// otherwise.
func (w *walk) field(name string, n *shred.Node) facets {
	w.fields++
	n, _ = n.Optional()
	kind := n.Kind.String()
	if n.Logical != "" {
		kind += " (" + n.Logical + ")"
	}
	f := facets{"name": name, "type": kind}
	if fields := w.below(n); fields != nil {
		f["fields"] = fields
	}
	return f
}
