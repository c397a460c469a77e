package job

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestTasksThenConvert checks that Convert resumes the work of a scheduler's tasks for the
// same plan.
func TestTasksThenConvert(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newPlanned(t, overwrite)
		mustRun(t, s.plan, s.r.Options, 0, 3, 8)
		if out := mustConvert(t, s.r); out.Resumed != 3 || out.Plan.ID != s.plan.ID || out.Manifest.Made.Resumed != 3 {
			t.Errorf("%+v", out)
		}
		s.checkComplete(t)
	}
}

// TestKilledConvertThenCommit checks that Commit publishes the work of a killed conversion
// after tasks did the rest.
func TestKilledConvertThenCommit(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newPlanned(t, overwrite)
		s.r.Workers = 1
		left := 9
		for at := 30; left == 9; at += 5 {
			s.kill(t, s.r, at)
			left = len(s.missing(t))
		}
		_, err := Commit(t.Context(), s.plan, s.r.Options)
		failuretest.Want(t, err, failure.Storage, "of 9 tasks", "are not done")
		if done := s.run(t); done != 9-left {
			t.Errorf("%d tasks were done, want %d", done, 9-left)
		}
		s.commit(t)
	}
}

// TestResumeTheMostDone checks that Convert resumes the matching plan with the most input
// done. One of the plans was made with less memory, and has smaller blocks.
func TestResumeTheMostDone(t *testing.T) {
	first := newPlanned(t, false)
	small := first.r
	small.Memory = budget.New(smallMemory)
	smallPlan := newPlan(t, small)
	if smallPlan.ID == first.plan.ID {
		t.Fatal("less memory gives the same plan")
	}
	for name, tc := range map[string]struct {
		large, small []int // tasks of each plan that are done
		less         bool  // whether the memory is that of the small plan
		resumed      int
		warns        string
	}{
		"small": {[]int{0}, []int{0, 1, 2}, false, 3, "keeps its column blocks of "},
		"large": {[]int{0, 1, 2}, []int{0}, false, 3, ""},
		"fits":  {[]int{0, 1, 2}, []int{0}, true, 1, "do not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := first.fork(t)
			mustRun(t, s.plan, s.r.Options, tc.large...)
			mustRun(t, smallPlan, s.r.Options, tc.small...)
			r := s.r
			if tc.less {
				r.Memory = budget.New(smallMemory)
			}
			out, err := Convert(t.Context(), r)
			if err != nil || out.Resumed != tc.resumed || !strings.Contains(strings.Join(out.Warnings, "\n"), tc.warns) || out.Manifest.Rows != 6000 {
				t.Errorf("%+v, %v", out, err)
			}
			if left := fileNames(t, s.st, "/out/"+manifest.WorkName); len(left) > 0 {
				t.Errorf("work of the other plan is left: %q", left)
			}
		})
	}
}

// TestOtherRevision checks that a plan of another revision, whose tasks write other bytes, is
// neither resumed nor committed.
func TestOtherRevision(t *testing.T) {
	s := newPlanned(t, false)
	other := *s.plan
	other.Revision++
	var err error
	if other.ID, err = other.Sum(); err != nil {
		t.Fatal(err)
	}
	doc, err := other.Encode()
	file := path.Join("/out", manifest.WorkName, "plan-"+other.ID, manifest.PlanName)
	if err == nil {
		err = storetest.MkdirAll(t.Context(), s.st, path.Dir(file))
	}
	if err == nil {
		err = s.st.WriteFile(t.Context(), file, doc, true)
	}
	testenv.Must(t, err)
	_, err = CommitStaged(t.Context(), "/out", other.ID, s.r.Options)
	failuretest.Want(t, err, failure.Foreign, other.ID, "another version of rowtocol made it")
	out := mustConvert(t, s.r)
	if out.Plan.ID != s.plan.ID {
		t.Errorf("plan %s was carried out, want %s", out.Plan.ID, s.plan.ID)
	}
	if !slices.ContainsFunc(out.Warnings, func(w string) bool {
		return strings.Contains(w, other.ID) && strings.Contains(w, "another version of rowtocol")
	}) {
		t.Errorf("warnings %q", out.Warnings)
	}
	wantContents(t, s.st, "/out", s.want)
}

// TestConvertReads checks that a conversion does not read the staged files of its own tasks
// again, because the tasks have read them back. It reads all files of tasks that were done
// before.
func TestConvertReads(t *testing.T) {
	s := newPlanned(t, false)
	tasks, convert := s.fork(t), s.fork(t)
	var wrote, read atomic.Int64
	mustRun(t, s.plan, tasks.optionsOn(countingStore{tasks.st, &wrote}), allTasks(s.plan)...)
	convert.r.Resolve = storetest.ResolveTo(countingStore{convert.st, &read})
	mustConvert(t, convert.r)
	if read.Load() != wrote.Load() || wrote.Load() == 0 {
		t.Errorf("the conversion read %d bytes, want the %d that its tasks read", read.Load(), wrote.Load())
	}
	read.Store(0)
	tasks.r.Resolve = storetest.ResolveTo(countingStore{tasks.st, &read})
	if out := mustConvert(t, tasks.r); out.Resumed != 9 || read.Load() == 0 || read.Load() > wrote.Load() {
		t.Errorf("%d tasks were done, and %d bytes read", out.Resumed, read.Load())
	}
	tasks.checkComplete(t)
}

// TestChangedDuringConvert checks that a conversion notices a change of its own work, and
// leaves the destination unchanged.
func TestChangedDuringConvert(t *testing.T) {
	const (
		running = "running"
		checked = "/" + manifest.PendingName + "-" // after the work was checked
		taken   = "-00000003"                      // while the manifest is written
	)
	file := func(t *testing.T, s *planned) string {
		return path.Join(s.staging(), s.result(t, 0).Files()[0].Name)
	}
	cut := func(t *testing.T, s *planned) error {
		return s.st.WriteFile(t.Context(), file(t, s), []byte("short"), false)
	}
	replace := func(t *testing.T, s *planned) error {
		b, err := s.st.ReadFile(t.Context(), file(t, s), maxFile)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return s.st.WriteFile(t.Context(), file(t, s), b, false)
	}
	remove := func(t *testing.T, s *planned) error { return s.st.Remove(t.Context(), file(t, s)) }
	clean := func(t *testing.T, s *planned) error { return s.st.RemoveAll(t.Context(), s.staging()) }
	for _, tc := range []struct {
		name   string
		change func(*testing.T, *planned) error
		when   string
		kind   error
		left   int // tasks that must be done again
	}{
		{"cut", cut, running, failure.Foreign, 1},
		{"cut", cut, checked, failure.Foreign, 1},
		{"replaced", replace, checked, failure.Foreign, 1},
		{"replaced", replace, taken, failure.Foreign, 1},
		{"removed", remove, running, failure.Storage, 1},
		{"removed", remove, taken, failure.Storage, 1},
		{"cleaned", clean, running, failure.Storage, 9},
		{"cleaned", clean, checked, failure.Storage, 9},
		{"cleaned", clean, taken, failure.Storage, 9},
	} {
		t.Run(tc.name+" when "+tc.when, func(t *testing.T) {
			s := newPlanned(t, true)
			want := contents(t, s.st, "/out")
			r, changed := s.r, false
			change := func() {
				if err := tc.change(t, s); err != nil {
					t.Error(err)
				}
				changed = true
			}
			if tc.when == running {
				r.Progress = func(p Progress) {
					if p.Tasks == p.TotalTasks && !changed {
						change()
					}
				}
			} else {
				r.Resolve = storetest.ResolveTo(callBefore(s.st, tc.when, change))
			}
			_, err := Convert(t.Context(), r)
			failuretest.Want(t, err, tc.kind)
			if !changed || !slices.Equal(contents(t, s.st, "/out"), want) {
				t.Errorf("the work was changed: %v; or the output was changed", changed)
			}
			if out := mustConvert(t, s.r); out.Resumed != 9-tc.left {
				t.Errorf("%d tasks were done again, want %d", 9-out.Resumed, tc.left)
			}
			s.checkComplete(t)
		})
	}
}

// TestStagingIsAFile checks that a file in place of the directory with the work of a plan is
// refused.
func TestStagingIsAFile(t *testing.T) {
	s := newPlanned(t, false)
	testenv.Must(t, storetest.MkdirAll(t.Context(), s.st, path.Dir(s.staging())), s.st.WriteFile(t.Context(), s.staging(), nil, true))
	_, _, err := RunTasks(t.Context(), s.plan, s.r.Options, allTasks(s.plan))
	failuretest.Want(t, err, failure.Foreign, "is not a directory")
	_, err = Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Foreign, "is not a directory")
	_, err = CommitStaged(t.Context(), "/out", s.plan.ID, s.r.Options)
	failuretest.Want(t, err, failure.Foreign, "neither the output of plan")
	_, err = Convert(t.Context(), s.r)
	failuretest.Want(t, err, failure.Foreign, "is not a directory")
}

// TestNoTasks checks that no destination is made if there are no tasks to run.
func TestNoTasks(t *testing.T) {
	s := newPlanned(t, false)
	if results, done, err := RunTasks(t.Context(), s.plan, s.r.Options, nil); len(results) > 0 || done > 0 || err != nil {
		t.Errorf("%v, %d, %v", results, done, err)
	}
	if _, err := s.st.Stat(t.Context(), "/out"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the destination exists, %v", err)
	}
}

// TestMendable checks that the work of a canceled run is kept, with any error.
func TestMendable(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	damaged := failure.New(failure.Input, "damaged")
	if !mendable(stopped, damaged) || mendable(t.Context(), damaged) || !mendable(t.Context(), errors.New("a defect")) {
		t.Error("useless work is kept, or useful work is removed")
	}
}
