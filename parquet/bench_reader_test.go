package parquet

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// mailFile returns a file of messages.
func mailFile(b *testing.B, codec string, rows int) []byte {
	b.Helper()
	g := mailgen.New(1)
	all := make([][]byte, rows)
	for i := range all {
		all[i] = g.Append(nil)
	}
	return formattest.Rows(b, Format, map[string][]string{optionCompression: {codec}}, mailgen.Schema, all, 64<<10).Files(b)[""]
}

// readAllValues reads a column in steps, and skips as many values after each.
func readAllValues(b *testing.B, c *cursor, v *column.Vector, step, skip int) (n int) {
	b.Helper()
	for {
		v.Reset()
		read, _, err := c.Read(v, step)
		if errors.Is(err, io.EOF) {
			return n
		}
		if n += read; err == nil && skip > 0 && c.next < len(c.pages) {
			_, err = c.Skip(int64(skip))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadColumns reads the columns of messages, each alone.
func BenchmarkReadColumns(b *testing.B) { benchmarkColumns(b, 1024, 0) }

// BenchmarkSkip reads every third value, as conditions do.
func BenchmarkSkip(b *testing.B) { benchmarkColumns(b, 1, 2) }

func benchmarkColumns(b *testing.B, step, skip int) {
	p := mustOpen(b, mailFile(b, "snappy", 20_000))
	for i, col := range p.tree.mapping.Columns {
		b.Run(col.Name, func(b *testing.B) {
			var v column.Vector
			values := 0
			b.ReportAllocs()
			for b.Loop() {
				values += readAllValues(b, p.cursor(i), &v, step, skip)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(values, 1)), "ns/value")
		})
	}
}
