package lookup_test

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// BenchmarkFind finds one row of 250,000 by its key and reads two of its columns. The index and
// the dataset are open.
func BenchmarkFind(b *testing.B) {
	d := newDataset(b, 250_000, manifest.Options{Index: []string{"id"}})
	ids, all := rowsOf(b, d, dataset.Query{Columns: []string{"id"}})
	x := openIndex(b, d, "")
	var bytes int64
	n := 0
	for b.Loop() {
		id, _ := binary.Varint(ids[n*7919%len(ids)])
		got, s := find(b, d, x, exactly(strconv.FormatInt(id, 10)), "from", "subject")
		if len(got) != 1 {
			b.Fatalf("%d rows", len(got))
		}
		bytes += s.BytesRead
		n++
	}
	b.ReportMetric(float64(bytes+x.BytesRead())/float64(n), "read-B/op")
	b.ReportMetric(float64(all.FileBytes)/1e6, "dataset-MB")
}

// BenchmarkFindAll finds 100,000 rows of 250,000 by keys in random order, all together, and reads
// two of their columns.
func BenchmarkFindAll(b *testing.B) {
	d := newDataset(b, 250_000, manifest.Options{Index: []string{"id"}})
	ids, _ := rowsOf(b, d, dataset.Query{Columns: []string{"id"}})
	x := openIndex(b, d, "")
	var asks []lookup.RangeFunc
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(ids))[:100_000] {
		id, _ := binary.Varint(ids[i])
		asks = append(asks, exactly(strconv.FormatInt(id, 10)))
	}
	for b.Loop() {
		found, err := x.FindAll(b.Context(), asks)
		testenv.Must(b, err)
		if rows, _ := rowsOf(b, d, dataset.Query{Only: found.Only, Columns: []string{"from", "subject"}}); len(rows) != len(asks) {
			b.Fatalf("%d rows", len(rows))
		}
		found.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(asks)), "ns/key")
}
