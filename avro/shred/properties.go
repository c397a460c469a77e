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

// attributes returns the names of the attributes that Avro defines for the type. For a
// logical type that is unknown or does not fit, logicalType is a property like any other.
func (n *Node) attributes() []string {
	switch n.LogicalType() {
	case column.LogicalNone:
		return typeAttributes
	case column.LogicalDecimal:
		return append(slices.Clone(typeAttributes), "logicalType", "precision", "scale")
	}
	return append(slices.Clone(typeAttributes), "logicalType")
}

// sortProperties returns the properties with a meaning for values, and the other properties
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

// meaningful reports whether a property says what values mean. For example, Debezium's
// Timestamp and MicroTimestamp are both longs, and only connect.name differs.
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

// differing returns, in order, the keys whose values differ in p and other, and the keys
// that only p or only other has.
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
