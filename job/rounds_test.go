package job

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// memoryJob is a request on a store in memory to which tests add inputs.
type memoryJob struct {
	disk *memstore.Disk
	st   store.Store
	r    Request
	e    *localEngine
}

// newMemoryJob returns a job that converts /in to /out.
func newMemoryJob(t *testing.T) *memoryJob {
	t.Helper()
	s := &memoryJob{disk: memstore.New()}
	s.st = s.disk.Client()
	s.r = request(t, "/out", "/in")
	s.r.Resolve = storetest.ResolveTo(s.st)
	s.e = &localEngine{options: s.r.Options}
	return s
}

// input writes an input with the given number of blocks.
func (s *memoryJob) input(t *testing.T, name string, seed uint64, blocks int) {
	t.Helper()
	err := storetest.MkdirAll(t.Context(), s.st, path.Dir(name))
	if err == nil {
		err = s.st.WriteFile(t.Context(), name, avroFile(t, seed, blocks), false)
	}
	testenv.Must(t, err)
}

// inputsOf returns the names of the inputs of each output.
func inputsOf(outputs []*manifest.Success) (names [][]string) {
	for _, m := range outputs {
		var some []string
		for _, in := range m.Request.Inputs {
			some = append(some, path.Base(in.Path))
		}
		names = append(names, some)
	}
	return names
}

// TestSubmitIncremental checks that Submit completes an unfinished submission, and then
// submits newer inputs. If the newer inputs fail, the error names the published increment.
func TestSubmitIncremental(t *testing.T) {
	s := newMemoryJob(t)
	s.r.Incremental = true
	s.input(t, "/in/a.avro", 1, 12)
	s.e.order = func(n []int) []int { return n[:1] }
	_, err := Submit(t.Context(), s.r, s.e)
	failuretest.Want(t, err, failure.Storage, "are not done")
	s.input(t, "/in/b.avro", 2, 12)
	s.e.order = nil
	s.e.after = func(err error) error {
		if s.e.runs == 3 {
			return failure.New(failure.Refused, "no queue")
		}
		return err
	}
	out, err := Submit(t.Context(), s.r, s.e)
	failuretest.Want(t, err, failure.Refused, "after increment-00000001-", "was published: no queue")
	if out == nil || fmt.Sprint(inputsOf(out.Published)) != "[[a.avro]]" || out.Resumed != 1 {
		t.Fatalf("%+v", out)
	}
	s.e.after = nil
	out = mustSubmit(t, s.r, s.e)
	if fmt.Sprint(inputsOf(out.Published)) != "[[b.avro]]" || s.e.runs != 3 || !out.Manifest.Increment {
		t.Errorf("%+v, %d runs", out, s.e.runs)
	}
	if out := mustSubmit(t, s.r, s.e); !out.Nothing || !out.Incremental || s.e.runs != 3 {
		t.Errorf("%+v, %d runs", out, s.e.runs)
	}

	// Submit does both in one call.
	s.input(t, "/in/c.avro", 3, 12)
	s.e.order = func(n []int) []int { return n[:1] }
	if _, err := Submit(t.Context(), s.r, s.e); !errors.Is(err, failure.Storage) {
		t.Fatal(err)
	}
	s.input(t, "/in/d.avro", 4, 12)
	s.e.order = nil
	if out := mustSubmit(t, s.r, s.e); fmt.Sprint(inputsOf(out.Published)) != "[[c.avro] [d.avro]]" {
		t.Errorf("%v", inputsOf(out.Published))
	}
}

// TestSubmitIncrementalMeanwhile checks that Submit submits the remaining inputs again if
// another process commits some of the inputs while the tasks run.
func TestSubmitIncrementalMeanwhile(t *testing.T) {
	s := newMemoryJob(t)
	s.r.Incremental = true
	s.input(t, "/in/a.avro", 1, 3)
	s.input(t, "/in/b.avro", 2, 3)
	s.e.after = func(err error) error {
		if s.e.runs == 1 {
			some := s.r
			some.Inputs = []string{"/in/a.avro"}
			mustConvert(t, some)
		}
		return err
	}
	out := mustSubmit(t, s.r, s.e)
	if fmt.Sprint(inputsOf(out.Published)) != "[[b.avro]]" || s.e.runs != 2 {
		t.Errorf("%v, %d runs", inputsOf(out.Published), s.e.runs)
	}
	s.input(t, "/in/c.avro", 3, 3)
	s.e.after = func(err error) error { return errors.Join(err, s.st.WriteFile(t.Context(), "/out/others", nil, false)) }
	_, err := Submit(t.Context(), s.r, s.e)
	failuretest.Want(t, err, failure.Foreign, "others")
	if s.e.runs != 3 {
		t.Errorf("%d runs", s.e.runs)
	}
}

// partitionResult is the result of a partition.
type partitionResult struct {
	out *Outcome
	err error
}

// submit submits partitions, and requires one result for each.
func (s *memoryJob) submit(t *testing.T, p *Partitions, names ...string) map[string]partitionResult {
	t.Helper()
	all := make(map[string]partitionResult)
	p.Submit(t.Context(), names, s.e, func(name string, out *Outcome, err error) {
		if _, twice := all[name]; twice || !slices.Contains(names, name) {
			t.Errorf("partition %s ended twice, or was not submitted", name)
		}
		all[name] = partitionResult{out, err}
	})
	if len(all) != len(names) {
		t.Errorf("%d partitions ended of %d", len(all), len(names))
	}
	return all
}

// TestSubmitPartitions checks that the tasks of all partitions run together, even if one
// fails.
func TestSubmitPartitions(t *testing.T) {
	s := newMemoryJob(t)
	names := []string{"k=1/h=1", "k=1/h=2", "k=2/h=1", "k=2/h=2"}
	for i, name := range names {
		s.input(t, "/in/"+name+"/a.avro", uint64(i+1), 6)
	}
	testenv.Must(t, s.st.WriteFile(t.Context(), "/in/k=2/h=1/a.avro", []byte("no Avro file"), false))
	p := &Partitions{Request: s.r}
	found, _, err := p.Find(t.Context())
	if err != nil || !slices.Equal(found, names) {
		t.Fatal(found, err)
	}
	ends := s.submit(t, p, names...)
	for _, name := range names {
		if name == "k=2/h=1" {
			failuretest.Want(t, ends[name].err, failure.Input, "/in/k=2/h=1")
			if _, err := s.st.Stat(t.Context(), "/out/k=2/h=1"); !errors.Is(err, store.ErrNotExist) {
				t.Errorf("a partition that failed has a destination: %v", err)
			}
			continue
		}
		if e := ends[name]; e.err != nil || e.out.Nothing {
			t.Fatalf("%s: %+v", name, e)
		}
		r := s.r
		r.Inputs, r.Dest = []string{"/in/" + name}, "/reference"
		wantContents(t, s.st, "/out/"+name, reference(t, s.st, r))
		testenv.Must(t, s.st.RemoveAll(t.Context(), "/reference.reference"))
	}
	if s.e.runs != 1 || len(s.e.numbers) != 3 {
		t.Errorf("%d runs of %d batches", s.e.runs, len(s.e.numbers))
	}

	// New inputs become increments, in one run of the engine.
	s.input(t, "/in/k=1/h=1/b.avro", 7, 2)
	s.input(t, "/in/k=2/h=2/b.avro", 8, 2)
	ends = s.submit(t, p, "k=1/h=1", "k=1/h=2", "k=2/h=2")
	if !ends["k=1/h=2"].out.Nothing || !ends["k=1/h=1"].out.Manifest.Increment || !ends["k=2/h=2"].out.Manifest.Increment || s.e.runs != 2 {
		t.Errorf("%+v, %d runs", ends, s.e.runs)
	}
	p.Reprocess = true
	ends = s.submit(t, p, "k=1/h=1", "k=1/h=2")
	if !ends["k=1/h=2"].out.Nothing || ends["k=1/h=1"].out.Manifest.Increment || s.e.runs != 3 {
		t.Errorf("%+v, %d runs", ends, s.e.runs)
	}
}

// TestSubmitPartitionsThatFail checks that the other partitions are submitted in another round
// if the engine names the plan whose tasks failed. Otherwise all partitions fail.
func TestSubmitPartitionsThatFail(t *testing.T) {
	s := newMemoryJob(t)
	names := []string{"k=1", "k=2", "k=3"}
	for i, name := range names {
		s.input(t, "/in/"+name+"/a.avro", uint64(i+1), 20)
	}
	p := &Partitions{Request: s.r}
	s.e.order = func(n []int) []int { return n[:1] }
	s.e.after = func(error) error { return failure.New(failure.Storage, "no nodes") }
	for name, e := range s.submit(t, p, names...) {
		failuretest.Want(t, e.err, failure.Storage, "no nodes")
		if s.e.runs != 1 {
			t.Errorf("%s: %d runs", name, s.e.runs)
		}
	}
	// The second partition fails, and the third is not done because of that.
	failing := &failingPlans{s.e, map[string]error{"/out/k=2": failure.New(failure.Input, "damaged")}}
	s.e.after = nil
	s.e.order = func(n []int) []int {
		if s.e.runs == 2 && len(s.e.numbers) == 3+3 {
			return nil
		}
		return n
	}
	all := make(map[string]partitionResult)
	p.Submit(t.Context(), names, failing, func(name string, out *Outcome, err error) { all[name] = partitionResult{out, err} })
	failuretest.Want(t, all["k=2"].err, failure.Input, "damaged")
	if all["k=1"].err != nil || all["k=3"].err != nil || all["k=1"].out.Resumed != 1 || all["k=1"].out.Manifest.Made.Resumed != 1 || s.e.runs != 3 || len(s.e.numbers) != 3+3+1 {
		t.Errorf("%+v after %d runs of %v", all, s.e.runs, s.e.numbers)
	}
}

// failingPlans is an engine that returns failures of tasks of the plans for some
// destinations.
type failingPlans struct {
	*localEngine
	errs map[string]error // errors of batches, by destination
}

func (f *failingPlans) Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error {
	err := f.localEngine.Run(ctx, batches, progress)
	for _, b := range batches {
		if failed := f.errs[b.Plan.Dest]; failed != nil {
			err = fmt.Errorf("the job failed: %w", errors.Join(err, &task.Failure{Plan: b.Plan.ID, Task: 0, Err: failed}))
		}
	}
	return err
}

// TestSubmitFirstOfTwo checks that the new inputs become an increment if another process makes
// the first output of a partition while the tasks run.
func TestSubmitFirstOfTwo(t *testing.T) {
	s := newMemoryJob(t)
	s.input(t, "/in/k=1/a.avro", 1, 2)
	s.input(t, "/in/k=1/b.avro", 2, 2)
	s.e.after = func(err error) error {
		if s.e.runs == 1 {
			r := s.r
			r.Inputs, r.Dest = []string{"/in/k=1/a.avro"}, "/out/k=1"
			mustConvert(t, r)
		}
		return err
	}
	e := s.submit(t, &Partitions{Request: s.r}, "k=1")["k=1"]
	if e.err != nil || fmt.Sprint(inputsOf(e.out.Published)) != "[[b.avro]]" || !e.out.Manifest.Increment || s.e.runs != 2 {
		t.Errorf("%+v, %d runs", e, s.e.runs)
	}
}

// TestSubmitThatWaits checks that a partition whose inputs are not complete gets no output.
func TestSubmitThatWaits(t *testing.T) {
	s := newMemoryJob(t)
	s.input(t, "/in/k=1/a.avro", 1, 2)
	p := &Partitions{Request: s.r}
	p.Filter.Marker = "_READY"
	e := s.submit(t, p, "k=1")["k=1"]
	if e.err != nil || !e.out.Nothing || s.e.runs > 0 {
		t.Errorf("%+v, %d runs", e, s.e.runs)
	}
	if _, err := s.st.Stat(t.Context(), "/out/k=1"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the partition has a destination: %v", err)
	}
	testenv.Must(t, s.st.WriteFile(t.Context(), "/in/k=1/_READY", nil, true))
	if e := s.submit(t, p, "k=1")["k=1"]; e.err != nil || e.out.Nothing || s.e.runs != 1 {
		t.Errorf("%+v, %d runs", e, s.e.runs)
	}
}

// TestSubmitAfterKilledClients checks that the next run removes the work of two plans, one of
// them outdated, and a file that a task wrote after its plan was published.
func TestSubmitAfterKilledClients(t *testing.T) {
	s := newMemoryJob(t)
	p := &Partitions{Request: s.r}
	s.e.order = func(n []int) []int { return n[:1] }
	for i, name := range []string{"a", "b"} { // the second client also finds b
		s.input(t, "/in/k=1/"+name+".avro", uint64(i+1), 12)
		failuretest.Want(t, s.submit(t, p, "k=1")["k=1"].err, failure.Storage, "are not done")
	}
	staged := func() []store.Info {
		infos, err := s.st.List(t.Context(), "/out/k=1/"+manifest.WorkName)
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			t.Fatal(err)
		}
		return infos
	}
	if n := len(staged()); n != 2 {
		t.Fatalf("the clients left %d plans", n)
	}
	s.e.order = nil
	e := s.submit(t, p, "k=1")["k=1"]
	if e.err != nil || fmt.Sprint(inputsOf(e.out.Published)) != "[[a.avro b.avro]]" || len(staged()) != 0 {
		t.Fatalf("%+v, %d plans are left", e, len(staged()))
	}
	late := "/out/k=1/" + manifest.WorkName + "/plan-" + e.out.Manifest.Plan
	err := storetest.MkdirAll(t.Context(), s.st, late)
	if err == nil {
		err = s.st.WriteFile(t.Context(), late+"/"+manifest.TaskName(0), nil, true)
	}
	testenv.Must(t, err)
	if e := s.submit(t, p, "k=1")["k=1"]; e.err != nil || !e.out.Nothing || len(e.out.Warnings) > 0 || len(staged()) != 0 {
		t.Errorf("%+v, %d plans are left", e, len(staged()))
	}
}
