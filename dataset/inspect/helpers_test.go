package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const hopsSchema = `{"type":"record","name":"M","fields":[{"name":"id","type":"long"},{"name":"hops","type":{"type":"array","items":` +
	`{"type":"record","name":"H","fields":[{"name":"host","type":"string"},{"name":"port","type":"int"}]}}}]}`

var formats = format.Registry{trevni.Format, cfile.Format, parquet.Format}

// files are the contents of a part's files by their names. The name is "" if the
// part is one file.
type files map[string][]byte

func (f files) size() (n int64) {
	for _, b := range f {
		n += int64(len(b))
	}
	return n
}

// hops returns a part of n rows, each with an id and id modulo 3 hops.
func hops(t *testing.T, f format.Format, rows int) files {
	t.Helper()
	cols := []column.Column{
		{Name: "id", Type: column.Long, Parent: -1},
		{Name: "hops[]", Type: column.Null, Array: true, Parent: -1},
		{Name: "hops[]#host", Type: column.String, Parent: 1},
		{Name: "hops[]#port", Type: column.Int, Parent: 1},
	}
	options := formattest.Options(t, f, nil)
	if f == trevni.Format {
		options = formattest.Options(t, f, map[string][]string{"codec": {"id=null"}})
	}
	return formattest.Source{Format: f, Options: options, Schema: hopsSchema, Columns: cols, Rows: rows, Fill: func(to *column.Buffers, row int) {
		to.Cols[0].AppendVarint(int64(row))
		to.Cols[1].Length(uint32(row % 3))
		for range row % 3 {
			to.Cols[2].AppendSized([]byte("mail.example.org"))
			to.Cols[3].AppendVarint(25)
		}
	}}.Files(t)
}

// rowless returns a part without rows whose columns have the names.
func rowless(t *testing.T, f format.Format, names ...string) files {
	t.Helper()
	var cols []column.Column
	for _, name := range names {
		cols = append(cols, column.Column{Name: name, Type: column.Long, Parent: -1})
	}
	return formattest.Source{Format: f, Columns: cols}.Files(t)
}

// listing writes the parts into a new directory mail and lists them.
func listing(t *testing.T, f format.Format, parts ...files) *dataset.Listing {
	t.Helper()
	dir := t.TempDir() + "/mail"
	for i, part := range parts {
		for name, b := range part {
			path := filepath.Join(dir, fmt.Sprintf("part-%d%s", i, f.Suffix()), name)
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
			testenv.Must(t, err)
		}
	}
	if len(parts) == 0 {
		return &dataset.Listing{Path: dir, Dir: true, Formats: formats}
	}
	l, err := dataset.List(t.Context(), []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: formats, Partial: true})
	testenv.Must(t, err)
	return l
}

// gather returns the figures of the parts, with the path /data/mail.
func gather(t *testing.T, f format.Format, parts ...files) *Figures {
	t.Helper()
	g, err := Gather(t.Context(), listing(t, f, parts...), Options{Count: true})
	testenv.Must(t, err)
	g.Path = "/data/mail"
	return g
}
