package trevni

import (
	"bytes"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// mailFile returns a file of nested mails; size is that of their rows.
func mailFile(b *testing.B, rows int, codec string) (f *File, m *shred.Mapping, size int64) {
	b.Helper()
	schema, err := shred.ParseSchema(mailgen.Schema)
	testenv.Must(b, err)
	if m, err = shred.Map(schema, shred.Options{}); err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, schema.JSON(), m.Columns, Options{Codec: codec})
	testenv.Must(b, err)
	shredder, mails := shred.NewShredder(m, w.bufs), mailgen.New(1)
	var row []byte
	for range rows {
		row = mails.Append(row[:0])
		size += int64(len(row))
		if _, err := shredder.Row(row); err != nil {
			b.Fatal(err)
		}
		testenv.Must(b, w.EndRow())
	}
	testenv.Must(b, w.Close())
	return openBytes(b, out.Bytes()), m, size
}

// BenchmarkBlocks decompresses and checks every block but reads no value: the least
// time to read the whole file.
func BenchmarkBlocks(b *testing.B) {
	f, _, size := mailFile(b, 100_000, "snappy")
	b.SetBytes(size)
	for b.Loop() {
		for i := range f.Columns() {
			c, err := f.cursor(i)
			testenv.Must(b, err)
			for k := range c.blocks {
				testenv.Must(b, c.load(k))
			}
		}
	}
}

// BenchmarkAssemble assembles whole rows from all columns.
func BenchmarkAssemble(b *testing.B) {
	f, m, size := mailFile(b, 100_000, "snappy")
	b.SetBytes(size)
	var row []byte
	for b.Loop() {
		cols := make([]shred.Values, len(m.Columns))
		for i := range cols {
			c, err := f.Cursor(i)
			testenv.Must(b, err)
			cols[i] = c
		}
		a := shred.NewAssembler(m, cols, nil)
		a.Start(f.RowCount())
		got := int64(0)
		for range f.RowCount() {
			var err error
			if row, err = a.Row(row[:0]); err != nil {
				b.Fatal(err)
			}
			got += int64(len(row))
		}
		if got != size {
			b.Fatalf("%d bytes of rows, want %d", got, size)
		}
	}
}

// BenchmarkSum adds up one nullable column.
func BenchmarkSum(b *testing.B) {
	f, m, _ := mailFile(b, 100_000, "snappy")
	col := 0
	for m.Columns[col].Name != "size/int" {
		col++
	}
	var v column.Vector
	for b.Loop() {
		c, err := f.Cursor(col)
		testenv.Must(b, err)
		var sum int64
		for left := int(f.RowCount()); left > 0; {
			n := min(left, 4096)
			v.Reset()
			n, _, err := c.Read(&v, n)
			testenv.Must(b, err)
			for _, x := range v.Ints {
				sum += int64(x)
			}
			left -= n
		}
		if sum == 0 {
			b.Fatal("no sum")
		}
	}
}
