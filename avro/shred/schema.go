package shred

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/intern"
)

// Kind is the kind of an Avro type.
type Kind uint8

// The kinds of Avro types.
const (
	KindNull Kind = iota
	KindBoolean
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindBytes
	KindString
	KindFixed
	KindEnum
	KindRecord
	KindArray
	KindMap
	KindUnion
)

var kindNames = [...]string{
	"null", "boolean", "int", "long", "float", "double", "bytes", "string",
	"fixed", "enum", "record", "array", "map", "union",
}

// String returns the kind's name in a schema's JSON.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Simple reports whether values of the kind fill one column.
func (k Kind) Simple() bool { return k < KindRecord }

func parseKind(name string) (Kind, bool) {
	if name == "error" {
		return KindRecord, true
	}
	for i, n := range kindNames {
		if n == name {
			return Kind(i), true
		}
	}
	return 0, false
}

// Node is one type of a schema. All references to a named type are the same *Node, so a
// recursive schema is a cycle. Nodes are read-only.
type Node struct {
	Kind     Kind
	Name     string   // full name of a record, enum or fixed type
	Aliases  []string // full names of a record, enum or fixed type
	Logical  string   // logicalType as written, even if it is unknown
	Fields   []Field  // fields of a record
	Items    *Node    // type of the items of an array, or of the values of a map
	Branches []*Node  // branches of a union
	Symbols  []string // symbols of an enum; a symbol that is not a string becomes its JSON
	Default  int      // ordinal of an enum's default, or -1
	Size     int      // size of a fixed type, in bytes

	// Precision and Scale are those of a decimal, as written. See LogicalType.
	Precision, Scale int

	least    int // smallest size of a datum, in bytes
	meanings properties
	others   properties
}

// Field is a field of a record.
type Field struct {
	Name    string
	Type    *Node
	Aliases []string

	// value is the default as decoded JSON. It may not fit the type, because it is used
	// only for rows that lack the field.
	value      any
	hasDefault bool

	meanings, others properties
}

// FullName returns the name of the type in a union's column path: the full name of a
// named type, otherwise the name of its kind.
func (n *Node) FullName() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Kind.String()
}

// Optional returns, for a union of null and one type, that type and the index of null. It
// returns any other type unchanged, with -1.
func (n *Node) Optional() (value *Node, null int) {
	if n.Kind == KindUnion && len(n.Branches) == 2 {
		for i, b := range n.Branches {
			if b.Kind == KindNull {
				return n.Branches[1-i], i
			}
		}
	}
	return n, -1
}

// SplitName splits a full name into namespace, which may be empty, and name.
func SplitName(full string) (namespace, name string) {
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		return full[:i], full[i+1:]
	}
	return "", full
}

// Schema is a parsed Avro schema. It is immutable.
type Schema struct {
	text      string
	canonical string
	root      *Node
	warnings  []string
}

// Root returns the schema's type.
func (s *Schema) Root() *Node { return s.root }

// JSON returns the parsed text, byte for byte.
func (s *Schema) JSON() string { return s.text }

// Canonical returns the JSON without doc and with its keys in order. Unlike Identity it
// keeps defaults, aliases and all other properties. So two schemas with the same Canonical
// resolve rows alike if they are the reader's schema.
func (s *Schema) Canonical() string { return s.canonical }

// Warnings returns one entry for each odd name or enum symbol in the schema, and for each
// default that does not fit its type. The rows can be converted, but other readers may
// reject the schema.
func (s *Schema) Warnings() []string { return s.warnings }

// ParseSchema parses the JSON text of an Avro schema. While a schema is in use, all calls with its
// text return that schema. ParseSchema accepts defects that do not change the meaning of rows:
// names and enum symbols may have any characters, and defaults may be wrong (see Warnings).
// The error is a *damage.Error of kind damage.Schema, or damage.Unsupported for a schema beyond
// the limits of size and nesting.
func ParseSchema(text string) (*Schema, error) {
	return schemas.Get(text, func() (*Schema, error) { return parseSchema(text) })
}

// schemas has the schemas that are in use, by their texts. All files of a dataset have the same
// text, and parsing it takes as long as reading a column of thousands of rows.
var schemas intern.Values[string, Schema]

func parseSchema(text string) (*Schema, error) {
	raw, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	relaxed, err := relax(raw, 1)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(relaxed)
	if err != nil {
		return nil, schemaError(err)
	}
	parsed, err := avro.Parse(string(encoded), avro.WithLaxNames(nil))
	if err != nil {
		return nil, schemaError(err)
	}
	tree := parsed.Root()
	b := builder{named: map[string]*Node{}}
	b.define(tree)
	root := b.build(raw, tree, "")
	if b.err != nil {
		return nil, b.err
	}
	measureLeast(root)
	canonical, err := canonicalJSON(raw)
	if err != nil {
		return nil, schemaError(err)
	}
	s := &Schema{text: text, canonical: canonical, root: root}
	s.warnings = schemaWarnings(raw, root)
	return s, nil
}

// maxReason bounds the parser's message, which can quote much of the schema.
const maxReason = 300

func schemaError(err error) error {
	reason := err.Error()
	if len(reason) > maxReason {
		reason = reason[:maxReason/2] + " … " + reason[len(reason)-maxReason/2:]
	}
	return damage.New(damage.Schema, "", -1, "%s", reason)
}

// builder turns the parser's tree into Nodes. It also walks the JSON as written, which has
// the keys that relax removed for the parser.
type builder struct {
	named map[string]*Node // named types by full name
	err   error
}

// define makes the nodes of all named types, so that a reference may come before the
// definition.
func (b *builder) define(sn *avro.SchemaNode) {
	switch kind, _ := parseKind(sn.Type); kind {
	case KindRecord, KindEnum, KindFixed:
		name := fullName(sn)
		b.named[name] = &Node{Name: name}
	}
	for i := range sn.Fields {
		b.define(&sn.Fields[i].Type)
	}
	for i := range sn.Branches {
		b.define(&sn.Branches[i])
	}
	if sn.Items != nil {
		b.define(sn.Items)
	}
	if sn.Values != nil {
		b.define(sn.Values)
	}
}

func fullName(sn *avro.SchemaNode) string {
	if sn.Namespace == "" || strings.Contains(sn.Name, ".") {
		return sn.Name
	}
	return sn.Namespace + "." + sn.Name
}

// lookup resolves a reference in a namespace. A name without dots is first looked up in the
// namespace, and then without one.
func (b *builder) lookup(name, namespace string) *Node {
	if namespace != "" && !strings.Contains(name, ".") {
		if n, ok := b.named[namespace+"."+name]; ok {
			return n
		}
	}
	n, ok := b.named[name]
	if !ok && b.err == nil {
		b.err = damage.New(damage.Schema, "", -1, "type %q is not defined", name)
	}
	return n
}

// build returns the node of a type in a namespace.
func (b *builder) build(raw any, sn *avro.SchemaNode, namespace string) *Node {
	raw = unwrap(raw)
	kind, ok := parseKind(sn.Type)
	if !ok {
		return b.lookup(sn.Type, namespace)
	}
	n := &Node{}
	if kind == KindRecord || kind == KindEnum || kind == KindFixed {
		n = b.named[fullName(sn)]
		namespace, _ = SplitName(n.Name)
	}
	n.Kind = kind
	object, _ := raw.(map[string]any)
	n.Logical, _ = object["logicalType"].(string)
	n.Precision, n.Scale = number(object["precision"]), number(object["scale"])
	if n.Name != "" {
		n.Aliases = qualified(texts(object["aliases"]), namespace)
	}
	switch kind {
	case KindRecord:
		fields, _ := object["fields"].([]any)
		n.Fields = make([]Field, len(sn.Fields))
		for i := range sn.Fields {
			f, _ := fields[i].(map[string]any)
			n.Fields[i] = Field{Name: sn.Fields[i].Name, Type: b.build(f["type"], &sn.Fields[i].Type, namespace), Aliases: texts(f["aliases"])}
			n.Fields[i].value, n.Fields[i].hasDefault = f["default"]
			n.Fields[i].meanings, n.Fields[i].others = sortProperties(f, fieldAttributes)
		}
	case KindArray:
		n.Items = b.build(object["items"], sn.Items, namespace)
	case KindMap:
		n.Items = b.build(object["values"], sn.Values, namespace)
	case KindUnion:
		branches, _ := raw.([]any)
		n.Branches = make([]*Node, len(sn.Branches))
		for i := range sn.Branches {
			n.Branches[i] = b.build(branches[i], &sn.Branches[i], namespace)
		}
	case KindEnum:
		n.Symbols = symbols(object["symbols"])
		n.Default = -1
		if s, ok := object["default"].(string); ok {
			n.Default = slices.Index(n.Symbols, s)
		}
	case KindFixed:
		//guard: rejects a size that the walk cannot skip
		if n.Size = sn.Size; n.Size > math.MaxInt32 && b.err == nil {
			b.err = damage.New(damage.Unsupported, "", -1, "fixed %s of %d bytes, at most %d are supported", n.Name, n.Size, math.MaxInt32)
		}
	}
	n.meanings, n.others = sortProperties(object, n.attributes())
	return n
}
