package dataset_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// Queries find the same rows in a file of several row groups as in one of another format, and a
// condition skips the row groups whose dictionaries lack its values.
func TestRowGroups(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"word","type":"string"},` +
		`{"name":"tags","type":["null",{"type":"array","items":"int"}]},{"name":"body","type":"bytes"}]}`
	const rows, groups, inGroup = 1200, 6, 200
	text := func(dst []byte, s string) []byte { return append(binary.AppendVarint(dst, int64(len(s))), s...) }
	noise := make([]byte, 500*rows)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	all := make([][]byte, rows)
	for i := range all {
		row := binary.AppendVarint(nil, int64(i))
		row = text(row, []string{"a", "z", fmt.Sprint("k", i/inGroup)}[i%3]) // bounds exclude no row group
		if row = append(row, byte(2*(i%2))); i%2 > 0 {
			row = append(binary.AppendVarint(append(row, 2), int64(i/100)), 0)
		}
		all[i] = text(row, string(noise[500*i:500*(i+1)]))
	}
	file := filepath.Join(t.TempDir(), "rows.parquet")
	source := formattest.Rows(t, parquet.Format, nil, schema, all, 1<<10)
	testenv.Must(t, os.WriteFile(file, source.File(t, groups), 0o666))
	d := open(t, file, dataset.Options{Formats: formats})
	remote := openOn(t, &slowStore{Store: store.Local(), larger: math.MaxInt}, file, dataset.Options{Formats: formats}) // which is read ahead
	of := open(t, formattest.Rows(t, trevni.Format, nil, schema, all, 1<<10).Write(t, t.TempDir(), "rows"), dataset.Options{Formats: formats})
	bodies := int64(0)
	for _, test := range []struct {
		where string
		rows  int
		most  int64 // bodies that are read, in row groups
	}{
		{"", rows, groups},
		{"word = 'k4'", 67, 1},
		{"word = 'k0'", 66, 1},
		{"word in ('k1', 'k3', 'k5')", 200, 3},
		{"word = 'k9'", 0, 0},
		{"word = 'a'", 400, groups},
		{"word = 'k4' and id < 900", 34, 1},
		{"word = 'k4' and id < 800", 0, 0},
		{"id >= 399 and id < 401", 2, 2},
		{"tags is null and id >= 590", 305, 4},
		{"any(tags, # = 7)", 50, 1},
	} {
		q := dataset.Query{Where: test.where, Limit: -1}
		got, stats, err := scan(t, d, q)
		testenv.Must(t, err)
		want, _, err := scan(t, of, q)
		testenv.Must(t, err)
		ahead, _, err := scan(t, remote, q)
		testenv.Must(t, err)
		if len(got) != test.rows || !slices.EqualFunc(got, want, slices.Equal) || !slices.EqualFunc(ahead, want, slices.Equal) {
			t.Errorf("%s: %d rows, %d of a remote file, %d in another format, expected %d", test.where, len(got), len(ahead), len(want), test.rows)
		}
		if test.where == "" {
			bodies = stats.BytesRead
		} else if stats.BytesRead > bodies*test.most/groups+80<<10 {
			t.Errorf("%s: %d of %d bytes read, expected %d of %d row groups", test.where, stats.BytesRead, bodies, test.most, groups)
		}
	}
}
