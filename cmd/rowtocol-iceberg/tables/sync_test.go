package tables

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

func TestSync(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		f.input("", 0, 100)
		f.convert("", increment)
		if r := f.sync(o); !r.Created || r.Added != 1 || r.Rows != 100 || r.Snapshot == 0 || r.Tries != 1 {
			t.Errorf("the first sync: %+v", r)
		}
		f.check(o, 100)
		if r := f.sync(o); !r.Nothing || r.Rows != 100 || r.Snapshot == 0 {
			t.Errorf("a sync without news: %+v", r)
		}
		for i := 1; i <= 3; i++ {
			f.input("", i*100, i*100+100)
			f.convert("", increment)
			if r := f.sync(o); r.Added != 1 || r.Removed != 0 || r.Nothing {
				t.Errorf("increment %d: %+v", i, r)
			}
			s := f.check(o, int64(i*100+100)).CurrentSnapshot()
			if s.Summary.Operation != table.OpAppend {
				t.Errorf("increment %d: %s", i, s.Summary.Operation)
			}
		}
		f.removeInputs("")
		f.input("", 7, 50)
		f.convert("", replacement)
		if r := f.sync(o); r.Added != 1 || r.Removed != 4 {
			t.Errorf("another output: %+v", r)
		}
		if s := f.check(o, 43).CurrentSnapshot(); s.Summary.Operation != table.OpOverwrite {
			t.Errorf("another output: %s", s.Summary.Operation)
		}
	})
}

func TestPartitions(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		for i, dir := range []string{"dt=2026-01-01/hour=01/k=a", "dt=2026-01-02/hour=02/k=__HIVE_DEFAULT_PARTITION__"} {
			f.input(dir, i*10, i*10+10)
			f.convert(dir, first)
		}
		f.sync(o)
		tbl := f.check(o, 20)
		var got [][]any
		for _, d := range f.entries(tbl) {
			p := d.Partition()
			got = append(got, []any{p[1000], p[1001], p[1002]})
		}
		slices.SortFunc(got, func(a, b []any) int { return int(a[0].(iceberg.Date)) - int(b[0].(iceberg.Date)) })
		want := [][]any{{iceberg.Date(20454), int64(1), "a"}, {iceberg.Date(20455), int64(2), nil}}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("partitions %v, want %v", got, want)
		}
		f.removeInputs("dt=2026-01-01")
		f.input("dt=2026-01-01/hour=01/k=a", 500, 505)
		f.convert("dt=2026-01-01/hour=01/k=a", replacement)
		if r := f.sync(o); r.Added != 1 || r.Removed != 1 {
			t.Errorf("a partition that was made again: %+v", r)
		}
		f.check(o, 15)
		f.input("dt=today/hour=01/k=a", 1, 2)
		f.convert("dt=today/hour=01/k=a", first)
		f.refused(o, failure.Input, "dt=today: the value is not a date")
	})
}

// A table that other programs made or changed is refused.
func TestForeignTables(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		f.input("", 0, 100)
		f.convert("", increment)
		f.sync(o)
		other := newFixture(t)
		other.input("", 0, 5)
		other.convert("", first)
		changed := o
		changed.Destination = other.dest
		f.refused(changed, failure.Foreign, "holds file://"+f.dest+", not file://"+other.dest)
		f.change(o, func(txn *table.Transaction) {
			testenv.Must(t, txn.ReplaceDataFilesWithDataFiles(t.Context(), f.entries(f.load(o)), nil, nil))
		})
		f.refused(o, failure.Foreign, "another program changed the table: its property rowtocol.output names 1 files, but it has 0")
		f.change(o, func(txn *table.Transaction) { testenv.Must(t, txn.RemoveProperties([]string{recordKey})) })
		f.sync(o) // now it is an empty table with the same columns
		f.check(o, 100)
		f.change(o, func(txn *table.Transaction) { testenv.Must(t, txn.RemoveProperties([]string{recordKey})) })
		f.refused(o, failure.Foreign, "has no property rowtocol.output, and 1 files")
		for _, text := range []string{`{"version":9}`, `{"version":1`} {
			f.change(o, func(txn *table.Transaction) {
				testenv.Must(t, txn.SetProperties(iceberg.Properties{recordKey: text}))
			})
			f.refused(o, failure.Foreign, `not one that this program reads: `+text)
		}
	})
}

func TestEmptyTableOfAnotherProgram(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("", 0, 100)
	f.convert("", first)
	c := f.open(o)
	name := catalog.ToIdentifier("ns", "t")
	testenv.Must(t, c.EnsureNamespace(t.Context(), name))
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	_, err := c.CreateTable(t.Context(), name, schema)
	testenv.Must(t, err)
	f.refused(o, failure.Foreign, "its columns do not fit: new column at timestamptz")
}

func TestRefusedOptions(t *testing.T) {
	f := newFixture(t)
	f.input("", 0, 100)
	f.convert("", first)
	part := strings.TrimPrefix(f.published()[0], "file://")
	for _, tt := range []struct {
		change func(o *Options)
		kind   error
		says   string
	}{
		{func(o *Options) { o.Table = "t" }, failure.Usage, "namespace.name"},
		{func(o *Options) { o.Catalog.Kind = "files" }, failure.Usage, "there are the kinds sql, rest"},
		{func(o *Options) { o.Catalog.URI = "postgres://x" }, failure.Usage, "is a SQLite file"},
		{func(o *Options) { o.Catalog.URI = "" }, failure.Usage, "is a SQLite file"},
		{func(o *Options) { o.Catalog.Warehouse = "" }, failure.Usage, "needs a warehouse"},
		{func(o *Options) { o.Catalog.Warehouse = f.dest + "/wh" }, failure.Usage, "must not lie in a destination"},
		{func(o *Options) { o.Destination = part }, failure.Input, "is a file, not the destination"},
		{func(o *Options) { o.Destination += "-not" }, failure.Input, "does not exist"},
		{func(o *Options) { o.Destination = f.dir + "/in" }, failure.Input, "is a directory of Avro files"},
	} {
		o := f.options("sql")
		tt.change(&o)
		f.refused(o, tt.kind, tt.says)
	}
}

// resolveRemote resolves hdfs://nn/path to a path of the local disk, as if it were remote.
func resolveRemote(location string) (store.Location, error) {
	p, ok := strings.CutPrefix(location, "hdfs://nn/")
	if !ok {
		return store.Resolve(location)
	}
	return store.Location{Store: store.Local(), Origin: "hdfs://nn", Path: "/" + p}, nil
}

func TestRemote(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		o.Resolve, o.Destination, o.KeepMetadata = resolveRemote, "hdfs://nn"+f.dest, time.Hour
		o.Catalog.Warehouse = "hdfs://nn" + o.Catalog.Warehouse
		for i := range 2 {
			f.input("", i*10, i*10+10)
			f.convert("", increment)
			f.sync(o)
		}
		tbl := f.load(o)
		entries := f.entries(tbl)
		if len(entries) != 2 || !strings.HasPrefix(entries[0].FilePath(), "hdfs://nn"+f.dest+"/") || !strings.HasPrefix(tbl.MetadataLocation(), "hdfs://nn/") {
			t.Errorf("%d files, %s", len(entries), tbl.MetadataLocation())
		}
		if r := f.sync(o); !r.Nothing {
			t.Errorf("%+v", r)
		}
	})
}
