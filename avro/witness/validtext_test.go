package witness

import (
	"testing"
)

// With ValidText, columns have U+FFFD where a string is not UTF-8, and only there.
func TestValidText(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"u","type":["null","string"]},
		{"name":"l","type":{"type":"array","items":"string"}},{"name":"m","type":{"type":"map","values":"string"}},{"name":"b","type":"bytes"}]}`
	row := func(s string, b byte) any {
		return map[string]any{"s": s, "u": map[string]any{"string": s}, "l": []any{s, "a"}, "m": map[string]any{s: s}, "b": []byte{b}}
	}
	rows := []any{row("x\xff\xfe", 0xff)}
	in := input(ocfFile(t, schema, "null", rows), nil)
	for _, c := range []struct {
		columns   string
		bytes     byte
		validText bool
		different int64
	}{
		{"x\xff\xfe", 0xff, false, 0},
		{"x\uFFFD", 0xff, false, 1},
		{"x\uFFFD", 0xff, true, 0},
		{"x\uFFFD\uFFFD", 0xff, true, 1},
		{"x\xff\xfe", 0xff, true, 1},
		{"x\uFFFD", 0xfe, true, 1},
	} {
		r := compareWith(t, Options{ValidText: c.validText}, &list{rows: data(t, schema, []any{row(c.columns, c.bytes)})}, in)
		if r.Different != c.different || r.Compared != 1 {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// A row is not compared if different keys of a map become the same key.
func TestValidTextOfEqualKeys(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"u","type":["null",{"type":"array","items":{"type":"map","values":"string"}}]}]}`
	row := func(keys ...string) []byte {
		b := []byte{2, 2, byte(2 * len(keys))}
		for _, k := range keys {
			b = append(append(b, byte(2*len(k))), k...)
			b = append(append(b, byte(2*len(k))), k...)
		}
		return append(b, 0, 0)
	}
	written, columns := [][]byte{row("\xff", "\xfe"), row("\xff", "a")}, [][]byte{row("\uFFFD", "\uFFFD"), row("\uFFFD", "a")}
	file := ocfFile(t, schema, "null", nil)
	sync := file[len(file)-16:]
	for _, row := range written {
		file = append(append(append(file, 2, byte(2*len(row))), row...), sync...)
	}
	r := compareWith(t, Options{ValidText: true}, &list{rows: columns}, input(file, nil))
	if r.Different != 0 || r.Compared != 1 || r.Skipped() != 1 || r.NotCompared[0].Row != 0 {
		t.Errorf("%+v", r)
	}
}

// With ValidText, the strings of a type that contains itself are compared as they are, because the
// columns keep such a type as Avro data. Strings around it are compared after the replacement.
func TestValidTextOfRecursiveTypes(t *testing.T) {
	const (
		chain = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"next","type":["null","R"]}]}`
		tree  = `{"type":"record","name":"Top","fields":[{"name":"root","type":{"type":"record","name":"R","fields":[
			{"name":"s","type":"string"},{"name":"m","type":{"type":"map","values":["null","string","bytes","R"]}}]}}]}`
		both = `{"type":"record","name":"A","fields":[{"name":"s","type":"string"},
			{"name":"b","type":{"type":"array","items":{"type":"record","name":"B","fields":[{"name":"s","type":"string"},{"name":"a","type":["null","A"]}]}}}]}`
	)
	ofChain := func(s, inner string) any {
		return map[string]any{"s": s, "next": map[string]any{"R": map[string]any{"s": inner, "next": nil}}}
	}
	ofTree := func(s, inner string) any {
		leaf := map[string]any{"s": inner, "m": map[string]any{inner: map[string]any{"string": inner}}}
		return map[string]any{"root": map[string]any{"s": s, "m": map[string]any{s: map[string]any{"R": leaf}}}}
	}
	ofBoth := func(s, inner string) any {
		return map[string]any{"s": s, "b": []any{map[string]any{"s": inner, "a": nil}}}
	}
	for _, c := range []struct {
		name, schema string
		row          func(s, inner string) any
	}{{"chain", chain, ofChain}, {"tree", tree, ofTree}, {"both", both, ofBoth}} {
		rows := []any{c.row("x\xff", "y\xff")}
		in := input(ocfFile(t, c.schema, "null", rows), nil)
		for _, columns := range []struct {
			s, inner  string
			different int64
		}{{"x\uFFFD", "y\xff", 0}, {"x\uFFFD", "y\uFFFD", 1}, {"x\xff", "y\xff", 1}} {
			r := compareWith(t, Options{ValidText: true}, &list{rows: data(t, c.schema, []any{c.row(columns.s, columns.inner)})}, in)
			if r.Different != columns.different || r.Compared != 1 {
				t.Errorf("%s: %+v: %+v", c.name, columns, r)
			}
		}
	}
}
