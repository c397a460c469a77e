package job

import (
	"path"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/job/task/tasktest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// mixedFormat is a format that stores row groups that are full or nearly so as
// directories, and others as files.
var mixedFormat = formattest.Split{Format: trevni.Format, Only: func(size int64) bool { return size > 12<<10 }}

// planned is a plan of nine tasks for an input on a disk in memory.
type planned struct {
	disk *memstore.Disk
	st   store.Store
	r    Request
	plan *manifest.Plan
	want []string // contents of the output of Convert
}

// newPlanned makes a plan in memory. With overwrite, the destination first holds the
// output of another request.
func newPlanned(t *testing.T, overwrite bool) *planned {
	t.Helper()
	s := &planned{disk: memstore.New()}
	s.st = s.disk.Client()
	s.r = request(t, "/out", "/a.avro")
	s.r.Formats, s.r.Resolve, s.r.Overwrite = format.Registry{mixedFormat}, storetest.ResolveTo(s.st), overwrite
	indexes := 0
	if overwrite {
		s.r.Sink, indexes = tasktest.Keys{Field: "s"}.Of, 1
	}
	s.writeInput(t, 1)
	if overwrite {
		mustConvert(t, s.other())
	}
	s.want = reference(t, s.st, s.r)
	s.plan = newPlan(t, s.r)
	if len(s.plan.Tasks) != 9 {
		t.Fatalf("there are %d tasks", len(s.plan.Tasks))
	}
	if dirs := len(s.want) - indexes - len(s.plan.Tasks); dirs < 2 || dirs > 7 { // a directory has one more file
		t.Fatalf("%d parts are directories", dirs)
	}
	return s
}

func (s *planned) writeInput(t *testing.T, seed uint64) {
	t.Helper()
	testenv.Must(t, s.st.WriteFile(t.Context(), "/a.avro", avroFile(t, seed, 60), false))
}

// fork returns a copy on a disk of its own.
func (s *planned) fork(t *testing.T) *planned {
	t.Helper()
	f := *s
	f.disk = memstore.New()
	f.st = f.disk.Client()
	f.r.Resolve = storetest.ResolveTo(f.st)
	for _, name := range fileNames(t, s.st, "/") {
		b, err := s.st.ReadFile(t.Context(), "/"+name, maxFile)
		if err == nil {
			err = storetest.MkdirAll(t.Context(), f.st, path.Dir("/"+name))
		}
		if err == nil {
			err = f.st.WriteFile(t.Context(), "/"+name, b, true)
		}
		testenv.Must(t, err)
	}
	return &f
}

// other returns another request for the same destination.
func (s *planned) other() Request {
	r := s.r
	r.Output.RowGroupSize *= 2
	return r
}

// optionsOn returns the options of a process that uses a store.
func (s *planned) optionsOn(st store.Store) Options {
	o := s.r.Options
	o.Resolve = storetest.ResolveTo(st)
	return o
}

// run runs all tasks.
func (s *planned) run(t *testing.T) (done int) {
	t.Helper()
	return mustRun(t, s.plan, s.r.Options, allTasks(s.plan)...)
}

// commit commits the plan and requires the output of Convert and nothing else.
func (s *planned) commit(t *testing.T) {
	t.Helper()
	if out := mustCommit(t, s.plan, s.r.Options); out.Nothing || out.Plan == nil || len(out.Manifest.Files()) != len(s.want) {
		t.Errorf("outcome %+v", out)
	}
	s.checkComplete(t)
}

func (s *planned) checkComplete(t *testing.T) {
	t.Helper()
	wantContents(t, s.st, "/out", s.want)
	if left := fileNames(t, s.st, "/out/"+manifest.WorkName); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// staging returns the directory in which tasks leave their work.
func (s *planned) staging() string { return "/out/" + manifest.WorkName + "/plan-" + s.plan.ID }

// result returns the valid result of a task; nil if there is none.
func (s *planned) result(t *testing.T, number int) *manifest.TaskResult {
	t.Helper()
	sink, err := s.r.sink(s.plan)
	testenv.Must(t, err)
	res, err := task.NewWork(s.plan, sink, s.st, s.staging()).Finished(t.Context(), number)
	testenv.Must(t, err)
	return res
}

// missing returns the tasks that are not done.
func (s *planned) missing(t *testing.T) (numbers []int) {
	t.Helper()
	for i := range s.plan.Tasks {
		if s.result(t, i) == nil {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// beforeTaking returns a store that calls do before the rename that takes the plan's
// work.
func (s *planned) beforeTaking(do func()) store.Store {
	return callBefore(s.st, "/plan-"+s.plan.ID+"-", do)
}

// kill runs a job in a process that ends at a point.
func (s *planned) kill(t *testing.T, r Request, at int) {
	t.Helper()
	client := s.disk.Client()
	client.StopAt(at)
	r.Resolve = storetest.ResolveTo(client)
	if _, err := Convert(t.Context(), r); err == nil || !client.Stopped() {
		t.Fatalf("the job ended with %v", err)
	}
}
