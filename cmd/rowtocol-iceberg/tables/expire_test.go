package tables

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
)

func TestExpire(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		o.KeepSnapshots = 3
		for i := range 5 {
			f.input("", i*10, i*10+10)
			f.convert("", increment)
			f.sync(o)
			if got, want := len(f.check(o, int64(i*10+10)).Metadata().Snapshots()), min(i+1, 3); got != want {
				t.Errorf("%d snapshots, want %d", got, want)
			}
		}
		f.removeInputs("")
		f.input("", 0, 7)
		f.convert("", replacement)
		if r := f.sync(o); r.Expired != 3 {
			t.Errorf("%+v", r)
		}
		if got := len(f.check(o, 7).Metadata().Snapshots()); got != 1 {
			t.Errorf("%d snapshots are left, expected the current one", got)
		}
	})
}

// A snapshot whose files are all in the current one stays, though others were replaced.
func TestExpireKeeps(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	for _, dir := range []string{"k=1", "k=2"} {
		f.input(dir, 0, 10)
		f.convert(dir, first)
		f.sync(o)
	}
	f.removeInputs("k=2")
	f.input("k=2", 0, 5)
	f.convert("k=2", replacement)
	if r := f.sync(o); r.Expired != 1 {
		t.Errorf("%+v", r)
	}
	if got := len(f.check(o, 15).Metadata().Snapshots()); got != 2 {
		t.Errorf("%d snapshots, want the first and the current one", got)
	}
}

func TestTagOfReplacedFile(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("", 0, 10)
	f.convert("", increment)
	f.sync(o)
	tag := func() {
		c, tbl := f.open(o), f.load(o)
		_, _, err := c.CommitTable(t.Context(), catalog.ToIdentifier("ns", "t"), nil, []table.Update{
			table.NewSetSnapshotRefUpdate("audit", tbl.CurrentSnapshot().SnapshotID, table.TagRef, -1, -1, -1)})
		testenv.Must(t, err)
	}
	tag()
	f.input("", 10, 20)
	f.convert("", increment)
	o.KeepSnapshots = 1
	f.sync(o) // the tag keeps its snapshot
	if got := len(f.check(o, 20).Metadata().Snapshots()); got != 2 {
		t.Errorf("%d snapshots", got)
	}
	f.removeInputs("")
	f.input("", 0, 7)
	f.convert("", replacement)
	f.refused(o, failure.Foreign, `the tag "audit" of table ns.t names a snapshot with the file file://`+f.dest)
	f.check(o, 7) // it is up to date all the same
}

func TestSweep(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		for i := range 4 {
			f.removeInputs("")
			f.input("", 0, i+1)
			f.convert("", replacement)
			f.sync(o)
		}
		at, err := o.Resolve(f.load(o).MetadataLocation())
		testenv.Must(t, err)
		dir := filepath.Dir(at.Path)
		old := time.Now().Add(-2 * time.Hour)
		for _, name := range []string{"other.avro", "stats.puffin"} {
			testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		testenv.Must(t, err)
		for _, name := range names {
			testenv.Must(t, os.Chtimes(name, old, old))
		}
		f.input("", 1, 3)
		f.convert("", replacement)
		o.KeepMetadata = time.Hour
		// Of three replaced snapshots, a list and two manifests each.
		if r := f.sync(o); r.Swept == 0 {
			t.Errorf("%+v", r)
		}
		f.check(o, 6)
		lists, err := filepath.Glob(filepath.Join(dir, "snap-*.avro"))
		testenv.Must(t, err)
		manifests, err := filepath.Glob(filepath.Join(dir, "*-m*.avro"))
		testenv.Must(t, err)
		others, err := filepath.Glob(filepath.Join(dir, "[os]t*"))
		testenv.Must(t, err)
		if len(lists) != 1 || len(manifests) > 2 || len(others) != 2 {
			t.Errorf("%d lists, %d manifests, others %q", len(lists), len(manifests), others)
		}
		if r := f.sync(o); !r.Nothing {
			t.Errorf("%+v", r)
		}
	})
}
