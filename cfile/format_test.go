package cfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/trevni"
)

// file is a file of a part in memory.
type file struct {
	*bytes.Reader
	name string
}

func (f file) Name() string                                         { return f.name }
func (f file) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

func open(t testing.TB, f format.Format, files map[string][]byte) format.Part {
	t.Helper()
	var all []format.File
	for name, b := range files {
		all = append(all, file{bytes.NewReader(b), path.Join("p.part", name)})
	}
	p, err := f.Open(all, format.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sameColumn compares what cursors of two parts read of a column.
func sameColumn(t *testing.T, got, want format.Part, col int) {
	t.Helper()
	name := got.Columns()[col].Name
	var cursors [2]format.Cursor
	for i, p := range []format.Part{got, want} {
		var err error
		if cursors[i], err = p.(format.ColumnPart).Cursor(col); err != nil {
			t.Fatalf("column %s: %v", name, err)
		}
	}
	for read := 0; ; {
		var v, w column.Vector
		n, items, err := cursors[0].Read(&v, 50)
		if errors.Is(err, io.EOF) {
			if n, _, err := cursors[1].Read(&w, 1); n > 0 && got.Columns()[col].TypeName() != "null" {
				t.Fatalf("column %s ends after %d units, %v", name, read, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("column %s, unit %d: %v", name, read, err)
		}
		wanted := 0
		for left := n; left > 0; {
			k, items, err := cursors[1].Read(&w, left)
			if err != nil {
				t.Fatalf("column %s, unit %d: %v", name, read, err)
			}
			left, wanted = left-k, wanted+items
		}
		if items != wanted || !sameVector(&v, &w) {
			t.Fatalf("column %s, unit %d: %d items and %+v, want %d and %+v", name, read, items, v, wanted, w)
		}
		read += n
	}
}

func sameVector(a, b *column.Vector) bool {
	same := true
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if f := x.Field(i); f.Kind() == reflect.Slice && x.Type().Field(i).IsExported() && x.Type().Field(i).Name != "Encoded" && f.Len()+y.Field(i).Len() > 0 {
			p, _ := json.Marshal(f.Interface())
			q, _ := json.Marshal(y.Field(i).Interface())
			same = same && (bytes.Equal(p, q) || f.Kind() == reflect.Slice && f.Len() == y.Field(i).Len() && len(p) == 0)
		}
	}
	return same
}

// randomRows are rows of a random schema; some integers are longer than need be.
func randomRows(t testing.TB, r *rand.Rand, n int) (schema string, rows [][]byte) {
	t.Helper()
	schema = randavro.Schema(r)
	parsed, err := shred.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	rows = make([][]byte, n)
	for i := range rows {
		plain, odd := randavro.Pair(r, parsed.Root())
		if rows[i] = plain; i%2 == 0 {
			rows[i] = odd
		}
	}
	return schema, rows
}

// chosen are options for all columns of a schema that can have them.
func chosen(r *rand.Rand, cols []column.Column) map[string][]string {
	options := map[string][]string{"many-files": {"true"}}
	compressions := []string{"none", "snappy", "lz4", "zlib"}
	if r.IntN(3) == 0 {
		options["compression"] = []string{compressions[r.IntN(4)]}
	}
	encodings := map[column.Type][]string{
		column.Boolean: {"plain", "rle"}, column.Int: {"physical"}, column.Long: {"plain", "rle", "bitshuffle", "physical"},
		column.Float: {"plain", "bitshuffle"}, column.Double: {"plain", "bitshuffle"},
		column.String: {"plain", "dict", "prefix"}, column.Bytes: {"physical"},
	}
	for _, c := range cols {
		if r.IntN(4) == 0 {
			options["compression"] = append(options["compression"], c.Name+"="+compressions[r.IntN(4)])
		}
		if e := encodings[c.Type]; len(e) > 0 && r.IntN(2) == 0 {
			options["encoding"] = append(options["encoding"], c.Name+"="+e[r.IntN(len(e))])
		}
	}
	return options
}

// Whatever is written of random columns is what Trevni gives.
func TestPartsHoldTheRows(t *testing.T) {
	for seed := range soak.Rounds[uint64](20, 200) {
		r := rand.New(rand.NewPCG(seed, 19))
		schema, rows := randomRows(t, r, 200)
		cols := mapping(t, schema).Columns
		got := source(t, cfile.Format, chosen(r, cols), schema, rows, 100+r.IntN(2000))
		files := got.Files(t)
		if again := got.Files(t); !reflect.DeepEqual(files, again) {
			t.Fatalf("seed %d: the same rows make other bytes", seed)
		}
		p := open(t, cfile.Format, files)
		want := open(t, trevni.Format, source(t, trevni.Format, map[string][]string{"codec": {"null"}}, schema, rows, 1000).Files(t))
		if err := p.Verify(t.Context()); err != nil || p.Schema() != schema || p.Rows() != want.Rows() {
			t.Fatalf("seed %d: %d rows, %v", seed, p.Rows(), err)
		}
		for col, c := range p.Columns() {
			if !reflect.DeepEqual(c.Column, cols[col]) {
				t.Errorf("seed %d: column %+v, want %+v", seed, c.Column, cols[col])
			}
			sameColumn(t, p, want, col)
		}
	}
}
