package job

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestTasksAndCommit(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newPlanned(t, overwrite)
		if done := mustRun(t, s.plan, s.r.Options, 8, 3, 3, 5); done != 0 {
			t.Errorf("%d tasks were done at first", done)
		}
		if done := s.run(t); done != 3 {
			t.Errorf("%d tasks were done, want 3", done)
		}
		var last Progress
		o := s.r.Options
		o.Progress = func(p Progress) { last = p }
		testenv.Must(t, s.st.Remove(t.Context(), s.staging()+"/task-00004.json"))
		if done := mustRun(t, s.plan, o, 4, 0); done != 1 || last.Tasks != 1 || last.TotalTasks != 2 || last.Rows == 0 || last.Bytes != s.plan.Tasks[4].Bytes() {
			t.Errorf("%d tasks were done, progress %+v", done, last)
		}
		s.commit(t)
		out := mustCommit(t, s.plan, s.r.Options)
		if !out.Nothing || out.Manifest == nil {
			t.Errorf("the outcome of the second commit is %+v", out)
		}
		s.checkComplete(t)
		if out := mustConvert(t, s.r); !out.Nothing {
			t.Error("the same conversion was done again")
		}
	}
}

// TestTasksOfNoPlan checks that numbers of tasks are refused that the plan does not have.
func TestTasksOfNoPlan(t *testing.T) {
	s := newPlanned(t, false)
	for _, n := range []int{-1, len(s.plan.Tasks)} {
		_, _, err := RunTasks(t.Context(), s.plan, s.r.Options, []int{0, n})
		failuretest.Want(t, err, failure.Usage, fmt.Sprintf("no task %d", n))
	}
}

// TestRandomTasks checks that Commit gives the bytes of Convert after tasks were repeated,
// reordered and run concurrently, on a store that fails and in processes that end at any
// moment.
func TestRandomTasks(t *testing.T) {
	tries, failed := 0, 0
	for seed := range soak.Rounds[uint64](8, 200) {
		s := newPlanned(t, seed%2 == 0)
		for round := 0; len(s.missing(t)) > 0; round++ {
			if round == 50 {
				t.Fatalf("seed %d: tasks are still missing: %v", seed, s.missing(t))
			}
			errs := make([]error, 4)
			var wg sync.WaitGroup
			for i := range errs {
				r := rand.New(rand.NewPCG(seed, uint64(round*len(errs)+i)))
				wg.Go(func() { errs[i] = s.runSome(t, r) })
			}
			wg.Wait()
			for _, err := range errs {
				tries++
				if err == nil {
					continue
				}
				failed++
				if kind := failure.KindOf(err); kind != failure.Storage && !errors.Is(err, memstore.ErrStopped) {
					t.Errorf("seed %d: %v of kind %v", seed, err, kind)
				}
			}
		}
		s.commit(t)
	}
	if failed == 0 {
		t.Errorf("none of %d tries failed", tries)
	}
}

// runSome runs random tasks in a process that is killed or meets an error of the store.
func (s *planned) runSome(t *testing.T, r *rand.Rand) error {
	numbers := r.Perm(len(s.plan.Tasks))[:1+r.IntN(len(s.plan.Tasks))]
	numbers = append(numbers, numbers[0])
	client := s.disk.Client()
	o := s.optionsOn(client)
	if r.IntN(2) == 0 {
		client.StopAt(1 + r.IntN(60))
	} else {
		op := []storetest.Op{storetest.Create, storetest.Write, storetest.Commit, storetest.WriteFile, storetest.ReadAt, storetest.Mkdir}[r.IntN(6)]
		o.Resolve = storetest.ResolveTo(storetest.NewFaulty(client, storetest.Fault{Op: op, N: 1 + r.IntN(9), Err: syscall.EIO, Late: r.IntN(2) == 0}))
	}
	o.Workers = 1 + r.IntN(3)
	_, _, err := RunTasks(t.Context(), s.plan, o, numbers)
	return err
}

// TestFailedRunKeepsOthers checks that a task that fails keeps the work of another process
// that has done it meanwhile.
func TestFailedRunKeepsOthers(t *testing.T) {
	s := newPlanned(t, false)
	done := callBefore(s.st, "task-00002.json", func() { mustRun(t, s.plan, s.r.Options, 2) })
	o := s.optionsOn(storetest.NewFaulty(done, storetest.Fault{Op: storetest.WriteFile, N: 2, Err: syscall.EIO, Late: true})) // after the plan
	_, _, err := RunTasks(t.Context(), s.plan, o, []int{2})
	failuretest.Want(t, err, failure.Storage)
	if s.result(t, 2) == nil {
		t.Error("task 2 is not done")
	}
	for _, op := range []storetest.Op{storetest.Create, storetest.Write, storetest.Commit} {
		faulty := storetest.NewFaulty(s.st, storetest.Fault{Op: op, N: 1, Err: syscall.EIO, Late: true})
		if _, _, err := RunTasks(t.Context(), s.plan, s.optionsOn(hidingStore{faulty, "task-00002.json"}), []int{2}); err == nil {
			t.Errorf("%s: the task did not fail", op)
		}
		if s.result(t, 2) == nil {
			t.Errorf("%s: the work of another process was removed", op)
		}
	}
	s.run(t)
	s.commit(t)
}

// TestTasksOnBrokenStorage checks that tasks do not run again if their files cannot be read.
func TestTasksOnBrokenStorage(t *testing.T) {
	s := newPlanned(t, false)
	mustRun(t, s.plan, s.r.Options, 0)
	first := s.result(t, 0).Files()[0].Name
	_, _, err := RunTasks(t.Context(), s.plan, s.optionsOn(unreadableStore{s.st}), []int{0})
	failuretest.Want(t, err, failure.Storage)
	if now := s.result(t, 0).Files()[0].Name; now != first {
		t.Errorf("the work is %s, want %s", now, first)
	}
}

// TestNoDestination checks that plans are refused whose destination is not possible.
func TestNoDestination(t *testing.T) {
	s := newPlanned(t, false)
	testenv.Must(t, s.st.WriteFile(t.Context(), "/file", nil, true))
	for dest, tc := range map[string]struct {
		kind error
		text string
	}{
		"s3://b/out": {failure.Usage, "s3"},
		"/file":      {failure.Usage, "is a file"},
		"/no/out":    {failure.Refused, "its parent directory does not exist"},
	} {
		s.plan.Dest = dest
		o := s.r.Options
		if strings.Contains(dest, "://") {
			o.Resolve = nil
		}
		_, err := Commit(t.Context(), s.plan, o)
		failuretest.Want(t, err, tc.kind, tc.text)
		if dest == "/file" {
			continue // tasks return the error of the storage
		}
		_, _, err = RunTasks(t.Context(), s.plan, o, []int{0})
		failuretest.Want(t, err, tc.kind, tc.text)
	}
}

// TestLateTask checks that a task fails if another process has published its output before the
// task ends. The task can run again, without effect.
func TestLateTask(t *testing.T) {
	for _, committed := range []bool{false, true} {
		s := newPlanned(t, false)
		late := callBefore(s.st, "task-00002.json", func() {
			if !committed {
				mustConvert(t, s.r)
				return
			}
			s.run(t)
			s.commit(t)
		})
		_, _, err := RunTasks(t.Context(), s.plan, s.optionsOn(late), []int{2})
		failuretest.Want(t, err, failure.Storage, "the work of plan "+s.plan.ID+" is gone: a commit took it, or clean removed it")
		wantContents(t, s.st, "/out", s.want)
		mustRun(t, s.plan, s.r.Options, 2)
		if out := mustCommit(t, s.plan, s.r.Options); !out.Nothing {
			t.Errorf("outcome %+v", out)
		}
		wantContents(t, s.st, "/out", s.want)
	}
}
