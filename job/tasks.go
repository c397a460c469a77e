package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// listShare says when to list the directory of all tasks' work: for at least one task in so
// many of the plan's, that is cheaper than a few calls for each.
const listShare = 8

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
	found, err := finishedTasks(ctx, p, o.Resolve, numbers, options.Sink, place.Store, dir)
	if err != nil {
		return nil, 0, err
	}
	results = found.results
	places := missing(results)
	left := make([]int, len(places))
	for i, at := range places {
		left[i] = numbers[at]
	}
	var made []*manifest.TaskResult
	if len(left) > 0 {
		err = dest.KeepPlan(ctx, p)
	}
	if err == nil {
		made, err = tasks.Run(ctx, place.Store, dir, left)
	}
	if err != nil {
		err = explainGone(ctx, p, place.Store, dir, err)
	}
	for i, res := range made {
		results[places[i]] = res
	}
	return results, len(numbers) - len(left), err
}

// finishedTasks returns the results that tasks, by their numbers, left in a directory; nil
// for a task that must be run: it left no sound result, had another sink or read other
// bytes, or is not the plan's.
func finishedTasks(ctx context.Context, p *manifest.Plan, resolve input.Resolve, numbers []int, sink task.Sink, st store.Store, dir string) (found checked, err error) {
	work := task.WorkIn(p, st, dir)
	if len(numbers)*listShare >= len(p.Tasks) {
		if err := work.List(ctx); err != nil {
			return found, err
		}
	}
	found = checked{make([]*manifest.TaskResult, len(numbers)), work}
	return found, parallel.Do(ctx, len(numbers), task.Checkers(st), func(ctx context.Context, i int) error {
		if numbers[i] < 0 || numbers[i] >= len(p.Tasks) {
			return nil
		}
		res, err := work.Usable(ctx, resolve, numbers[i])
		found.results[i] = ifSameSink(sink, res)
		return err
	})
}

// missing returns the places in which there is no result.
func missing(results []*manifest.TaskResult) (places []int) {
	for i, res := range results {
		if res == nil {
			places = append(places, i)
		}
	}
	return places
}

// lostRows is the number of rows that tasks lost to damage.
func lostRows(results []*manifest.TaskResult) (n int64) {
	for _, res := range results {
		if res != nil {
			n += res.LostRows()
		}
	}
	return n
}

// explainGone returns failure.Storage in place of err if the directory for the work of
// tasks is not there any more.
func explainGone(ctx context.Context, p *manifest.Plan, st store.Store, dir string, err error) error {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if _, gone := st.Stat(clean, dir); !errors.Is(gone, store.ErrNotExist) {
		return err
	}
	return failure.New(failure.Storage, "a commit took, or clean removed, what tasks of plan %s left: %w", p.ID, err)
}
