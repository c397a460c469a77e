package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":["null","long"]},{"name":"name","type":"string"}]}`

func newPlan(indexes ...string) *manifest.Plan {
	return &manifest.Plan{Schema: schema, Request: manifest.Request{Options: manifest.Options{Index: indexes, RowGroupSize: 64 << 20}}}
}

// row is a row of the schema; id is null below 0.
type row struct {
	id   int64
	name string
}

// encode returns the row's fields in Avro encoding.
func (r row) encode() (id, name []byte) {
	id = binary.AppendVarint(nil, 0)
	if r.id >= 0 {
		id = binary.AppendVarint(binary.AppendVarint(nil, 1), r.id)
	}
	return id, append(binary.AppendVarint(nil, int64(len(r.name))), r.name...)
}

// fingerprint is the fingerprint of the indexed output.
const fingerprint = "of this output"

// output holds the files that a Sink makes, in memory.
type output struct {
	side    []task.SideFile
	success manifest.Success
	files   map[string][]byte // files of the indexes, by name
}

func content(t testing.TB, f task.NewFile) []byte {
	t.Helper()
	b, err := io.ReadAll(f.Content)
	testenv.Must(t, err)
	return b
}

func newFolder(t testing.TB) *spill.Folder {
	t.Helper()
	local, err := spill.OpenFolder(t.TempDir())
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return local
}

// checkClosed requires that no file below a folder is open.
func checkClosed(t testing.TB, local *spill.Folder) {
	t.Helper()
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if name, _ := os.Readlink(l); strings.HasPrefix(name, local.Dir()+"/") {
			t.Errorf("%s is open", name)
		}
	}
}

// memoryFile is an open file in memory.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (f memoryFile) Close() error { return nil }
func (f memoryFile) Name() string { return f.name }

func newFileOf(b []byte, name string) store.File { return memoryFile{bytes.NewReader(b), name} }

// run passes the rows of each row group of a task to the sink.
func (o *output) run(t testing.TB, s task.Sink, number int, groups ...[]row) {
	t.Helper()
	local := newFolder(t)
	a, err := s.Begin(number, local)
	testenv.Must(t, err)
	for g, rows := range groups {
		for i, r := range rows {
			id, name := r.encode()
			keys := make([][]byte, 0, 2)
			for _, p := range a.Keys() {
				keys = append(keys, map[string][]byte{"id": id, "name": name}[p])
			}
			testenv.Must(t, a.Row(&mapper.Row{Group: g, Number: int64(i), Keys: keys}))
		}
	}
	files, err := a.Finish(t.Context())
	testenv.Must(t, err)
	for _, f := range files {
		b := content(t, f)
		o.side = append(o.side, task.SideFile{Task: number, Name: f.Name, Open: func(context.Context) (store.File, error) {
			return newFileOf(b, f.Name), nil
		}})
	}
	testenv.Must(t, a.Close())
	checkClosed(t, local)
}

// indexes returns the indexes that merge made.
func (o *output) indexes() []Index {
	return IndexesOf(o.success.Request.Options.Index, o.success.Index, fingerprint)
}

// merge makes the indexes.
func (o *output) merge(t testing.TB, s task.Sink) {
	t.Helper()
	local := newFolder(t)
	o.files, o.success.Index = make(map[string][]byte), nil
	o.success.Request.Options.Index = nil
	for _, spec := range s.(*Sink).specs {
		o.success.Request.Options.Index = append(o.success.Request.Options.Index, spec.String())
	}
	err := s.Merge(t.Context(), task.Output{Fingerprint: fingerprint, Side: o.side}, local, func(f task.NewFile) error {
		b := content(t, f)
		name := path.Join(manifest.IndexDir, "0123456789abcdef", f.Name)
		o.files[name] = b
		o.success.Index = append(o.success.Index, manifest.File{Name: name, Bytes: int64(len(b)), Keys: f.Keys})
		return nil
	})
	testenv.Must(t, err)
	checkClosed(t, local)
}

// find returns the rows of a range of keys in an index, as "key task.group.row".
func (o *output) find(t testing.TB, x Index, keys rowkey.Range) (found []string) {
	t.Helper()
	r := NewReader(x, func(_ context.Context, name string) (store.File, error) { return newFileOf(o.files[name], name), nil }, nil)
	defer r.Close()
	err := r.Find(t.Context(), keys, func(key []byte, p Position) error {
		found = append(found, fmt.Sprintf("%x %d.%d.%d", key, p.Task, p.Group, p.Row))
		return nil
	})
	testenv.Must(t, err)
	return found
}

// wantRows returns the rows that an index of a field should have, in order.
func wantRows(field string, tasks ...[][]row) (all []string) {
	type entry struct{ key, position string }
	var entries []entry
	for n, groups := range tasks {
		for g, rows := range groups {
			for i, r := range rows {
				key := r.name
				if field == "id" {
					if r.id < 0 {
						continue
					}
					key = string(binary.BigEndian.AppendUint64(nil, uint64(r.id)^1<<63))
				}
				entries = append(entries, entry{key, fmt.Sprintf("%d.%d.%d", n, g, i)})
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%x %s", e.key, e.position))
	}
	return all
}

func mustSink(t testing.TB, p *manifest.Plan, memory int64) *Sink {
	t.Helper()
	s, err := NewSink(p, memory)
	testenv.Must(t, err)
	return s.(*Sink)
}

// verify checks all files of the indexes as HFiles.
func (o *output) verify(t testing.TB) {
	t.Helper()
	for name, b := range o.files {
		r, err := hfile.Open(bytes.NewReader(b), int64(len(b)), hfile.OpenOptions{Name: name})
		if err == nil {
			err = r.Verify(t.Context())
		}
		if err != nil || r.Unverified() {
			t.Errorf("%s: %v", name, err)
		}
	}
}
