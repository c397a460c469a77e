package inspect

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const hopsSchema = `{"type":"record","name":"M","fields":[{"name":"id","type":"long"},{"name":"hops","type":{"type":"array","items":` +
	`{"type":"record","name":"H","fields":[{"name":"host","type":"string"},{"name":"port","type":"int"}]}}}]}`

// hops returns a file of so many rows: an id, and that many hops modulo 3.
func hops(t *testing.T, rows int) []byte {
	t.Helper()
	cols := []column.Column{
		{Name: "id", Type: column.Long, Parent: -1},
		{Name: "hops[]", Type: column.Null, Array: true, Parent: -1},
		{Name: "hops[]#host", Type: column.String, Parent: 1},
		{Name: "hops[]#port", Type: column.Int, Parent: 1},
	}
	var file bytes.Buffer
	w, err := trevni.NewWriter(&file, hopsSchema, cols, trevni.Options{ColumnCodecs: map[string]string{"id": "null"}})
	if err != nil {
		t.Fatal(err)
	}
	for row := range rows {
		w.Column(0).AppendVarint(int64(row))
		w.Column(1).Length(uint32(row % 3))
		for range row % 3 {
			w.Column(2).AppendSized([]byte("mail.example.org"))
			w.Column(3).AppendVarint(25)
		}
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// rowless returns a file without rows of columns with these names.
func rowless(t *testing.T, names ...string) []byte {
	t.Helper()
	var cols []column.Column
	for _, name := range names {
		cols = append(cols, column.Column{Name: name, Type: column.Long, Parent: -1})
	}
	var file bytes.Buffer
	w, err := trevni.NewWriter(&file, "", cols, trevni.Options{})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// listing writes files as the parts of mail in a new directory.
func listing(t *testing.T, files ...[]byte) *dataset.Listing {
	t.Helper()
	l := &dataset.Listing{Store: store.Local(), Path: t.TempDir() + "/mail", Dir: true, Formats: format.Registry{trevni.Format}}
	if err := os.Mkdir(l.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		name := fmt.Sprintf("%s/part-%d.trv", l.Path, i)
		l.Parts = append(l.Parts, dataset.Part{Name: name, Bytes: int64(len(file)), Files: []dataset.File{{Name: name, Bytes: int64(len(file))}}})
		if err := os.WriteFile(l.Parts[i].Name, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// gather returns the figures of files as of /data/mail.
func gather(t *testing.T, files ...[]byte) *Figures {
	t.Helper()
	f, err := Gather(t.Context(), listing(t, files...), Options{Count: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Path = "/data/mail"
	return f
}
