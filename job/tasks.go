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
	//guard: leaves an output alone that lost files
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

// RunTasksIn is RunTasks where a scheduler runs the tasks of a batch: their files and results
// go to dir on st, which whoever submitted them made. If it is gone, they fail: it was
// committed, or is not wanted. Nothing else of the destination is looked at.
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

// runTasksIn runs those of some tasks that are not done. begin sees to it that dir is there.
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
	work := task.WorkIn(p, options.Sink, st, dir)
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
