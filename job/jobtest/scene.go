package jobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

const (
	schema  = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"s","type":"string"}]}`
	success = "_SUCCESS"
	maxFile = 1 << 24
)

// scene is a directory on a store with an input, and what a destination holds
// before and after the conversion.
type scene struct {
	st        store.Store
	dir, in   string
	overwrite bool
	old, want map[string]string
}

// newScene makes a scene in dir. With overwrite, destinations hold the output
// of other rows at first.
func newScene(t *testing.T, st store.Store, dir string, overwrite bool) *scene {
	t.Helper()
	s := &scene{st: st, dir: dir, in: path.Join(dir, "a.avro"), overwrite: overwrite}
	if overwrite {
		s.writeInput(t, 1, 15)
		s.old = s.converted(t, "old")
	}
	s.writeInput(t, 2, 12)
	s.want = s.converted(t, "ref")
	return s
}

// writeInput writes an input of so many blocks of 100 rows.
func (s *scene) writeInput(t *testing.T, seed uint64, blocks int) {
	t.Helper()
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, schema, "null", [16]byte{1, 2, 3, byte(seed)})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for b := range blocks {
		var rows []byte
		for i := range 100 {
			rows = binary.AppendVarint(rows, int64(b*100+i))
			rows = binary.AppendVarint(rows, 16)
			rows = fmt.Appendf(rows, "%016x", r.Uint64())
		}
		if err := w.AppendBlock(100, rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.st.WriteFile(t.Context(), s.in, file.Bytes(), false); err != nil {
		t.Fatal(err)
	}
}

// request is a job of small row groups, so that a few blocks make several
// tasks, on a store that may fail.
func (s *scene) request(t *testing.T, st store.Store, name string) job.Request {
	return job.Request{
		Inputs: []string{s.in}, Dest: path.Join(s.dir, name), Workers: 1, Overwrite: s.overwrite, TempDir: t.TempDir(),
		Options: manifest.Options{Format: "trevni", RowGroupSize: 16 << 10, Codec: "null", Checksum: "crc32", MaxLostRows: -1},
		NewFormat: func(o manifest.Options) (format.Format, error) {
			return trevni.NewFormat(trevni.Options{Codec: o.Codec, Checksum: o.Checksum}), nil
		},
		Resolve: on(st),
	}
}

// on resolves every location to one store.
func on(st store.Store) job.Resolve {
	return func(location string) (store.Location, error) { return store.Location{Store: st, Path: location}, nil }
}

// converted runs a job without disturbance and returns its output.
func (s *scene) converted(t *testing.T, name string) map[string]string {
	t.Helper()
	r := s.request(t, s.st, name)
	s.finish(t, r)
	return s.tree(t, r.Dest)
}

// finish runs a job on the store itself; it must succeed.
func (s *scene) finish(t *testing.T, r job.Request) {
	t.Helper()
	r.Resolve = on(s.st)
	if _, err := job.Convert(context.Background(), r); err != nil {
		t.Fatal(err)
	}
}

// begin makes a destination in its first state and the request to change it.
func (s *scene) begin(t *testing.T, st store.Store, name string) job.Request {
	t.Helper()
	r := s.request(t, st, name)
	if s.overwrite {
		if err := storetest.MkdirAll(t.Context(), s.st, r.Dest); err != nil {
			t.Fatal(err)
		}
		for file := range s.old {
			b, err := s.st.ReadFile(t.Context(), path.Join(s.dir, "old", file), maxFile)
			if err == nil {
				err = s.st.WriteFile(t.Context(), path.Join(r.Dest, file), b, true)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// tree returns a digest of every file below dir, by relative name. A file that
// a dead run did not close has none.
func (s *scene) tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	s.walk(t, dir, "", files)
	return files
}

func (s *scene) walk(t *testing.T, dir, below string, files map[string]string) {
	t.Helper()
	infos, err := s.st.List(t.Context(), path.Join(dir, below))
	if errors.Is(err, store.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		name := path.Join(below, info.Name)
		if info.Dir {
			s.walk(t, dir, name, files)
			continue
		}
		b, err := s.st.ReadFile(t.Context(), path.Join(dir, name), maxFile)
		switch {
		case errors.Is(err, store.ErrBeingWritten):
			files[name] = "open"
		case err != nil:
			t.Fatal(err)
		default:
			files[name] = fmt.Sprintf("%d %x", len(b), sha256.Sum256(b))
		}
	}
}

// check looks at a destination after a failure as a reader would.
func (s *scene) check(t *testing.T, dest string) {
	t.Helper()
	got := s.tree(t, dest)
	for name, sum := range got {
		if strings.HasPrefix(name, "part-") && sum != s.old[name] && sum != s.want[name] {
			t.Errorf("%s holds neither the old nor the new bytes", name)
		}
	}
	doc, ok := got[success]
	if !ok {
		return
	}
	whole := s.want
	switch doc {
	case s.want[success]:
	case s.old[success]:
		whole = s.old
	default:
		t.Errorf("%s holds neither the old nor the new document", success)
	}
	for name, sum := range whole {
		if got[name] != sum {
			t.Errorf("there is a %s, but %s is not its file", success, name)
		}
	}
}

// complete requires a destination to hold the output and nothing else.
func (s *scene) complete(t *testing.T, dest string) {
	t.Helper()
	got := s.tree(t, dest)
	for name, sum := range s.want {
		if got[name] != sum {
			t.Errorf("%s: %.24q, want %.24q", name, got[name], sum)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is left behind", name)
	}
}
