package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/input"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/publish"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/task"
)

// RunTasks runs tasks of a plan, by their numbers, and leaves their files and
// results where Commit finds them. A task that is done already is not run again;
// done is how many of them were. Of a plan that is published all tasks are done,
// and there are no results. It takes no lock: the same tasks may run twice, and at
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
	if state.Success != nil && state.Success.Plan == p.ID {
		return nil, len(numbers), nil
	}
	tasks, err := task.Open(p, o.taskOptions(func(t task.Progress) {
		if o.Progress != nil {
			o.Progress(Progress{Rows: t.Rows, Bytes: t.Bytes, Tasks: t.Tasks, TotalTasks: len(numbers)})
		}
	}))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tasks.Close()) }()
	dir, err := dest.Staging(ctx, p.ID)
	if err != nil {
		return nil, 0, err
	}
	results = make([]*manifest.TaskResult, len(numbers))
	var left, places []int
	for i, n := range numbers {
		if n >= 0 && n < len(p.Tasks) {
			results[i], err = task.Finished(ctx, p, n, place.Store, dir)
			if err != nil && !errors.Is(err, failure.Foreign) {
				return nil, 0, err
			}
		}
		if results[i] == nil {
			left, places = append(left, n), append(places, i)
		}
	}
	made, err := tasks.Run(ctx, place.Store, dir, left)
	if err != nil && gone(ctx, place.Store, dir) {
		err = failure.New(failure.Storage, "a commit took what tasks of plan %s left: %w", p.ID, err)
	}
	for i, res := range made {
		results[places[i]] = res
	}
	return results, len(numbers) - len(left), err
}

// gone reports whether a directory is not there any more.
func gone(ctx context.Context, st store.Store, dir string) bool {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	_, err := st.Stat(clean, dir)
	return errors.Is(err, store.ErrNotExist)
}
