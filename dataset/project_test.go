package dataset_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/projected"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// native decodes a row with another implementation. A union becomes a map of the
// branch's name, unless it is of null and one type.
func native(t testing.TB, schema string, row []byte) any {
	t.Helper()
	s, err := avro.Parse(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	var v any
	rest, err := s.Decode(row, &v, avro.TaggedUnions())
	if err != nil || len(rest) > 0 {
		t.Fatalf("%v, %d bytes left\n%s", err, len(rest), schema)
	}
	return v
}

// formsOfTypes is a schema whose types occur several times, so that projections reduce them in
// different ways.
const formsOfTypes = `{"type":"record","name":"Order","fields":[
	{"name":"buyer","type":{"type":"record","name":"Person","fields":[
		{"name":"name","type":"string"},{"name":"home","type":{"type":"record","name":"Place","fields":[{"name":"lat","type":"int"},{"name":"lon","type":"int"}]}},
		{"name":"mail","type":["null","string"]}]}},
	{"name":"seller","type":["null","Place","Person","string"]},
	{"name":"sent","type":{"type":"array","items":["Person","Place"]}},
	{"name":"from","type":"Place"},{"name":"others","type":{"type":"map","values":"Person"}}]}`

// Random columns of random rows have the values that another reader finds in the
// whole rows.
func TestRandomProjections(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for seed := range soak.Rounds[uint64](20, 60) {
			r := rand.New(rand.NewPCG(seed, 7))
			schema := randavro.Schema(r)
			if seed%2 == 1 {
				schema = formsOfTypes
			}
			parsed := avrotest.Parse(t, schema)
			var rows [][]byte
			for range 20 {
				plain, _ := randavro.Pair(r, parsed.Root())
				rows = append(rows, plain)
			}
			dir := t.TempDir()
			writeAvro(t, filepath.Join(dir, "in.avro"), schema, rows)
			convert(t, f, filepath.Join(dir, "in.avro"), filepath.Join(dir, "out"), settings{rowGroup: 1 << 20})
			d := open(t, filepath.Join(dir, []string{"out", "in.avro"}[seed/2%2]), dataset.Options{Formats: formats})
			for range 5 {
				var paths []string
				for range 1 + r.IntN(4) {
					paths = append(paths, d.Mapping().Columns[r.IntN(len(d.Mapping().Columns))].Name)
				}
				s, err := d.Scan(t.Context(), dataset.Query{Columns: paths, Limit: -1})
				if err != nil {
					t.Fatalf("seed %d, %q: %v\n%s", seed, paths, err, schema)
				}
				for i, whole := range rows {
					row, err := s.Next(nil)
					if err != nil {
						t.Fatalf("seed %d, %q, row %d: %v\n%s", seed, paths, i, err, schema)
					}
					part, all := native(t, s.Schema().JSON(), row), native(t, schema, whole)
					if !projected.IsProjection(part, all) {
						x, _ := json.Marshal(part)
						y, _ := json.Marshal(all)
						t.Fatalf("seed %d, %q, row %d:\n%s\nof\n%s\n%s", seed, paths, i, x, y, s.Schema().JSON())
					}
				}
				s.Close()
			}
		}
	})
}
