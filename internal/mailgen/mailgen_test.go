package mailgen_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func generate(t *testing.T, o mailgen.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	testenv.Must(t, mailgen.Write(&b, o))
	return b.Bytes()
}

func TestSameSeedSameBytes(t *testing.T) {
	a := generate(t, mailgen.Options{Rows: 500, Seed: 1, Codec: "snappy"})
	if !bytes.Equal(a, generate(t, mailgen.Options{Rows: 500, Seed: 1, Codec: "snappy"})) {
		t.Error("two runs with one seed differ")
	}
	if bytes.Equal(a, generate(t, mailgen.Options{Rows: 500, Seed: 2, Codec: "snappy"})) {
		t.Error("two seeds give the same archive")
	}
}

func TestSampleIsGenerated(t *testing.T) {
	for _, c := range []struct {
		file string
		mailgen.Options
	}{
		{"archive-1.avro", mailgen.Options{Rows: 400, Seed: 1, Codec: "snappy"}},
		{"archive-2.avro", mailgen.Options{Rows: 200, Seed: 2, Codec: "snappy"}},
	} {
		want, err := os.ReadFile(filepath.Join("../../testdata/mail", c.file))
		testenv.Must(t, err)
		if !bytes.Equal(generate(t, c.Options), want) {
			t.Errorf("%s: run go generate ./internal/mailgen", c.file)
		}
	}
}

func TestRowsAreValidAndCounted(t *testing.T) {
	const rows = 1000
	data := generate(t, mailgen.Options{Rows: rows, Seed: 3, BlockSize: 4096})
	if _, err := shred.ParseSchema(mailgen.Schema); err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(data)
	h, err := ocf.ReadHeader(r, r.Size(), "mail")
	testenv.Must(t, err)
	s := ocf.NewScanner(r, r.Size(), "mail", h, ocf.Range{End: r.Size()})
	var got int64
	var b ocf.Block
	for {
		err := s.Next(context.Background(), &b)
		if errors.Is(err, io.EOF) {
			break
		}
		testenv.Must(t, err)
		got += b.Rows
	}
	if got != rows {
		t.Errorf("got %d rows, want %d", got, rows)
	}
}
