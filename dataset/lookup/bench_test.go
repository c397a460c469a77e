package lookup_test

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// BenchmarkFind finds two columns of one row of 250,000 by its key, in an index and a dataset
// that are open.
func BenchmarkFind(b *testing.B) {
	d := indexed(b, 250_000, manifest.Options{Index: []string{"id"}})
	ids, all := rowsOf(b, d, dataset.Query{Columns: []string{"id"}})
	x := open(b, d, "")
	var bytes int64
	n := 0
	for b.Loop() {
		id, _ := binary.Varint(ids[n*7919%len(ids)])
		got, s := find(b, d, x, key(strconv.FormatInt(id, 10)), "from", "subject")
		if len(got) != 1 {
			b.Fatalf("%d rows", len(got))
		}
		bytes += s.BytesRead
		n++
	}
	b.ReportMetric(float64(bytes+x.BytesRead())/float64(n), "read-B/op")
	b.ReportMetric(float64(all.FileBytes)/1e6, "dataset-MB")
}
