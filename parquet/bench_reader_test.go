package parquet

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// BenchmarkRead reads all columns of a file as vectors, on one core.
func BenchmarkRead(b *testing.B) {
	for _, set := range []struct {
		name string
		rows int64
	}{{"mail", 100_000}, {"flat1000", 20_000}, {"sparse", 10_000}, {"deep", 100_000}} {
		b.Run(set.name, func(b *testing.B) {
			all := newBenchRows(b, set.name, set.rows)
			file := writeFile(b, &all)
			b.SetBytes(int64(len(all.datums)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := openFile(file, format.OpenOptions{})
				testenv.Must(b, err)
				readAll(b, p.(*part))
			}
		})
	}
}

// writeFile returns a file of the rows.
func writeFile(b *testing.B, all *benchRows) []byte {
	g := newGroupMaker(b, all.schema, options{}, 64<<10)
	for data := all.datums; len(data) > 0; {
		n, err := g.shredder.Row(data)
		testenv.Must(b, err)
		data = data[n:]
		g.rows++
		for _, col := range g.bufs.Due() {
			g.close(col)
		}
		g.bufs.ClearDue()
	}
	return g.finish()
}

func readAll(b *testing.B, p *part) {
	var vectors [10]column.Vector // by type
	for i, c := range p.Columns() {
		cursor, err := p.Cursor(i)
		testenv.Must(b, err)
		v := &vectors[c.Type]
		for err == nil {
			v.Reset()
			_, _, err = cursor.Read(v, 4096)
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
