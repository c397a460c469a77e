package parquet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"

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
			var size int64
			start := processTime(b)
			for b.Loop() {
				size = writeAll(b, &all)
			}
			b.ReportMetric((processTime(b)-start)/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(size), "file-bytes")
		})
	}
}

// processTime returns the CPU time of the process in milliseconds. Unlike elapsed time, other
// processes change it little.
func processTime(b *testing.B) float64 {
	var u unix.Rusage
	testenv.Must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// writeAll returns the size of the file, whose pages it does not keep.
func writeAll(b *testing.B, all *benchRows) int64 {
	g := newGroupMaker(b, all.schema, options{}, 64<<10)
	var page []byte
	end := func(col int) {
		g.bufs.Cols[col].Finish(g.rows, &g.block)
		job, err := g.group.Begin(col, &g.block)
		testenv.Must(b, err)
		page, err = job.Encode(page[:0])
		testenv.Must(b, err, g.group.End(col, job, len(page)))
	}
	for data := all.datums; len(data) > 0; {
		n, err := g.shredder.Row(data)
		testenv.Must(b, err)
		data = data[n:]
		g.rows++
		if len(g.bufs.Due()) > 0 {
			for _, col := range g.bufs.Due() {
				end(col)
			}
			g.bufs.ClearDue()
		}
	}
	for col := range g.bufs.Cols {
		if g.bufs.Cols[col].FirstRow() < g.rows {
			end(col)
		}
	}
	outputs, err := g.group.Finish(g.rows)
	testenv.Must(b, err)
	return outputs[0].Size
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
