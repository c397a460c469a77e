package job

import (
	"context"
	"errors"
	"maps"

	"github.com/rowtocol/rowtocol/job/task"
)

// Submit converts partitions, given their names, as the function Submit does. The tasks of all
// partitions run on other machines at the same time. A partition that fails does not stop the
// others. onEnd is called when a partition ends, from one goroutine at a time.
func (p *Partitions) Submit(ctx context.Context, names []string, runner RemoteRunner, onEnd func(name string, out *Outcome, err error)) {
	all := make([]*submission, len(names))
	for i, name := range names {
		all[i] = &submission{name: name, request: func(ctx context.Context) (Request, bool, error) { return p.requestFor(ctx, name) }}
	}
	submitAll(ctx, all, runner, p.Progress, func(s *submission, out *Outcome, err error) { onEnd(s.name, out, err) })
}

// errSpared is the error of tasks that were stopped because a task of another plan failed.
var errSpared = errors.New("tasks of another plan failed")

// submitAll carries out submissions in rounds. A round prepares all submissions, runs their
// tasks together, and publishes what is done. Submissions with more to do go to the next round.
func submitAll(ctx context.Context, all []*submission, runner RemoteRunner, report func(Progress), onEnd func(*submission, *Outcome, error)) {
	end := func(s *submission, err error) {
		out, err := s.end(ctx, err)
		onEnd(s, out, err)
	}
	for len(all) > 0 {
		var ready, next []*submission
		for _, s := range all {
			switch done, err := s.prepare(ctx); {
			case err != nil && s.overtaken(ctx, err):
				next = append(next, s)
			case err != nil || done:
				end(s, err)
			default:
				ready = append(ready, s)
			}
		}
		failed := runRemotely(ctx, ready, runner, report)
		for _, s := range ready {
			err, more := failed[s], false
			switch {
			case errors.Is(err, errSpared):
				next = append(next, s)
				continue
			case err == nil, ctx.Err() == nil && !errors.Is(err, task.ErrDetached) && s.published(ctx):
				err = s.commit(ctx)
				more = err == nil && s.more()
			}
			if more || err != nil && s.overtaken(ctx, err) {
				next = append(next, s)
			} else {
				end(s, err)
			}
		}
		all = next
	}
}

// runRemotely runs the tasks that submissions have left, and returns the errors of the
// submissions that failed.
func runRemotely(ctx context.Context, all []*submission, runner RemoteRunner, report func(Progress)) map[*submission]error {
	var batches []task.Batch
	var before Progress
	plans := make(map[string]*submission)
	for _, s := range all {
		p := progressOf(s.plan, s.work)
		before.Tasks, before.TotalTasks = before.Tasks+p.Tasks, before.TotalTasks+p.TotalTasks
		before.Bytes, before.TotalBytes = before.Bytes+p.Bytes, before.TotalBytes+p.TotalBytes
		if s.batch != nil {
			batches = append(batches, *s.batch)
			plans[s.plan.ID] = s
		}
	}
	if len(batches) == 0 {
		return nil
	}
	err := runner.Run(ctx, batches, func(p task.Progress) {
		if report != nil {
			report(before.with(p))
		}
	})
	failed := make(map[*submission]error)
	if err == nil {
		return failed
	}
	for _, f := range taskFailures(err) {
		if s := plans[f.Plan]; s != nil && failed[s] == nil {
			failed[s] = f
		}
	}
	rest := err
	//guard: gives each partition the error of its own tasks
	if len(failed) > 0 {
		rest = errSpared
	}
	for s := range maps.Values(plans) {
		if failed[s] == nil {
			failed[s] = rest
		}
	}
	return failed
}

// taskFailures returns the task failures in an error's tree.
func taskFailures(err error) (all []*task.Failure) {
	if f, ok := err.(*task.Failure); ok {
		return []*task.Failure{f}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return taskFailures(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			all = append(all, taskFailures(err)...)
		}
	}
	return all
}
