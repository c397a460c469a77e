package datagen_test

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
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func generate(t *testing.T, s datagen.Set, o datagen.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	testenv.Must(t, s.Write(&b, o))
	return b.Bytes()
}

// someRows returns a number of rows of a set that is generated quickly.
func someRows(s datagen.Set) int64 { return max(s.Rows/1000, 10) }

func TestSameSeedSameBytes(t *testing.T) {
	for _, s := range datagen.Sets() {
		a := generate(t, s, datagen.Options{Rows: someRows(s), Seed: 1, Codec: "snappy"})
		if !bytes.Equal(a, generate(t, s, datagen.Options{Rows: someRows(s), Seed: 1, Codec: "snappy"})) {
			t.Errorf("%s: two runs with one seed differ", s.Name)
		}
		b := generate(t, s, datagen.Options{Rows: someRows(s), Seed: 2, Codec: "snappy"})
		if bytes.Contains(b, a[len(a)/2:len(a)-16]) {
			t.Errorf("%s: two seeds give the same rows", s.Name)
		}
	}
}

// Every row must be valid: the shredder checks each byte.
func TestRowsFitTheirSchema(t *testing.T) {
	for _, s := range datagen.Sets() {
		t.Run(s.Name, func(t *testing.T) {
			want := someRows(s)
			if got := countRows(t, generate(t, s, datagen.Options{Rows: want, Seed: 3, Codec: "null"})); got != want {
				t.Errorf("got %d rows, want %d", got, want)
			}
		})
	}
}

// countRows shreds the rows of a file.
func countRows(t *testing.T, file []byte) int64 {
	t.Helper()
	r := bytes.NewReader(file)
	h, err := ocf.ReadHeader(r, r.Size(), "file")
	testenv.Must(t, err)
	schema, err := shred.ParseSchema(h.Schema)
	testenv.Must(t, err)
	m, err := shred.Map(schema, shred.Options{})
	testenv.Must(t, err)
	bufs := column.NewBuffers(m.Columns, column.Interleaved, 1<<30)
	shredder := shred.NewShredder(m, bufs)
	scan := ocf.NewScanner(r, r.Size(), "file", h, ocf.Range{End: r.Size()})
	var rows int64
	for {
		var b ocf.Block
		err := scan.Next(context.Background(), &b)
		if errors.Is(err, io.EOF) {
			return rows
		}
		testenv.Must(t, err)
		for data := b.Data; len(data) > 0; rows++ {
			n, err := shredder.Row(data)
			testenv.Must(t, err)
			data = data[n:]
		}
	}
}

// The sample in testdata is made by the same command as the sets.
func TestMailIsMailgen(t *testing.T) {
	s, err := datagen.Lookup("mail")
	testenv.Must(t, err)
	var want bytes.Buffer
	testenv.Must(t, mailgen.Write(&want, mailgen.Options{Rows: 200, Seed: 2, Codec: "snappy"}))
	if !bytes.Equal(generate(t, s, datagen.Options{Rows: 200, Seed: 2, Codec: "snappy"}), want.Bytes()) {
		t.Error("the set mail differs from mailgen's")
	}
}

func TestFilesShareTheRows(t *testing.T) {
	s, err := datagen.Lookup("mails")
	testenv.Must(t, err)
	dir := filepath.Join(t.TempDir(), "below", "mails")
	testenv.Must(t, s.WriteFile(dir, datagen.Options{Rows: 250, Seed: 1}))
	names, err := filepath.Glob(filepath.Join(dir, "*.avro"))
	if err != nil || int64(len(names)) != s.Files {
		t.Fatalf("got %d files, want %d: %v", len(names), s.Files, err)
	}
	var rows int64
	for _, name := range names {
		file, err := os.ReadFile(name)
		testenv.Must(t, err)
		rows += countRows(t, file)
	}
	if rows != 250 {
		t.Errorf("got %d rows in all files, want 250", rows)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

func TestLookup(t *testing.T) {
	if _, err := datagen.Lookup("none"); err == nil {
		t.Error("no error for an unknown set")
	}
}
