package job

import (
	"context"
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/job/task/tasktest"
	"github.com/rowtocol/rowtocol/spill"
)

// TestTasksOfAnotherSink checks that tasks run again if they ran with another sink than that
// of the commit.
func TestTasksOfAnotherSink(t *testing.T) {
	for name, others := range map[string]func(*manifest.Plan) (task.Sink, error){
		"no sink": nil, "another field": tasktest.Keys{Field: "id"}.Of,
	} {
		s := newPlanned(t, true)
		before := s.r.Options
		before.Sink = others
		mustRun(t, s.plan, before, 0, 3, 8)
		mustRun(t, s.plan, s.r.Options, 1, 2, 4, 5, 6, 7)
		_, err := Commit(t.Context(), s.plan, s.r.Options)
		failuretest.Want(t, err, failure.Storage, "3 of 9 tasks of plan "+s.plan.ID+" are not done: 0, 3, 8")
		if done := s.run(t); done != 6 {
			t.Errorf("%s: %d tasks were done", name, done)
		}
		s.commit(t)
	}
}

// failingSink is a sink that cannot merge.
type failingSink struct{ tasktest.Keys }

func (failingSink) Merge(context.Context, task.Output, *spill.Folder, func(task.NewFile) error) error {
	return errors.New("no merge")
}

// TestLastStepFails checks that the work of tasks is kept if the last step fails with any
// error.
func TestLastStepFails(t *testing.T) {
	s := newPlanned(t, true)
	r := s.r
	r.Sink = func(*manifest.Plan) (task.Sink, error) { return failingSink{tasktest.Keys{Field: "s"}}, nil }
	if _, err := Convert(t.Context(), r); err == nil {
		t.Fatal("the conversion did not fail")
	}
	if out := mustConvert(t, s.r); out.Resumed != len(s.plan.Tasks) {
		t.Errorf("%d tasks were resumed", out.Resumed)
	}
	s.checkComplete(t)
}
