package shred_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/shred"
)

// BenchmarkWalk shreds nested mails that are in memory, and drops the columns.
func BenchmarkWalk(b *testing.B) {
	var file bytes.Buffer
	if err := mailgen.Write(&file, mailgen.Options{Rows: 30_000, Seed: 1, Codec: "null"}); err != nil {
		b.Fatal(err)
	}
	r := bytes.NewReader(file.Bytes())
	h, err := ocf.ReadHeader(r, r.Size(), "mail")
	if err != nil {
		b.Fatal(err)
	}
	schema, err := shred.ParseSchema(h.Schema)
	if err != nil {
		b.Fatal(err)
	}
	m, err := shred.Map(schema, shred.Options{})
	if err != nil {
		b.Fatal(err)
	}
	bufs := column.NewBuffers(m.Columns, column.Interleaved, 64<<10)
	s := shred.NewShredder(m, bufs)
	var blocks []ocf.Block
	for scan := ocf.NewScanner(r, r.Size(), "mail", h, ocf.Range{End: r.Size()}); ; {
		var block ocf.Block
		if err := scan.Next(context.Background(), &block); err == io.EOF {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		blocks = append(blocks, block)
	}
	b.SetBytes(r.Size())
	var dst column.Block
	for b.Loop() {
		bufs.Reset()
		rows := int64(0)
		for i := range blocks {
			for data := blocks[i].Data; len(data) > 0; rows++ {
				n, err := s.Row(data)
				if err != nil {
					b.Fatal(err)
				}
				data = data[n:]
				for _, col := range bufs.Due() {
					bufs.Cols[col].Finish(rows+1, &dst)
				}
				bufs.ClearDue()
			}
		}
	}
}
