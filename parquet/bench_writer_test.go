package parquet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// benchRows are rows of a data set.
type benchRows struct {
	schema string
	datums []byte
	rows   int64
}

func newBenchRows(b *testing.B, set string, rows int64) (all benchRows) {
	b.Helper()
	s, err := datagen.Lookup(set)
	testenv.Must(b, err)
	var file bytes.Buffer
	testenv.Must(b, s.Write(&file, datagen.Options{Rows: rows, Seed: 1}))
	r, err := ocf.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), set, 64<<20, column.Unlimited{})
	testenv.Must(b, err)
	all.schema = r.Header().Schema
	for {
		block, data, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		testenv.Must(b, err)
		all.datums, all.rows = append(all.datums, data...), all.rows+block.Rows
	}
}

// BenchmarkWrite shreds rows, encodes them, and builds the file, on one core.
func BenchmarkWrite(b *testing.B) {
	for _, set := range []struct {
		name string
		rows int64
	}{{"mail", 100_000}, {"flat1000", 20_000}, {"sparse", 10_000}, {"deep", 100_000}} {
		b.Run(set.name, func(b *testing.B) {
			all := newBenchRows(b, set.name, set.rows)
			b.SetBytes(int64(len(all.datums)))
			var size int
			for b.Loop() {
				size = writeAll(b, &all)
			}
			b.ReportMetric(float64(size), "file-bytes")
		})
	}
}

func writeAll(b *testing.B, all *benchRows) int {
	g := newGroupMaker(b, all.schema, options{}, 64<<10)
	for data := all.datums; len(data) > 0; {
		n, err := g.shredder.Row(data)
		testenv.Must(b, err)
		data = data[n:]
		g.rows++
		if len(g.bufs.Due()) > 0 {
			for _, col := range g.bufs.Due() {
				g.close(col)
			}
			g.bufs.ClearDue()
		}
	}
	return len(g.finish())
}

// BenchmarkShred only shreds rows.
func BenchmarkShred(b *testing.B) {
	for _, set := range []string{"mail", "flat1000"} {
		b.Run(set, func(b *testing.B) {
			all := newBenchRows(b, set, 20_000)
			b.SetBytes(int64(len(all.datums)))
			parsed, err := shred.ParseSchema(all.schema)
			testenv.Must(b, err)
			m, err := shred.Map(parsed, shred.Options{})
			testenv.Must(b, err)
			for b.Loop() {
				bufs := column.NewBuffers(m.Columns, column.Levels, 64<<10)
				s := shred.NewShredder(m, bufs)
				var block column.Block
				rows := int64(0)
				for data := all.datums; len(data) > 0; {
					n, err := s.Row(data)
					testenv.Must(b, err)
					data = data[n:]
					rows++
					for _, col := range bufs.Due() {
						bufs.Cols[col].Finish(rows, &block)
					}
					bufs.ClearDue()
				}
			}
		})
	}
}
