package tables

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/files"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
)

// fixture is a directory with inputs, a destination and catalogs.
type fixture struct {
	t      testing.TB
	dir    string
	dest   string
	schema string
	row    func(id int) []byte
	inputs int
}

const idSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}`

func idRow(id int) []byte {
	return binary.AppendVarint(binary.AppendVarint(nil, int64(id)), int64(id)*1000)
}

func newFixture(t testing.TB) *fixture {
	dir := t.TempDir()
	return &fixture{t: t, dir: dir, dest: filepath.Join(dir, "dest"), schema: idSchema, row: idRow}
}

// input writes an input with rows [from, to) into a directory.
func (f *fixture) input(dir string, from, to int) {
	f.t.Helper()
	var rows [][]byte
	for id := from; id < to; id++ {
		rows = append(rows, f.row(id))
	}
	dir = filepath.Join(f.dir, "in", dir)
	f.inputs++
	testenv.Must(f.t, os.MkdirAll(dir, 0o777))
	block := avrotest.Block{Rows: int64(len(rows)), Data: bytes.Join(rows, nil)}
	testenv.Must(f.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.avro", f.inputs)), avrotest.Make(f.t, f.schema, "null", block), 0o666))
}

func (f *fixture) removeInputs(dir string) {
	testenv.Must(f.t, os.RemoveAll(filepath.Join(f.dir, "in", dir)))
}

// convert converts the inputs of a directory into the directory of the same name in the destination.
func (f *fixture) convert(dir string, change func(r *job.Request)) {
	f.t.Helper()
	dest := filepath.Join(f.dest, dir)
	testenv.Must(f.t, os.MkdirAll(filepath.Dir(dest), 0o777))
	r := job.Request{
		Asked: plan.Asked{Inputs: []string{filepath.Join(f.dir, "in", dir)}, Dest: dest, Output: manifest.Options{
			Format: "parquet", RowGroupSize: 64 << 10, MaxLostRows: -1, FormatOptions: json.RawMessage(`{"times":"iceberg"}`)}},
		Options: job.Options{
			Environment: task.Environment{Workers: 1, TempDir: f.t.TempDir(), Formats: format.Registry{parquet.Format}},
			Destination: publish.Options{KeepReplaced: 24 * time.Hour},
		},
	}
	change(&r)
	_, err := job.Convert(f.t.Context(), r)
	testenv.Must(f.t, err)
}

func first(*job.Request)         {}
func increment(r *job.Request)   { r.Incremental = true }
func replacement(r *job.Request) { r.Overwrite = true }

// options returns the options of a sync.
func (f *fixture) options(kind string) Options {
	return Options{
		Destination: f.dest, Resolve: store.Resolve, Table: "ns.t", Pause: time.Millisecond, Patience: time.Minute,
		Catalog: catalogs.Options{Kind: kind, Name: "default", URI: "sqlite:///" + filepath.Join(f.dir, "catalog.db"), Warehouse: filepath.Join(f.dir, kind)},
	}
}

// open opens the catalog of options.
func (f *fixture) open(o Options) *catalogs.Catalog {
	f.t.Helper()
	files.Use(o.Resolve)
	c, err := catalogs.Open(f.t.Context(), o.Catalog)
	testenv.Must(f.t, err)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f *fixture) sync(o Options) Result {
	f.t.Helper()
	r, err := Sync(f.t.Context(), o)
	testenv.Must(f.t, err)
	return r
}

// refused checks that a sync fails with an error of a kind that says something.
func (f *fixture) refused(o Options, kind error, says string) {
	f.t.Helper()
	_, err := Sync(f.t.Context(), o)
	if failure.KindOf(err) != kind || !bytes.Contains([]byte(fmt.Sprint(err)), []byte(says)) {
		f.t.Errorf("%v, of kind %v; want %v: %s", err, failure.KindOf(err), kind, says)
	}
}

func (f *fixture) load(o Options) *table.Table {
	f.t.Helper()
	t, err := f.open(o).LoadTable(f.t.Context(), catalog.ToIdentifier(o.Table))
	testenv.Must(f.t, err)
	return t
}

// published returns the URIs of the files that are in the destination now.
func (f *fixture) published() (uris []string) {
	f.t.Helper()
	src, err := source.Read(f.t.Context(), store.Location{Store: store.Local(), Path: f.dest}, nil)
	testenv.Must(f.t, err)
	for _, file := range src.Files {
		uris = append(uris, file.URI)
	}
	slices.Sort(uris)
	return uris
}

// check checks that the table has each file of the destination once, with as many rows.
func (f *fixture) check(o Options, rows int64) *table.Table {
	f.t.Helper()
	t := f.load(o)
	var uris []string
	var records int64
	for _, d := range f.entries(t) {
		uris = append(uris, d.FilePath())
		records += d.Count()
	}
	slices.Sort(uris)
	if want := f.published(); !slices.Equal(uris, want) || records != rows {
		f.t.Fatalf("the table has %d rows in %q, want %d in %q", records, uris, rows, want)
	}
	return t
}

func (f *fixture) entries(t *table.Table) (all []iceberg.DataFile) {
	f.t.Helper()
	fs, err := t.FS(f.t.Context())
	testenv.Must(f.t, err)
	live, err := readLive(f.t.Context(), fs, t.CurrentSnapshot())
	testenv.Must(f.t, err)
	return slices.Collect(maps.Values(live.data))
}

// eachCatalog runs a test for each kind of catalog that needs no server.
func eachCatalog(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{"sql", "hadoop"} {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

// change commits a change of the table as another program.
func (f *fixture) change(o Options, stage func(txn *table.Transaction)) {
	f.t.Helper()
	txn := f.load(o).NewTransaction()
	stage(txn)
	_, err := txn.Commit(context.Background())
	testenv.Must(f.t, err)
}
