package shred

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func parse(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := ParseSchema(text)
	if err != nil {
		t.Fatalf("ParseSchema(%.200s): %v", text, err)
	}
	return s
}

func rec(name, fields string) string {
	return fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, fields)
}

func field(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ) }

// shape returns a column as name:type, with [] for an array, ? for an optional
// and the parent's index.
func shape(c column.Column) string {
	s := c.Name + ":" + c.Type.String()
	switch {
	case c.Optional:
		s += "?"
	case c.Array:
		s += "[]"
	}
	if c.Parent >= 0 {
		s += fmt.Sprintf("^%d", c.Parent)
	}
	return s
}

func TestMapColumns(t *testing.T) {
	pair := rec("ns.P", field("a", `"int"`)+","+field("b", `{"type":"fixed","name":"F","size":4}`))
	for _, test := range []struct{ name, schema, want string }{
		{"simple", `"int"`, "int:int"},
		{"null", `"null"`, "null:null"},
		{"enum at the top", `{"type":"enum","name":"ns.E","symbols":["A"]}`, "ns.E:int"},
		{"record", pair, "a:int b:bytes"},
		{"nested record", rec("R", field("p", pair)), "p#a:int p#b:bytes"},
		{"array of simple", rec("R", field("x", `{"type":"array","items":"string"}`)), "x[]:string[]"},
		{"array of record", rec("R", field("x", `{"type":"array","items":`+pair+`}`)), "x[]:null[] x[]#a:int^0 x[]#b:bytes^0"},
		{"array of array", `{"type":"array","items":{"type":"array","items":"long"}}`, "[]:null[] [][]:long[]^0"},
		{"map", rec("R", field("m", `{"type":"map","values":"double"}`)), "m>:null[] m>key:string^0 m>value:double^0"},
		{"map at the top", `{"type":"map","values":"double"}`, ">:null[] >key:string^0 >value:double^0"},
		{"map of map", `{"type":"map","values":{"type":"map","values":"float"}}`,
			">:null[] >key:string^0 >value>:null[]^0 >value>key:string^2 >value>value:float^2"},
		{"optional", rec("R", field("u", `["null","boolean"]`)), "u/boolean:boolean?"},
		{"union at the top", `["null","int",` + pair + `]`, "int:int? ns.P:null? ns.P#a:int^1 ns.P#b:bytes^1"},
		{"unnamed branches", rec("R", field("u", `[{"type":"array","items":"int"},{"type":"map","values":"int"}]`)),
			"u/array:null? u/array[]:int[]^0 u/map:null? u/map>:null[]^2 u/map>key:string^3 u/map>value:int^3"},
		{"array of union", `{"type":"array","items":["null","int"]}`, "[]:null[] []/int:int?^0"},
		{"type used twice", rec("R", field("p", pair)+","+field("q", `"ns.P"`)), "p#a:int p#b:bytes q#a:int q#b:bytes"},
		{"inherited namespace", rec("a.b.R", field("p", rec("P", field("x", `"int"`)))+","+field("q", `["null","P"]`)),
			"p#x:int q/a.b.P:null? q/a.b.P#x:int^1"},
		{"empty record and a field", rec("R", field("e", rec("E", ""))+","+field("x", `"int"`)), "x:int"},
		{"wrapped types", rec("R", field("x", `{"type":{"type":"array","items":{"type":{"type":"int"}}}}`)), "x[]:int[]"},
		{"forward reference", `[` + rec("A", field("b", rec("B", field("x", `"int"`)))) + `,"B"]`,
			"A:null? A#b#x:int^0 B:null? B#x:int^2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := Map(parse(t, test.schema), Options{})
			testenv.Must(t, err)
			var got []string
			for _, c := range m.Columns {
				got = append(got, shape(c))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), test.want)
			}
		})
	}
}

func TestMapRecursive(t *testing.T) {
	list := rec("ns.List", field("v", `"long"`)+","+field("next", `["null","List"]`))
	tree := rec("Tree", field("v", `"int"`)+","+field("kids", `{"type":"array","items":"Tree"}`))
	for _, test := range []struct{ schema, path, want string }{
		{list, "next", "v:long next/ns.List:bytes?"},
		{rec("Top", field("l", list)), "l.next", "l#v:long l#next/ns.List:bytes?"},
		{rec("Top", field("t", tree)), "t.kids[]", "t#v:int t#kids[]:bytes[]"},
		{rec("A", field("m", `{"type":"map","values":`+rec("B", field("a", `["null","A"]`)+","+field("x", `"int"`))+`}`)),
			"m{}", "m>:null[] m>key:string^0 m>value:bytes^0"},
	} {
		s := parse(t, test.schema)
		_, err := Map(s, Options{})
		wantDamage(t, err, damage.Unsupported, "recursive")
		if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Path != test.path {
			t.Errorf("path of %v, want %s", err, test.path)
		}
		m, err := Map(s, Options{RecursiveBytes: true})
		testenv.Must(t, err)
		var got []string
		for _, c := range m.Columns {
			got = append(got, shape(c))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, " "), test.want)
		}
	}
}

func wantDamage(t *testing.T, err error, kind damage.Kind, reason string) {
	t.Helper()
	var e *damage.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Error(), reason) {
		t.Errorf("got %.300v, want %s: …%s…", err, kind, reason)
	}
}

func TestMapRefuses(t *testing.T) {
	doubling := func(inner string, n int) string {
		s := rec("R0", inner)
		for i := 1; i < n; i++ {
			s = rec(fmt.Sprint("R", i), field("a", s)+","+field("b", fmt.Sprintf("%q", fmt.Sprint("R", i-1))))
		}
		return s
	}
	chain := func(n int) string { // flat in the text, deep when expanded
		list := []string{rec("R0", field("x", `"int"`))}
		for i := 1; i < n; i++ {
			list = append(list, rec(fmt.Sprint("R", i), field("x", fmt.Sprintf("%q", fmt.Sprint("R", i-1)))))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	wide := func(n int) string {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = field(fmt.Sprint("f", i), `"int"`)
		}
		return rec("W", strings.Join(fields, ","))
	}
	long := strings.Repeat("n", 1<<20)
	for _, test := range []struct{ name, schema, reason string }{
		{"2^30 columns", doubling(field("x", `"int"`), 31), "more than 100000 columns"},
		{"2^20 empty records", doubling("", 21), "more than 1000000 types"},
		{"2^30 empty records", doubling("", 31), "more than 1000000 types"},
		{"chain of references", chain(1200), "deeper than 1000 levels"},
		{"100,001 columns", wide(maxColumns + 1), "more than 100000 columns"},
		{"no columns", rec("R", ""), "no columns"},
		{"only null branches", `["null"]`, "no columns"},
		{"long names", rec("R", field(long, wide(1000))), "names"},
		{"collision", rec("R", field("a", rec("A", field("b", `"int"`)))+","+field("a#b", `"long"`)), `field a#b: unsupported: its column "a#b" is also that of field a.b`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Map(parse(t, test.schema), Options{})
			wantDamage(t, err, damage.Unsupported, test.reason)
		})
	}
	if _, err := Map(parse(t, wide(maxColumns)), Options{}); err != nil {
		t.Errorf("100,000 columns: %v", err)
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"type":"array","items":`, n) + `"int"` + strings.Repeat("}", n)
	}
	for _, test := range []struct {
		name, schema string
		kind         damage.Kind
		reason       string
	}{
		{"nothing", ``, damage.Schema, "JSON"},
		{"cut off", `{"type":"rec`, damage.Schema, "JSON"},
		{"text after the schema", `"int" "long"`, damage.Schema, "after the end"},
		{"unknown type", `"integer"`, damage.Schema, "integer"},
		{"undefined reference", rec("R", field("x", `"Q"`)), damage.Schema, "Q"},
		{"record without fields", `{"type":"record","name":"R"}`, damage.Schema, "fields"},
		{"array without items", `{"type":"array"}`, damage.Schema, ""},
		{"enum without symbols", `{"type":"enum","name":"E"}`, damage.Schema, "symbols"},
		{"defined twice", `[` + rec("R", "") + "," + rec("R", "") + `]`, damage.Schema, "R"},
		{"field that is not an object", rec("R", "1"), damage.Schema, "object"},
		{"negative size", `{"type":"fixed","name":"F","size":-1}`, damage.Schema, ""},
		{"10,000 levels", deep(10_000), damage.Unsupported, "deeper than"},
		{"10,000 brackets", strings.Repeat("[", 10_000), damage.Unsupported, "deeper than"},
		{"1,500 levels", deep(1500), damage.Unsupported, "deeper than"},
		{"giant size", `{"type":"fixed","name":"F","size":9223372036854775807}`, damage.Unsupported, "at most"},
		{"giant symbol list", `{"type":"enum","name":"E","symbols":["A"` + strings.Repeat(`,"A"`, maxValues+1) + `]}`, damage.Unsupported, "values"},
		{"giant text", `"` + strings.Repeat("a", maxSchema) + `"`, damage.Unsupported, "at most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseSchema(test.schema)
			wantDamage(t, err, test.kind, test.reason)
		})
	}
	for _, n := range []int{500, 999} {
		if _, err := ParseSchema(deep(n)); err != nil {
			t.Errorf("%d levels: %.200v", n, err)
		}
	}
}

func TestNamedTypesAreShared(t *testing.T) {
	root := parse(t, rec("n.R", field("a", rec("S", field("x", `"int"`)))+","+field("b", `"S"`)+","+field("c", `"n.S"`))).Root()
	if a, b, c := root.Fields[0].Type, root.Fields[1].Type, root.Fields[2].Type; a != b || b != c || a.Name != "n.S" {
		t.Errorf("three references to one type are %p, %p, %p", a, b, c)
	}
}

func TestCanonical(t *testing.T) {
	base := `{"type":"record","name":"R","doc":"one","fields":[{"name":"x","type":{"type":"int","logicalType":"date"},"default":0}]}`
	same := []string{
		`{ "fields":[{"default":0,"doc":"d","name":"x","type":{"logicalType":"date","type":"int"}}],"name":"R","type":"record"}`,
	}
	different := []string{
		strings.Replace(base, `"date"`, `"time-millis"`, 1),
		strings.Replace(base, `"default":0`, `"default":1`, 1),
		strings.Replace(base, `"name":"x"`, `"name":"y"`, 1),
		strings.Replace(base, `"doc":"one"`, `"owner":"one"`, 1),
		strings.Replace(base, `"default":0`, `"default":{"doc":"data"}`, 1),
	}
	want := parse(t, base).Canonical()
	for _, text := range same {
		if got := parse(t, text).Canonical(); got != want {
			t.Errorf("the same schema has different canonical texts:\n%s\n%s", got, want)
		}
	}
	seen := []string{want}
	for _, text := range append(different, strings.Replace(base, `"default":0`, `"default":{"doc":"other"}`, 1)) {
		got := parse(t, text).Canonical()
		if slices.Contains(seen, got) {
			t.Errorf("a different schema has the same canonical text: %s", text)
		}
		seen = append(seen, got)
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{rec("ns.R", field("a", `"int"`)+`,{"name":"b","type":["null","int"],"default":null}`), ""},
		{rec("n-me", field("a", `"int"`)), `"n-me": the name`},
		{rec("Outer$.R", field("a", `"int"`)), `"Outer$.R": the name`},
		{rec("R", field("a b", `"int"`)), `field "a b": the name`},
		{`{"type":"enum","name":"E","symbols":["A",1]}`, `enum E: symbol "1"`},
		{`{"type":"enum","name":"E","symbols":["A b"]}`, `enum E: symbol "A b"`},
		{`{"type":"enum","name":"E","symbols":["A","A"]}`, `enum E: symbol "A" is there twice`},
		{`{"type":"enum","name":"E","symbols":["A"],"default":"B"}`, "enum E: the default"},
		{rec("R", `{"name":"a","type":["int","null"],"default":null}`), `field "a": the default is not a value of type int, the union's first`},
		{rec("R", `{"name":"a","type":"int","default":2147483648}`), `field "a": the default`},
		{rec("R", `{"name":"a","type":"long","default":2147483648}`), ""},
		{rec("R", `{"name":"a","type":"long","default":"1"}`), `field "a": the default`},
		{rec("R", `{"name":"a","type":{"type":"array","items":"boolean"},"default":[true,1]}`), `field "a": the default`},
		{rec("R", `{"name":"a","type":{"type":"map","values":"double"},"default":{"x":1,"y":2.5}}`), ""},
		{rec("R", `{"name":"a","default":{"x":1},"type":`+rec("S", field("x", `"int"`)+`,{"name":"y","type":"string","default":""}`)+`}`), ""},
		{rec("R", `{"name":"a","default":{},"type":`+rec("S", field("x", `"int"`))+`}`), `field "a": the default`},
	} {
		got := parse(t, test.schema).Warnings()
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], test.want)) {
			t.Errorf("%s: warnings %q, want %q", test.schema, got, test.want)
		}
	}
	fields := make([]string, 2*maxWarnings)
	for i := range fields {
		fields[i] = field(fmt.Sprint("-", i), `"int"`)
	}
	got := parse(t, rec("R", strings.Join(fields, ","))).Warnings()
	if len(got) != maxWarnings+1 || got[maxWarnings] != fmt.Sprint(maxWarnings, " more of the kind") {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
}

func TestNodeProperties(t *testing.T) {
	root := parse(t, rec("R", field("d", `{"type":"int","logicalType":"date"}`)+","+
		field("e", `{"type":"enum","name":"E","symbols":["A",2,"A"]}`)+","+
		field("f", `{"type":"fixed","name":"F","size":16,"logicalType":"decimal","precision":-1}`))).Root()
	d, e, f := root.Fields[0].Type, root.Fields[1].Type, root.Fields[2].Type
	if d.Kind != KindInt || d.Logical != "date" {
		t.Errorf("date is %+v", d)
	}
	if !slices.Equal(e.Symbols, []string{"A", "2", "A"}) {
		t.Errorf("symbols are %q", e.Symbols)
	}
	if f.Size != 16 || f.Logical != "decimal" {
		t.Errorf("fixed is %+v", f)
	}
}

// The files of a dataset share their schema.
func TestSchemasAreShared(t *testing.T) {
	const text = `{"type":"enum","name":"Shared","symbols":["A"]}`
	a, err := ParseSchema(text)
	testenv.Must(t, err)
	if b, err := ParseSchema(text); a != b || b.JSON() != text {
		t.Errorf("the schema was parsed again: %v", err)
	}
}
