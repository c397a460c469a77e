package tables

import (
	"os"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

func TestFileTwice(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("", 0, 10)
	f.convert("", first)
	f.sync(o)
	f.change(o, func(txn *table.Transaction) {
		testenv.Must(t, txn.AddDataFiles(t.Context(), f.entries(f.load(o)), nil, table.WithoutDuplicateCheck()))
	})
	f.refused(o, failure.Foreign, "twice")
}

func TestDeletedRows(t *testing.T) {
	live := &liveFiles{deletes: []string{"file:///a", "file:///b", "file:///c", "file:///d"}}
	err := live.check(newRecord("file:///dest", nil, nil))
	if failure.KindOf(err) != failure.Foreign || !strings.HasSuffix(err.Error(), "file:///c and 1 more") {
		t.Error(err)
	}
}

func TestDestinationInMetadata(t *testing.T) {
	f := newFixture(t)
	o := f.options("hadoop")
	f.input("", 0, 10)
	f.dest = o.Catalog.Warehouse + "/ns/t/metadata/dest"
	o.Destination = f.dest
	f.convert("", first)
	f.refused(o, failure.Usage, "nor a destination in metadata")
}

// A file changed since its output was published.
func TestOtherFile(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("", 0, 10)
	f.convert("", first)
	src, err := source.Read(t.Context(), store.Location{Store: store.Local(), Path: f.dest}, nil)
	testenv.Must(t, err)
	file := src.Files[0]
	file.Rows++
	s := &syncer{Options: o}
	if _, err := s.readFooter(t.Context(), src, &file); failure.KindOf(err) != failure.Input || !strings.Contains(err.Error(), "has 10 rows, _SUCCESS says 11") {
		t.Errorf("%v", err)
	}
	testenv.Must(t, os.Truncate(strings.TrimPrefix(file.URI, "file://"), file.Bytes-1))
	f.refused(o, failure.Input, "it is not the file that _SUCCESS lists")
}

// An empty table of another program has other partitions than the destination.
func TestOtherPartitions(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec iceberg.PartitionSpec
		says string
	}{
		{"none", iceberg.NewPartitionSpec(), `is partitioned by []`},
		{"days", iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1000, Name: "k", Transform: iceberg.DayTransform{}}), `is partitioned by ["day(k)"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			o := f.options("sql")
			f.input("k=2026-01-01", 0, 10)
			f.convert("k=2026-01-01", first)
			c, name := f.open(o), catalog.ToIdentifier("ns", "t")
			testenv.Must(t, c.EnsureNamespace(t.Context(), name))
			_, err := c.CreateTable(t.Context(), name, iceberg.NewSchema(0,
				iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
				iceberg.NestedField{ID: 2, Name: "at", Type: iceberg.PrimitiveTypes.TimestampTz},
				iceberg.NestedField{ID: 3, Name: "k", Type: iceberg.PrimitiveTypes.Date}), catalog.WithPartitionSpec(&tt.spec))
			testenv.Must(t, err)
			f.refused(o, failure.Foreign, tt.says)
		})
	}
}
