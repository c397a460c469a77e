package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/task"
)

// Elsewhere runs tasks on other machines.
type Elsewhere interface {
	// Run runs the tasks of batches, whose plans differ, and tells progress of what
	// they did, by one goroutine at a time. A task may run twice, also after Run has
	// returned. nil is no promise that all tasks are done: the results that they leave
	// tell. An error that is a *task.Failure is of the plan that it names, and another
	// one of all. After task.ErrDetached the tasks run on.
	Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error
}

// Submit does what Convert does, but its tasks run elsewhere, and no lock is held
// meanwhile. They leave their work where Commit finds it: also after an error, so that a
// rerun of the same request has only those run that are left. After task.ErrDetached
// the outcome has the plan.
func Submit(ctx context.Context, r Request, e Elsewhere) (*Outcome, error) {
	out, err := submit(ctx, &r, e)
	if errors.Is(err, task.ErrDetached) {
		return out, err
	}
	return out, failure.Judge(err)
}

func submit(context.Context, *Request, Elsewhere) (*Outcome, error) {
	return nil, failure.New(failure.Usage, "tasks cannot run elsewhere yet")
}

// Submit is Convert of partitions, by their names, whose tasks run elsewhere, those of
// all partitions at once: see the function Submit. each is told what came of every
// partition, in the order of names.
func (p *Partitions) Submit(ctx context.Context, names []string, e Elsewhere, each func(name string, out *Outcome, err error)) {
	for _, name := range names {
		each(name, nil, failure.New(failure.Usage, "tasks cannot run elsewhere yet"))
	}
}
