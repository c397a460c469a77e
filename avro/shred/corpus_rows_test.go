package shred_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/corpus"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestCorpusRows shreds and assembles every block of the intact real files. Nearly all
// writers use the plain form of rows. A few write arrays in blocks of negative counts
// with a size; these do not come back in the same form.
func TestCorpusRows(t *testing.T) {
	for _, e := range corpus.Entries(t) {
		switch e.Class {
		case "ok", "recursive", "bad-name", "bad-symbols", "bad-default":
			t.Run(e.Name, func(t *testing.T) { roundTripFile(t, e.Path) })
		}
	}
}

func roundTripFile(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	testenv.Must(t, err)
	r, err := ocf.NewReader(bytes.NewReader(data), int64(len(data)), path, 64<<20, column.Unlimited{})
	testenv.Must(t, err)
	m := mapping(t, r.Header().Schema, shred.Options{RecursiveBytes: true})
	for {
		b, rows, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		got := roundTrip(t, m, rows, b.Rows)
		sized := len(got) < len(rows) && bytes.Equal(roundTrip(t, m, got, b.Rows), got)
		if !bytes.Equal(got, rows) && !sized {
			t.Errorf("block at %d: %d bytes of rows became %d different bytes", b.Offset, len(rows), len(got))
		}
	}
}

// roundTrip shreds the n rows in data and assembles them.
func roundTrip(t *testing.T, m *shred.Mapping, data []byte, n int64) []byte {
	bufs := newBuffers(m)
	s := shred.NewShredder(m, bufs)
	for range n {
		size, err := s.Row(data)
		testenv.Must(t, err)
		data = data[size:]
	}
	if len(data) > 0 {
		t.Fatalf("%d bytes after the last row", len(data))
	}
	a := assembler(m, readers(m, n, finish(bufs, n)), n)
	var out []byte
	for range n {
		var err error
		if out, err = a.Row(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
