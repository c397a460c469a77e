package fields

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/parquet"
)

// of returns the columns of an empty Parquet file of rows with fields of these Avro types.
func of(t *testing.T, times string, types ...string) ([]iceberg.NestedField, error) {
	t.Helper()
	var list []string
	for i, avro := range types {
		list = append(list, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, avro))
	}
	schema := `{"type":"record","name":"R","fields":[` + strings.Join(list, ",") + `]}`
	file := formattest.Rows(t, parquet.Format, map[string][]string{"times": {times}}, schema, nil, 1000).Files(t)[""]
	meta, err := parquet.ReadFooter(formattest.NewFile("p.parquet", file), format.OpenOptions{})
	testenv.Must(t, err)
	return Of(meta.Schema)
}

func TestTypes(t *testing.T) {
	for _, tt := range []struct{ avro, want string }{
		{`"boolean"`, "required boolean"},
		{`"int"`, "required int"},
		{`"long"`, "required long"},
		{`"float"`, "required float"},
		{`"double"`, "required double"},
		{`"string"`, "required string"},
		{`"bytes"`, "required binary"},
		{`["null","int"]`, "optional int"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "required string"},
		{`{"type":"fixed","name":"F","size":3}`, "required fixed[3]"},
		{`{"type":"fixed","name":"F","size":12,"logicalType":"duration"}`, "required fixed[12]"},
		{`{"type":"fixed","name":"F","size":16,"logicalType":"uuid"}`, "required fixed[16]"},
		{`{"type":"string","logicalType":"uuid"}`, "required string"},
		{`{"type":"int","logicalType":"date"}`, "required date"},
		{`{"type":"int","logicalType":"time-millis"}`, "required time"},
		{`{"type":"long","logicalType":"time-micros"}`, "required time"},
		{`{"type":"long","logicalType":"timestamp-millis"}`, "required timestamptz"},
		{`{"type":"long","logicalType":"timestamp-micros"}`, "required timestamptz"},
		{`{"type":"long","logicalType":"local-timestamp-millis"}`, "required timestamp"},
		{`{"type":"bytes","logicalType":"decimal","precision":38,"scale":5}`, "required decimal(38, 5)"},
		{`{"type":"bytes","logicalType":"decimal","precision":39,"scale":5}`, "required binary"},
		{`{"type":"array","items":["null","long"]}`, "required list<long>"},
		{`{"type":"map","values":"long"}`, "required map<string, long>"},
		{`{"type":"record","name":"P","fields":[{"name":"a","type":"int"}]}`, "required struct<0: a: required int>"},
		{`["int","string"]`, "required struct<0: member0: optional int, 0: member1: optional string>"},
	} {
		columns, err := of(t, "iceberg", tt.avro)
		testenv.Must(t, err)
		if got := columns[0].String(); !strings.HasSuffix(got, ": f0: "+tt.want) {
			t.Errorf("%s is %s, want %s", tt.avro, got, tt.want)
		}
	}
}

func TestRefusedTypes(t *testing.T) {
	for _, tt := range []struct{ times, avro, want string }{
		{"exact", `{"type":"int","logicalType":"time-millis"}`, "column f0: a table has times of day in microseconds only"},
		{"iceberg", `{"type":"array","items":{"type":"long","logicalType":"timestamp-nanos"}}`, "column f0.element: a table of version 2 has no timestamps in nanoseconds"},
		{"iceberg", `{"type":"map","values":{"type":"record","name":"P","fields":[]}}`, "column f0.key_value: a map without values has no type"},
	} {
		_, err := of(t, tt.times, tt.avro)
		if failure.KindOf(err) != failure.Input || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.avro, err, tt.want)
		}
	}
}

func TestChanges(t *testing.T) {
	record := func(fields string) string { return `{"type":"record","name":"P","fields":[` + fields + `]}` }
	for _, tt := range []struct {
		name      string
		now, then []string // Avro types
		want      string
	}{
		{"the same", []string{`"int"`}, []string{`"int"`}, ""},
		{"a wider file", []string{`"int"`, `"float"`}, []string{`"long"`, `"double"`}, "f0: long, f1: double"},
		{"a narrower file", []string{`"long"`}, []string{`"int"`}, ""},
		{"more digits", []string{`{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}`}, []string{`{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`}, "f0: decimal(9, 2)"},
		{"another scale", []string{`{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}`}, []string{`{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}`}, "column f0: a table cannot have decimal(5, 2) and decimal(9, 3) in one column"},
		{"a new column", []string{`"int"`}, []string{`"int"`, `"string"`}, "+f1: string"},
		{"a column less", []string{`"int"`, `"string"`}, []string{`"int"`}, "f1 optional"},
		{"null values", []string{`"int"`}, []string{`["null","long"]`}, "f0: long optional"},
		{"text for a number", []string{`"int"`}, []string{`"string"`}, "column f0: a table cannot have int and string in one column"},
		{"in a record", []string{record(`{"name":"a","type":"int"}`)}, []string{record(`{"name":"a","type":"long"},{"name":"b","type":"int"}`)}, "f0.a: long, +f0.b: int"},
		{"in a list", []string{`{"type":"array","items":"int"}`}, []string{`{"type":"array","items":["null","long"]}`}, "f0.element: long optional"},
		{"in a map", []string{`{"type":"map","values":"int"}`}, []string{`{"type":"map","values":"long"}`}, "f0.value: long"},
		{"a list for a number", []string{`"int"`}, []string{`{"type":"array","items":"int"}`}, "column f0: a table cannot have int and list<int> in one column"},
	} {
		now, err := of(t, "iceberg", tt.now...)
		testenv.Must(t, err)
		then, err := of(t, "iceberg", tt.then...)
		testenv.Must(t, err)
		changes, err := Changes(now, then)
		var texts []string
		for _, c := range changes {
			text := strings.Join(c.Path, ".")
			switch {
			case c.Add != nil:
				text = "+" + text + ": " + c.Add.String()
			case c.Promote != nil:
				text += ": " + c.Promote.String()
			}
			if c.Optional {
				text += " optional"
			}
			texts = append(texts, text)
		}
		got := strings.Join(texts, ", ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	k := func(values ...string) (all []manifest.Key) {
		for _, v := range values {
			all = append(all, manifest.Key{Name: "k", Value: v, Null: v == ""})
		}
		return all
	}
	for _, tt := range []struct {
		values []string
		want   string
		first  any
	}{
		{[]string{"01", "", "-7"}, "long", int64(1)},
		{[]string{"2026-01-01"}, "date", iceberg.Date(20454)},
		{[]string{"2026-01-01", "x"}, "string", "2026-01-01"},
		{[]string{""}, "string", nil},
		{nil, "string", nil},
	} {
		got := KeyType(k(tt.values...))
		if got.String() != tt.want {
			t.Errorf("%q: %s, want %s", tt.values, got, tt.want)
		}
		if len(tt.values) == 0 {
			continue
		}
		if v, err := KeyValue(k(tt.values...)[0], got); err != nil || v != tt.first {
			t.Errorf("%q: %v, %v; want %v", tt.values, v, err, tt.first)
		}
	}
	if _, err := KeyValue(k("x")[0], iceberg.PrimitiveTypes.Int64); failure.KindOf(err) != failure.Input {
		t.Errorf("text as a number: %v", err)
	}
}

func TestNamesWithDots(t *testing.T) {
	schema := make([]pq.SchemaElement, 2)
	schema[0].NumChildren.Set(1)
	schema[1].Name = "a.b"
	schema[1].Type.Set(pq.Int32)
	if _, err := Of(schema); failure.KindOf(err) != failure.Input {
		t.Errorf("%v", err)
	}
}

func TestKeysOfMaps(t *testing.T) {
	m := func(key iceberg.Type) []iceberg.NestedField {
		return []iceberg.NestedField{{Name: "m", Type: &iceberg.MapType{KeyType: key, ValueType: iceberg.PrimitiveTypes.Int32}}}
	}
	if _, err := Merge(m(iceberg.PrimitiveTypes.Int32), m(iceberg.PrimitiveTypes.Int64)); failure.KindOf(err) != failure.Input {
		t.Errorf("%v", err)
	}
}
