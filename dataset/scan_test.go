package dataset_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

func TestScanReturnsTheRows(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, want := mailSet(t, f, 1500)
		d := open(t, dir, dataset.Options{Formats: formats})
		if totalRows(t, d) != 1500 || len(d.Parts()) < 4 {
			t.Fatalf("%d rows in %d parts", totalRows(t, d), len(d.Parts()))
		}
		first := int(d.Parts()[0].Rows)
		for _, q := range []struct{ offset, limit, from, to int }{
			{0, -1, 0, 1500},
			{7, 5, 7, 12},
			{first, 1, first, first + 1},
			{first - 3, 700, first - 3, first + 697},
			{1499, -1, 1499, 1500},
			{1500, -1, 1500, 1500},
			{9999, 3, 1500, 1500},
			{0, 0, 0, 0},
		} {
			got, stats, err := scan(t, d, dataset.Query{Offset: int64(q.offset), Limit: int64(q.limit)})
			if err != nil || !slices.EqualFunc(got, want[q.from:q.to], bytes.Equal) {
				t.Errorf("offset %d, limit %d: %d rows, %v", q.offset, q.limit, len(got), err)
			}
			if stats.Rows != int64(len(got)) || q.to-q.from < 10 && stats.BytesRead > stats.FileBytes/2 {
				t.Errorf("offset %d, limit %d: %+v", q.offset, q.limit, stats)
			}
		}
	})
}

func TestScanOfOneFile(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, want := mailSet(t, f, 300)
		d := open(t, partsOf(t, dir)[0], dataset.Options{Formats: formats})
		got, _, err := scan(t, d, dataset.Query{Limit: -1})
		if err != nil || int64(len(got)) != totalRows(t, d) || !slices.EqualFunc(got, want[:len(got)], bytes.Equal) {
			t.Errorf("%d rows, %v", len(got), err)
		}
	})
}

// The rows of increments are read in the order of the increments' names.
func TestScanOfIncrements(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		base := t.TempDir()
		dir := filepath.Join(base, "all")
		var want [][]byte
		for i, id := range []string{"2025", "2026"} {
			rows := mails(uint64(i), 100+i)
			want = append(want, rows...)
			input := filepath.Join(base, id+".avro")
			writeAvro(t, input, mailgen.Schema, rows)
			convert(t, f, input, filepath.Join(base, id), settings{})
			addIncrement(t, dir, filepath.Join(base, id), int64(i+1))
		}
		got, _, err := scan(t, open(t, dir, dataset.Options{Formats: formats}), dataset.Query{Limit: -1})
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d rows, %v", len(got), err)
		}

		other := filepath.Join(base, "other.avro")
		writeAvro(t, other, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`, [][]byte{{2}})
		convert(t, f, other, filepath.Join(base, "2027"), settings{})
		last := addIncrement(t, dir, filepath.Join(base, "2027"), 3)
		if _, _, err := scan(t, open(t, dir, dataset.Options{Formats: formats}), dataset.Query{Limit: -1}); !isDamage(err) {
			t.Errorf("an increment of another schema: %v", err)
		}
		testenv.Must(t, os.Remove(filepath.Join(last, "_SUCCESS")))
		if _, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats}); !errors.Is(err, dataset.ErrUnfinished) {
			t.Errorf("an unfinished increment: %v", err)
		}
	})
}

func TestUnfinishedOutput(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, want := mailSet(t, f, 1500)
		testenv.Must(t, os.Remove(filepath.Join(dir, "_SUCCESS")))
		if _, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats}); !errors.Is(err, dataset.ErrUnfinished) {
			t.Errorf("without _SUCCESS: %v", err)
		}
		got, _, err := scan(t, open(t, dir, dataset.Options{Formats: formats, Partial: true}), dataset.Query{Limit: -1})
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d rows, %v", len(got), err)
		}
	})
}

// Files without a manifest are listed in the order in which convert makes them.
func TestOrderOfParts(t *testing.T) {
	dir := t.TempDir()
	want := []string{
		"part-00000.trv", "part-00000-0-0123456789abcdef.trv", "part-00000-1-0123456789abcdef.trv", "part-00000-2-0123456789abcdef.trv",
		"part-00000-10-0123456789abcdef.trv", "part-00001-0-0123456789abcdef.trv", "part-99999-0-0123456789abcdef.trv",
		"part-100000-0-0123456789abcdef.trv",
	}
	for _, name := range append(want, "_part.trv", ".part.trv", "other") {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	l := list(t, store.Local(), dir, dataset.Options{Formats: formats, Partial: true})
	var got []string
	for _, p := range l.Parts {
		got = append(got, filepath.Base(p.Name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Every defect of a part is damage located in a file.
func TestDamagedParts(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 600)
		for name, change := range map[string]func(file string, b []byte) error{
			"missing":   func(file string, _ []byte) error { return os.Remove(file) },
			"truncated": func(file string, b []byte) error { return os.WriteFile(file, b[:len(b)/2], 0o666) },
			"longer":    func(file string, b []byte) error { return os.WriteFile(file, append(b, 0), 0o666) },
			"rows":      func(file string, b []byte) error { b[4]++; return os.WriteFile(file, b, 0o666) },
			"block":     func(file string, b []byte) error { b[len(b)-100] ^= 1; return os.WriteFile(file, b, 0o666) },
		} {
			t.Run(name, func(t *testing.T) {
				d := open(t, dir, dataset.Options{Formats: formats})
				part := &d.Parts()[1]
				for _, f := range []string{part.Files[0].Name, part.Files[len(part.Files)-1].Name} {
					sound, err := os.ReadFile(f)
					if err == nil {
						err = change(f, bytes.Clone(sound))
					}
					testenv.Must(t, err)
					rows, _, err := scan(t, d, dataset.Query{Limit: -1})
					var at *damage.Error
					if !errors.As(err, &at) || at.File != f && at.File != part.Name || int64(len(rows)) < d.Parts()[0].Rows {
						t.Errorf("%s: %d rows, then %v", f, len(rows), err)
					}
					write(t, f, string(sound))
				}
			})
		}
	})
}

func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && d.File != ""
}

// With a reader's schema, rows are resolved, and only the columns that it needs are read.
func TestScanWithSchema(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		d := archive(t, f, 40_000)
		size := columnSizes(t, d)
		schema, err := shred.ParseSchema(`{"type":"record","name":"Message","namespace":"mail","fields":[
		{"name":"sender","type":"string","aliases":["from"]},
		{"name":"id","type":"double"},
		{"name":"note","type":"string","default":"none"}]}`)
		testenv.Must(t, err)
		got, stats, err := scan(t, d, dataset.Query{Schema: schema, Where: "seen", Limit: -1})
		testenv.Must(t, err)
		own, _, err := scan(t, d, dataset.Query{Columns: []string{"id", "from"}, Where: "seen", Limit: -1})
		if err != nil || len(own) != len(got) {
			t.Fatal(len(own), len(got), err)
		}
		for i := range got {
			g := native(t, schema.JSON(), got[i]).(map[string]any)
			o := native(t, `{"type":"record","name":"M","fields":[{"name":"id","type":"long"},{"name":"from","type":"string"}]}`, own[i]).(map[string]any)
			if g["sender"] != o["from"] || g["id"] != float64(o["id"].(int64)) || g["note"] != "none" {
				t.Fatalf("row %d: %v, of %v", i, g, o)
			}
		}
		if most := size["id"] + size["from"] + size["seen"] + firstReads + 3*oneBlock; stats.BytesRead > most {
			t.Errorf("%d bytes were read, want at most %d", stats.BytesRead, most)
		}
		narrow := avrotest.Parse(t, `{"type":"record","name":"Message","namespace":"mail","fields":[{"name":"size","type":"int"}]}`)
		_, _, err = scan(t, d, dataset.Query{Schema: narrow, Limit: -1})
		var at *damage.Error
		if !errors.As(err, &at) || at.File != d.Parts()[0].Name || at.Row < 0 || at.Path != "size" {
			t.Errorf("a null for an int: %v", err)
		}
		if _, err := d.Scan(t.Context(), dataset.Query{Schema: d.Schema(), Columns: []string{"id"}, Limit: -1}); !isDamage(err) {
			t.Errorf("a reader's schema that needs more than the chosen columns: %v", err)
		}
	})
}
