package randavro

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// Evolve returns the JSON of a random later version of a schema: fields are dropped, added
// with a default, renamed with an alias and reordered, numbers are widened, unions widened
// and narrowed, and symbols of enums changed. Most versions can read data of the first.
func Evolve(r *rand.Rand, schema string) string {
	for range 20 {
		var tree any
		if err := json.Unmarshal([]byte(schema), &tree); err != nil {
			panic(err) // the caller's schema has been parsed
		}
		e := evolver{Rand: r}
		text, err := json.Marshal(e.typ(tree))
		if err != nil {
			panic(err) // the tree holds only strings, numbers, lists and maps
		}
		// The schema is invalid if a dropped field defined a type that is used later, or
		// if a branch occurs twice.
		if _, err := shred.ParseSchema(string(text)); err == nil {
			return string(text)
		}
	}
	return schema
}

type evolver struct {
	*rand.Rand
	names int
}

func (e *evolver) oneIn(in int) bool { return e.IntN(in) == 0 }

func (e *evolver) typ(raw any) any {
	switch raw := raw.(type) {
	case string:
		return e.simple(raw)
	case []any:
		return e.union(raw)
	}
	object := raw.(map[string]any)
	switch object["type"] {
	case "record":
		e.record(object)
	case "array":
		object["items"] = e.typ(object["items"])
	case "map":
		object["values"] = e.typ(object["values"])
	case "enum":
		e.enum(object)
	}
	if e.oneIn(8) {
		return []any{object, "null"}
	}
	return object
}

// wider lists the kinds that a kind may become. The last one of each is not compatible.
var wider = map[string][]string{
	"null": {"null", "boolean"}, "boolean": {"boolean", "int"}, "int": {"long", "float", "double", "boolean"},
	"long": {"float", "double", "int"}, "float": {"double", "string"}, "double": {"double", "float"},
	"string": {"bytes", "int"}, "bytes": {"string", "double"},
}

func (e *evolver) simple(kind string) any {
	choices, ok := wider[kind]
	switch {
	case !ok: // the name of a type
		return kind
	case e.oneIn(60):
		return choices[len(choices)-1]
	case e.oneIn(3):
		return choices[e.IntN(len(choices)-1)]
	case kind != "null" && e.oneIn(6):
		return []any{"null", kind}
	}
	return kind
}

func (e *evolver) union(branches []any) any {
	var out []any
	for _, b := range branches {
		switch {
		case len(branches) > 1 && e.oneIn(12):
		case e.oneIn(2):
			out = append(out, b)
		default:
			out = append(out, e.branch(b))
		}
	}
	if e.oneIn(3) {
		e.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if e.oneIn(4) {
		out = append(out, simple[e.IntN(len(simple))])
	}
	if len(out) == 1 && e.oneIn(2) {
		return out[0]
	}
	if len(out) == 0 {
		return branches
	}
	return out
}

// branch evolves a type that may not become a union.
func (e *evolver) branch(raw any) any {
	if next := e.typ(raw); !isUnion(next) {
		return next
	}
	return raw
}

func isUnion(raw any) bool {
	_, ok := raw.([]any)
	return ok
}

func (e *evolver) enum(object map[string]any) {
	symbols := object["symbols"].([]any)
	if e.oneIn(3) {
		e.Shuffle(len(symbols), func(i, j int) { symbols[i], symbols[j] = symbols[j], symbols[i] })
	}
	if e.oneIn(4) {
		symbols = append(symbols, "NEW")
	}
	if e.oneIn(6) && len(symbols) > 1 {
		symbols = symbols[1:]
	}
	object["symbols"] = symbols
	if e.oneIn(2) {
		object["default"] = symbols[e.IntN(len(symbols))]
	}
}

// added are fields that Evolve adds.
var added = []string{
	`"type":"int","default":-7`,
	`"type":["null","string"],"default":null`,
	`"type":"bytes","default":"\u00ff\u0001"`,
	`"type":{"type":"array","items":"double"},"default":[1,2.5]`,
	`"type":{"type":"map","values":"string"},"default":{"k":"v"}`,
	`"type":["string","long"],"default":5`,
}

func (e *evolver) record(object map[string]any) {
	var fields []any
	for _, raw := range object["fields"].([]any) {
		field := raw.(map[string]any)
		if e.oneIn(10) {
			continue
		}
		field["type"] = e.typ(field["type"])
		if name := field["name"].(string); e.oneIn(8) {
			field["name"], field["aliases"] = name+"x", []any{"other" + name, name}
		}
		fields = append(fields, field)
	}
	for e.oneIn(3) {
		e.names++
		text := fmt.Sprintf(`{"name":"new%d",%s}`, e.names, added[e.IntN(len(added))])
		var field any
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&field); err != nil {
			panic(err) // the list above
		}
		fields = append(fields, field)
	}
	if e.oneIn(3) {
		e.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	if fields == nil {
		fields = []any{}
	}
	object["fields"] = fields
}
