package e2e

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/randavro"
)

// pair is a datum, the schema that it was written with, and another to read it with.
type pair struct {
	name           string
	writer, reader string
	datum          []byte
}

// ours resolves a pair with the program's resolver.
func (p pair) ours(t *testing.T) (datum string, err error) {
	t.Helper()
	w, err := shred.ParseSchema(p.writer)
	if err != nil {
		t.Fatalf("%s: %v", p.writer, err)
	}
	r, err := shred.ParseSchema(p.reader)
	if err != nil {
		t.Fatalf("%s: %v", p.reader, err)
	}
	v, err := shred.Resolve(w, r, shred.AllowChanges)
	if err != nil {
		return "", err
	}
	out, n, err := shred.NewResolver(v, 1<<20).Row(nil, p.datum)
	if err == nil && n != len(p.datum) {
		t.Errorf("%s: %d of %d bytes are the datum", p.name, n, len(p.datum))
	}
	return hex.EncodeToString(out), err
}

// judged counts the outcomes of pairs.
type judged struct {
	resolved int // with the same result
	refused  int // by both
	stricter int // refused by us only: Java calls the schemas incompatible, but reads the datum
}

// judge compares our resolution of each pair with Java's.
func judge(t *testing.T, pairs []pair) (j judged) {
	t.Helper()
	lines := make([][]string, len(pairs))
	for i, p := range pairs {
		lines[i] = []string{p.writer, p.reader, hex.EncodeToString(p.datum)}
	}
	for i, v := range java.list(t, lines, "resolve", "-") {
		p := pairs[i]
		got, err := p.ours(t)
		datum, note, _ := strings.Cut(v.detail, " ")
		switch {
		case err == nil && v.pass && got == datum:
			j.resolved++
		case err != nil && !v.pass:
			j.refused++
		case err != nil && note != "":
			j.stricter++
		default:
			t.Errorf("%s: %s -> %s, %x:\nours %s, %v\nJava's %v, %s", p.name, p.writer, p.reader, p.datum, got, err, v.pass, v.detail)
		}
	}
	t.Logf("%d resolved to the same, %d refused by both, %d by us only", j.resolved, j.refused, j.stricter)
	return j
}

// kinds is one type of each kind, with a datum.
var kinds = []struct {
	name, schema string
	datum        string
}{
	{"null", `"null"`, ""},
	{"boolean", `"boolean"`, "\x01"},
	{"int", `"int"`, "\xfd\xff\xff\xff\x0f"},
	{"long", `"long"`, "\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
	{"float", `"float"`, "\x01\x00\xa0\x7f"}, // a signaling NaN
	{"double", `"double"`, "\x01\x02\x03\x04\x05\x06\x07\x08"},
	{"bytes", `"bytes"`, "\x04\xc3\x28"},
	{"string", `"string"`, "\x06aü"},
	{"fixed", `{"type":"fixed","name":"F","size":2}`, "ab"},
	{"enum", `{"type":"enum","name":"E","symbols":["A","B"]}`, "\x02"},
	{"record", `{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}`, "\x06"},
	{"array", `{"type":"array","items":"int"}`, "\x02\x06\x00"},
	{"map", `{"type":"map","values":"int"}`, "\x02\x02k\x06\x00"},
}

// TestResolveKinds reads every kind as every kind: alone, in fields, in items, and with
// unions in either schema or both.
func TestResolveKinds(t *testing.T) {
	needJava(t)
	var pairs []pair
	for _, w := range kinds {
		for _, r := range kinds {
			for _, shape := range []struct{ name, writer, reader, before, after string }{
				{"%s as %s", `%s`, `%s`, "", ""},
				{"field %s as %s", `{"type":"record","name":"Row","fields":[{"name":"f","type":%s}]}`,
					`{"type":"record","name":"Row","fields":[{"name":"f","type":%s}]}`, "", ""},
				{"items %s as %s", `{"type":"array","items":%s}`, `{"type":"array","items":%s}`, "\x02", "\x00"},
				{"values %s as %s", `{"type":"map","values":%s}`, `{"type":"map","values":%s}`, "\x02\x02k", "\x00"},
				{"%s as union of %s", `%s`, `[%s]`, "", ""},
				{"union of %s as %s", `[%s]`, `%s`, "\x00", ""},
				{"union of %s as union of %s", `[%s]`, `[%s]`, "\x00", ""},
			} {
				pairs = append(pairs, pair{
					name:   fmt.Sprintf(shape.name, w.name, r.name),
					writer: fmt.Sprintf(shape.writer, w.schema), reader: fmt.Sprintf(shape.reader, r.schema),
					datum: []byte(shape.before + w.datum + shape.after),
				})
			}
		}
		pairs = append(pairs, unionPairs(w.name, w.schema, w.datum)...)
	}
	if j := judge(t, pairs); j.stricter > 0 {
		t.Error("Java is more lenient")
	}
}

// unionPairs returns pairs that read a kind as unions with and without it.
func unionPairs(name, schema, datum string) []pair {
	var all, back, without []string
	for _, k := range kinds {
		all = append(all, k.schema)
		back = append([]string{k.schema}, back...)
		if k.name != name {
			without = append(without, k.schema)
		}
	}
	union := func(types []string) string { return "[" + strings.Join(types, ",") + "]" }
	index := -1
	for i, k := range kinds {
		if k.name == name {
			index = i
		}
	}
	inAll := append(varints(nil, int64(index)), datum...)
	return []pair{
		{name + " as any", schema, union(all), []byte(datum)},
		{name + " as any, backwards", schema, union(back), []byte(datum)},
		{name + " as any other", schema, union(without), []byte(datum)},
		{name + " of any as any, backwards", union(all), union(back), inAll},
		{name + " of any as any other", union(all), union(without), inAll},
		{name + " of any as itself", union(all), schema, inAll},
	}
}

// TestResolveRecords tries the changes of evolving schemas.
func TestResolveRecords(t *testing.T) {
	needJava(t)
	row := func(fields string) string {
		return `{"type":"record","name":"Row","namespace":"n","fields":[` + fields + `]}`
	}
	const abc = `{"name":"a","type":"int"},{"name":"b","type":"string"},{"name":"c","type":{"type":"array","items":"long"}}`
	const abcDatum = "\x02\x04xy\x04\x02\x04\x00"
	const list = `{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`
	const tree = `{"type":"record","name":"L","fields":[{"name":"kids","type":{"type":"array","items":"L"}},{"name":"v","type":"int"}]}`
	pairs := []pair{
		{"dropped", row(abc), row(`{"name":"b","type":"bytes"}`), []byte(abcDatum)},
		{"all dropped", row(abc), row(``), []byte(abcDatum)},
		{"reordered", row(abc), row(`{"name":"c","type":{"type":"array","items":"float"}},{"name":"b","type":"string"},{"name":"a","type":"double"}`), []byte(abcDatum)},
		{"missing", row(abc), row(abc + `,{"name":"d","type":"int"}`), []byte(abcDatum)},
		{"alias", row(abc), row(`{"name":"z","type":"long","aliases":["q","a"]}`), []byte(abcDatum)},
		{"alias before a name", row(`{"name":"a","type":"int"}`), row(`{"name":"a","type":"int","default":9},{"name":"z","type":"int","aliases":["a"]}`), []byte("\x04")},
		{"record's alias", row(`{"name":"r","type":{"type":"record","name":"Old","fields":[{"name":"x","type":"int"}]}}`),
			row(`{"name":"r","type":{"type":"record","name":"New","aliases":["Old"],"fields":[{"name":"y","aliases":["x"],"type":"int"}]}}`), []byte("\x04")},
		{"enum's alias", row(`{"name":"e","type":{"type":"enum","name":"Old","symbols":["A","B"]}}`),
			row(`{"name":"e","type":{"type":"enum","name":"New","aliases":["n.Old"],"symbols":["B","A"]}}`), []byte("\x00")},
		{"fixed's alias in a union", row(`{"name":"e","type":{"type":"fixed","name":"Old","size":1}}`),
			row(`{"name":"e","type":["null",{"type":"fixed","name":"New","aliases":["n.Old"],"size":1}]}`), []byte("\x07")},
		{"enum's default", row(`{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}`),
			row(`{"name":"e","type":{"type":"enum","name":"E","symbols":["C","B"],"default":"C"}}`), []byte("\x00")},
		{"enum without default", row(`{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}}`),
			row(`{"name":"e","type":{"type":"enum","name":"E","symbols":["C","B"]}}`), []byte("\x00")},
		{"fixed's size", `{"type":"fixed","name":"F","size":2}`, `{"type":"fixed","name":"F","size":3}`, []byte("abc")},
		{"fixed's name", `{"type":"fixed","name":"F","size":2}`, `{"type":"fixed","name":"G","size":2}`, []byte("ab")},
		{"fixed of another namespace", `{"type":"fixed","name":"m.F","size":2}`, `{"type":"fixed","name":"n.F","size":2}`, []byte("ab")},
		{"recursive, widened", list, strings.Replace(list, `"int"`, `"double"`, 1), []byte("\x00\x02\x02\x02\x04\x00")},
		{"recursive, reordered", tree, `{"type":"record","name":"L","fields":[{"name":"v","type":"long"},{"name":"kids","type":{"type":"array","items":"L"}},{"name":"n","type":["null","L"],"default":null}]}`,
			[]byte("\x04\x00\x02\x02\x00\x06\x00\x08\x00\x0a")},
		{"records in a union", `[{"type":"record","name":"m.A","fields":[]},{"type":"record","name":"m.B","fields":[{"name":"x","type":"int"}]}]`,
			`[{"type":"record","name":"m.B","fields":[{"name":"x","type":"float"}]},"null",{"type":"record","name":"m.A","fields":[]}]`, []byte("\x02\x04")},
		{"several blocks", `{"type":"array","items":"int"}`, `{"type":"array","items":"float"}`, []byte("\x02\x04\x00")},
		{"union index", `["null","int"]`, `["int","null"]`, []byte("\x04")},
	}
	for i, d := range []string{
		`"type":"null","default":null`, `"type":"boolean","default":true`, `"type":"int","default":-5`, `"type":"long","default":9223372036854775807`,
		`"type":"float","default":1.1`, `"type":"float","default":3`, `"type":"double","default":-1e-300`, `"type":"string","default":"aü\u0000"`,
		`"type":"bytes","default":"\u00ff\u0000a"`, `"type":{"type":"fixed","name":"F","size":2},"default":"\u0001\u00fe"`,
		`"type":{"type":"enum","name":"E","symbols":["A","B"]},"default":"B"`, `"type":{"type":"array","items":["null","int"]},"default":[]`,
		`"type":{"type":"array","items":"int"},"default":[1,2,3]`, `"type":{"type":"map","values":"double"},"default":{"k":1.5}`, `"type":{"type":"map","values":"int"},"default":{}`,
		`"type":["null","string"],"default":null`, `"type":["string","null"],"default":"x"`, `"type":["null","string"],"default":"second"`, `"type":["int","double"],"default":2`,
		`"type":{"type":"record","name":"D","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","int"],"default":null},{"name":"z","type":"bytes","default":"\u0080"}]},"default":{"x":1,"z":"q"}`,
		`"type":{"type":"array","items":{"type":"record","name":"D","fields":[{"name":"x","type":"int","default":7}]}},"default":[{},{"x":8}]`,
	} {
		pairs = append(pairs,
			pair{fmt.Sprintf("default %d", i), row(abc), row(`{"name":"new",` + d + `},` + abc), []byte(abcDatum)},
			pair{fmt.Sprintf("default %d at the end", i), row(abc), row(`{"name":"b","type":"string"},{"name":"new",` + d + `}`), []byte(abcDatum)})
	}
	if j := judge(t, pairs); j.stricter > 0 {
		t.Error("Java is more lenient")
	}
}

// TestResolveRandom judges random generations of random schemas.
func TestResolveRandom(t *testing.T) {
	needJava(t)
	var pairs []pair
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := pair{name: fmt.Sprintf("seed %d", seed), writer: randavro.Schema(r)}
		p.reader = randavro.Evolve(r, p.writer)
		w, err := shred.ParseSchema(p.writer)
		must(t, err)
		for range 3 {
			p.datum, _ = randavro.Pair(r, w.Root())
			pairs = append(pairs, p)
		}
	}
	if j := judge(t, pairs); j.resolved < len(pairs)/2 || j.refused < 50 || j.stricter > len(pairs)/50 {
		t.Error("the random schemas do not reach the outcomes")
	}
}

// TestConvertGenerations converts mail with two generations of a schema into one output with
// a third. Java reads the same from it as from the inputs.
func TestConvertGenerations(t *testing.T) {
	needJava(t)
	dir := t.TempDir()
	second := strings.NewReplacer(
		`"name":"from"`, `"name":"sender","aliases":["from"]`,
		`{"name":"size","type":["null","int"]}`, `{"name":"size","type":["null","string","long"]}`,
		`{"name":"seen","type":"boolean"},`, ``,
		`"SPAM"]`, `"SPAM","TRASH"]`,
		`{"name":"body",`, `{"name":"flags","type":{"type":"array","items":"string"},"default":["old"]},{"name":"body",`,
	).Replace(mailgen.Schema)
	reader := strings.NewReplacer(
		`{"name":"id","type":"long"},`, ``,
		`"name":"sender"`, `"name":"author"`, `["from"]`, `["sender","from"]`,
		`"SENT","ARCHIVE","SPAM","TRASH"]`, `"TRASH","ARCHIVE"],"default":"INBOX"`,
		`"name":"host"`, `"name":"name","aliases":["host"]`,
		`{"name":"date","type":"long"}`, `{"name":"date","type":"double"}`,
		`{"name":"body",`, `{"name":"id","type":"double"},{"name":"body",`,
	).Replace(second)
	schema := filepath.Join(dir, "reader.avsc")
	must(t, os.WriteFile(schema, []byte(reader), 0o666))
	in := filepath.Join(dir, "in")
	must(t, os.Mkdir(in, 0o777))
	writeMail(t, filepath.Join(in, "1.avro"), 2000)
	later, err := shred.ParseSchema(second)
	must(t, err)
	rows := block{rows: 500}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range rows.rows {
		plain, _ := randavro.Pair(rnd, later.Root())
		rows.data = append(rows.data, plain...)
	}
	must(t, os.Rename(writeAvro(t, "2", second, rows), filepath.Join(in, "2.avro")))

	run(t, "convert", in, filepath.Join(dir, "none")).want(t, 3)
	dest := filepath.Join(dir, "out")
	p := run(t, "convert", "--json", "--schema", schema, "--row-group-size", "512KiB", in, dest).want(t, 0).report(t)
	run(t, "verify", dest).want(t, 0)
	// Some rows are not compared, because random maps may have a key twice.
	against := run(t, "verify", "--json", dest, "--against", in).want(t, 0).report(t).Result.Against
	if against.ByHamba < 2400 || against.ByGoavro != 0 {
		t.Errorf("hamba compared %d of 2500 rows, goavro %d", against.ByHamba, against.ByGoavro)
	}
	var want, got []string
	for _, name := range []string{"1.avro", "2.avro"} {
		want = append(want, java.call(t, "read", filepath.Join(in, name), schema)...)
	}
	parts := p.parts(dest)
	if len(parts) < 2 {
		t.Errorf("%d parts", len(parts))
	}
	for _, part := range parts {
		got = append(got, java.call(t, "read", part)...)
	}
	if len(want) != 2500 || len(got) != len(want) {
		t.Fatalf("%d rows of %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d:\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
}
