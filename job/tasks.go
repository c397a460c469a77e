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
	"github.com/rowtocol/rowtocol/store"
)

// RunTasks runs tasks of a plan, given their numbers, and leaves their files and results where
// Commit finds them. It does not run a task again that is done. done is the number of such
// tasks, and results includes their results. If the destination holds the plan's whole output,
// all tasks are done and there are no results. RunTasks takes no lock, so a task may run twice,
// even at the same time.
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
	state, err := dest.ReadState(ctx)
	if err != nil {
		return nil, 0, err
	}
	//guard: makes no directory for a plan that was published
	if m := state.Committed(p); m != nil && m.Plan == p.ID {
		return nil, len(numbers), nil
	}
	//guard: makes nothing for a share without tasks
	if len(numbers) == 0 {
		return nil, 0, nil
	}
	return runTasksIn(ctx, p, o, numbers, place.Store, dest.StagingPath(p.ID), func() error {
		dir, _, err := dest.Staging(ctx, p.ID)
		if err != nil {
			return err
		}
		if err := dest.KeepPlan(ctx, p); err != nil {
			return explainGone(ctx, p, place.Store, dir, err)
		}
		return nil
	})
}

// RunTasksIn does what RunTasks does, for a scheduler that runs the tasks of a batch. Files
// and results go to dir on st, which the submitter made. If dir is gone, the tasks fail, because
// their work was committed or removed. RunTasksIn reads nothing else of the destination.
func RunTasksIn(ctx context.Context, p *manifest.Plan, o Options, numbers []int, st store.Store, dir string) (results []*manifest.TaskResult, done int, err error) {
	results, done, err = runTasksIn(ctx, p, o, numbers, st, dir, func() error {
		//guard: does not make a directory again that a commit took (tests: ./hadoop)
		if _, err := st.Stat(ctx, dir); err != nil {
			return explainGone(ctx, p, st, dir, err)
		}
		return nil
	})
	return results, done, failure.Judge(err)
}

// runTasksIn runs the tasks that are not done. begin makes sure that dir exists.
func runTasksIn(ctx context.Context, p *manifest.Plan, o Options, numbers []int, st store.Store, dir string, begin func() error) (results []*manifest.TaskResult, done int, err error) {
	options, err := o.taskOptions(p, func(t task.Progress) {
		if o.Progress != nil {
			o.Progress(Progress{Rows: t.Rows, Bytes: t.Bytes, Tasks: t.Tasks, TotalTasks: len(numbers), Spilled: t.Spilled})
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
	if err := begin(); err != nil {
		return nil, 0, err
	}
	work := task.NewWork(p, options.Sink, st, dir)
	if err := work.Find(ctx, o.Resolve, numbers); err != nil {
		return nil, 0, explainGone(ctx, p, st, dir, err)
	}
	left := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n >= 0 && n < len(p.Tasks) && work.Results[n] != nil })
	made, err := tasks.Run(ctx, st, dir, left)
	if err != nil {
		return nil, 0, explainGone(ctx, p, st, dir, err)
	}
	work.Add(made)
	for _, n := range numbers {
		results = append(results, work.Results[n])
	}
	return results, len(numbers) - len(left), nil
}
