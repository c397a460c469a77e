package inspect

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
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
	var choices map[string][]string
	switch f {
	case trevni.Format:
		choices = map[string][]string{"codec": {"id=null"}}
	case parquet.Format:
		choices = map[string][]string{"bloom-filter": {"hops[]#port"}}
	}
	all := make([][]byte, rows)
	for i := range all {
		row := binary.AppendVarint(nil, int64(i))
		if n := int64(i % 3); n > 0 {
			row = binary.AppendVarint(row, n)
			for range n {
				row = append(binary.AppendVarint(row, 16), "mail.example.org"...)
				row = binary.AppendVarint(row, 25)
			}
		}
		all[i] = append(row, 0)
	}
	return formattest.Rows(t, f, choices, hopsSchema, all, 0).Files(t)
}

// rowless returns a part without rows whose columns have the names.
func rowless(t *testing.T, f format.Format, names ...string) files {
	t.Helper()
	var fields []string
	for _, name := range names {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":"long"}`, name))
	}
	schema := `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
	return formattest.Rows(t, f, nil, schema, nil, 0).Files(t)
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
