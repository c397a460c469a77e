package dataset_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// streamStore is a store that reads files as streams and counts them: a stream is
// one request.
type streamStore struct {
	store.Store
	requests atomic.Int64
}

func (s *streamStore) Open(ctx context.Context, path string) (store.File, error) {
	info, err := s.Stat(ctx, path)
	return store.NewStreamFile(ctx, s, info, opener{s, path}), err
}

type opener struct {
	of   *streamStore
	path string
}

func (o opener) OpenAt(ctx context.Context, off, length int64) (io.ReadCloser, error) {
	o.of.requests.Add(1)
	f, err := o.of.Store.Open(ctx, o.path)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, off, length), f}, nil
}

// If a part has a file per column, a query opens only the files that it needs.
func TestFilesAreOpenedWhenNeeded(t *testing.T) {
	dir, _ := mailSet(t, cfile.Format, 100)
	st := storetest.NewFaulty(store.Local())
	d := openOn(t, st, dir, dataset.Options{Formats: formats})
	parts := len(d.Parts())
	if st.Calls(storetest.Open) > 0 || len(d.Parts()[0].Files) < 10 {
		t.Fatalf("%d files opened; %d parts, %d files in the first", st.Calls(storetest.Open), parts, len(d.Parts()[0].Files))
	}
	if _, _, err := scan(t, d, dataset.Query{Columns: []string{"id"}, Limit: -1}); err != nil || st.Calls(storetest.Open) != 2*parts {
		t.Errorf("%d files opened of %d parts, %v", st.Calls(storetest.Open), parts, err)
	}
}

// Columns of remote files are read in pieces of many blocks that end with the
// column.
func TestRemoteColumnsAreReadAhead(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		local := archive(t, f, 40_000)
		size := columnSizes(t, local)
		st := storetest.NewFaulty(store.Local())
		d := openOn(t, st, filepath.Dir(local.Parts()[0].Name), dataset.Options{Formats: formats})
		for _, test := range []struct {
			query   dataset.Query
			columns []string // may be read whole; nil is all
			blocks  int64    // blocks of other columns that may be read
			reads   int64    // limit for a hundred blocks
		}{
			{dataset.Query{Limit: -1}, nil, 0, 40},
			{dataset.Query{Limit: -1, Where: "score > 5"}, nil, 0, 40},
			{dataset.Query{Limit: -1, Columns: []string{"body"}}, []string{"body"}, 0, 20},
			{dataset.Query{Limit: 1, Columns: []string{"body"}}, []string{}, 1, 100},
			{dataset.Query{Limit: -1, Columns: []string{"body"}, Where: "id % 5000 == 0"}, []string{"id"}, 10, 100},
		} {
			want, _, err := scan(t, local, test.query)
			testenv.Must(t, err)
			reads, read := st.Calls(storetest.ReadAt), st.Bytes()
			got, stats, err := scan(t, d, test.query)
			if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("%+v: %d rows, want %d, %v", test.query, len(got), len(want), err)
			}
			most := firstReads + test.blocks*oneBlock
			for name, n := range size {
				if test.columns == nil || slices.Contains(test.columns, name) {
					most += n + 4<<10
				}
			}
			if read = st.Bytes() - read; stats.BytesRead != read || read > most {
				t.Errorf("%+v: %d bytes read, %d counted, want at most %d", test.query, read, stats.BytesRead, most)
			}
			if reads := int64(st.Calls(storetest.ReadAt) - reads); reads > 3*int64(max(len(size), len(local.Parts()[0].Files)))+stats.BlocksRead*test.reads/100 {
				t.Errorf("%+v: %d reads of %d blocks", test.query, reads, stats.BlocksRead)
			}
		}
	})
}

// Small columns do not take a request each.
func TestSmallRemoteColumns(t *testing.T) {
	const columns, rows = 1000, 200
	var fields strings.Builder
	for i := range columns {
		fmt.Fprintf(&fields, `,{"name":"c%d","type":"long"}`, i)
	}
	schema := `{"type":"record","name":"R","fields":[` + fields.String()[1:] + `]}`
	var data [][]byte
	for i := range rows {
		var row []byte
		for c := range columns {
			row = binary.AppendVarint(row, int64(i*c*7919))
		}
		data = append(data, row)
	}
	base := t.TempDir()
	writeAvro(t, filepath.Join(base, "in.avro"), schema, data)
	convert(t, trevni.Format, filepath.Join(base, "in.avro"), filepath.Join(base, "out"), settings{rowGroup: 64 << 20})
	st := &streamStore{Store: store.Local()}
	d, err := dataset.Open(t.Context(), locations(st, filepath.Join(base, "out")), dataset.Options{Formats: formats})
	if err != nil || len(d.Parts()) != 1 {
		t.Fatal(err)
	}
	for _, query := range []dataset.Query{{Limit: -1}, {Limit: 1}, {Limit: -1, Columns: []string{"c500", "c501", "c502", "c503", "c504"}}} {
		st.requests.Store(0)
		got, _, err := scan(t, d, query)
		if err != nil || query.Columns == nil && !slices.EqualFunc(got, data[:len(got)], bytes.Equal) {
			t.Fatalf("%+v: %d rows, %v", query, len(got), err)
		}
		if n := st.requests.Load(); n > 20 {
			t.Errorf("%+v: %d requests", query, n)
		}
	}
	p := openPart(t, st, filepath.Join(base, "out"))
	defer p.Close()
	st.requests.Store(0)
	if err := p.Verify(t.Context(), nil); err != nil || st.requests.Load() > 20 {
		t.Errorf("%d requests to verify, %v", st.requests.Load(), err)
	}
}
