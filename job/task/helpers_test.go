package task

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// avroFile returns an uncompressed Avro file of blocks of 100 rows each.
func avroFile(t testing.TB, schema string, blocks ...string) []byte {
	t.Helper()
	rows := make([][]byte, len(blocks))
	for i, b := range blocks {
		rows[i] = []byte(b)
	}
	return avrotest.File(t, schema, [16]byte{1, 2, 3}, avrotest.BlockRows, rows...)
}

// inputBlocks returns the rows of each block of an input of avrotest.Schema.
func inputBlocks(name string, n int) (blocks []string) {
	for _, rows := range avrotest.Blocks(uint64(name[0]), n) {
		blocks = append(blocks, string(rows))
	}
	return blocks
}

// writeInput writes an Avro file of avrotest.Schema and returns its path and rows.
func writeInput(t testing.TB, dir, name string, blocks int) (path, rows string) {
	t.Helper()
	path, data := filepath.Join(dir, name), inputBlocks(name, blocks)
	writeOldFile(t, path, avroFile(t, avrotest.Schema, data...))
	return path, strings.Join(data, "")
}

// damageBlock overwrites the first row of the block that begins after the middle
// of a file.
func damageBlock(t testing.TB, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	testenv.Must(t, err)
	sync := len(b)/2 + bytes.Index(b[len(b)/2:], []byte{1, 2, 3, 0, 0, 0})
	copy(b[sync+16+4:], bytes.Repeat([]byte{0xff}, 10))
	writeOldFile(t, file, b)
}

// oldTime is the time at which inputs were modified.
var oldTime = time.Unix(1e9, 0)

// writeOldFile writes an input with an old time of modification, which damage does not change.
func writeOldFile(t testing.TB, path string, data []byte) {
	t.Helper()
	testenv.Must(t, os.WriteFile(path, data, 0o666))
	testenv.Must(t, os.Chtimes(path, oldTime, oldTime))
}

// newPlan makes a plan for inputs on local disk that all have the schema of the first. Each
// task has at most split bytes of one input.
func newPlan(t testing.TB, split int64, inputs ...string) *manifest.Plan {
	t.Helper()
	return newPlanOn(t, nil, split, inputs...)
}

func newPlanOn(t testing.TB, resolve input.Resolve, split int64, inputs ...string) *manifest.Plan {
	t.Helper()
	p := &manifest.Plan{
		Version: manifest.Version, Dest: "/out", Columns: 2, BlockSize: 4 << 10, SplitSize: split, Ratio: 1,
		Request: manifest.Request{Options: manifest.Options{
			Format: "trevni", FormatOptions: json.RawMessage(`{"codec":"null"}`), RowGroupSize: 1 << 20, OnDamage: "fail", MaxInputBlock: 1 << 20, MaxLostRows: -1,
		}},
	}
	for i, name := range inputs {
		in, h, err := input.Describe(t.Context(), resolve, name)
		testenv.Must(t, err)
		if i == 0 {
			p.Schema = h.Schema
		}
		p.Request.Inputs = append(p.Request.Inputs, in)
		for start := int64(0); start < in.Size; start += split {
			p.Tasks = append(p.Tasks, manifest.Task{
				ID: len(p.Tasks), Pieces: []manifest.Piece{{Input: i, Start: start, End: min(start+split, in.Size)}},
			})
		}
	}
	seal(t, p)
	return p
}

// resolveTo makes a plan resolve its rows to a reader's schema.
func resolveTo(t testing.TB, p *manifest.Plan, schema string, columns int) {
	t.Helper()
	p.Schema, p.Request.Schema, p.Columns = schema, schema, columns
	seal(t, p)
}

// mergeTasks puts all pieces into one task.
func mergeTasks(t testing.TB, p *manifest.Plan) {
	t.Helper()
	for _, other := range p.Tasks[1:] {
		p.Tasks[0].Pieces = append(p.Tasks[0].Pieces, other.Pieces...)
	}
	p.Tasks = p.Tasks[:1]
	seal(t, p)
}

// seal sets the ID of a plan, with which it can be decoded.
func seal(t testing.TB, p *manifest.Plan) {
	t.Helper()
	var err error
	if p.ID, err = p.Sum(); err != nil {
		t.Fatal(err)
	}
}

// options returns options for a Runner on local disk.
func options(t testing.TB) Options {
	return Options{Environment: Environment{
		Workers: 2, Memory: budget.New(128 << 20), TempDir: t.TempDir(), Program: "test",
		Formats: format.Registry{trevni.Format},
	}}
}

func mustOpen(t testing.TB, p *manifest.Plan, o Options) *Runner {
	t.Helper()
	r, err := Open(p, o)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// allTasks returns the numbers of a plan's tasks.
func allTasks(p *manifest.Plan) (numbers []int) {
	for i := range p.Tasks {
		numbers = append(numbers, i)
	}
	return numbers
}

// run runs all tasks of a plan in a new directory on local disk.
func run(t testing.TB, p *manifest.Plan, o Options) (dir string, results []*manifest.TaskResult, err error) {
	t.Helper()
	dir = t.TempDir()
	results, err = mustOpen(t, p, o).Run(t.Context(), store.Local(), dir, allTasks(p))
	return dir, results, err
}

func mustRun(t testing.TB, p *manifest.Plan, o Options) (dir string, results []*manifest.TaskResult) {
	t.Helper()
	dir, results, err := run(t, p, o)
	testenv.Must(t, err)
	return dir, results
}

// fileNames lists a directory on local disk.
func fileNames(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.Must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// readRows returns the concatenated rows of the results.
func readRows(t testing.TB, st store.Store, dir string, results []*manifest.TaskResult) string {
	t.Helper()
	var all []byte
	for _, res := range results {
		for _, p := range res.Parts {
			all = appendRows(t, st, filepath.Join(dir, p.Files[0].Name), p.Rows, all)
		}
	}
	return string(all)
}

func appendRows(t testing.TB, st store.Store, path string, n int64, all []byte) []byte {
	t.Helper()
	file, err := st.Open(t.Context(), path)
	testenv.Must(t, err)
	defer func() { _ = file.Close() }()
	f, err := trevni.Open(file, file.Size(), path)
	if err != nil || f.RowCount() != n {
		t.Fatalf("%s: want %d rows, %v", path, n, err)
	}
	schema, err := shred.ParseSchema(f.Schema())
	testenv.Must(t, err)
	m, err := shred.Map(schema, shred.Options{})
	testenv.Must(t, err)
	values := make([]shred.Values, len(m.Columns))
	for i := range values {
		if values[i], err = f.Cursor(i); err != nil {
			t.Fatal(err)
		}
	}
	assembler := shred.NewAssembler(m, values, nil)
	assembler.Start(n)
	for range n {
		if all, err = assembler.Row(all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
