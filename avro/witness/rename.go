package witness

import (
	"encoding/json"
	"fmt"
	"strings"
)

// rename gives valid names to types, fields and enum symbols whose names goavro would reject.
// Valid files can have such names, if their writers did not check names. Names are not part
// of the binary encoding, and both sides are decoded with the same names. So the comparison
// loses nothing, as long as different names stay different.
func rename(schema string) (string, error) {
	tree, err := parse(schema)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(newRenamer().schema(tree))
	return string(b), err
}

// renamer maps names to valid ones, one to one.
type renamer struct {
	given map[string]string
	taken map[string]bool
}

func newRenamer() *renamer { return &renamer{given: map[string]string{}, taken: map[string]bool{}} }

var primitives = map[string]bool{
	"null": true, "boolean": true, "int": true, "long": true, "float": true, "double": true,
	"bytes": true, "string": true, "record": true, "error": true, "enum": true, "array": true, "map": true, "fixed": true,
}

// schema renames in a schema and returns it.
func (r *renamer) schema(tree any) any {
	switch t := tree.(type) {
	case string:
		if primitives[t] {
			return t
		}
		return r.full(t)
	case []any:
		for i := range t {
			t[i] = r.schema(t[i])
		}
	case map[string]any:
		for _, key := range []string{"type", "items", "values"} {
			if sub, ok := t[key]; ok {
				t[key] = r.schema(sub)
			}
		}
		r.names(t)
		if fields, ok := t["fields"].([]any); ok {
			for _, f := range fields {
				r.schema(f)
			}
		}
		if symbols, ok := t["symbols"].([]any); ok {
			renameSymbols(symbols)
		}
	}
	return tree
}

func (r *renamer) names(t map[string]any) {
	for _, key := range []string{"name", "namespace"} {
		if name, ok := t[key].(string); ok {
			t[key] = r.full(name)
		}
	}
}

// renameSymbols renames the symbols of an enum, with a renamer of its own. Two equal symbols
// get different names, because their ordinals differ. A symbol that is not a string, such as
// null, gets a name too.
func renameSymbols(symbols []any) {
	r := newRenamer()
	for i := range symbols {
		s := fmt.Sprint(symbols[i])
		delete(r.given, s)
		symbols[i] = r.part(s)
	}
}

// full renames a name with dots, part by part.
func (r *renamer) full(name string) string {
	if name == "" {
		return name
	}
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = r.part(parts[i])
	}
	return strings.Join(parts, ".")
}

func (r *renamer) part(name string) string {
	if known, ok := r.given[name]; ok {
		return known
	}
	base := valid(name)
	given := base
	for n := 2; r.taken[given]; n++ {
		given = fmt.Sprintf("%s_%d", base, n)
	}
	r.given[name], r.taken[given] = given, true
	return given
}

// valid replaces the characters that a name must not have. It does not change valid names.
func valid(name string) string {
	var s strings.Builder
	for i, c := range name {
		switch {
		case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			s.WriteRune(c)
		case '0' <= c && c <= '9':
			if i == 0 {
				s.WriteByte('_')
			}
			s.WriteRune(c)
		default:
			s.WriteByte('_')
		}
	}
	if s.Len() == 0 {
		return "_"
	}
	return s.String()
}
