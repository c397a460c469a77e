package arrow_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// mailColumns converts messages and returns the directory of the output.
func mailColumns(b *testing.B, rows int64) string {
	base := b.TempDir()
	f, err := os.Create(filepath.Join(base, "mail.avro"))
	testenv.Must(b, err)
	if err := mailgen.Write(f, mailgen.Options{Rows: rows, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	testenv.Must(b, f.Close())
	dir := filepath.Join(base, "mail.columns")
	r := request(trevni.Format, nil, f.Name(), dir, base)
	r.Output.RowGroupSize = 64 << 20
	if _, err := job.Convert(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkRecords makes record batches of all columns of an output of 100,000
// messages.
func BenchmarkRecords(b *testing.B) {
	d, err := dataset.Open(b.Context(), []store.Location{{Store: store.Local(), Path: mailColumns(b, 100_000)}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	testenv.Must(b, err)
	for b.Loop() {
		batches, err := d.Batches(b.Context(), dataset.Query{Limit: -1, BatchRows: arrow.BatchRows})
		testenv.Must(b, err)
		records, err := arrow.NewRecords(batches, arrow.Unions, memory.DefaultAllocator)
		testenv.Must(b, err)
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
