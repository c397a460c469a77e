package job

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// incrementalRequest returns a request to convert dir/in incrementally to dir/out.
func incrementalRequest(t *testing.T, dir string) Request {
	t.Helper()
	r := request(t, dir+"/out", dir+"/in")
	r.Incremental = true
	return r
}

func mustAdd(t *testing.T, r Request) *Outcome {
	t.Helper()
	out, err := Convert(t.Context(), r)
	testenv.Must(t, err)
	return out
}

// hookStore is a store that calls functions before some operations.
type hookStore struct {
	store.Store
	open   func(p string)
	mkdir  func(p string)
	rename func(to string) error
}

func (h *hookStore) Open(ctx context.Context, p string) (store.File, error) {
	if h.open != nil {
		h.open(p)
	}
	return h.Store.Open(ctx, p)
}

func (h *hookStore) Mkdir(ctx context.Context, p string) error {
	if h.mkdir != nil {
		h.mkdir(p)
	}
	return h.Store.Mkdir(ctx, p)
}

func (h *hookStore) Rename(ctx context.Context, from, to string) error {
	if h.rename != nil {
		if err := h.rename(to); err != nil {
			return err
		}
	}
	return h.Store.Rename(ctx, from, to)
}

// TestKnownInputsAreNotOpened checks how many files a conversion opens.
func TestKnownInputsAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		writeInput(t, dir+"/in/"+name+".avro", 1, 2)
	}
	mustAdd(t, incrementalRequest(t, dir))
	writeInput(t, dir+"/in/d.avro", 2, 2)
	var opened, others atomic.Int64
	r := incrementalRequest(t, dir)
	r.Resolve = storetest.ResolveTo(&hookStore{Store: store.Local(), open: func(p string) {
		switch {
		case path.Base(p) == "d.avro":
			opened.Add(1)
		case strings.HasPrefix(p, dir+"/in/"):
			others.Add(1)
		}
	}})
	if out := mustAdd(t, r); len(out.Manifest.Request.Inputs) != 1 || opened.Load() == 0 || others.Load() != 0 {
		t.Errorf("%d inputs; the new one was opened %d times, others %d times", len(out.Manifest.Request.Inputs), opened.Load(), others.Load())
	}
	opened.Store(0)
	if out := mustAdd(t, r); !out.Nothing || opened.Load()+others.Load() != 0 {
		t.Errorf("%+v; %d inputs were opened", out, opened.Load()+others.Load())
	}
}

// TestResumeSomeInputs checks that an unfinished conversion is completed, and that newer
// inputs become an increment of their own.
func TestResumeSomeInputs(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 12)
	left := interrupt(t, incrementalRequest(t, dir), 2)
	writeInput(t, dir+"/in/b.avro", 2, 3)
	out := mustAdd(t, incrementalRequest(t, dir))
	if len(out.Published) != 2 || out.Nothing || out.Manifest != out.Published[1] || out.Resumed != 0 && out.Resumed < len(left) {
		t.Fatalf("%d increments, nothing: %v, resumed %d of %d", len(out.Published), out.Nothing, out.Resumed, len(left))
	}
	for i, name := range []string{"a.avro", "b.avro"} {
		if in := out.Published[i].Request.Inputs; len(in) != 1 || path.Base(in[0].Path) != name {
			t.Errorf("increment %d has the inputs %+v, want %s", i, in, name)
		}
	}

	// A conversion is not resumed if an input has changed,
	writeInput(t, dir+"/in/c.avro", 3, 12)
	interrupt(t, incrementalRequest(t, dir), 2)
	writeInput(t, dir+"/in/c.avro", 4, 12)
	if out := mustAdd(t, incrementalRequest(t, dir)); len(out.Published) != 1 || out.Resumed != 0 {
		t.Errorf("%d increments, %d tasks resumed", len(out.Published), out.Resumed)
	}
	// or if its options differ.
	writeInput(t, dir+"/in/d.avro", 5, 12)
	interrupt(t, incrementalRequest(t, dir), 2)
	r := incrementalRequest(t, dir)
	r.Output.RowGroupSize *= 2
	if out := mustAdd(t, r); len(out.Published) != 1 || out.Resumed != 0 {
		t.Errorf("%d increments, %d tasks resumed", len(out.Published), out.Resumed)
	}
	// A conversion that replaces everything does not resume an increment.
	writeInput(t, dir+"/in/e.avro", 6, 12)
	interrupt(t, incrementalRequest(t, dir), 2)
	r = request(t, dir+"/out", dir+"/in/e.avro")
	r.Overwrite = true
	if out := mustAdd(t, r); out.Resumed != 0 || out.Manifest.Increment {
		t.Errorf("%d tasks resumed: %+v", out.Resumed, out.Manifest)
	}
}

// TestIncrementBeforeAFailure checks that an increment that was published before a failure is
// in the error and in the outcome.
func TestIncrementBeforeAFailure(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 12)
	interrupt(t, incrementalRequest(t, dir), 2)
	b := avroFile(t, 2, 1)
	damageBlock(t, b, 2, 0)
	write(t, dir+"/in/b.avro", b)
	out, err := Convert(t.Context(), incrementalRequest(t, dir))
	runs, globErr := filepath.Glob(dir + "/out/increment-*")
	if globErr != nil || len(runs) != 1 || out == nil || len(out.Published) != 1 {
		t.Fatalf("there are the increments %q, and the outcome is %+v: %v", runs, out, globErr)
	}
	failuretest.Want(t, err, failure.Input, "after "+path.Base(runs[0])+" was published", "b.avro")
}

// TestUnfinishedRunStays checks that an unfinished run stays if the next run fails before its
// tasks.
func TestUnfinishedRunStays(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 12)
	interrupt(t, incrementalRequest(t, dir), 2)
	r := incrementalRequest(t, dir)
	r.Resolve = storetest.ResolveTo(&hookStore{Store: store.Local(), mkdir: func(string) { _ = os.Remove(dir + "/in/a.avro") }})
	_, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "a.avro does not exist")
	if len(staged(t, dir+"/out", "task-*.json")) < 2 {
		t.Error("finished work was removed")
	}
	writeInput(t, dir+"/in/a.avro", 1, 12)
	if out := mustAdd(t, incrementalRequest(t, dir)); out.Resumed < 2 {
		t.Errorf("%d tasks were resumed", out.Resumed)
	}
}

func TestResumes(t *testing.T) {
	input := func(names ...string) (r manifest.Request) {
		for _, name := range names {
			r.Inputs = append(r.Inputs, manifest.Input{Path: name, Size: 1})
		}
		return r
	}
	c := &conversion{plan: &manifest.Plan{Increment: true, Base: "x", Request: input("a", "b")}}
	for name, tc := range map[string]struct {
		plan *manifest.Plan
		want bool
	}{
		"no plan":       {nil, false},
		"same inputs":   {&manifest.Plan{Increment: true, Base: "x", Request: input("a", "b")}, true},
		"some inputs":   {&manifest.Plan{Increment: true, Base: "x", Request: input("b")}, true},
		"another input": {&manifest.Plan{Increment: true, Base: "x", Request: input("b", "c")}, false},
		"no increment":  {&manifest.Plan{Base: "x", Request: input("a", "b")}, false},
		"another base":  {&manifest.Plan{Increment: true, Base: "y", Request: input("a", "b")}, false},
	} {
		if got := c.resumes(tc.plan); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestInputsCommittedMeanwhile checks that a conversion leaves out inputs which another
// conversion committed after this one chose its inputs and before it had the lock.
func TestInputsCommittedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	testenv.Must(t, os.Mkdir(dir+"/out", 0o777))
	r, done := incrementalRequest(t, dir), false
	st := &hookStore{Store: store.Local()}
	st.mkdir = func(string) {
		if !done {
			done = true
			mustAdd(t, incrementalRequest(t, dir))
		}
	}
	r.Resolve = storetest.ResolveTo(st)
	if out := mustAdd(t, r); !done || !out.Nothing {
		t.Errorf("inputs were converted again: %+v", out)
	}
	writeInput(t, dir+"/in/b.avro", 2, 2)
	done = false
	writeInput(t, dir+"/in/c.avro", 3, 2)
	st.mkdir = func(string) {
		if !done {
			done = true
			some := incrementalRequest(t, dir)
			some.Inputs = []string{dir + "/in/b.avro"}
			mustAdd(t, some)
		}
	}
	if out := mustAdd(t, r); len(out.Manifest.Request.Inputs) != 1 || path.Base(out.Manifest.Request.Inputs[0].Path) != "c.avro" {
		t.Errorf("%+v", out.Manifest.Request.Inputs)
	}
	// A foreign file that appears meanwhile is refused.
	writeInput(t, dir+"/in/d.avro", 4, 2)
	st.mkdir = func(string) { write(t, dir+"/out/others", nil) }
	_, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Foreign, "others")
	if left := fileNames(t, store.Local(), dir+"/out/"+manifest.WorkName); len(left) > 0 {
		t.Errorf("tasks were run without effect: %q", left)
	}
}

// TestIncrementalAfterKilledOverwrite checks that inputs are compared with the output that a
// killed overwrite will give.
func TestIncrementalAfterKilledOverwrite(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	write(t, dir+"/in/b.avro", avrotest.File(t, strings.Replace(avrotest.Schema, `"record"`, `"record","aliases":["x"]`, 1), [16]byte{1, 2, 3, 2}, avrotest.BlockRows, avrotest.Blocks(2, 2)...))
	r := request(t, dir+"/out", dir+"/in")
	r.Schema = avrotest.Schema
	mustAdd(t, r)
	r.Output.RecursiveBytes = true // unlike the output that is replaced
	r.Overwrite = true
	ctx, cancel := context.WithCancel(t.Context())
	r.Resolve = storetest.ResolveTo(&hookStore{Store: store.Local(), rename: func(to string) error {
		if strings.Contains(to, "/retired-") {
			cancel()
		}
		return ctx.Err()
	}})
	if out, err := Convert(ctx, r); err == nil {
		t.Fatalf("the conversion was not killed: %+v", out)
	}
	r = incrementalRequest(t, dir)
	r.Output.RecursiveBytes = true
	if out := mustAdd(t, r); !out.Nothing || !out.Manifest.Request.Options.RecursiveBytes {
		t.Errorf("%+v", out)
	}
}

func TestIncrementsRefused(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	mustAdd(t, request(t, dir+"/out", dir+"/in"))
	r := incrementalRequest(t, dir)
	r.Overwrite = true
	_, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Usage, "--overwrite")
	_, err = Commit(t.Context(), &manifest.Plan{Increment: true, Dest: dir + "/out"}, r.Options)
	failuretest.Want(t, err, failure.Usage, "--overwrite")

	// A known input that is no Avro file any more is refused.
	writeInput(t, dir+"/in/b.avro", 2, 2)
	mustAdd(t, incrementalRequest(t, dir))
	write(t, dir+"/in/b.avro", []byte("text"))
	_, err = Convert(t.Context(), incrementalRequest(t, dir))
	runs, globErr := filepath.Glob(dir + "/out/increment-*")
	if globErr != nil || len(runs) != 1 {
		t.Fatalf("there are the increments %q: %v", runs, globErr)
	}
	failuretest.Want(t, err, failure.Input, "b.avro changed", "is not one now", runs[0])
}

func TestCheckCompatible(t *testing.T) {
	const a, b = `{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}`, `{"type":"record","name":"B","fields":[]}`
	output := func(schema string, o manifest.Options) publish.Committed {
		return publish.Committed{Success: &manifest.Success{Schema: schema, Request: manifest.Request{Options: o}}}
	}
	trevni, bytes := manifest.Options{Format: "trevni"}, manifest.Options{Format: "trevni", RecursiveBytes: true}
	for name, tc := range map[string]struct {
		outputs  []publish.Committed
		o        manifest.Options
		schema   string
		want, is string
	}{
		"no outputs":        {nil, trevni, a, "", a},
		"without inputs":    {[]publish.Committed{output("", trevni), output(b, trevni)}, trevni, "", "", b},
		"the first":         {[]publish.Committed{output(a, trevni), output(b, trevni)}, trevni, "", "", a},
		"other spelling":    {[]publish.Committed{output(a, trevni)}, trevni, " " + a, "", " " + a},
		"another schema":    {[]publish.Committed{output(a, trevni)}, trevni, b, "of one schema", ""},
		"no schema":         {[]publish.Committed{output(a, trevni)}, trevni, "x", "of one schema", ""},
		"another format":    {[]publish.Committed{output(a, trevni)}, manifest.Options{Format: "cfile"}, "", "an output of --format trevni, and this increment would be one of --format cfile; give", ""},
		"a first recursion": {[]publish.Committed{output(a, trevni)}, bytes, "", "without --recursive bytes, and this increment would be one with it", ""},
		"another recursion": {[]publish.Committed{output(a, bytes)}, trevni, "", "with --recursive bytes, and this increment would be one without it", ""},
	} {
		got, err := checkCompatible("/out", tc.outputs, &tc.o, tc.schema)
		if tc.want == "" {
			if err != nil || got != tc.is {
				t.Errorf("%s: %s, %v", name, got, err)
			}
			continue
		}
		failuretest.Want(t, err, failure.Foreign, tc.want)
	}
}

func TestNothingAfterSomething(t *testing.T) {
	done, before := &manifest.Success{Rows: 1}, &manifest.Success{Rows: 2}
	out := &Outcome{Published: []*manifest.Success{done}, Manifest: done}
	if out.recordNothing(before); out.Nothing || out.Manifest != done || len(out.Outputs()) != 1 || out.Outputs()[0] != done {
		t.Errorf("%+v", out)
	}
}
