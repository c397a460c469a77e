package cfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
)

// FuzzPart opens and reads a part with one column of arrays. It corrects the checksum of the
// document.
func FuzzPart(f *testing.F) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"string"}}]}`
	rows := [][]byte{{4, 2, 'a', 0, 0}, {0}, {2, 4, 'b', 'c', 0}}
	for _, chosen := range []map[string][]string{{"compression": {"none"}}, {"encoding": {"a[]=prefix"}}} {
		files := formattest.Rows(f, Format, chosen, schema, rows, 4).Files(f)
		f.Add(files[documentName], files[fileName(0, true)], files[fileName(0, false)])
	}
	f.Fuzz(func(t *testing.T, document, lengths, values []byte) {
		document = bytes.Clone(document)
		if len(document) < 16 || len(document) > 1<<16 {
			return
		}
		if sum, at := documentSum(document); at >= 0 {
			copy(document[at:], fmt.Sprintf("%08x", sum))
		}
		p, err := formattest.Open(Format, map[string][]byte{documentName: document, fileName(0, true): lengths, fileName(0, false): values}, smallBlocks)
		if err == nil {
			err = p.Verify(t.Context(), nil)
			if err := p.Dump(io.Discard); err != nil && !partDamage(err) {
				t.Fatal(err)
			}
			fuzzCursors(t, p.(*part))
		}
		if err != nil && !partDamage(err) {
			t.Fatal(err)
		}
	})
}

// fuzzCursors reads columns from their middle.
func fuzzCursors(t *testing.T, p *part) {
	for i := range p.columns {
		if _, err := p.Blocks(i); err != nil && !partDamage(err) {
			t.Fatal(err)
		}
		c := p.cursor(i)
		err := c.SeekRow(p.rows / 2)
		for n := 0; err == nil && n < 100; n++ {
			_, _, err = c.Read(&column.Vector{Limit: 1 << 10}, 10)
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, column.ErrFull) && !partDamage(err) {
			t.Fatal(err)
		}
	}
}
