package dataset_test

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
)

// BenchmarkQueries reads an output of 100,000 messages; rows/s are those of
// the dataset, whether or not they match.
func BenchmarkQueries(b *testing.B) {
	d := archive(b, 100_000)
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
				batches, err := d.Batches(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				for batches.Next() {
				}
				if err := batches.Err(); err != nil {
					b.Fatal(err)
				}
				batches.Close()
			}
			b.ReportMetric(float64(d.Rows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
		b.Run("scan/"+name, func(b *testing.B) {
			var row []byte
			for b.Loop() {
				s, err := d.Scan(b.Context(), q)
				for err == nil {
					row, err = s.Next(row[:0])
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				s.Close()
			}
			b.ReportMetric(float64(d.Rows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
