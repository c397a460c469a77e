package shred

import (
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// properties are the properties of a type or a field that Avro does not define, as
// decoded JSON; nil if there are none.
type properties map[string]any

// Attributes that Avro defines.
var (
	typeAttributes  = []string{"type", "name", "namespace", "aliases", "fields", "items", "values", "symbols", "size", "default"}
	fieldAttributes = []string{"type", "name", "aliases", "default"}
)

// attributes returns the attributes of the type's JSON that Avro defines. A logical
// type that is unknown or does not fit the type counts as any other property.
func (n *Node) attributes() []string {
	switch n.LogicalType() {
	case column.LogicalNone:
		return typeAttributes
	case column.LogicalDecimal:
		return append(slices.Clone(typeAttributes), "logicalType", "precision", "scale")
	}
	return append(slices.Clone(typeAttributes), "logicalType")
}

// sortProperties returns the properties with a meaning for values, and the others
// except ignored ones.
func sortProperties(object map[string]any, attributes []string) (meanings, others properties) {
	for key, v := range object {
		switch {
		case slices.Contains(attributes, key) || ignored(key):
		case meaningful(key):
			meanings = meanings.with(key, v)
		default:
			others = others.with(key, v)
		}
	}
	return meanings, others
}

func (p properties) with(key string, v any) properties {
	if p == nil {
		p = properties{}
	}
	p[key] = v
	return p
}

// ignored reports whether a property says nothing about values: comments, and the names
// of a program's own types.
func ignored(key string) bool {
	switch key {
	case "doc", "order", "avro.java.string", "connect.version", "connect.doc":
		return true
	}
	return strings.HasPrefix(key, "java-")
}

// meaningful reports whether a property says what values mean. Debezium's Timestamp
// and MicroTimestamp are both plain longs; connect.name tells them apart.
func meaningful(key string) bool {
	return key == "connect.name" || key == "connect.parameters" || strings.HasPrefix(key, "adjust-to-utc")
}

// text returns the JSON of the properties with their keys in order, or "" if there are
// none.
func (p properties) text() string {
	if len(p) == 0 {
		return ""
	}
	return jsonText(map[string]any(p))
}

// differing returns, in order, the keys that p and other have different values of, or
// that only one of them has.
func (p properties) differing(other properties) (keys []string) {
	for key, v := range p {
		if o, ok := other[key]; !ok || jsonText(o) != jsonText(v) {
			keys = append(keys, key)
		}
	}
	for key := range other {
		if _, ok := p[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
