package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// firsts is a sink with two side files per task. One has the first row of each row group, the
// other the number of rows. Its index has all first rows. It fails in the method that the
// field fails names.
type firsts struct {
	fails  string
	names  [2]string
	index  []string
	merged atomic.Int64
}

var errSink = errors.New("the sink fails")

func newFirsts(fails string) *firsts {
	return &firsts{fails: fails, names: [2]string{"firsts", "count"}, index: []string{"firsts/all"}}
}

func (s *firsts) fail(at string) error {
	if s.fails == at {
		return errSink
	}
	return nil
}

func (s *firsts) Name() string { return "firsts" }

func (s *firsts) Begin(number int, local *spill.Folder) (AttemptSink, error) {
	err := leaveSpill(local)
	return &taskFirsts{firsts: s, number: number}, errors.Join(err, s.fail("begin"))
}

// leaveSpill leaves a file in a folder.
func leaveSpill(local *spill.Folder) error {
	sp, err := local.New(1, spill.Options{})
	if err != nil {
		return err
	}
	return sp.Append(0, []byte("spilled"))
}

func (s *firsts) Memory() int64 { return 1 << 10 }

func (s *firsts) Merge(ctx context.Context, output Output, local *spill.Folder, store func(NewFile) error) error {
	s.merged.Add(1)
	var all strings.Builder
	for _, f := range output.Side {
		if f.Name != s.names[0] {
			continue
		}
		file, err := f.Open(ctx)
		if err != nil {
			return err
		}
		_, err = io.Copy(&all, io.NewSectionReader(file, 0, file.Size()))
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	err := leaveSpill(local)
	for _, name := range s.index {
		if err == nil {
			err = store(newFile(name, all.String()))
		}
	}
	return errors.Join(err, s.fail("merge"))
}

type taskFirsts struct {
	*firsts
	number int
	text   strings.Builder
	rows   int
}

func (s *taskFirsts) Keys() []string { return []string{"id"} }

func (s *taskFirsts) Row(r *mapper.Row) error {
	if s.rows++; r.Number == 0 {
		fmt.Fprintf(&s.text, "%d.%d: % x\n", s.number, r.Group, r.Keys[0])
	}
	return s.fail("row")
}

func (s *taskFirsts) Finish(context.Context) ([]NewFile, error) {
	files := []NewFile{newFile(s.names[0], s.text.String()), newFile(s.names[1], fmt.Sprint(s.rows))}
	return files, s.fail("finish")
}

func (s *taskFirsts) Close() error { return s.fail("close") }

func newFile(name, text string) NewFile {
	return NewFile{Name: name, Content: io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))}
}

// runLast carries out the last step after tasks with results, and returns its result.
func runLast(t *testing.T, p *manifest.Plan, o Options, st store.Store, dir string, results []*manifest.TaskResult) (*manifest.TaskResult, error) {
	t.Helper()
	w := NewWork(p, o.Sink, st, dir)
	testenv.Must(t, w.list(t.Context()))
	w.Add(results)
	if err := w.MakeIndex(t.Context(), o); err != nil {
		return nil, err
	}
	return w.Results[len(p.Tasks)], nil
}

// TestSink checks that side files are checked like parts, and that the last step is repeated
// only after its input or its files changed.
func TestSink(t *testing.T) {
	p, o := damagedPlan(t), options(t)
	sink := newFirsts("")
	o.Formats, o.Sink = mixedFormats, sink
	r := mustOpen(t, p, o)
	dir := t.TempDir()
	results, err := r.Run(t.Context(), store.Local(), dir, allTasks(p))
	testenv.Must(t, err)
	groups := 0
	for i, res := range results {
		if len(res.Side) != 2 || manifest.SideName(res.Side[0].Name) != "firsts" || len(res.Index) > 0 {
			t.Fatalf("task %d left %+v", i, res)
		}
		groups += len(res.Parts)
	}
	last := func() *manifest.TaskResult {
		t.Helper()
		res, err := runLast(t, p, o, store.Local(), dir, results)
		if err != nil || len(res.Index) != 1 || res.Task != len(p.Tasks) {
			t.Fatalf("%+v, %v", res, err)
		}
		return res
	}
	res := last()
	name := filepath.Join(dir, res.Index[0].Name)
	text, err := os.ReadFile(name)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != groups+1 || !strings.HasPrefix(string(text), "0.0: 00\n") {
		t.Errorf("an index of %d row groups: %q, %v", groups, text, err)
	}
	if last(); sink.merged.Load() != 1 {
		t.Errorf("the last step was done %d times", sink.merged.Load())
	}
	testenv.Must(t, flipBit(name))
	if again := last(); sink.merged.Load() != 2 || again.Index[0].CRC32C != res.Index[0].CRC32C {
		t.Errorf("the last step was done %d times, after its file was damaged", sink.merged.Load())
	}
	// A task that ran again may have its rows in other places.
	again := *results[0]
	again.Parts = slices.Clone(again.Parts)
	again.Parts[0].Files = []manifest.File{{Name: again.Parts[0].Files[0].Name, Bytes: again.Parts[0].Files[0].Bytes, CRC32C: again.Parts[0].Files[0].CRC32C + 1}}
	results[0] = &again
	if last(); sink.merged.Load() != 3 {
		t.Errorf("the last step was done %d times, after a task left other parts", sink.merged.Load())
	}
	if last(); sink.merged.Load() != 3 {
		t.Errorf("the last step was done %d times", sink.merged.Load())
	}
	testenv.Must(t, flipBit(filepath.Join(dir, results[1].Side[1].Name)))
	_, err = NewWork(p, o.Sink, store.Local(), dir).Finished(t.Context(), 1)
	failuretest.Want(t, err, failure.Foreign, results[1].Side[1].Name)
}

// TestResultsOfAnotherKind checks that a result of the wrong kind is rejected in place of that
// of the last step or of a task.
func TestResultsOfAnotherKind(t *testing.T) {
	p, o := damagedPlan(t), options(t)
	o.Sink = newFirsts("")
	dir := t.TempDir()
	results, err := mustOpen(t, p, o).Run(t.Context(), store.Local(), dir, allTasks(p))
	testenv.Must(t, err)
	last, err := runLast(t, p, o, store.Local(), dir, results)
	testenv.Must(t, err)
	for name, change := range map[string]func(res *manifest.TaskResult){
		"a part": func(res *manifest.TaskResult) {
			part := results[0].Parts[0]
			part.Task, part.Rows, part.Files = res.Task, 0, []manifest.File{{Name: manifest.StagedPart(res.Task, 0, manifest.NewID(), ".trv")}}
			res.Index, res.Parts = nil, []manifest.Part{part}
		},
		"a loss": func(res *manifest.TaskResult) { res.Losses = []manifest.Loss{{Input: "a.avro", End: 1}} },
		"a side file": func(res *manifest.TaskResult) {
			res.Side = []manifest.File{{Name: manifest.StagedSide(manifest.NewID(), res.Task, "x")}}
		},
		"another sink": func(res *manifest.TaskResult) { res.Sink = "another" },
	} {
		res := *last
		change(&res)
		doc, err := res.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, manifest.TaskName(res.Task)), doc, 0o666)
		}
		for _, f := range res.Files() {
			if f.Bytes == 0 { // otherwise the file exists
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, f.Name), nil, 0o666))
			}
		}
		testenv.Must(t, err)
		got, err := runLast(t, p, o, store.Local(), dir, results)
		if err != nil || len(got.Index) != 1 || got.Index[0].CRC32C != last.Index[0].CRC32C || got.Sink != "firsts" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	asTask := *last
	asTask.Task = 0
	doc, err := asTask.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifest.TaskName(0)), doc, 0o666)
	}
	testenv.Must(t, err)
	_, err = NewWork(p, o.Sink, store.Local(), dir).Finished(t.Context(), 0)
	failuretest.Want(t, err, failure.Foreign, "result of the wrong step")
}

// TestSinkFails checks that a sink that fails leaves no files in dir or the temporary
// directory.
func TestSinkFails(t *testing.T) {
	for name, sink := range map[string]*firsts{
		"begin": newFirsts("begin"), "row": newFirsts("row"), "finish": newFirsts("finish"), "close": newFirsts("close"),
		"a path":        {names: [2]string{"a", "../b"}},
		"no name":       {names: [2]string{"a", ""}},
		"repeated name": {names: [2]string{"a", "a"}},
	} {
		p, o := damagedPlan(t), options(t)
		o.Sink = sink
		r, dir := mustOpen(t, p, o), t.TempDir()
		if _, err := r.Run(t.Context(), store.Local(), dir, allTasks(p)); err == nil || sink.fails != "" && !errors.Is(err, errSink) {
			t.Errorf("%s: error is %v", name, err)
		}
		if left := fileNames(t, dir); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
		if left, err := filepath.Glob(filepath.Join(o.TempDir, "*", "*", "spilled")); len(left) > 0 || err != nil {
			t.Errorf("%s: left %q, %v", name, left, err)
		}
	}
}

// TestLastFails checks that a last step that fails leaves the directory unchanged.
func TestLastFails(t *testing.T) {
	p, o := damagedPlan(t), options(t)
	sink := newFirsts("merge")
	sink.index = append(sink.index, "others/all")
	o.Sink = sink
	r, dir := mustOpen(t, p, o), t.TempDir()
	results, err := r.Run(t.Context(), store.Local(), dir, allTasks(p))
	testenv.Must(t, err)
	before := fileNames(t, dir)
	if _, err := runLast(t, p, o, store.Local(), dir, results); !errors.Is(err, errSink) {
		t.Errorf("error is %v", err)
	}
	sink.fails = ""
	for _, index := range [][]string{{"../all"}, {"firsts/../all"}, {"firsts/all", "others/all", "others/all"}} {
		sink.index = index
		if _, err := runLast(t, p, o, store.Local(), dir, results); err == nil || !strings.Contains(err.Error(), "is not a valid name of a file of an index") {
			t.Errorf("%q: error is %v", index, err)
		}
	}
	sink.index = []string{"firsts/all"}
	for _, op := range []storetest.Op{storetest.Open, storetest.Create, storetest.Write, storetest.WriteFile} {
		st := storetest.NewFaulty(store.Local(), storetest.Fault{Op: op, N: 1, Err: os.ErrPermission})
		if _, err := runLast(t, p, o, st, dir, results); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%v: error is %v", op, err)
		}
		if after := fileNames(t, dir); op != storetest.WriteFile && !slices.Equal(after, before) {
			t.Errorf("%v: left %q, want %q", op, after, before)
		}
	}
	if _, err := runLast(t, p, o, store.Local(), dir, results); err != nil {
		t.Error(err)
	}
	unreadable := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadFile, N: 1, Err: os.ErrPermission})
	if _, err := runLast(t, p, o, unreadable, dir, results); !errors.Is(err, os.ErrPermission) {
		t.Errorf("with an unreadable result of the last step: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(o.TempDir, "*", "*", "spilled")); len(left) > 0 || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
}
