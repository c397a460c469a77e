package job

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// localEngine runs tasks in this process, as an engine would on other machines.
type localEngine struct {
	options Options
	// order returns the tasks to run, in order; nil runs all of them once.
	order func(numbers []int) []int
	// after, if set, is called with the error of the tasks after the tasks of all batches
	// have run. Run returns the error of after.
	after func(err error) error
	// numbers are the Numbers of each batch passed to Run. superseded are their Superseded.
	numbers    [][]int
	superseded [][]string
	runs       int
}

func (e *localEngine) Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) (err error) {
	e.runs++
	for _, b := range batches {
		e.numbers, e.superseded = append(e.numbers, slices.Clone(b.Numbers)), append(e.superseded, b.Superseded)
		numbers := b.Numbers
		if e.order != nil {
			numbers = e.order(numbers)
		}
		if p, readErr := b.Store.ReadFile(ctx, path.Join(b.Dir, manifest.PlanName), maxFile); readErr != nil {
			err = errors.Join(err, readErr)
		} else if decoded, decodeErr := manifest.DecodePlan(p); decodeErr != nil || decoded.ID != b.Plan.ID {
			err = errors.Join(err, errors.New("the plan next to the work is another"), decodeErr)
		}
		for _, n := range numbers {
			_, _, taskErr := RunTasks(ctx, b.Plan, e.options, []int{n})
			err = errors.Join(err, taskErr)
			if taskErr == nil {
				progress(task.Progress{Tasks: 1, Bytes: b.Plan.Tasks[n].Bytes()})
			}
		}
	}
	if e.after != nil {
		return e.after(err)
	}
	return err
}

// newSubmission returns a plan, and an engine that runs its tasks.
func newSubmission(t *testing.T, overwrite bool) (*planned, *localEngine) {
	s := newPlanned(t, overwrite)
	return s, &localEngine{options: s.r.Options}
}

func mustSubmit(t *testing.T, r Request, e RemoteRunner) *Outcome {
	t.Helper()
	out, err := Submit(t.Context(), r, e)
	testenv.Must(t, err)
	return out
}

// TestSubmit checks that the output has the bytes of Convert if tasks run in any order and
// several times.
func TestSubmit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, order := range map[string]func([]int) []int{
		"in order": nil,
		"random": func(n []int) []int {
			n = slices.Clone(n)
			random.Shuffle(len(n), func(i, j int) { n[i], n[j] = n[j], n[i] })
			return n
		},
		"twice": func(n []int) []int { return append(slices.Clone(n), n...) },
	} {
		for _, overwrite := range []bool{false, true} {
			s, e := newSubmission(t, overwrite)
			e.order = order
			var last Progress
			s.r.Progress = func(p Progress) { last = p }
			out := mustSubmit(t, s.r, e)
			if out.Nothing || out.Plan == nil || out.Plan.ID != s.plan.ID || out.Resumed != 0 || out.Tasks != 9 || e.runs != 1 || last.TotalTasks != 9 || last.Tasks == 0 {
				t.Errorf("%s: outcome %+v after %d runs, progress %+v", name, out, e.runs, last)
			}
			s.checkComplete(t)
			if out := mustSubmit(t, s.r, e); !out.Nothing || e.runs != 1 {
				t.Errorf("%s: second submission: %+v, %d runs", name, out, e.runs)
			}
			if out := mustConvert(t, s.r); !out.Nothing {
				t.Errorf("%s: the same conversion was done again", name)
			}
		}
	}
}

// TestSubmitLateTasks checks that Submit finds tasks that are not done although the engine has
// ended without an error. The next submission runs only these tasks.
func TestSubmitLateTasks(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s, e := newSubmission(t, overwrite)
		e.order = func(n []int) []int { return n[:5] }
		_, err := Submit(t.Context(), s.r, e)
		failuretest.Want(t, err, failure.Storage, "4 of 9 tasks", "are not done: 5, 6, 7, 8")
		testenv.Must(t, s.st.RemoveAll(t.Context(), path.Join(s.staging(), s.result(t, 2).Files()[0].Name)))
		e.order = nil
		var first Progress
		s.r.Progress = func(p Progress) {
			if first.TotalTasks == 0 {
				first = p
			}
		}
		out := mustSubmit(t, s.r, e)
		if want := []int{2, 5, 6, 7, 8}; !slices.Equal(e.numbers[1], want) || out.Resumed != 4 || out.Manifest.Made.Resumed != 4 || first.Tasks != 5 || first.TotalBytes <= first.Bytes {
			t.Errorf("the tasks %v were run, want %v; resumed %d; progress %+v", e.numbers[1], want, out.Resumed, first)
		}
		s.checkComplete(t)
	}
}

// TestSubmitRestart checks that Restart runs all tasks again, and with Overwrite also those of
// an existing output.
func TestSubmitRestart(t *testing.T) {
	s, e := newSubmission(t, false)
	e.order = func(n []int) []int { return n[:4] }
	if _, err := Submit(t.Context(), s.r, e); !errors.Is(err, failure.Storage) {
		t.Fatal(err)
	}
	e.order, s.r.Restart = nil, true
	first := mustSubmit(t, s.r, e)
	if first.Resumed != 0 || len(e.numbers[1]) != 9 || e.superseded[0] != nil || !slices.Equal(e.superseded[1], []string{s.plan.ID}) {
		t.Errorf("resumed %d tasks; the plans replace %q", first.Resumed, e.superseded)
	}
	s.checkComplete(t)
	s.r.Overwrite = true
	again := mustSubmit(t, s.r, e)
	if again.Nothing || again.Manifest.ID == first.Manifest.ID || len(e.numbers[2]) != 9 {
		t.Errorf("%+v", again)
	}
	s.checkComplete(t)
}

// TestSubmitAfterDamage checks that Submit makes a new plan if the staged plan does not
// replace a later output, which is damaged.
func TestSubmitAfterDamage(t *testing.T) {
	s, e := newSubmission(t, true)
	e.after = func(error) error { return task.ErrDetached }
	before, err := Submit(t.Context(), s.r, e)
	if !errors.Is(err, task.ErrDetached) {
		t.Fatal(err)
	}
	other := s.other()
	other.Output.RowGroupSize *= 2
	later := mustConvert(t, other).Manifest
	testenv.Must(t, s.st.RemoveAll(t.Context(), "/out/"+later.Entries()[0].Name))
	e.after = nil
	if out := mustSubmit(t, s.r, e); out.Plan.ID == before.Plan.ID || out.Resumed != 0 {
		t.Errorf("%+v", out)
	}
	wantContents(t, s.st, "/out", s.want)
}

// TestSubmitRefuses checks that Submit refuses files on local disk, and requests that Convert
// refuses.
func TestSubmitRefuses(t *testing.T) {
	s, e := newSubmission(t, false)
	for _, local := range []string{"/out", "/a.avro"} {
		r := s.r
		r.Resolve = func(location string) (store.Location, error) {
			at, err := s.r.Resolve(location)
			if location == local {
				at.Store = localStore{at.Store}
			}
			return at, err
		}
		_, err := Submit(t.Context(), r, e)
		failuretest.Want(t, err, failure.Usage, local+" is on this machine")
	}
	r := s.r
	r.Incremental, r.Overwrite = true, true
	_, err := Submit(t.Context(), r, e)
	failuretest.Want(t, err, failure.Usage, "--overwrite")
	mustConvert(t, s.other())
	_, err = Submit(t.Context(), s.r, e)
	failuretest.Want(t, err, failure.Foreign, "--overwrite replaces the output")
	if e.runs > 0 || len(fileNames(t, s.st, "/out/"+manifest.WorkName)) > 0 {
		t.Errorf("%d runs; %q is left", e.runs, fileNames(t, s.st, "/out/"+manifest.WorkName))
	}
	if err := s.st.WriteFile(t.Context(), "/out/others", nil, true); err == nil {
		err = s.st.Mkdir(t.Context(), "/out/"+manifest.WorkName)
		testenv.Must(t, err)
	}
	r = s.r
	r.Incremental = true
	_, err = Submit(t.Context(), r, e)
	failuretest.Want(t, err, failure.Foreign, "others")
	if _, err := s.st.Stat(t.Context(), "/out/"+manifest.WorkName); err != nil {
		t.Errorf("a refused destination was cleared: %v", err)
	}
}

// TestSubmitOfNothing checks that Submit publishes an output without tasks, and does not run
// the engine.
func TestSubmitOfNothing(t *testing.T) {
	s, e := newSubmission(t, false)
	testenv.Must(t, s.st.Mkdir(t.Context(), "/none"))
	s.r.Inputs = []string{"/none"}
	_, err := Submit(t.Context(), s.r, e)
	failuretest.Want(t, err, failure.Input, "none")
	s.r.AllowEmpty, s.want = true, nil
	out := mustSubmit(t, s.r, e)
	if e.runs != 0 || out.Nothing || out.Manifest == nil {
		t.Errorf("%d runs: %+v", e.runs, out)
	}
	s.checkComplete(t)
}

// TestSubmitAfterOthers checks that Submit finds the same output that another process
// published, even if its own tasks failed. It is refused if another output was published.
func TestSubmitAfterOthers(t *testing.T) {
	for _, failed := range []error{nil, failure.New(failure.Storage, "the directory is gone")} {
		s, e := newSubmission(t, false)
		e.after = func(error) error {
			mustConvert(t, s.r)
			return failed
		}
		if out := mustSubmit(t, s.r, e); !out.Nothing {
			t.Errorf("%+v", out)
		}
		wantContents(t, s.st, "/out", s.want)
	}
	s, e := newSubmission(t, false)
	e.after = func(err error) error {
		mustConvert(t, s.other())
		return err
	}
	_, err := Submit(t.Context(), s.r, e)
	failuretest.Want(t, err, failure.Foreign, "got another output after plan")
}

// TestSubmitFails checks that Submit returns the error of the engine and keeps the work.
func TestSubmitFails(t *testing.T) {
	s, e := newSubmission(t, false)
	e.order = func(n []int) []int { return n[:3] }
	e.after = func(error) error {
		return &task.Failure{Plan: s.plan.ID, Task: 4, Err: failure.New(failure.Refused, "no quota")}
	}
	_, err := Submit(t.Context(), s.r, e)
	failuretest.Want(t, err, failure.Refused, "no quota")
	var of *task.Failure
	if !errors.As(err, &of) || of.Task != 4 {
		t.Errorf("the error does not name its task: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e.after = func(error) error {
		cancel()
		return context.Cause(ctx)
	}
	if _, err := Submit(ctx, s.r, e); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	e.order, e.after = nil, nil
	if out := mustSubmit(t, s.r, e); out.Resumed != 6 {
		t.Errorf("resumed %d tasks", out.Resumed)
	}
	s.checkComplete(t)
}

// TestTooManyTasks checks that there is a warning if tasks leave more files than a directory
// can hold.
func TestTooManyTasks(t *testing.T) {
	if warnings := tooMany(1 << 19); warnings != nil {
		t.Error(warnings)
	}
	if warnings := fmt.Sprint(tooMany(1<<19 + 1)); !strings.Contains(warnings, "524289 tasks") || !strings.Contains(warnings, "--row-group-size") {
		t.Error(warnings)
	}
}
