package dataset_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// writeAvro writes an object container file with 50 rows in a block.
func writeAvro(t testing.TB, name, schema string, rows [][]byte) {
	t.Helper()
	var blocks []avrotest.Block
	for chunk := range slices.Chunk(rows, 50) {
		blocks = append(blocks, avrotest.Block{Rows: int64(len(chunk)), Data: bytes.Join(chunk, nil)})
	}
	testenv.Must(t, os.WriteFile(name, avrotest.Make(t, schema, "null", blocks...), 0o666))
}

// formats are the formats of the tests: one with a file per part, one with a file
// per column.
var formats = format.Registry{trevni.Format, cfile.Format, parquet.Format}

// eachFormat runs a test for each format.
func eachFormat(t *testing.T, test func(t *testing.T, f format.Format)) {
	for _, f := range formats {
		t.Run(f.Name(), func(t *testing.T) { test(t, f) })
	}
}

// settings are the options of a test's output.
type settings struct {
	blockSize int
	rowGroup  int64               // 0: small
	choices   map[string][]string // options; those that the format does not have are ignored
}

// request returns a job that makes small row groups.
func request(f format.Format, input, dest, temp string) job.Request {
	return job.Request{
		Asked:   plan.Asked{Inputs: []string{input}, Dest: dest, Output: manifest.Options{Format: f.Name(), RowGroupSize: 64 << 10, MaxLostRows: -1}},
		Options: job.Options{Environment: task.Environment{Workers: 1, TempDir: temp, Formats: formats}},
	}
}

// convert makes a committed output in dest.
func convert(t testing.TB, f format.Format, input, dest string, s settings) {
	t.Helper()
	r := request(f, input, dest, t.TempDir())
	r.Output.BlockSize, r.Output.FormatOptions = s.blockSize, formattest.Options(t, f, s.choices)
	if s.rowGroup > 0 {
		r.Output.RowGroupSize = s.rowGroup
	}
	if _, err := job.Convert(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// mails returns n messages.
func mails(seed uint64, n int) [][]byte {
	g := mailgen.New(seed)
	rows := make([][]byte, n)
	for i := range rows {
		rows[i] = g.Append(nil)
	}
	return rows
}

// mailSet makes a committed output of several parts and returns its rows.
func mailSet(t testing.TB, f format.Format, n int) (dir string, rows [][]byte) {
	t.Helper()
	rows = mails(1, n)
	base := t.TempDir()
	writeAvro(t, filepath.Join(base, "mail.avro"), mailgen.Schema, rows)
	dir = filepath.Join(base, "mail.columns")
	convert(t, f, filepath.Join(base, "mail.avro"), dir, settings{})
	return dir, rows
}

// columnPart writes a part of any columns and values. The columns may differ from
// those of the schema, which nil stands for. fill is called for each row and may
// append anything to them.
func columnPart(t testing.TB, f format.Format, schema string, columns []column.Column, rows int, fill func(to *column.Buffers, row int)) string {
	t.Helper()
	if columns == nil {
		m := avrotest.Map(t, schema)
		columns = m.Columns
	}
	return formattest.Source{Format: f, Schema: schema, Columns: columns, Rows: rows, Fill: fill}.Write(t, t.TempDir(), "a")
}

// filesOf returns the contents of a part's files by their names. The name is "" if
// the part is one file.
func filesOf(t testing.TB, part string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(part, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[strings.TrimPrefix(name[len(part):], "/")], err = os.ReadFile(name)
		}
		return err
	})
	testenv.Must(t, err)
	return files
}

// partsOf returns the names of an output's parts, in the order of their rows.
func partsOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	l := list(t, store.Local(), dir, dataset.Options{Formats: formats})
	for _, p := range l.Parts {
		names = append(names, p.Name)
	}
	return names
}

// locations returns the locations of paths in a store.
func locations(st store.Store, paths ...string) (all []store.Location) {
	for _, p := range paths {
		all = append(all, store.Location{Store: st, Path: p})
	}
	return all
}

func open(t testing.TB, path string, o dataset.Options) *dataset.Dataset {
	t.Helper()
	return openOn(t, store.Local(), path, o)
}

// openOn opens a dataset in a store.
func openOn(t testing.TB, st store.Store, path string, o dataset.Options) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), locations(st, path), o)
	testenv.Must(t, err)
	return d
}

func list(t testing.TB, st store.Store, path string, o dataset.Options) *dataset.Listing {
	t.Helper()
	l, err := dataset.List(t.Context(), locations(st, path), o)
	testenv.Must(t, err)
	return l
}

// totalRows returns the number of rows of a dataset.
func totalRows(t testing.TB, d *dataset.Dataset) int64 {
	t.Helper()
	s, err := d.Count(t.Context(), dataset.Query{})
	testenv.Must(t, err)
	return s.Rows
}

// scan returns the rows of a query.
func scan(t testing.TB, d *dataset.Dataset, q dataset.Query) ([][]byte, dataset.Stats, error) {
	t.Helper()
	s, err := d.Scan(t.Context(), q)
	if err != nil {
		return nil, dataset.Stats{}, err
	}
	defer s.Close()
	var rows [][]byte
	for {
		row, err := s.Next(nil)
		if errors.Is(err, io.EOF) {
			return rows, s.Stats(), nil
		}
		if err != nil {
			return rows, s.Stats(), err
		}
		rows = append(rows, row)
	}
}

// openPart opens the first part at a path.
func openPart(t testing.TB, st store.Store, path string) *dataset.OpenPart {
	t.Helper()
	l := list(t, st, path, dataset.Options{Formats: formats})
	p, err := l.Open(t.Context(), &l.Parts[0])
	testenv.Must(t, err)
	return p
}
