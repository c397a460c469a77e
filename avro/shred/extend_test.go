package shred

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestExtend(t *testing.T) {
	added := []NewField{{"dt", `{"type":"int","logicalType":"date"}`}, {"hour", `["null","long"]`}}
	for _, schema := range []string{
		`{"type":"record","name":"R","doc":"of rows","fields":[{"name":"a","type":"long"},{"name":"b","type":{"type":"array","items":"string"}}]}`,
		`{"type":{"type":"record","name":"R","fields":[]}}`,
		`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"record","name":"S","fields":[{"name":"s","type":["null","S"]}]}},{"name":"again","type":"S"}]}`,
	} {
		s := parse(t, schema)
		if !s.Extensible() {
			t.Fatalf("%s cannot have more fields", schema)
		}
		more, err := s.Extend(added)
		testenv.Must(t, err)
		m, err := Map(more, Options{RecursiveBytes: true})
		testenv.Must(t, err)
		n := 0
		if own, err := Map(s, Options{RecursiveBytes: true}); err == nil {
			n = len(own.Columns)
			if !slices.EqualFunc(own.Columns, m.Columns[:n], func(a, b column.Column) bool { return a.Name == b.Name && a.Parent == b.Parent }) {
				t.Errorf("%s: the columns are %v", schema, m.Columns)
			}
		}
		if len(m.Columns) != n+2 || m.Columns[n].Name != "dt" || m.Columns[n+1].Name != "hour/long" || m.Columns[n].Logical == 0 {
			t.Errorf("%s: the columns are %v", schema, m.Columns)
		}
		if fields := s.Root().Fields; len(more.Root().Fields) != len(fields)+2 || len(s.Root().Fields) != len(fields) {
			t.Errorf("%s: %s", schema, more.JSON())
		}
	}
}

func TestExtensible(t *testing.T) {
	for _, schema := range []string{
		`"long"`, `["null",{"type":"record","name":"R","fields":[]}]`,
		`{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}`,
		`{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":{"type":"map","values":{"type":"record","name":"S","fields":[{"name":"r","type":"R"}]}}}}]}`,
	} {
		if parse(t, schema).Extensible() {
			t.Errorf("%s can have more fields", schema)
		}
	}
}
