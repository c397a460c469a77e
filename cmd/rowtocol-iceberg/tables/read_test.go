package tables

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// iceberg-go reads the rows, and a condition leaves out files by their bounds and partitions.
func TestRead(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	for i, dir := range []string{"dt=2026-01-01", "dt=2026-01-02"} {
		f.input(dir, i*10, i*10+10)
		f.convert(dir, increment)
		f.input(dir, i*10+100, i*10+110)
		f.convert(dir, increment)
	}
	f.sync(o)
	tbl := f.load(o)
	for _, tt := range []struct {
		name   string
		filter iceberg.BooleanExpression
		files  int
		sum    int64 // of the IDs
	}{
		{"all", iceberg.AlwaysTrue{}, 4, 190 + 2190},
		{"partition", iceberg.EqualTo(iceberg.Reference("dt"), "2026-01-02"), 2, 145 + 1145},
		{"time", iceberg.GreaterThanEqual(iceberg.Reference("at"), "1970-01-01T00:01:45+00:00"), 2, 105 + 106 + 107 + 108 + 109 + 1145},
	} {
		scan := tbl.Scan(table.WithRowFilter(tt.filter))
		plan, err := scan.PlanFiles(t.Context())
		testenv.Must(t, err)
		rows, err := scan.ToArrowTable(t.Context())
		testenv.Must(t, err)
		var sum int64
		for _, chunk := range rows.Column(0).Data().Chunks() {
			for _, id := range chunk.(*array.Int64).Int64Values() {
				sum += id
			}
		}
		if len(plan) != tt.files || sum != tt.sum {
			t.Errorf("%s: %d files, the sum of the IDs is %d; want %d and %d", tt.name, len(plan), sum, tt.files, tt.sum)
		}
		rows.Release()
	}
}
