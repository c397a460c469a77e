package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const maxFile = 1 << 24

// avroFile returns an Avro file with the given number of uncompressed blocks of 100 rows.
func avroFile(t testing.TB, seed uint64, blocks int) []byte {
	t.Helper()
	return avrotest.File(t, avrotest.Schema, [16]byte{1, 2, 3, byte(seed)}, avrotest.BlockRows, avrotest.Blocks(seed, blocks)...)
}

// writeInput writes an Avro file on local disk, and makes its directory if needed.
func writeInput(t testing.TB, file string, seed uint64, blocks int) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o777))
	write(t, file, avroFile(t, seed, blocks))
	old := time.Unix(1e9+int64(seed), int64(blocks)) // a different time for different rows
	testenv.Must(t, os.Chtimes(file, old, old))
}

func write(t testing.TB, file string, b []byte) {
	t.Helper()
	testenv.Must(t, os.WriteFile(file, b, 0o666))
}

// damageBlock overwrites the first row of the first block after an offset, so that it
// cannot be decoded.
func damageBlock(t testing.TB, b []byte, seed byte, after int) {
	t.Helper()
	i := bytes.Index(b[after:], []byte{1, 2, 3, seed, 0, 0})
	if i < 0 {
		t.Fatal("there is no block")
	}
	copy(b[after+i+16+4:], bytes.Repeat([]byte{0xff}, 10))
}

// request returns a request with small row groups, so that a few blocks make several
// tasks.
func request(t testing.TB, dest string, inputs ...string) Request {
	return Request{
		Asked: plan.Asked{Inputs: inputs, Dest: dest, Output: manifest.Options{
			Format: "trevni", FormatOptions: json.RawMessage(`{"codec":"null","checksum":"crc32"}`), RowGroupSize: 16 << 10, MaxLostRows: -1,
		}},
		Options: Options{
			Environment: task.Environment{Workers: 2, TempDir: t.TempDir(), Formats: format.Registry{trevni.Format}},
			Destination: publish.Options{Times: publish.Times{Stale: time.Millisecond}},
		},
	}
}

// fileNames returns the relative names of the files below a directory.
func fileNames(t testing.TB, st store.Store, dir string) (all []string) {
	t.Helper()
	infos, err := st.List(t.Context(), dir)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Name == manifest.InputsName {
			continue // whether it is there depends on how old the inputs are
		}
		if !info.Dir {
			all = append(all, info.Name)
			continue
		}
		for _, name := range fileNames(t, st, info.Path) {
			all = append(all, path.Join(info.Name, name))
		}
	}
	return all
}

// success reads the manifest of an output.
func success(t testing.TB, st store.Store, dest string) *manifest.Success {
	t.Helper()
	b, err := st.ReadFile(t.Context(), path.Join(dest, manifest.SuccessName), maxFile)
	testenv.Must(t, err)
	s, err := manifest.DecodeSuccess(b)
	testenv.Must(t, err)
	return s
}

// contents returns the names, without the output's ID, and the digests of an output's
// files, in the order of its manifest.
func contents(t testing.TB, st store.Store, dest string) (all []string) {
	t.Helper()
	s := success(t, st, dest)
	for _, f := range s.Files() {
		b, err := st.ReadFile(t.Context(), path.Join(dest, f.Name), maxFile)
		testenv.Must(t, err)
		all = append(all, fmt.Sprintf("%s %x", strings.ReplaceAll(f.Name, s.ID, "ID"), sha256.Sum256(b)))
	}
	return all
}

// wantContents requires that a destination holds an output, and otherwise only
// the work of tasks of other processes.
func wantContents(t testing.TB, st store.Store, dest string, want []string) {
	t.Helper()
	if got := contents(t, st, dest); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dest, got, want)
	}
	listed := []string{manifest.SuccessName}
	for _, f := range success(t, st, dest).Files() {
		listed = append(listed, f.Name)
	}
	for _, name := range fileNames(t, st, dest) {
		if !slices.Contains(listed, name) && !strings.HasPrefix(name, manifest.WorkName+"/plan-") {
			t.Errorf("%s should not be in %s", name, dest)
		}
	}
}

// wantNone requires that the destination does not exist.
func wantNone(t testing.TB, dest string) {
	t.Helper()
	if _, err := os.Stat(dest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the destination exists (%v): %v", err, fileNames(t, store.Local(), dest))
	}
}

func mustConvert(t testing.TB, r Request) *Outcome {
	t.Helper()
	out, err := Convert(context.Background(), r)
	testenv.Must(t, err)
	return out
}

// reference returns the contents of the output of a request at another destination.
func reference(t testing.TB, st store.Store, r Request) []string {
	t.Helper()
	r.Dest += ".reference"
	mustConvert(t, r)
	return contents(t, st, r.Dest)
}

// newPlan makes the plan of a request, encodes it and decodes it again.
func newPlan(t testing.TB, r Request) *manifest.Plan {
	t.Helper()
	s, state, err := Survey(t.Context(), r)
	testenv.Must(t, err)
	p, err := s.Plan(t.Context(), state.ID(), state.OutputIDs()...)
	testenv.Must(t, err)
	b, err := p.Encode()
	testenv.Must(t, err)
	if p, err = manifest.DecodePlan(b); err != nil {
		t.Fatal(err)
	}
	return p
}

// allTasks returns the numbers of a plan's tasks.
func allTasks(p *manifest.Plan) (numbers []int) {
	for i := range p.Tasks {
		numbers = append(numbers, i)
	}
	return numbers
}

// mustRun runs tasks of a plan, and returns the number of tasks that were already done.
func mustRun(t testing.TB, p *manifest.Plan, o Options, numbers ...int) (done int) {
	t.Helper()
	results, done, err := RunTasks(t.Context(), p, o, numbers)
	testenv.Must(t, err)
	for i, res := range results {
		if res == nil || res.Task != numbers[i] {
			t.Fatalf("the result of task %d is %+v", numbers[i], res)
		}
	}
	return done
}

func mustCommit(t testing.TB, p *manifest.Plan, o Options) *Outcome {
	t.Helper()
	out, err := Commit(t.Context(), p, o)
	testenv.Must(t, err)
	return out
}
