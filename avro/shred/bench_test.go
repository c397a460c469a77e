package shred_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var layouts = []struct {
	name string
	column.Layout
}{{"interleaved", column.Interleaved}, {"split", column.Split}, {"levels", column.Levels}}

// BenchmarkWalk shreds rows of each shape in memory and discards the columns.
func BenchmarkWalk(b *testing.B) {
	for _, c := range []struct {
		set  string
		rows int64
	}{
		{"mail", 50_000}, {"flat400", 10_000}, {"flat1000", 4_000}, {"sparse", 1_000}, {"deep", 30_000}, {"strings", 200},
	} {
		for _, layout := range layouts {
			b.Run(c.set+"/"+layout.name, func(b *testing.B) {
				set, err := datagen.Lookup(c.set)
				testenv.Must(b, err)
				benchmarkWalk(b, set.Schema(), layout.Layout, rowBlocks(b, set, c.rows), c.rows)
			})
		}
	}
}

// BenchmarkPartial walks rows for none, three or all of their columns.
func BenchmarkPartial(b *testing.B) {
	for _, c := range []struct {
		set  string
		rows int64
	}{{"mail", 50_000}, {"flat1000", 4_000}, {"sparse", 1_000}, {"deep", 30_000}} {
		set, err := datagen.Lookup(c.set)
		testenv.Must(b, err)
		m := mapping(b, set.Schema(), shred.Options{})
		var all, few []int
		for i, col := range m.Columns {
			if all = append(all, i); col.Parent < 0 && len(few) < 3 {
				few = append(few, i)
			}
		}
		for name, numbers := range map[string][]int{"none": nil, "few": few, "all": all} {
			b.Run(c.set+"/"+name, func(b *testing.B) {
				bufs := column.NewBuffers(column.Choose(m.Columns, numbers), column.Interleaved, 64<<10)
				benchmarkRows(b, shred.NewPartialShredder(m, numbers, bufs), bufs, rowBlocks(b, set, c.rows), c.rows)
			})
		}
	}
}

// BenchmarkNulls shreds rows of a record of 1,000 fields that is null in 99 of 100 rows.
func BenchmarkNulls(b *testing.B) {
	const rows, fields = 100_000, 1000
	for _, c := range []struct{ name, typ, value string }{
		{"required", `"int"`, "\x02"}, {"nullable", `["null","int"]`, "\x02\x02"},
	} {
		var schema strings.Builder
		for i := range fields {
			fmt.Fprintf(&schema, `,{"name":"f%d","type":%s}`, i, c.typ)
		}
		var data []byte
		for i := range rows {
			data = binary.AppendVarint(data, int64(i))
			if i%100 < 99 {
				data = append(data, 0)
			} else {
				data = append(data, "\x02"+strings.Repeat(c.value, fields)...)
			}
		}
		for _, layout := range layouts {
			b.Run(c.name+"/"+layout.name, func(b *testing.B) {
				benchmarkWalk(b, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},
					{"name":"o","type":["null",{"type":"record","name":"O","fields":[`+schema.String()[1:]+`]}]}]}`,
					layout.Layout, [][]byte{data}, rows)
			})
		}
	}
}

func benchmarkWalk(b *testing.B, schema string, layout column.Layout, blocks [][]byte, rows int64) {
	m := mapping(b, schema, shred.Options{})
	bufs := column.NewBuffers(m.Columns, layout, 64<<10)
	benchmarkRows(b, shred.NewShredder(m, bufs), bufs, blocks, rows)
}

func benchmarkRows(b *testing.B, s *shred.Shredder, bufs *column.Buffers, blocks [][]byte, rows int64) {
	var size int64
	for _, block := range blocks {
		size += int64(len(block))
	}
	var dst column.Block
	b.SetBytes(size)
	start := processTime(b)
	for b.Loop() {
		bufs.Reset()
		row := int64(0)
		for _, data := range blocks {
			for ; len(data) > 0; row++ {
				n, err := s.Row(data)
				testenv.Must(b, err)
				data = data[n:]
				for _, col := range bufs.Due() {
					bufs.Cols[col].Finish(row+1, &dst)
				}
				bufs.ClearDue()
			}
		}
	}
	b.ReportMetric(float64(processTime(b)-start)/float64(int64(b.N)*rows), "cpu-ns/row")
}

// processTime returns the CPU time of this process so far. Other load on the machine
// affects it less than elapsed time.
func processTime(t testing.TB) int64 {
	t.Helper()
	var at unix.Timespec
	testenv.Must(t, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at))
	return at.Nano()
}

// rowBlocks returns the rows of a set in blocks.
func rowBlocks(t testing.TB, set datagen.Set, rows int64) [][]byte {
	t.Helper()
	var file bytes.Buffer
	if err := set.Write(&file, datagen.Options{Rows: rows, Seed: 1, Codec: "null"}); err != nil {
		t.Fatal(err)
	}
	r, err := ocf.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), set.Name, 1<<30, column.Unlimited{})
	var blocks [][]byte
	for err == nil {
		var rows []byte
		if _, rows, err = r.Next(context.Background()); err == nil {
			blocks = append(blocks, bytes.Clone(rows))
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return blocks
}
