package shred

import (
	"maps"
	"slices"
)

// NewField is a field to add to a record.
type NewField struct {
	Name string
	// Type is the JSON of the field's type. It does not refer to types of the schema.
	Type string
}

// Extensible reports whether fields can be added to the rows. The rows must be records. They
// must not contain records of their own type, to which the fields would be added too.
func (s *Schema) Extensible() bool {
	return s.root.Kind == KindRecord && !contains(s.root, s.root, map[*Node]bool{})
}

// contains reports whether a type is part of another type. seen holds the types that were
// visited.
func contains(n, part *Node, seen map[*Node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	is := func(below *Node) bool { return below != nil && (below == part || contains(below, part, seen)) }
	return is(n.Items) || slices.ContainsFunc(n.Branches, is) || slices.ContainsFunc(n.Fields, func(f Field) bool { return is(f.Type) })
}

// Extend returns the schema with fields added after those of its record. The schema
// must be Extensible and have no fields of these names.
func (s *Schema) Extend(fields []NewField) (*Schema, error) {
	raw, err := decodeJSON(s.text)
	if err != nil {
		return nil, err
	}
	record, _ := unwrap(raw).(map[string]any)
	record = maps.Clone(record)
	list, _ := record["fields"].([]any)
	list = slices.Clone(list)
	for _, f := range fields {
		typ, err := decodeJSON(f.Type)
		if err != nil {
			return nil, err
		}
		list = append(list, map[string]any{"name": f.Name, "type": typ})
	}
	record["fields"] = list
	text, err := encodeJSON(record)
	if err != nil {
		return nil, schemaError(err)
	}
	return ParseSchema(text)
}
