package task

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// defaultMemory is the size in bytes of the pool where none is given.
	defaultMemory = 512 << 20
	// spillReserve is what spills leave free on their disk.
	spillReserve = 16 << 20
	// spillMemory is what holds a row group's blocks that are not yet on disk, and
	// leastSpill what does where memory is short.
	spillMemory = 12 << 20
	leastSpill  = 3 << 20
	// taskMemory is what a task that maps should have beside its open column blocks
	// and the spill, maxTaskMemory the most and leastTask the least that it gets.
	// uploadMemory is all that a task takes that uploads.
	taskMemory    = 12 << 20
	maxTaskMemory = 64 << 20
	leastTask     = 6 << 20
	uploadMemory  = spillMemory + 4<<20
	// streamMemory is what reading ahead takes of a task whose inputs are remote: a
	// stream that is read, and one whose blocks are not yet shredded.
	streamMemory = 8 << 20
	// maxBlockSize is far more than any column block is worth.
	maxBlockSize = 1 << 30
)

// Failure is an error that ended a task. Its message is that of the error alone.
type Failure struct {
	Plan string // ID
	Task int
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what the task failed of.
func (f *Failure) Unwrap() error { return f.Err }

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
		//guard: rejects a number beyond the plan's
		if n < 0 || n >= len(r.plan.Tasks) {
			return results, failure.New(failure.Usage, "there is no task %d: the plan has the tasks 0 to %d", n, len(r.plan.Tasks)-1)
		}
	}
	s, err := r.share(numbers, waits(st))
	if err != nil {
		return results, err
	}
	if err := r.options.Memory.Reserve(s.reserved); err != nil {
		return results, failure.As(failure.Usage, err)
	}
	defer r.options.Memory.Release(s.reserved)
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
			share: s, spaces: spaces, mapped: mapped,
		}
		res, err := a.run(ctx)
		if err != nil {
			return &Failure{Plan: r.plan.ID, Task: a.task.ID, Err: err}
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
	mapping  int   // tasks that map at a time
	running  int   // tasks at a time, those included that only upload
	workers  int   // of each task
	memory   int64 // bytes of each task, beside its open blocks and the spill
	spill    int64 // bytes of each task's spill
	reserved int64 // bytes of all tasks
	inputs   int   // open ones of each task
}

// share divides workers, memory and the temporary directory's disk among tasks.
func (r *Runner) share(numbers []int, waits bool) (share, error) {
	open := mapper.OpenBlocks(r.writer, r.plan.BlockSize, r.plan.Columns)
	what := fmt.Sprintf("%d columns with blocks of %d bytes", r.plan.Columns, r.plan.BlockSize)
	if r.options.Sink != nil {
		open += r.options.Sink.Memory()
		what += " and " + r.options.Sink.Name()
	}
	memory := r.options.Memory.Left()
	//guard: keeps the open blocks of a task within memory
	if open > memory {
		size := r.options.Memory.Size()
		return share{}, failure.New(failure.Usage, "%s: %s", what, budget.TooLittle(size-memory+open, size))
	}
	if r.readsStreams(numbers) {
		open += streamMemory
	}
	s := divide(len(numbers), r.options.Workers, memory, open, waits)
	s.inputs = max(budget.InputFiles()/s.mapping, 1)
	if r.checkDisk(numbers[:s.running]) == nil {
		return s, nil
	}
	s.running = s.mapping // uploads then wait for their turn
	return s, r.checkDisk(numbers[:s.running])
}

// readsStreams reports whether inputs of tasks are read ahead from other machines.
// It looks at the first: others are where that one is, as a rule.
func (r *Runner) readsStreams(numbers []int) bool {
	for _, n := range numbers {
		for _, p := range r.plan.Tasks[n].Pieces {
			at, err := input.Locate(r.options.Resolve, r.plan.Request.Inputs[p.Input].Path)
			return err == nil && waits(at.Store)
		}
	}
	return false
}

// divide divides workers and memory among some tasks, of each of which open
// blocks take so many bytes: as many tasks map at a time as either allows. As
// many again upload meanwhile, if there is memory for that; but not beside a
// single worker, which is busy with either, unless uploading is waiting. Most of
// what is left is for what is of unusual size in any of them.
func divide(tasks, workers int, memory, open int64, waits bool) share {
	s := share{memory: taskMemory, spill: spillMemory}
	perTask := open + s.spill + s.memory
	if rest := memory - open; perTask > memory {
		s.spill = min(max(rest/3, leastSpill), spillMemory)
		s.memory = min(max(rest-s.spill, leastTask), taskMemory)
		perTask = open + s.spill + s.memory
	}
	s.mapping = max(min(tasks, workers, int(memory/perTask)), 1)
	s.running = s.mapping
	rest := max(memory-int64(s.mapping)*perTask, 0)
	if workers > 1 || waits {
		s.running += min(tasks-s.mapping, s.mapping, int(rest/2/uploadMemory))
	}
	uploads := int64(s.running-s.mapping) * uploadMemory
	s.memory = min(s.memory+(rest-uploads)/4/int64(s.mapping), maxTaskMemory)
	s.workers = (workers + s.mapping - 1) / s.mapping
	s.reserved = min(int64(s.mapping)*(open+s.spill+s.memory)+uploads, memory)
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
