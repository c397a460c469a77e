package job

import (
	"context"
	"errors"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
)

// RunTasks runs tasks of a plan, by their numbers, and leaves their files and
// results where Commit finds them. A task that is done already is not run again;
// done is how many of them were. If the output of the plan is there and whole, all tasks
// are done, and there are no results. It takes no lock: the same tasks may run twice, and at
// once.
func RunTasks(ctx context.Context, p *manifest.Plan, o Options, numbers []int) (results []*manifest.TaskResult, done int, err error) {
	results, done, err = runTasks(ctx, p, o, numbers)
	return results, done, failure.Judge(err)
}

func runTasks(ctx context.Context, p *manifest.Plan, o Options, numbers []int) (results []*manifest.TaskResult, done int, err error) {
	place, err := input.Locate(o.Resolve, p.Dest)
	if err != nil {
		return nil, 0, err
	}
	dest := publish.At(place, o.Destination)
	state, err := dest.Look(ctx)
	if err != nil {
		return nil, 0, err
	}
	//guard: an output that lost files could never be committed again
	if m := state.Committed(p); m != nil && m.Plan == p.ID {
		return nil, len(numbers), nil
	}
	//guard: a share without tasks would make the destination
	if len(numbers) == 0 {
		return nil, 0, nil
	}
	options, err := o.taskOptions(p, func(t task.Progress) {
		if o.Progress != nil {
			o.Progress(Progress{Rows: t.Rows, Bytes: t.Bytes, Tasks: t.Tasks, TotalTasks: len(numbers)})
		}
	})
	if err != nil {
		return nil, 0, err
	}
	tasks, err := task.Open(p, options)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tasks.Close()) }()
	dir, _, err := dest.Staging(ctx, p.ID)
	if err != nil {
		return nil, 0, err
	}
	work := task.WorkIn(p, options.Sink, place.Store, dir)
	if err := work.Find(ctx, o.Resolve, numbers); err != nil {
		return nil, 0, err
	}
	left := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n >= 0 && n < len(p.Tasks) && work.Results[n] != nil })
	if len(left) > 0 {
		err = dest.KeepPlan(ctx, p)
	}
	if err == nil {
		var made []*manifest.TaskResult
		made, err = tasks.Run(ctx, place.Store, dir, left)
		work.Add(made)
	}
	if err != nil {
		return nil, 0, explainGone(ctx, p, place.Store, dir, err)
	}
	for _, n := range numbers {
		results = append(results, work.Results[n])
	}
	return results, len(numbers) - len(left), nil
}
