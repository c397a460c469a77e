package shred

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func resolver(t testing.TB, writer, reader string) *Resolver {
	t.Helper()
	return NewResolver(resolution(t, writer, reader), 1<<20)
}

func resolution(t testing.TB, writer, reader string) *Resolution {
	t.Helper()
	r, err := tryResolve(t, writer, reader)
	if err != nil {
		t.Fatalf("%s -> %s: %v", writer, reader, err)
	}
	return r
}

func tryResolve(t testing.TB, writer, reader string) (*Resolution, error) {
	t.Helper()
	w, err := ParseSchema(writer)
	if err != nil {
		t.Fatalf("%s: %v", writer, err)
	}
	r, err := ParseSchema(reader)
	if err != nil {
		t.Fatalf("%s: %v", reader, err)
	}
	return Resolve(w, r, AllowChanges)
}

const (
	enumAB    = `{"type":"enum","name":"E","symbols":["A","B"]}`
	enumBA    = `{"type":"enum","name":"n.E","symbols":["B","A"]}`
	enumB     = `{"type":"enum","name":"E","symbols":["X","B"],"default":"X"}`
	fixed2    = `{"type":"fixed","name":"F","size":2}`
	chain     = `{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`
	chainWide = `{"type":"record","name":"L","fields":[{"name":"v","type":"double"},{"name":"next","type":["null","L"]}]}`
	chainLong = `{"type":"record","name":"L","fields":[{"name":"v","type":"long"},{"name":"next","type":["null","L"]}]}`
)

func typed(kind, logical string) string {
	return fmt.Sprintf(`{"type":%q,"logicalType":%q}`, kind, logical)
}
func array(items string) string { return `{"type":"array","items":` + items + `}` }
func mapOf(items string) string { return `{"type":"map","values":` + items + `}` }
func withDefault(name, typ, value string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"default":%s}`, name, typ, value)
}

func aliased(name, typ, alias string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"aliases":[%q]}`, name, typ, alias)
}

func TestResolve(t *testing.T) {
	three := rec("R", field("a", `"int"`)+","+field("b", `"string"`)+","+field("c", `"long"`))
	for _, c := range []struct {
		name, writer, reader, datum, want string
	}{
		{"int to long", `"int"`, `"long"`, "\x03", "\x03"},
		{"int to float", `"int"`, `"float"`, "\x02", "\x00\x00\x80\x3f"},
		{"int to double", `"int"`, `"double"`, "\x01", "\x00\x00\x00\x00\x00\x00\xf0\xbf"},
		{"long to float, rounded", `"long"`, `"float"`, "\x82\x80\x80\x10", "\x00\x00\x80\x4b"},
		{"long to double", `"long"`, `"double"`, "\x02", "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
		{"float to double", `"float"`, `"double"`, "\x00\x00\x80\x3f", "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
		{"string to bytes", `"string"`, `"bytes"`, "\x04ab", "\x04ab"},
		{"bytes to string", `"bytes"`, `"string"`, "\x04a\xff", "\x04a\xff"},
		{"fixed of another namespace", fixed2, `{"type":"fixed","name":"a.F","size":2}`, "xy", "xy"},
		{"enum by symbol", enumAB, enumBA, "\x00", "\x02"},
		{"enum's default", enumAB, enumB, "\x00", "\x00"},
		{"enum's symbol before default", enumAB, enumB, "\x02", "\x02"},
		{"millis to micros", array(typed("int", "time-millis")), array(typed("long", "time-micros")), "\x04\x02\x03\x00", "\x04\xd0\x0f\x9f\x1f\x00"},
		{"millis to nanos", typed("long", "timestamp-millis"), typed("long", "timestamp-nanos"), "\x02", "\x80\x89\x7a"},

		{"field dropped", three, rec("R", field("a", `"int"`)+","+field("c", `"long"`)), "\x02\x02x\x04", "\x02\x04"},
		{"all fields dropped", three, rec("R", ""), "\x02\x02x\x04", ""},
		{"fields reordered", three, rec("R", field("c", `"long"`)+","+field("a", `"int"`)), "\x02\x02x\x04", "\x04\x02"},
		{"reordered and widened", three, rec("R", field("c", `"float"`)+","+field("b", `"bytes"`)+","+field("a", `"double"`)), "\x02\x02x\x00",
			"\x00\x00\x00\x00\x02x\x00\x00\x00\x00\x00\x00\xf0\x3f"},
		{"defaults around", three, rec("R", withDefault("x", `"int"`, "1")+","+field("a", `"int"`)+","+withDefault("y", `"string"`, `"z"`)+","+
			field("c", `"long"`)+","+withDefault("w", `"boolean"`, "true")), "\x02\x02x\x04", "\x02\x02\x02z\x04\x01"},
		{"default of reordered", three, rec("R", field("c", `"long"`)+","+withDefault("x", `"int"`, "1")+","+field("b", `"string"`)), "\x02\x02x\x04", "\x04\x02\x02x"},
		{"alias of a field", three, rec("R", aliased("id", `"int"`, "a")), "\x02\x02x\x04", "\x02"},
		{"alias claims before a name", rec("R", field("a", `"int"`)), rec("R", withDefault("a", `"int"`, "7")+","+aliased("b", `"int"`, "a")), "\x04", "\x0e\x04"},
		{"a name of its own before an alias", rec("R", field("a", `"int"`)+","+field("b", `"int"`)), rec("R", field("a", `"int"`)+","+aliased("b", `"int"`, "a")), "\x02\x04", "\x02\x04"},
		{"alias of a record", strings.Replace(three, "R", "m.R", 1), `{"type":"record","name":"n.Q","aliases":["X","m.R"],"fields":[` + field("c", `"long"`) + `]}`, "\x02\x02x\x04", "\x04"},
		{"alias of an enum", enumAB, `{"type":"enum","name":"Q","aliases":["E"],"symbols":["B","A"]}`, "\x00", "\x02"},
		{"alias of a fixed", fixed2, `{"type":"fixed","name":"Q","aliases":["F"],"size":2}`, "xy", "xy"},
		{"record inside", rec("R", field("r", rec("S", field("a", `"int"`)+","+field("b", `"int"`)))), rec("R", field("r", rec("S", field("b", `"long"`)))), "\x02\x04", "\x04"},
		{"reordered inside reordered", rec("R", field("x", `"int"`)+","+field("r", rec("S", field("a", `"int"`)+","+field("b", `"int"`)))),
			rec("R", field("r", rec("S", field("b", `"float"`)+","+field("a", `"int"`)))+","+field("x", `"int"`)), "\x02\x04\x00", "\x00\x00\x00\x00\x04\x02"},

		{"array", array(`"int"`), array(`"float"`), "\x02\x00\x00", "\x02\x00\x00\x00\x00\x00"},
		{"array of several blocks", array(enumAB), array(enumBA), "\x03\x04\x00\x02\x02\x00\x00", "\x04\x02\x00\x02\x02\x00"},
		{"map", mapOf(enumAB), mapOf(enumBA), "\x02\x02k\x00\x00", "\x02\x02k\x02\x00"},
		{"array as it is", array(`"int"`), array(`"long"`), "\x01\x02\x06\x00", "\x01\x02\x06\x00"},

		{"union widened", `["null","int"]`, `["string","int","null"]`, "\x02\x06", "\x02\x06"},
		{"union widened, other branch", `["null","int"]`, `["string","int","null"]`, "\x00", "\x04"},
		{"into a union", `"int"`, `["null","int"]`, "\x06", "\x02\x06"},
		{"into a union, exact first", `"int"`, `["long","int"]`, "\x06", "\x02\x06"},
		{"into a union, first promotion", `"int"`, `["null","string","double","long"]`, "\x00", "\x04\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"out of a union", `["null","int"]`, `"int"`, "\x02\x06", "\x06"},
		{"out of a union, promoted", `["int","long"]`, `"long"`, "\x00\x06", "\x06"},
		{"union by full name", "[" + rec("a.R", field("x", `"int"`)) + "," + rec("b.R", field("x", `"int"`)) + "]",
			"[" + rec("b.R", field("x", `"int"`)) + "," + rec("a.R", field("x", `"int"`)) + "]", "\x00\x08", "\x02\x08"},
		{"union by name", "[" + rec("a.R", field("x", `"int"`)) + "]", `["null",` + rec("b.R", field("x", `"int"`)) + "]", "\x00\x08", "\x02\x08"},
		{"union by alias", "[" + fixed2 + "]", `["null",{"type":"fixed","name":"Q","aliases":["F"],"size":2}]`, "\x00xy", "\x02xy"},

		{"recursive", chain, chainWide, "\x00\x02\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"recursive as it is", chain, chainLong, "\x00\x02\x02\x00", "\x00\x02\x02\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, n, err := resolver(t, c.writer, c.reader).Row([]byte("kept"), []byte(c.datum+"next"))
			testenv.Must(t, err)
			if want := "kept" + c.want; string(out) != want || n != len(c.datum) {
				t.Errorf("%d of %d bytes, %q, want %q", n, len(c.datum), out, want)
			}
		})
	}
}

// TestResolveDefaults resolves a record without fields to one with a default.
func TestResolveDefaults(t *testing.T) {
	point := rec("P", field("x", `"int"`)+","+withDefault("y", `"int"`, "2"))
	for _, c := range []struct{ typ, value, want string }{
		{`"null"`, `null`, ""},
		{`"boolean"`, `false`, "\x00"},
		{`"int"`, `-2147483648`, "\xff\xff\xff\xff\x0f"},
		{`"long"`, `9223372036854775807`, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		{`"float"`, `1`, "\x00\x00\x80\x3f"},
		{`"double"`, `-1e0`, "\x00\x00\x00\x00\x00\x00\xf0\xbf"},
		{`"string"`, `"ü"`, "\x04ü"},
		{`"bytes"`, `"\u00ff\u0000"`, "\x04\xff\x00"},
		{fixed2, `"\u00ffa"`, "\xffa"},
		{enumAB, `"B"`, "\x02"},
		{array(`"int"`), `[1,2]`, "\x04\x02\x04\x00"},
		{array(`"int"`), `[]`, "\x00"},
		{mapOf(`"int"`), `{"b":1,"a":2}`, "\x04\x02a\x04\x02b\x02\x00"},
		{point, `{"x":1}`, "\x02\x04"},
		{`["null","int"]`, `null`, "\x00"},
		{`["null","int"]`, `5`, "\x02\x0a"},
		{`["string",` + point + `]`, `{"x":1,"y":3}`, "\x02\x02\x06"},
	} {
		out, n, err := resolver(t, rec("R", ""), rec("R", withDefault("f", c.typ, c.value))).Row(nil, nil)
		if err != nil || n != 0 || string(out) != c.want {
			t.Errorf("%s default %s: %d bytes, %q, %v", c.typ, c.value, n, out, err)
		}
	}
	for _, c := range []struct{ typ, value string }{
		{`"null"`, `0`}, {`"boolean"`, `0`}, {`"int"`, `2147483648`}, {`"int"`, `1.0`}, {`"long"`, `"1"`}, {`"float"`, `"NaN"`}, {`"double"`, `1e999`},
		{`"string"`, `1`}, {`"bytes"`, `"Ā"`}, {fixed2, `"abc"`}, {enumAB, `"C"`}, {enumAB, `1`}, {array(`"int"`), `[null]`}, {array(`"int"`), `{}`},
		{mapOf(`"int"`), `{"a":null}`}, {mapOf(`"int"`), `[]`}, {point, `{"y":1}`}, {point, `1`}, {`["null","int"]`, `"a"`},
	} {
		_, err := tryResolve(t, rec("R", ""), rec("R", withDefault("f", c.typ, c.value)))
		wantDamage(t, err, damage.Schema, "f: ")
		wantDamage(t, err, damage.Schema, "is not of type")
		// Where the writer has the field, its default does not matter.
		resolver(t, rec("R", field("f", c.typ)), rec("R", withDefault("f", c.typ, c.value)))
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct{ name, writer, reader, want string }{
		{"narrowing", rec("R", field("a", rec("S", field("b", `"long"`)))), rec("R", field("a", rec("S", field("b", `"int"`)))),
			"field a.b: schema: the writer's long does not resolve to the reader's int"},
		{"items", rec("R", field("a", array(`"int"`))), rec("R", field("a", array(`"string"`))), "field a[]: schema: the writer's int does not resolve to the reader's string"},
		{"values", mapOf(mapOf(`"int"`)), mapOf(mapOf(`"string"`)), "field {}{}: schema: the writer's int"},
		{"missing field", rec("R", ""), rec("R", field("a", `"int"`)), "field a: schema: the writer has no such field, and the reader no default for its int"},
		{"record's name", rec("R", ""), rec("Q", ""), "the writer's record R does not resolve to the reader's record Q, which could name it as an alias"},
		{"enum's name", enumAB, strings.Replace(enumAB, "E", "Q", 1), "enum E does not resolve to the reader's enum Q"},
		{"fixed's size", fixed2, `{"type":"fixed","name":"F","size":3}`, "fixed F of 2 bytes does not resolve to the reader's fixed F of 3 bytes"},
		{"no branch of the reader's", `"string"`, `["null","int"]`, "the writer's string does not resolve to the reader's union of null, int"},
		{"no branch of the writer's", `["null","string"]`, `"int"`, "the writer's union of null, string does not resolve to the reader's int"},
		{"type of an alias", rec("R", field("a", `"string"`)), rec("R", aliased("b", `"int"`, "a")), "field b: "},
		{"endless default", rec("R", ""), `{"type":"record","name":"R","fields":[{"name":"r","default":{},"type":{"type":"record","name":"Q","fields":[{"name":"q","type":"Q","default":{}}]}}]}`, "field r: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tryResolve(t, c.writer, c.reader)
			wantDamage(t, err, damage.Schema, c.want)
		})
	}
}

// TestResolveBoundsDefaults has a small default in many fields.
func TestResolveBoundsDefaults(t *testing.T) {
	const size = maxDefaults / 16
	reader := field("f0", rec("S", withDefault("s", `"string"`, `"`+strings.Repeat("x", size)+`"`)))
	reader = strings.Replace(reader, "}]}}", `}]},"default":{}}`, 1)
	for i := range 16 {
		reader += "," + withDefault(fmt.Sprint("g", i), `"S"`, "{}")
	}
	_, err := tryResolve(t, rec("R", ""), rec("R", reader))
	wantDamage(t, err, damage.Unsupported, "the defaults take more than")
}

// TestResolveBoundsEmptyDefaults has a default of few bytes but many values.
func TestResolveBoundsEmptyDefaults(t *testing.T) {
	list := func(item string) string { return "[" + strings.Repeat(item+",", 1<<12-1) + item + "]" }
	s := rec("S", withDefault("n", `{"type":"array","items":"null"}`, list("null")))
	reader := withDefault("f", `{"type":"array","items":`+s+`}`, list("{}"))
	_, err := tryResolve(t, rec("R", ""), rec("R", reader))
	wantDamage(t, err, damage.Unsupported, "the defaults take more than")
}

func TestResolveRowErrors(t *testing.T) {
	deep := strings.Repeat("\x00\x02", 2*maxDepth) + "\x00\x00" // an error where it is too deep
	for _, c := range []struct {
		name, writer, reader, datum string
		kind                        damage.Kind
		want                        string
	}{
		{"branch that does not resolve", rec("R", field("a", `["null","int"]`)), rec("R", field("a", `"int"`)), "\x00", damage.Value,
			"field a: offset 0: value: branch 0 of the union: schema: the writer's null does not resolve to the reader's int"},
		{"branch with a field that does not", rec("R", field("a", `["null",`+rec("S", field("b", `"int"`))+`]`)), rec("R", field("a", `["null",`+rec("S", field("b", `"string"`))+`]`)),
			"\x02\x00", damage.Value, "field a: offset 0: value: branch 1 of the union: field b: schema: the writer's int does not resolve to the reader's string"},
		{"symbol", rec("R", field("a", enumAB)), rec("R", field("a", `{"type":"enum","name":"E","symbols":["B"]}`)), "\x00", damage.Value, `field a: offset 0: value: the reader's enum has neither the symbol "A" nor a default`},
		{"ordinal", array(enumAB), array(enumBA), "\x02\x04\x00", damage.Value, "field []: offset 1: value: enum ordinal 2 of 2 symbols"},
		{"union index", `["null","int"]`, `["int","null"]`, "\x04", damage.Value, "union index 2 of 2 branches"},
		{"cut varint", `"int"`, `"float"`, "\x80", damage.Truncated, "offset 0"},
		{"wide varint", `"int"`, `"float"`, "\xff\xff\xff\xff\x1f", damage.Value, "32 bits"},
		{"wide varint, copied", `"int"`, `"long"`, "\xff\xff\xff\xff\x1f", damage.Value, "32 bits"},
		{"cut float", `"float"`, `"double"`, "abc", damage.Truncated, "4 bytes wanted"},
		{"cut in a dropped field", rec("R", field("a", `"string"`)), rec("R", ""), "\x08abc", damage.Truncated, "field a: offset 0"},
		{"cut in a dropped map", rec("R", field("a", mapOf(array(`"long"`)))), rec("R", ""), "\x02\x02k\x02\x80", damage.Truncated, "field a{}[]: offset 4"},
		{"cut in a dropped map's key", rec("R", field("a", mapOf(`"long"`))), rec("R", ""), "\x02\x08k\x02", damage.Truncated, "field a{}: offset 1"},
		{"cut in a reordered field", rec("R", field("a", `"string"`)+","+field("b", `"int"`)), rec("R", field("b", `"int"`)+","+field("a", `"string"`)), "\x02a", damage.Truncated, "field b: offset 2"},
		{"many items", array(`"int"`), array(`"float"`), "\x80\x80\x80\x80\x10", damage.Count, "bytes left"},
		{"many empty items", array(rec("E", "")), array(rec("E", withDefault("a", `"int"`, "0"))), "\x80\x80\x80\x80\x10", damage.Count, "at most"},
		{"block's size", array(`"int"`), array(`"float"`), "\x01\x04\x02\x00\x00", damage.Size, "1 bytes off"},
		{"key", mapOf(`"int"`), mapOf(`"float"`), "\x02\x08a\x00", damage.Truncated, "field {}: offset 1"},
		{"deep", chain, chainWide, deep, damage.Unsupported, "offset 2000: unsupported: data nested more than"},
		{"deep, copied", chain, chainLong, deep, damage.Unsupported, "offset 2000: unsupported: data nested more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resolver(t, c.writer, c.reader)
			out, n, err := r.Row([]byte("kept"), []byte(c.datum))
			wantDamage(t, err, c.kind, c.want)
			if string(out) != "kept" || n != 0 {
				t.Errorf("%q and %d with the error", out, n)
			}
		})
	}
}

func TestResolveBoundsTheRow(t *testing.T) {
	long := withDefault("z", `"string"`, `"`+strings.Repeat("x", 1000)+`"`)
	pair := `{"type":"record","name":"P","fields":[{"name":"a","type":["null","P"]},{"name":"b","type":["null","P"]}`
	turned := `{"type":"record","name":"P","fields":[{"name":"b","type":["null","P"]},{"name":"a","type":["null","P"]}`
	text := func(n int) string {
		return string(binary.AppendVarint(nil, int64(n))) + strings.Repeat("x", n)
	}
	// Trees of 63 and 127 records.
	small, tree := "\x00\x00", "\x00\x00"
	for len(tree) < 1<<7 {
		small, tree = tree, "\x02"+tree+"\x02"+tree
	}
	for _, c := range []struct{ name, writer, reader, fits, not string }{
		{"items", array(rec("E", "")), array(rec("E", long)), "\x80\x01\x00", "\x80\x02\x00"},
		{"no items", pair + "]}", pair + "," + long + "]}", small, tree},
		{"reordered", pair + "]}", turned + "," + long + "]}", small, tree},
		{"copied", `"string"`, `"string"`, text(16_000), text(110_000)},
	} {
		r := NewResolver(resolution(t, c.writer, c.reader), 100_000)
		if out, _, err := r.Row(nil, []byte(c.fits)); err != nil || len(out) < 10_000 {
			t.Errorf("%s: %d bytes, %v", c.name, len(out), err)
		}
		out, _, err := r.Row(nil, []byte(c.not))
		if !errors.Is(err, ErrTooLarge) || out != nil {
			t.Errorf("%s: %d bytes, %v", c.name, len(out), err)
		}
		wantDamage(t, err, damage.Unsupported, "it resolves to more than 100000 bytes: the row is too large")
	}
}

func TestIdentity(t *testing.T) {
	all := rec("R", field("a", array(enumAB))+","+field("u", `["null",`+fixed2+`]`)+","+field("l", chain))
	for _, c := range []struct {
		name, writer, reader string
		want                 bool
	}{
		{"itself", all, all, true},
		{"equal symbols", `{"type":"enum","name":"E","symbols":["A","B","A"]}`, `{"type":"enum","name":"E","symbols":["A","B","A"]}`, true},
		{"an additional default", rec("R", field("a", `"int"`)), rec("R", withDefault("a", `"int"`, "1")), true},
		{"an alias", rec("R", field("a", `"int"`)), rec("R", aliased("b", `"int"`, "a")), true},
		{"a longer enum", enumAB, `{"type":"enum","name":"E","symbols":["A","B","C"]}`, false},
		{"a longer union", `["null","int"]`, `["null","int","long"]`, false},
		{"int to long", chain, chainLong, false},
		{"another order", rec("R", field("a", `"int"`)+","+field("b", `"int"`)), rec("R", field("b", `"int"`)+","+field("a", `"int"`)), false},
	} {
		if got := resolution(t, c.writer, c.reader).Identity(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestResolverGoesOn resolves a row after another one has failed half-way.
func TestResolverGoesOn(t *testing.T) {
	r := resolver(t, rec("R", field("a", `"string"`)+","+field("b", enumAB)), rec("R", field("b", enumBA)+","+field("a", `"string"`)))
	var located *damage.Error
	if _, _, err := r.Row(nil, []byte("\x02x\x06")); !errors.As(err, &located) {
		t.Fatal(err)
	}
	out, n, err := r.Row(nil, []byte("\x02x\x00"))
	if err != nil || n != 3 || !bytes.Equal(out, []byte("\x02\x02x")) {
		t.Errorf("%q, %d, %v", out, n, err)
	}
}

func TestResolveAllocatesNothing(t *testing.T) {
	inner := rec("S", field("x", `"int"`)+","+field("y", enumAB))
	turned := rec("S", field("y", enumBA)+","+field("x", `"double"`)+","+withDefault("z", `"string"`, `"new"`))
	r := resolver(t, rec("R", field("a", array(inner))+","+field("b", `["null","string"]`)), rec("R", field("b", `["string","null"]`)+","+field("a", array(turned))))
	datum := []byte("\x04\x02\x00\x04\x02\x00\x02\x02s")
	var dst []byte
	if n := testing.AllocsPerRun(100, func() {
		var err error
		if dst, _, err = r.Row(dst[:0], datum); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per row", n)
	}
}
