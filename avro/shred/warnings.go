package shred

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxWarnings bounds the warnings about one schema. Further ones are only counted.
const maxWarnings = 50

// warner finds parts of a schema that other readers may reject. It walks the JSON as written
// together with its nodes, so it visits each definition once.
type warner struct {
	warnings []string
	more     int
	path     []string
	// defaults are checked last, when optional is complete.
	defaults []defaulted
	optional map[*Node][]bool // per record, whether each field has a default
}

type defaulted struct {
	path  string
	node  *Node
	value any
}

func schemaWarnings(raw any, root *Node) []string {
	w := warner{optional: map[*Node][]bool{}}
	w.visit(raw, root)
	for _, d := range w.defaults {
		if !w.fits(d.node, d.value) {
			w.warn("%s: the default is not a value of type %s", d.path, defaultType(d.node))
		}
	}
	if w.more > 0 {
		w.warnings = append(w.warnings, fmt.Sprintf("%d more of the kind", w.more))
	}
	return w.warnings
}

func (w *warner) warn(format string, args ...any) {
	if len(w.warnings) == maxWarnings {
		w.more++
		return
	}
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

func (w *warner) visit(raw any, n *Node) {
	switch raw := unwrap(raw).(type) {
	case []any:
		for i := range raw {
			w.visit(raw[i], n.Branches[i])
		}
	case map[string]any:
		if n.Name != "" && !w.definition(raw, n) {
			return
		}
		switch n.Kind {
		case KindArray:
			w.visit(raw["items"], n.Items)
		case KindMap:
			w.visit(raw["values"], n.Items)
		case KindEnum:
			w.symbols(raw, n)
		case KindRecord:
			w.fields(raw, n)
		}
	}
}

// definition checks the name of a named type. It returns false if the object is a reference
// to a type.
func (w *warner) definition(raw map[string]any, n *Node) bool {
	if _, ok := raw["name"]; !ok {
		return false
	}
	for part := range strings.SplitSeq(n.Name, ".") {
		if !plainName(part) {
			w.warn("%s: the name is not letters, digits and underscores", quote(n.Name))
			break
		}
	}
	return true
}

func (w *warner) symbols(raw map[string]any, n *Node) {
	list, _ := raw["symbols"].([]any)
	seen := make(map[string]bool, len(list))
	for i, s := range n.Symbols {
		if _, ok := list[i].(string); !ok || !plainName(s) {
			w.warn("enum %s: symbol %s is not a name of letters, digits and underscores", n.Name, quote(s))
		} else if seen[s] {
			w.warn("enum %s: symbol %s is there twice", n.Name, quote(s))
		}
		seen[s] = true
	}
	if v, ok := raw["default"]; ok {
		if s, isText := v.(string); !isText || !seen[s] {
			w.warn("enum %s: the default is not one of its symbols", n.Name)
		}
	}
}

func (w *warner) fields(raw map[string]any, n *Node) {
	list, _ := raw["fields"].([]any)
	optional := make([]bool, len(n.Fields))
	w.optional[n] = optional
	for i, f := range n.Fields {
		object, _ := list[i].(map[string]any)
		w.path = append(w.path, f.Name)
		if !plainName(f.Name) {
			w.warn("field %s: the name is not letters, digits and underscores", w.field())
		}
		if v, ok := object["default"]; ok {
			optional[i] = true
			w.defaults = append(w.defaults, defaulted{"field " + w.field(), f.Type, v})
		}
		w.visit(object["type"], f.Type)
		w.path = w.path[:len(w.path)-1]
	}
}

// maxQuoted bounds the bytes that a message quotes of a schema.
const maxQuoted = 200

func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}

// field returns the dotted path of the current field, quoted. It returns only the end of a long
// path.
func (w *warner) field() string {
	return quote(strings.Join(w.path[max(len(w.path)-8, 0):], "."))
}

// plainName reports whether Avro's rule for names allows s.
func plainName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// defaultType returns the type that a default must have. For a union it is the type of the
// first branch.
func defaultType(n *Node) string {
	if n.Kind == KindUnion && len(n.Branches) > 0 {
		return n.Branches[0].FullName() + ", the union's first"
	}
	return n.FullName()
}

// fits reports whether a JSON value is a default for the type, by the rules of the
// specification.
func (w *warner) fits(n *Node, value any) bool {
	switch n.Kind {
	case KindNull:
		return value == nil
	case KindBoolean:
		_, ok := value.(bool)
		return ok
	case KindInt:
		return integral(value, 32)
	case KindLong:
		return integral(value, 64)
	case KindFloat, KindDouble:
		_, ok := value.(json.Number)
		return ok
	case KindBytes, KindString, KindFixed:
		_, ok := value.(string)
		return ok
	case KindEnum:
		s, ok := value.(string)
		return ok && slices.Contains(n.Symbols, s)
	case KindUnion:
		return len(n.Branches) > 0 && w.fits(n.Branches[0], value)
	case KindArray:
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool { return !w.fits(n.Items, v) })
	}
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	if n.Kind == KindMap {
		for _, v := range object {
			if !w.fits(n.Items, v) {
				return false
			}
		}
		return true
	}
	for i, f := range n.Fields {
		v, given := object[f.Name]
		if given && !w.fits(f.Type, v) || !given && !w.optional[n][i] {
			return false
		}
	}
	return true
}

func integral(value any, bits int) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	_, err := strconv.ParseInt(number.String(), 10, bits)
	return err == nil
}
