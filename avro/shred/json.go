package shred

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	// maxSchema bounds the text of a schema, in bytes.
	maxSchema = 16 << 20
	// maxLevels bounds how deep types nest, in the text and when expanded. The
	// simple type at the bottom is a level too.
	maxLevels = 1000
	// maxNesting bounds the nesting of the JSON: a record takes three levels of
	// brackets per level of types. It stays below the limit of encoding/json.
	maxNesting = 3*maxLevels + 100
	// maxValues bounds the values in the JSON. A decoded value takes many times the
	// bytes of its text.
	maxValues = 1_000_000
)

// decodeJSON decodes a schema's text, after checks that need no memory. It does not convert
// the text of numbers.
func decodeJSON(text string) (any, error) {
	//guard: bounds the text of a schema
	if len(text) > maxSchema {
		return nil, damage.New(damage.Unsupported, "", -1, "schema of %d bytes, at most %d are read", len(text), maxSchema)
	}
	switch deepest, values := measureJSON(text); {
	//guard: bounds how deep brackets nest
	case deepest > maxNesting:
		return nil, tooDeep()
	//guard: bounds the number of values in a schema
	case values > maxValues:
		return nil, damage.New(damage.Unsupported, "", -1, "schema of more than %d JSON values", maxValues)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return nil, schemaError(fmt.Errorf("not JSON: %w", err))
	}
	//guard: rejects text after a schema
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, damage.New(damage.Schema, "", -1, "text after the end of the schema's JSON")
	}
	return raw, nil
}

func malformed(reason string) error { return damage.New(damage.Schema, "", -1, "%s", reason) }

func tooDeep() error {
	return damage.New(damage.Unsupported, "", -1, "schema nests deeper than %d levels", maxLevels)
}

// measureJSON returns how deep brackets outside strings nest, and the approximate number of
// values.
func measureJSON(text string) (deepest, values int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	return deepest, values
}

// unwrap replaces {"type": X} by X if it has no other key and X is an object or a
// union.
func unwrap(raw any) any {
	for {
		object, ok := raw.(map[string]any)
		if !ok {
			return raw
		}
		switch object["type"].(type) {
		case map[string]any, []any:
			raw = object["type"]
		default:
			return raw
		}
	}
}

// structure lists the keys of a type that decide how its data is read.
var structure = []string{"type", "name", "namespace", "size"}

// relax returns the schema with only the keys that decide how data is read. So the parser
// cannot fail because of other keys: a wrong default, a symbol that is not a string, or a
// logical type that does not fit, which the specification says to ignore.
func relax(raw any, level int) (any, error) {
	if level > maxLevels {
		return nil, tooDeep()
	}
	switch raw := unwrap(raw).(type) {
	case []any:
		union := make([]any, len(raw))
		for i, branch := range raw {
			var err error
			if union[i], err = relax(branch, level+1); err != nil {
				return nil, err
			}
		}
		return union, nil
	case map[string]any:
		return relaxObject(raw, level)
	default:
		return raw, nil
	}
}

func relaxObject(raw map[string]any, level int) (any, error) {
	object := map[string]any{}
	for _, key := range structure {
		if v, ok := raw[key]; ok {
			object[key] = v
		}
	}
	var err error
	switch raw["type"] {
	case "array":
		object["items"], err = relax(raw["items"], level+1)
	case "map":
		object["values"], err = relax(raw["values"], level+1)
	case "enum":
		if _, ok := raw["symbols"].([]any); !ok {
			return nil, malformed("enum without a list of symbols")
		}
		object["symbols"] = []string{"S"} // the parser would check the real symbols
	case "record", "error":
		object["fields"], err = relaxFields(raw["fields"], level+1)
	}
	return object, err
}

func relaxFields(raw any, level int) (any, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, malformed("record without a list of fields")
	}
	fields := make([]any, len(list))
	for i := range list {
		field, ok := list[i].(map[string]any)
		if !ok {
			return nil, malformed("a field that is not a JSON object")
		}
		typ, err := relax(field["type"], level)
		if err != nil {
			return nil, err
		}
		fields[i] = map[string]any{"name": field["name"], "type": typ}
	}
	return fields, nil
}

// symbols returns an enum's symbols. A symbol that is not a string becomes its JSON.
func symbols(raw any) []string {
	list, _ := raw.([]any)
	out := make([]string, len(list))
	for i, v := range list {
		if s, ok := v.(string); ok {
			out[i] = s
			continue
		}
		out[i] = jsonText(v)
	}
	return out
}

// jsonText returns the JSON of a decoded value, for names and messages.
func jsonText(v any) string {
	text, err := encodeJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}

// texts returns the strings in a JSON list. It ignores other values.
func texts(raw any) []string {
	list, _ := raw.([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// qualified returns full names: it puts names without dots into a namespace.
func qualified(names []string, namespace string) []string {
	for i, name := range names {
		if namespace != "" && !strings.Contains(name, ".") {
			names[i] = namespace + "." + name
		}
	}
	return names
}

// canonicalJSON returns the schema's JSON without doc and with its keys in order. It keeps a
// doc inside a default or another property, because that doc is data.
func canonicalJSON(raw any) (string, error) {
	return encodeJSON(withoutDoc(raw))
}

// withoutDoc copies a type or a field without doc, including the types within it.
func withoutDoc(raw any) any {
	switch raw := raw.(type) {
	case []any:
		list := make([]any, len(raw))
		for i := range raw {
			list[i] = withoutDoc(raw[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(raw))
		for key, v := range raw {
			switch key {
			case "doc":
			case "type", "items", "values", "fields":
				object[key] = withoutDoc(v)
			default:
				object[key] = v
			}
		}
		return object
	default:
		return raw
	}
}

// encodeJSON encodes with sorted keys and without HTML escapes.
func encodeJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
