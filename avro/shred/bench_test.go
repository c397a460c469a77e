package shred_test

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

// BenchmarkWalk shreds rows of each shape in memory and discards the columns.
func BenchmarkWalk(b *testing.B) {
	for _, c := range []struct {
		set  string
		rows int64
	}{
		{"mail", 50_000}, {"flat400", 10_000}, {"flat1000", 4_000}, {"sparse", 1_000}, {"deep", 30_000}, {"strings", 200},
	} {
		b.Run(c.set, func(b *testing.B) { benchmarkWalk(b, c.set, c.rows) })
	}
}

func benchmarkWalk(b *testing.B, name string, rows int64) {
	set, err := datagen.Lookup(name)
	testenv.Must(b, err)
	m := mapping(b, set.Schema(), shred.Options{})
	blocks := rowBlocks(b, set, rows)
	var size int64
	for _, block := range blocks {
		size += int64(len(block))
	}
	bufs := column.NewBuffers(m.Columns, column.Interleaved, 64<<10)
	s := shred.NewShredder(m, bufs)
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
