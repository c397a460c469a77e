package dataset_test

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

// BenchmarkQueries reads an output of 100,000 messages; rows/s count all rows of
// the dataset, whether or not they match.
func BenchmarkQueries(b *testing.B) {
	d := archive(b, trevni.Format, 100_000)
	for name, q := range map[string]dataset.Query{
		"sum":        {Columns: []string{"score"}},
		"where":      {Columns: []string{"score"}, Where: "score > 7.9"},
		"where-text": {Columns: []string{"id"}, Where: `from startsWith "a"`},
		"where-rare": {Where: "id % 1000 == 7"},
		"where-some": {Where: "score > 5"},
		"all":        {},
	} {
		q.Limit = -1
		b.Run("batches/"+name, func(b *testing.B) {
			for b.Loop() {
				readBatches(b, d, q)
			}
			b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
		b.Run("scan/"+name, func(b *testing.B) {
			for b.Loop() {
				readRows(b, d, q)
			}
			b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func readBatches(b *testing.B, d *dataset.Dataset, q dataset.Query) {
	batches, err := d.Batches(b.Context(), q)
	testenv.Must(b, err)
	defer batches.Close()
	for batches.Next() {
	}
	testenv.Must(b, batches.Err())
}

func readRows(b *testing.B, d *dataset.Dataset, q dataset.Query) {
	s, err := d.Scan(b.Context(), q)
	testenv.Must(b, err)
	defer s.Close()
	var row []byte
	for err == nil {
		row, err = s.Next(row[:0])
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}
