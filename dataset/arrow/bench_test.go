package arrow_test

import (
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// BenchmarkRecords makes record batches of all columns of an output of 100,000
// messages.
func BenchmarkRecords(b *testing.B) {
	d, err := dataset.Open(b.Context(), []store.Location{{Store: store.Local(), Path: mailColumns(b.TempDir(), 100_000)}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		batches, err := d.Batches(b.Context(), dataset.Query{Limit: -1, BatchRows: arrow.BatchRows})
		if err != nil {
			b.Fatal(err)
		}
		records, err := arrow.NewRecords(batches, arrow.Unions, memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			r, failed := records.Next()
			if err = failed; err == nil {
				r.Release()
			}
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		batches.Close()
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
