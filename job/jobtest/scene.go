package jobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/job/task/tasktest"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

const maxFile = 1 << 24

// scene is a directory on a store with an input, and the expected outputs at a
// destination before and after the conversion.
type scene struct {
	st        store.Store
	dir, in   string
	overwrite bool
	layout    *layout
	old, want output
}

// output is the part of an output that is the same in every run: the digests of its
// files in order, and of its manifest without IDs, times and measurements.
type output struct {
	files    []string
	manifest string
}

// layout is a format that stores full row groups as directories, and others as files.
type layout struct {
	format.Format
	options      string
	rowGroupSize int64
}

var (
	trevniFiles  = newLayout(trevni.Format, `{"codec":"null","checksum":"crc32"}`, 16<<10, 12<<10)
	parquetFiles = newLayout(parquet.Format, `{"compression":"none"}`, 32<<10, 16<<10)
)

// newLayout returns a layout. Row groups of more than full bytes are full.
func newLayout(f format.Format, options string, rowGroupSize, full int64) *layout {
	return &layout{formattest.Split{Format: f, Only: func(size int64) bool { return size > full }}, options, rowGroupSize}
}

// newScene makes a scene in dir. With overwrite, destinations first hold an output
// with other rows, and outputs are Parquet files with an index. Otherwise they are Trevni files.
func newScene(t *testing.T, st store.Store, dir string, overwrite bool) *scene {
	t.Helper()
	s := &scene{st: st, dir: dir, in: path.Join(dir, "a.avro"), overwrite: overwrite, layout: trevniFiles}
	if overwrite {
		s.layout = parquetFiles
		s.writeInput(t, 1, 15)
		s.old = s.convert(t, "old")
	}
	s.writeInput(t, 2, 12)
	s.want = s.convert(t, "ref")
	if overwrite {
		s.checkIndex(t, "ref", avrotest.Blocks(2, 12))
	}
	if n, dirs := s.parts(t, "ref"); dirs == 0 || dirs == n {
		t.Fatalf("%d of %d parts are directories", dirs, n)
	}
	return s
}

// parts returns how many parts an output has, and how many are directories.
func (s *scene) parts(t *testing.T, name string) (n, dirs int) {
	t.Helper()
	m, err := s.success(t.Context(), path.Join(s.dir, name))
	testenv.Must(t, err)
	for i := range m.Parts {
		if n++; m.Parts[i].Entry().Dir {
			dirs++
		}
	}
	return n, dirs
}

// checkIndex requires that an output has an index of its rows.
func (s *scene) checkIndex(t *testing.T, name string, rows [][]byte) {
	t.Helper()
	m, err := s.success(t.Context(), path.Join(s.dir, name))
	if err != nil || len(m.Index) != 1 {
		t.Fatalf("%d indexes, %v", len(m.Index), err)
	}
	got, err := s.st.ReadFile(t.Context(), path.Join(s.dir, name, m.Index[0].Name), maxFile)
	if want := tasktest.IndexOf(m.Parts, rows); err != nil || string(got) != want {
		t.Fatalf("an index of %d bytes, want %d: %v", len(got), len(want), err)
	}
}

// writeInput writes an input with the given number of blocks of 100 rows.
func (s *scene) writeInput(t *testing.T, seed uint64, blocks int) {
	t.Helper()
	file := avrotest.File(t, avrotest.Schema, [16]byte{1, 2, 3, byte(seed)}, avrotest.BlockRows, avrotest.Blocks(seed, blocks)...)
	testenv.Must(t, s.st.WriteFile(t.Context(), s.in, file, false))
}

// request returns a request with small row groups, so that a few blocks make several
// tasks, on a store that may fail.
func (s *scene) request(t *testing.T, st store.Store, name string) job.Request {
	r := job.Request{
		Asked: plan.Asked{Inputs: []string{s.in}, Dest: path.Join(s.dir, name), Output: manifest.Options{
			Format: s.layout.Name(), FormatOptions: json.RawMessage(s.layout.options), RowGroupSize: s.layout.rowGroupSize, MaxLostRows: -1,
		}},
		Options: job.Options{Overwrite: s.overwrite, Environment: task.Environment{Workers: 1, TempDir: t.TempDir(), Formats: format.Registry{s.layout.Format}, Resolve: storetest.ResolveTo(st)}},
	}
	if s.overwrite {
		r.Sink = tasktest.Keys{Field: "s"}.Of
	}
	return r
}

// convert runs a job without disturbance and returns its output.
func (s *scene) convert(t *testing.T, name string) output {
	t.Helper()
	r := s.request(t, s.st, name)
	s.finish(t, r)
	out, err := s.read(t.Context(), r.Dest)
	testenv.Must(t, err)
	return out
}

// finish runs a job on the store itself. The job must succeed.
func (s *scene) finish(t *testing.T, r job.Request) {
	t.Helper()
	r.Resolve = storetest.ResolveTo(s.st)
	if _, err := job.Convert(context.Background(), r); err != nil {
		t.Fatal(err)
	}
}

// begin makes a destination in its initial state and the request to change it.
func (s *scene) begin(t *testing.T, st store.Store, name string) job.Request {
	t.Helper()
	r := s.request(t, st, name)
	if s.overwrite {
		testenv.Must(t, s.st.Mkdir(t.Context(), r.Dest))
		for file := range s.tree(t, path.Join(s.dir, "old")) {
			b, err := s.st.ReadFile(t.Context(), path.Join(s.dir, "old", file), maxFile)
			if err == nil {
				err = storetest.MkdirAll(t.Context(), s.st, path.Dir(path.Join(r.Dest, file)))
			}
			if err == nil {
				err = s.st.WriteFile(t.Context(), path.Join(r.Dest, file), b, true)
			}
			testenv.Must(t, err)
		}
	}
	return r
}

// tree returns a digest of every file below dir, by relative name. The digest of a file that a
// dead run did not close is "open", and that of an empty directory is empty.
func (s *scene) tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	s.walk(t, dir, "", files)
	return files
}

// empty takes the place of the digest of a directory without files.
const empty = "empty"

func (s *scene) walk(t *testing.T, dir, below string, files map[string]string) {
	t.Helper()
	infos, err := s.st.List(t.Context(), path.Join(dir, below))
	if errors.Is(err, store.ErrNotExist) {
		return
	}
	testenv.Must(t, err)
	for _, info := range infos {
		name := path.Join(below, info.Name)
		if info.Name == manifest.InputsName {
			continue // whether it is there depends on how old the inputs are
		}
		if info.Dir {
			before := len(files)
			if s.walk(t, dir, name, files); len(files) == before {
				files[name] = empty
			}
			continue
		}
		b, err := s.st.ReadFile(t.Context(), path.Join(dir, name), maxFile)
		switch {
		case errors.Is(err, store.ErrBeingWritten):
			files[name] = "open"
		case err != nil:
			t.Fatal(err)
		default:
			files[name] = digest(b)
		}
	}
}

// errNone is returned if there is no output.
var errNone = errors.New("there is no output")

// success reads the manifest of an output. If there is none, the error is errNone.
func (s *scene) success(ctx context.Context, dest string) (*manifest.Success, error) {
	text, err := s.st.ReadFile(ctx, path.Join(dest, manifest.SuccessName), maxFile)
	if errors.Is(err, store.ErrNotExist) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	return manifest.DecodeSuccess(text)
}

// read reads an output as readers do. If there is none, the error is errNone.
func (s *scene) read(ctx context.Context, dest string) (out output, err error) {
	m, err := s.success(ctx, dest)
	if err != nil {
		return out, err
	}
	for _, f := range m.Files() {
		b, err := s.st.ReadFile(ctx, path.Join(dest, f.Name), maxFile)
		if err != nil {
			return out, fmt.Errorf("there is a %s: %w", manifest.SuccessName, err)
		}
		out.files = append(out.files, digest(b))
	}
	id := m.ID
	m.ID, m.Plan, m.Sequence, m.Replaces, m.Made = "", "", 0, nil, nil
	for i := range m.Request.Inputs {
		in := &m.Request.Inputs[i]
		in.FileID, in.ModTime, in.Recent = 0, time.Time{}, false
	}
	b, err := json.Marshal(m) // without a checksum, which depends on the ID
	out.manifest = digest(bytes.ReplaceAll(b, []byte(id), nil))
	return out, err
}

func digest(b []byte) string { return fmt.Sprintf("%d %x", len(b), sha256.Sum256(b)) }

func (o output) equal(other output) bool {
	return o.manifest == other.manifest && slices.Equal(o.files, other.files)
}

var partName = regexp.MustCompile(`^part-`)

// check checks a destination after a failure, as a reader and by listing it. It must
// have the old or the new output, or none.
func (s *scene) check(t *testing.T, dest string) {
	t.Helper()
	for name, sum := range s.tree(t, dest) {
		if partName.MatchString(name) && sum != empty && !slices.Contains(s.old.files, sum) && !slices.Contains(s.want.files, sum) {
			t.Errorf("%s holds neither the old nor the new bytes", name)
		}
	}
	got, err := s.read(t.Context(), dest)
	if errors.Is(err, errNone) {
		return
	}
	if err != nil || !got.equal(s.want) && !got.equal(s.old) {
		t.Errorf("there is neither the old nor the new output: %v", err)
	}
}

// hasOutput reports whether a destination holds the new output.
func (s *scene) hasOutput(t *testing.T, dest string) bool {
	t.Helper()
	got, err := s.read(t.Context(), dest)
	return err == nil && got.equal(s.want)
}

// keptFiles returns the documents of kept outputs in a destination, and the files that they list.
func (s *scene) keptFiles(t *testing.T, dest string) (names []string) {
	t.Helper()
	for name := range s.tree(t, dest) {
		if dir, base := path.Split(name); dir != manifest.WorkName+"/" || !strings.HasPrefix(base, manifest.KeptName("")) {
			continue
		}
		text, err := s.st.ReadFile(t.Context(), path.Join(dest, name), maxFile)
		testenv.Must(t, err)
		k, err := manifest.DecodeKept(text)
		testenv.Must(t, err)
		names = append(names, name)
		for _, f := range k.Files() {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkComplete requires a destination to hold the new output and the files of kept ones, and
// nothing else.
func (s *scene) checkComplete(t *testing.T, dest string) {
	t.Helper()
	if !s.hasOutput(t, dest) {
		_, err := s.read(t.Context(), dest)
		t.Errorf("the new output is missing: %v", err)
		return
	}
	m, err := s.success(t.Context(), dest)
	testenv.Must(t, err)
	got := s.tree(t, dest)
	delete(got, manifest.SuccessName)
	for _, f := range m.Files() {
		delete(got, f.Name)
	}
	kept := s.keptFiles(t, dest)
	for _, name := range kept {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is not kept", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is left over", name)
	}
	if _, err := s.st.Stat(t.Context(), path.Join(dest, manifest.WorkName)); len(kept) == 0 && !errors.Is(err, store.ErrNotExist) {
		t.Errorf("%s is left over (%v)", manifest.WorkName, err)
	}
}
