package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const placesSchema = `{"type":"record","name":"Place","fields":[
	{"name":"id","type":"int"},
	{"name":"name","type":["null","string"]},
	{"name":"from","type":"string"},
	{"name":"odd-name","type":"int"},
	{"name":"height","type":["null","double"]},
	{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["HILL","LAKE","TOWN"]}},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}},
	{"name":"since","type":{"type":"int","logicalType":"date"}},
	{"name":"seen","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"local","type":{"type":"long","logicalType":"local-timestamp-micros"}},
	{"name":"opens","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"uuid","type":{"type":"fixed","name":"Key","size":16,"logicalType":"uuid"}},
	{"name":"raw","type":"bytes"},
	{"name":"tags","type":["null",{"type":"array","items":"string"}]},
	{"name":"roads","type":{"type":"array","items":{"type":"record","name":"Road","fields":[{"name":"to","type":"string"},{"name":"km","type":["null","int"]},{"name":"stops","type":{"type":"array","items":"int"}}]}}},
	{"name":"labels","type":{"type":"map","values":["null","string"]}},
	{"name":"code","type":["int","string"]}]}`

// placeRows are rows of placesSchema in Avro's JSON encoding.
var placeRows = []string{
	`{"id":0,"name":{"string":"Zoë"},"from":"x","odd-name":5,"height":{"double":0.1},"kind":"HILL","price":"09","since":-1,"seen":1738281600000,"local":1738324800000000,"opens":45000000,
		"uuid":"\u0012>Eg\u00e8\u009b\u0012\u00d3\u00a4VBf\u0014\u0017\u0040\u0000","raw":"\n\u00ff","tags":{"array":["a","b"]},"roads":[{"to":"A","km":{"int":3},"stops":[1,2]},{"to":"B","km":null,"stops":[]}],"labels":{"k":{"string":"v"}},"code":{"int":7}}`,
	`{"id":1,"name":null,"from":"y","odd-name":6,"height":null,"kind":"LAKE","price":"\u00ff","since":20119,"seen":-1,"local":0,"opens":0,
		"uuid":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000","raw":"","tags":null,"roads":[],"labels":{},"code":{"string":"seven"}}`,
	`{"id":2,"name":{"string":"it's 50%"},"from":"x","odd-name":7,"height":{"double":-0.0},"kind":"TOWN","price":"\u0000","since":0,"seen":0,"local":-1,"opens":1,
		"uuid":"\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0001","raw":"a","tags":{"array":[]},"roads":[{"to":"B","km":{"int":9},"stops":[3]}],"labels":{"k":null,"j":{"string":"w"}},"code":{"int":-7}}`,
}

// writeAvro writes an Avro file of rows, which are in Avro's JSON encoding.
func writeAvro(t *testing.T, name, text string, rows []string) {
	t.Helper()
	plain := strings.NewReplacer("-name", "_name") // the library refuses odd names
	schema := avro.MustParse(plain.Replace(text))
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, text, "null", [16]byte{})
	must(t, err)
	for _, row := range rows {
		var v any
		if err := schema.DecodeJSON([]byte(plain.Replace(row)), &v); err != nil {
			t.Fatal(err, row)
		}
		data, err := schema.Encode(v)
		if err == nil {
			err = w.AppendBlock(1, data)
		}
		must(t, err)
	}
	write(t, name, file.Bytes())
}

// placesOutput converts placeRows.
func placesOutput(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeAvro(t, dir+"/places.avro", placesSchema, placeRows)
	rowtocol(t, dir, nil, "convert", "places.avro", "places").want(t, 0)
	return dir
}

func TestWhere(t *testing.T) {
	dir := placesOutput(t)
	for condition, want := range map[string]string{
		// forms
		"id = 1 OR (id <> 1 AND NOT id = 2)":                                "0 1",
		"height IS NULL or name is not null and `odd-name` between 6 and 9": "1 2",
		"id IN (0, 1) and id not in (1, 5) or id not between 0 and 1":       "0 2",
		"name LIKE '%''s 50!%' ESCAPE '!' or name like 'Zo_'":               "0 2",
		"name NOT LIKE 'Z%' or name ilike 'zoë'":                            "0 2",
		"(id = 1) = TRUE || !(id < 2)":                                      "1 2",
		`name == "Zoë" && $env["odd-name"] == 5 and id in [0] and id in 0..1 and name startsWith "Z" and len(name) * 2 == 6`: "0",
		// three-valued logic
		"not (height = 5)":            "0 2",
		"height != 5 or name = ''":    "0 2",
		"height = null":               "1",
		"id not in (1, null)":         "",
		"not (height > 0 and id = 0)": "1 2",
		"height = 0":                  "2",
		// types; decimals are 12.345, -0.001, 0
		"price = 12.345 or price < -0.0005":                                                                 "0 1",
		"price between -0.001 and 0 and price in (-0.001, 0.01)":                                            "1",
		"price > height and height = 0.1":                                                                   "0",
		"since < '1970-01-01' or since = DATE '2025-01-31'":                                                 "0 1",
		"seen = '2025-01-31' or seen < '1969-12-31T23:59:59.9995Z'":                                         "0 1",
		"seen >= TIMESTAMP '2025-01-31 02:00:00+02:00'":                                                     "0",
		"local = '2025-01-31 12:00:00' or local < '1970-01-01'":                                             "0 2",
		"seen > date(\"2025-01-01\") and since < seen":                                                      "0",
		"opens = '12:30:00' or opens < '00:00:00.001'":                                                      "0 1",
		"uuid in ('00000000-0000-0000-0000-000000000001') or uuid = '123E4567-E89B-12D3-A456-426614174000'": "0 2",
		"raw = x'0aff' or raw = X'61'":                                                                      "0 2",
		"kind = 'LAKE' or kind in ('HILL')":                                                                 "0 1",
		"code.int = 7 or code.string = 'seven'":                                                             "0 1",
		// arrays and maps
		"any(roads, to = 'B' and km > 5)":             "2",
		"any(roads, any(stops, # > 2) or km is null)": "0 2",
		"not any(roads, km > 5)":                      "0 1",
		"'b' in tags":                                 "0",
		"'b' not in tags":                             "2",
		"any(tags, # like 'a%')":                      "0",
		"tags is null":                                "1",
		"labels['k'] = 'v' or labels['j'] = 'w'":      "0 2",
		"labels[\"k\"] is null":                       "1 2",
		"any(labels, key = 'k' and value is null)":    "2",
	} {
		o := rowtocol(t, dir, nil, "cat", "--columns", "id", "--to", "csv", "--where", condition, "places").want(t, 0)
		if got := strings.Join(strings.Fields(o.stdout)[1:], " "); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

// TestWhereUnionIsNull tests unions of several types for null.
func TestWhereUnionIsNull(t *testing.T) {
	dir := t.TempDir()
	writeAvro(t, dir+"/u.avro", `{"type":"record","name":"U","fields":[{"name":"id","type":"int"},{"name":"u","type":["null","int","string"]},
		{"name":"int","type":"int"},{"name":"m","type":{"type":"map","values":["null","long","string"]}},{"name":"a","type":{"type":"array","items":["int","null","string"]}}]}`, []string{
		`{"id":0,"u":null,"int":1,"m":{"k":{"long":1}},"a":[]}`,
		`{"id":1,"u":{"int":5},"int":1,"m":{"k":null},"a":[{"int":1},null]}`,
		`{"id":2,"u":{"string":""},"int":1,"m":{"j":{"string":"x"},"k":{"string":"y"}},"a":[{"string":"x"}]}`})
	rowtocol(t, dir, nil, "convert", "u.avro", "u").want(t, 0)
	for condition, want := range map[string]string{
		"u is null":                          "0",
		"u IS NOT NULL and int = 1":          "1 2",
		"not (u = null)":                     "1 2",
		"not (u is not null or id = 1)":      "0",
		"m['k'] is null":                     "1",
		"m['j'] is not null":                 "2",
		"any(a, # is null)":                  "1",
		"any(a, # is not null)":              "1 2",
		"any(m, value is null)":              "1",
		"u.int is null and u is not null":    "2",
		"(u is null) = false":                "1 2",
		"u.int > 1 is not null or u.int = 5": "",
	} {
		for _, input := range []string{"u.avro", "u"} {
			if want == "" {
				rowtocol(t, dir, nil, "cat", "--where", condition, input).want(t, 1, "condition, character")
				continue
			}
			o := rowtocol(t, dir, nil, "cat", "--columns", "id", "--to", "csv", "--where", condition, input).want(t, 0)
			if got := strings.Join(strings.Fields(o.stdout)[1:], " "); got != want {
				t.Errorf("%s: %q, want %q", condition, got, want)
			}
		}
	}
}

// TestEmptyCondition checks that an empty condition, as of an unset variable, is refused.
func TestEmptyCondition(t *testing.T) {
	dir := placesOutput(t)
	for _, command := range []string{"cat", "count", "head", "stats"} {
		for _, condition := range []string{"", " \n"} {
			rowtocol(t, dir, nil, command, "--where", condition, "places").want(t, 1, "the condition is empty; leave --where out")
		}
	}
}

// TestNamesWithSchema checks that with --schema conditions and --columns use the names in the
// files, and that messages say so.
func TestNamesWithSchema(t *testing.T) {
	dir := placesOutput(t)
	write(t, dir+"/new.avsc", []byte(`{"type":"record","name":"Place","fields":[{"name":"number","aliases":["id"],"type":"long"}]}`))
	rowtocol(t, dir, nil, "cat", "--schema", "new.avsc", "--where", "id = 1", "places").want(t, 0, `{"number":1}`)
	for _, args := range [][]string{{"--where", "number = 1"}, {"--columns", "number"}} {
		rowtocol(t, dir, nil, append([]string{"cat", "--schema", "new.avsc", "places"}, args...)...).want(t, 1, "the fields that the files have")
	}
}

// TestWhereRefused checks that conditions without a meaning are refused, with a correction.
func TestWhereRefused(t *testing.T) {
	dir := placesOutput(t)
	for condition, reason := range map[string]string{
		`"from" = "x"`: `character 1: "from" in double quotes is a text; for the field write from`,
		"kind = 'LAK'": "character 8: kind has no symbol 'LAK'; did you mean 'LAKE'?",
		"raw = 'a'":    "character 7: raw is bytes and cannot be compared with a text; write x'0aff'",
		"price = 12.3449 or price <> 12.345 and id = 'x'": "cannot be compared with a text",
		"since = 2025-01-31":                              "character 9: 2025-01-31 is a subtraction; write '2025-01-31'",
		"seen > since + 1":                                "character 8: since + 1 counts days and seen milliseconds; write (since + 1) * 86400000",
		"id = max(id)":                                    "character 6: max takes several values of a row; rowtocol stats computes it for all rows",
		"id = 1 --5":                                      "character 8: a condition has no comments",
		"since >= 20250131":                               "character 10: since counts days since 1970; write '2025-01-31'",
		"name = 5":                                        "character 8: name is a text and cannot be compared with an integer; write '5'",
		"id like '5%'":                                    "character 1: like searches text, and id is an integer",
		"heigt > 1":                                       "character 1: there is no field heigt; did you mean height?",
		"roads.to = 'B'":                                  "character 1: roads is an array, and a row can have many of its items; write any(roads, to == ...)",
		"any(roads, id = 1)":                              "character 12: there is no field id in the items; inside any() only fields of the item can be named",
		"code = 7":                                        "character 1: code has values of several types; name one of them: code.int or code.string",
		"since = 'tomorrow'":                              "character 9: since holds times; 'tomorrow' is not a date; write '2025-01-31' or '2025-01-31T12:00:00Z'",
		"id = 1 and and id = 2":                           "character 12: and is a keyword and not allowed here",
		"name = '\x1b[31m' id":                            "character 16: the name id is not expected here",
		strings.Repeat("(", 100_000):                      "character 251: the condition nests deeper than 250 levels",
	} {
		var r cli.Ending
		o := rowtocol(t, dir, nil, "cat", "--json", "--where", condition, "places").want(t, 1)
		lines := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Error == nil || !strings.Contains(r.Error.Message, reason) || strings.ContainsAny(r.Error.Message, "\n\x1b") {
			t.Errorf("%.80s: %s", condition, o.stderr)
		}
	}
}

// TestWhereReadsLittle checks that blocks whose bounds exclude a condition are not read.
func TestWhereReadsLittle(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"name","type":"string"}]}`
	dir := t.TempDir()
	var rows []string
	first := time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"day":%d,"name":"n%05d"}`, i, first.AddDate(0, 0, i).Unix()/86400, i))
	}
	writeAvro(t, dir+"/rows.avro", schema, rows)
	rowtocol(t, dir, nil, "convert", "--block-size", "4KiB", "--values", "id", "--values", "day", "--values", "name", "rows.avro", "rows").want(t, 0)
	read := func(condition string) (c catted) {
		o := rowtocol(t, dir, nil, "cat", "--json", "--columns", "id", "--where", condition, "rows").want(t, 0)
		if err := json.Unmarshal([]byte(o.stderr), &cli.Ending{Result: &c}); err != nil {
			t.Fatal(err, o.stderr)
		}
		return c
	}
	all := read("name contains '01234' or day is null")
	for _, condition := range []string{
		"id = 1234", "id IN (1234, 1235)", "id BETWEEN 1234 AND 1236", "not (id < 1234 or id > 1235)", "id > 1233.5 and id < 1234.5",
		"name LIKE 'n01234%'", "name = 'n01234'", "name like 'n0123_'", "name startsWith 'n01234'",
		"day = '1963-05-19'", "day IN (DATE '1963-05-19')", "day BETWEEN '1963-05-19' AND '1963-05-20T12:00:00Z'", "day < '1960-01-03'",
	} {
		if c := read(condition); c.Rows < 1 || c.Rows > 10 || c.BlocksRead*4 > all.BlocksRead {
			t.Errorf("%s: %+v; reading all takes %+v", condition, c, all)
		}
	}
}
