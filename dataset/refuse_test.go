package dataset_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// oneRowOutput makes a committed output of one row and calls change with its manifest.
func oneRowOutput(t *testing.T, f format.Format, change func(*manifest.Success)) (dir string) {
	t.Helper()
	part := columnPart(t, f, `"long"`, nil, 1, func(to *column.Buffers, _ int) { to.Cols[0].AppendVarint(7) })
	dir = filepath.Dir(part)
	s := newSuccess(t, f, part, manifest.NewID())
	change(s)
	writeSuccess(t, dir, s)
	return dir
}

// newSuccess renames a part of one row as it is named in an output, and returns
// the output's manifest.
func newSuccess(t *testing.T, f format.Format, part, id string) *manifest.Success {
	t.Helper()
	name := manifest.PartName(0, 0, id, f.Suffix())
	testenv.Must(t, os.Rename(part, filepath.Join(filepath.Dir(part), name)))
	s := &manifest.Success{
		Version: manifest.Version, ID: id, Schema: `"long"`, Request: manifest.Request{Options: manifest.Options{Format: f.Name()}},
		Parts: []manifest.Part{{Rows: 1}}, Rows: 1,
	}
	for file, size := range filesOf(t, filepath.Join(filepath.Dir(part), name)) {
		s.Parts[0].Files = append(s.Parts[0].Files, manifest.File{Name: filepath.Join(name, file), Bytes: int64(len(size))})
		s.Bytes += int64(len(size))
	}
	slices.SortFunc(s.Parts[0].Files, func(a, b manifest.File) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func writeSuccess(t *testing.T, dir string, s *manifest.Success) {
	t.Helper()
	text, err := s.Encode()
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), text, 0o666))
}

// Manifests are checked like any input: they must not name files outside of their
// directory, nor files of another format.
func TestManifestsAreChecked(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for _, test := range []struct {
			name   string
			change func(*manifest.Success)
			want   damage.Kind
		}{
			{"a file above", func(s *manifest.Success) { s.Parts[0].Files[0].Name = "../a.trv" }, damage.Header},
			{"a file above, through the directory", func(s *manifest.Success) { s.Parts[0].Files[0].Name = "x/../../a.trv" }, damage.Header},
			{"a file anywhere", func(s *manifest.Success) { s.Parts[0].Files[0].Name = "/etc/passwd" }, damage.Header},
			{"no name", func(s *manifest.Success) { s.Parts[0].Files[0].Name = "" }, damage.Header},
			{"the directory itself", func(s *manifest.Success) { s.Parts[0].Files[0].Name = "." }, damage.Header},
			{"negative rows", func(s *manifest.Success) { s.Parts[0].Rows = -1 }, damage.Header},
			{"negative bytes", func(s *manifest.Success) { s.Parts[0].Files[0].Bytes = -1 }, damage.Header},
			{"a part of another format", func(s *manifest.Success) { rename(s, manifest.PartName(0, 0, s.ID, ".orc")) }, damage.Header},
			{"another format", func(s *manifest.Success) { s.Request.Options.Format = "lists" }, damage.Unsupported},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, err := dataset.Open(t.Context(), locations(store.Local(), oneRowOutput(t, f, test.change)), dataset.Options{Formats: formats})
				wantKind(t, err, test.want)
			})
		}
	})
}

// A file that is intact but differs from its entry in the manifest is not read.
func TestFilesAreThoseOfTheManifest(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		testenv.Must(t, readAll(t, oneRowOutput(t, f, func(*manifest.Success) {})))
		for _, test := range []struct {
			name   string
			change func(*manifest.Success)
			want   damage.Kind
		}{
			{"a different number of rows", func(s *manifest.Success) { s.Parts[0].Rows, s.Rows = 2, 2 }, damage.Count},
			{"no rows", func(s *manifest.Success) { s.Parts[0].Rows, s.Rows = 0, 0 }, damage.Count},
			{"a different size", func(s *manifest.Success) { s.Parts[0].Files[0].Bytes++; s.Bytes++ }, damage.Size},
			{"a different name", func(s *manifest.Success) { rename(s, manifest.PartName(1, 0, s.ID, f.Suffix())); s.Parts[0].Task = 1 }, damage.Truncated},
			{"a different type", func(s *manifest.Success) { s.Schema = `{"type":"long","logicalType":"timestamp-millis"}` }, damage.Schema},
		} {
			t.Run(test.name, func(t *testing.T) { wantKind(t, readAll(t, oneRowOutput(t, f, test.change)), test.want) })
		}
	})
}

// An empty file is reported as empty.
func TestEmptyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "empty")
	write(t, name, "")
	_, err := dataset.Open(t.Context(), locations(store.Local(), name), dataset.Options{Formats: formats})
	wantKind(t, err, damage.Magic)
	if !strings.Contains(err.Error(), "is empty") {
		t.Error(err)
	}
}

// rename gives the part in a manifest another name.
func rename(s *manifest.Success, part string) {
	for i := range s.Parts[0].Files {
		file := &s.Parts[0].Files[i]
		_, name, _ := strings.Cut(file.Name, "/")
		file.Name = filepath.Join(part, name)
	}
}

func wantKind(t *testing.T, err error, want damage.Kind) {
	t.Helper()
	var d *damage.Error
	if !errors.As(err, &d) || d.File == "" || d.Kind != want {
		t.Errorf("got %v, want damage of a file, of the kind %s", err, want)
	}
}

// The columns of a file have to be those of its schema. Parquet makes the columns of the schema,
// and compares them with those of the file itself.
func TestColumnsOfAnotherSchema(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		if f == parquet.Format {
			return
		}
		const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":"long"}]}`
		long := func(names ...string) (cols []column.Column) {
			for _, name := range names {
				cols = append(cols, column.Column{Name: name, Type: column.Long, Parent: -1})
			}
			return cols
		}
		for name, cols := range map[string][]column.Column{
			"fewer": long("a"), "more": long("a", "b", "c"), "another": long("a", "c"), "in another order": long("b", "a"),
			"of another type": {{Name: "a", Type: column.Long, Parent: -1}, {Name: "b", Type: column.Int, Parent: -1}},
		} {
			t.Run(name, func(t *testing.T) {
				file := columnPart(t, f, schema, cols, 1, func(to *column.Buffers, _ int) {
					for i := range cols {
						to.Cols[i].AppendVarint(1)
					}
				})
				_, err := dataset.Open(t.Context(), locations(store.Local(), file), dataset.Options{Formats: formats})
				wantKind(t, err, damage.Schema)
				p := openPart(t, store.Local(), file)
				defer p.Close()
				wantKind(t, p.Verify(t.Context(), nil), damage.Schema)
			})
		}
	})
}

// The types that a format stores for its columns have to agree with the schema.
func TestValuesOfAnotherSchema(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
		{"name":"d","type":{"type":"fixed","name":"D","size":2,"logicalType":"decimal","precision":3,"scale":1}}]}`
	file := func(change func(e, d *column.Column)) string {
		cols := []column.Column{
			{Name: "e", Type: column.Int, Parent: -1, Symbols: []string{"A", "B"}},
			{Name: "d", Type: column.Bytes, Parent: -1, FixedSize: 2, Logical: column.LogicalDecimal, Precision: 3, Scale: 1},
		}
		change(&cols[0], &cols[1])
		return columnPart(t, cfile.Format, schema, cols, 1, func(to *column.Buffers, _ int) {
			to.Cols[0].AppendVarint(1)
			to.Cols[1].AppendSized(make([]byte, cols[1].FixedSize))
		})
	}
	p := openPart(t, store.Local(), file(func(_, _ *column.Column) {}))
	defer p.Close()
	if err := p.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(e, d *column.Column){
		"other symbols": func(e, _ *column.Column) { e.Symbols = []string{"A", "C"} },
		"another size":  func(_, d *column.Column) { d.FixedSize = 3 },
		"another scale": func(_, d *column.Column) { d.Scale = 2 },
		"another type":  func(e, _ *column.Column) { e.Symbols, e.Logical = nil, column.LogicalDate },
	} {
		t.Run(name, func(t *testing.T) {
			file := file(change)
			_, err := dataset.Open(t.Context(), locations(store.Local(), file), dataset.Options{Formats: formats})
			wantKind(t, err, damage.Schema)
			p := openPart(t, store.Local(), file)
			defer p.Close()
			wantKind(t, p.Verify(t.Context(), nil), damage.Schema)
		})
	}
}

// readAll reads all batches of a file and returns their error.
func readAll(t *testing.T, name string) error {
	t.Helper()
	b, err := open(t, name, dataset.Options{Formats: formats}).Batches(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	defer b.Close()
	for b.Next() {
	}
	return b.Err()
}

// The items of each column are bounded, and so is their sum over all columns.
func TestItemsAreBounded(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		const nulls = `{"type":"array","items":"null"}`
		const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":` + nulls + `},{"name":"b","type":` + nulls + `},
		{"name":"c","type":` + nulls + `},{"name":"d","type":` + nulls + `},{"name":"e","type":` + nulls + `}]}`
		for _, test := range []struct {
			columns int
			items   uint32 // of each
			fits    bool
		}{
			{1, 1 << 24, true}, {1, 1<<24 + 1, false},
			{5, 1 << 23, true}, {5, 1 << 24, false},
		} {
			name := columnPart(t, f, schema, nil, 1, func(to *column.Buffers, _ int) {
				for i := range 5 {
					if i < test.columns {
						to.Cols[i].Length(test.items)
					} else {
						to.Cols[i].Length(0)
					}
				}
			})
			if err := readAll(t, name); !test.fits {
				wantKind(t, err, damage.Unsupported)
			} else if err != nil {
				t.Errorf("%d items in each of %d columns: %v", test.items, test.columns, err)
			}
		}
	})
}

// Batches fail on values that the types of their columns do not allow.
func TestValuesThatContradictTheSchema(t *testing.T) {
	const enum = `{"type":"enum","name":"E","symbols":["A","B"]}`
	ordinal := func(n int64) func(*column.Buffer, int) {
		return func(b *column.Buffer, row int) { b.AppendVarint(n * int64(row)) }
	}
	for name, tt := range map[string]struct {
		typ  string
		kind damage.Kind
		fill func(b *column.Buffer, row int)
	}{
		"two values in a branch": {`["long"]`, damage.Count, func(b *column.Buffer, row int) {
			b.Length(uint32(row + 1))
			for range row + 1 {
				b.AppendVarint(7)
			}
		}},
		"too large an ordinal":      {enum, damage.Value, ordinal(2)},
		"a negative ordinal":        {enum, damage.Value, ordinal(-1)},
		"a fixed of another size":   {`{"type":"fixed","name":"F","size":2}`, damage.Size, func(b *column.Buffer, row int) { b.AppendSized(make([]byte, 2-row)) }},
		"a decimal of another size": {`{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":2}`, damage.Size, func(b *column.Buffer, row int) { b.AppendSized(make([]byte, 2+row)) }},
	} {
		t.Run(name, func(t *testing.T) {
			file := columnPart(t, trevni.Format, tt.typ, nil, 2, func(to *column.Buffers, row int) { tt.fill(&to.Cols[0], row) })
			err := readAll(t, file)
			wantKind(t, err, tt.kind)
			if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Column == "" || d.File != file {
				t.Errorf("%v: the error does not name the column and the file", err)
			}
		})
	}
}
