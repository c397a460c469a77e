package task

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// spillReserve is what spills leave free on their disk.
	spillReserve = 16 << 20
	// spillMemory is what holds a row group's blocks that are not yet on disk.
	spillMemory = 12 << 20
	// taskOverhead is the least memory, and maxTaskMemory the most, that a task
	// that maps takes beside its open column blocks and the spill.
	// uploadOverhead is all that a task takes that uploads.
	taskOverhead   = 12 << 20
	maxTaskMemory  = 64 << 20
	uploadOverhead = spillMemory + 4<<20
	// maxBlockSize is far more than any column block is worth.
	maxBlockSize = 1 << 30
)

// Run runs tasks, by their numbers in the plan, and returns their results in the
// same order. dir, which exists on st, takes their files. After an error, which
// ends the others, the results of tasks that did not finish are nil.
func (r *Runner) Run(ctx context.Context, st store.Store, dir string, numbers []int) ([]*manifest.TaskResult, error) {
	results := make([]*manifest.TaskResult, len(numbers))
	// Finished tasks may have lost too many rows already.
	if err := r.countLost(0); err != nil || len(numbers) == 0 {
		return results, err
	}
	for _, n := range numbers {
		//guard: a number that is not the plan's would be a crash
		if n < 0 || n >= len(r.plan.Tasks) {
			return results, failure.New(failure.Usage, "there is no task %d: the plan has the tasks 0 to %d", n, len(r.plan.Tasks)-1)
		}
	}
	s, err := r.share(numbers, waits(st))
	if err != nil {
		return results, err
	}
	spaces := new(mapper.Workspaces)
	defer spaces.Close()
	// mapping is held by tasks that map: as many as workers keep busy. A task
	// that uploads gives it up, so that another maps meanwhile.
	mapping := make(chan struct{}, s.mapping)
	r.report(0, 0, 0)
	return results, parallel.Do(ctx, len(numbers), s.running, func(ctx context.Context, i int) error {
		select {
		case mapping <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		mapped := sync.OnceFunc(func() { <-mapping })
		defer mapped()
		a := &attempt{
			Runner: r, task: &r.plan.Tasks[numbers[i]], st: st, dir: dir,
			workers: s.workers, memory: s.memory, spaces: spaces, mapped: mapped,
		}
		res, err := a.run(ctx)
		if err != nil {
			return err
		}
		results[i] = res
		return r.countLost(res.LostRows())
	})
}

// waits reports whether writing to a store is waiting for other machines rather
// than work for a processor.
func waits(st store.Store) bool { return !store.CapabilitiesOf(st).Local }

// share is how workers and memory are divided among tasks that run at a time.
type share struct {
	mapping int   // tasks that map at a time
	running int   // tasks at a time, those included that only upload
	workers int   // of each task
	memory  int64 // bytes of each task, beside its open blocks
}

// share divides workers, memory and the temporary directory's disk among tasks.
func (r *Runner) share(numbers []int, waits bool) (share, error) {
	open := mapper.OpenBlocks(r.writer, r.plan.BlockSize, r.plan.Columns)
	//guard: the open blocks of a single task would take more than the memory
	if open > r.options.Memory {
		return share{}, failure.New(failure.Usage, "%d columns need a memory of at least %d MiB, with column blocks of %d bytes",
			r.plan.Columns, open>>20+1, r.plan.BlockSize)
	}
	s := divide(len(numbers), r.options.Workers, r.options.Memory, open, waits)
	if r.checkDisk(numbers[:s.running]) == nil {
		return s, nil
	}
	s.running = s.mapping // uploads then wait for their turn
	return s, r.checkDisk(numbers[:s.running])
}

// divide divides workers and memory among some tasks, of each of which open
// blocks take so many bytes: as many tasks map at a time as either allows. As
// many again upload meanwhile, if there is memory for that; but not beside a
// single worker, which is busy with either, unless uploading is waiting.
func divide(tasks, workers int, memory, open int64, waits bool) share {
	perTask := open + spillMemory + taskOverhead
	var s share
	s.mapping = max(min(tasks, workers, int(memory/perTask)), 1)
	s.running = s.mapping
	rest := memory - int64(s.mapping)*perTask
	if workers > 1 || waits {
		s.running += max(min(tasks-s.mapping, s.mapping, int(rest/uploadOverhead)), 0)
	}
	s.memory = min(taskOverhead+max(rest/2, 0)/int64(s.mapping), maxTaskMemory)
	s.workers = (workers + s.mapping - 1) / s.mapping
	return s
}

// checkDisk finds out whether the temporary directory has room for what the
// first tasks are expected to spill.
func (r *Runner) checkDisk(first []int) error {
	need := int64(spillReserve)
	for _, n := range first {
		expected := float64(r.plan.Tasks[n].Bytes()) * r.plan.Ratio
		need += int64(min(expected, float64(r.plan.Request.Options.RowGroupSize)))
	}
	return tempDirError(r.options.TempDir, spill.CheckFree(r.options.TempDir, need))
}
