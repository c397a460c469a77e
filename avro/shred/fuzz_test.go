package shred_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// FuzzSchema parses and maps any schema. Equal texts must give equal results.
func FuzzSchema(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randavro.Schema(rand.New(rand.NewPCG(seed, 2))))
	}
	f.Add(`{"type":"record","name":"n.R","doc":"d","fields":[{"name":"next","type":["null","R"],"default":null}]}`)
	f.Add(`[{"type":"enum","name":"E","symbols":["A",1],"default":"B"},{"type":"fixed","name":"F","size":3},"null"]`)
	f.Add(`{"type":{"type":"array","items":{"type":"error","name":"X","fields":[]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shred.ParseSchema(text)
		if err != nil {
			return
		}
		again, err := shred.ParseSchema(s.Canonical())
		if err != nil || again.Canonical() != s.Canonical() {
			t.Fatalf("canonical text %q: %v", s.Canonical(), err)
		}
		m, err := shred.Map(s, shred.Options{RecursiveBytes: true})
		if err != nil {
			return
		}
		names := map[string]bool{}
		for i, c := range m.Columns {
			if names[c.Name] || c.Parent >= i || c.Parent >= 0 && !m.Columns[c.Parent].Array {
				t.Fatalf("column %d is %+v", i, c)
			}
			names[c.Name] = true
		}
	})
}

// FuzzRoundTrip shreds any bytes as a row of a random schema. If they are accepted, the
// assembled row must stay the same when it is shredded and assembled again.
func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := mapping(f, randavro.Schema(r), shred.Options{})
		f.Add(seed, randavro.Datum(r, m.Schema.Root()))
	}
	f.Fuzz(func(t *testing.T, seed uint64, datum []byte) {
		m := mapping(t, randavro.Schema(rand.New(rand.NewPCG(seed, 3))), shred.Options{})
		n, err := shred.NewShredder(m, newBuffers(m)).Row(datum)
		if err != nil {
			return
		}
		row, err := assembler(m, columns(t, m, [][]byte{datum[:n]}), 1).Row(nil)
		testenv.Must(t, err)
		again, err := assembler(m, columns(t, m, [][]byte{row}), 1).Row(nil)
		if err != nil || !bytes.Equal(row, again) {
			t.Fatalf("% x assembled to % x, then % x: %v", datum[:n], row, again, err)
		}
	})
}

// FuzzProject projects to each column of a schema: the projection must contain it.
func FuzzProject(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randavro.Schema(rand.New(rand.NewPCG(seed, 5))), byte(seed))
	}
	f.Add(shop, byte(3))
	f.Add(`{"type":"record","name":"n.R","namespace":"x","fields":[{"name":"next","type":["null","R"],"default":null},{"name":"a.b","type":"n.R"}]}`, byte(1))
	f.Add(`{"type":{"type":"array","items":{"type":"error","name":"X","fields":[{"name":"","type":{"type":"map","values":"int"}}]}}}`, byte(0))
	f.Fuzz(func(t *testing.T, text string, at byte) {
		s, err := shred.ParseSchema(text)
		if err != nil {
			return
		}
		m, err := shred.Map(s, shred.Options{RecursiveBytes: true})
		if err != nil || len(m.Columns) > 200 {
			return
		}
		path := m.Columns[int(at)%len(m.Columns)].Name
		reduced, cols, err := m.Project([]string{path})
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		found := false
		for i, c := range reduced.Columns {
			whole := m.Columns[cols[i]]
			if c.Parent >= 0 {
				c.Parent = cols[c.Parent]
			}
			found = found || c.Name == path
			if !reflect.DeepEqual(c, whole) {
				t.Fatalf("%q: column %d is %+v, was %+v", path, i, c, whole)
			}
		}
		if !found {
			t.Fatalf("%q: the column is not among %+v\n%s", path, reduced.Columns, reduced.Schema.JSON())
		}
	})
}
