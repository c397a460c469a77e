package task

import (
	"context"
	"fmt"

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
	// defaultMemory is the default size of the pool in bytes.
	defaultMemory = 512 << 20
	// spillReserve is the number of bytes that spills leave free on their disk.
	spillReserve = 16 << 20
	// spillMemory is the memory for the blocks of a row group that are not yet on disk.
	// minSpill is its least size if memory is short.
	spillMemory = 12 << 20
	minSpill    = 3 << 20
	// taskMemory is the desired memory of a task that maps, besides the open column blocks
	// and the spill. maxTaskMemory and minTaskMemory are limits of that memory.
	// uploadMemory is all the memory of a task that only uploads.
	taskMemory    = 12 << 20
	maxTaskMemory = 64 << 20
	minTaskMemory = 6 << 20
	uploadMemory  = spillMemory + 4<<20
	// streamMemory is the memory for reading ahead in a task whose inputs are remote. One
	// stream is being read, and another has blocks that are not yet shredded.
	streamMemory = 8 << 20
	// maxBlockSize is the largest block size that a plan may have. It is far above every
	// useful size of column blocks.
	maxBlockSize = 1 << 30
)

// Failure is an error that ended a task. Its message is the message of Err.
type Failure struct {
	Plan string // ID
	Task int
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error of the task.
func (f *Failure) Unwrap() error { return f.Err }

// Run runs the tasks with the given numbers in the plan and returns their results in
// the same order. It writes their files to dir, which exists on st. An error ends all
// tasks, and the results of tasks that did not finish are nil.
func (r *Runner) Run(ctx context.Context, st store.Store, dir string, numbers []int) ([]*manifest.TaskResult, error) {
	results := make([]*manifest.TaskResult, len(numbers))
	// The tasks that finished earlier may have lost too many rows already.
	if err := r.countLost(0); err != nil || len(numbers) == 0 {
		return results, err
	}
	for _, n := range numbers {
		//guard: rejects a number outside the plan
		if n < 0 || n >= len(r.plan.Tasks) {
			return results, failure.New(failure.Usage, "there is no task %d: the plan has the tasks 0 to %d", n, len(r.plan.Tasks)-1)
		}
	}
	s, err := r.share(numbers, isRemote(st))
	if err != nil {
		return results, err
	}
	if err := r.options.Memory.Reserve(s.reserved); err != nil {
		return results, failure.As(failure.Usage, err)
	}
	defer r.options.Memory.Release(s.reserved)
	spaces := new(mapper.Workspaces)
	defer spaces.Close()
	slots := newSlots(s, len(numbers))
	r.report(0, 0, 0)
	return results, parallel.Do(ctx, len(numbers), s.running, func(ctx context.Context, i int) error {
		release, err := slots.take(ctx)
		if err != nil {
			return err
		}
		defer release()
		a := &attempt{
			Runner: r, task: &r.plan.Tasks[numbers[i]], st: st, dir: dir,
			share: s, spaces: spaces, helpers: slots.helpers, releaseMapping: release,
		}
		res, err := a.run(ctx)
		if err != nil {
			return &Failure{Plan: r.plan.ID, Task: a.task.ID, Err: err}
		}
		results[i] = res
		return r.countLost(res.LostRows())
	})
}

// isRemote reports whether the files of a store are on other machines. Reading and writing
// them mostly waits, and hardly uses a processor.
func isRemote(st store.Store) bool { return !store.CapabilitiesOf(st).Local }

// share says how workers and memory are divided among the tasks that run at the same time.
type share struct {
	mapping  int   // number of tasks that map at the same time
	running  int   // number of tasks that run at the same time, including those that only upload
	workers  int   // workers of each task
	memory   int64 // bytes of each task that maps, besides its open blocks and the spill
	spill    int64 // bytes of each task's spill
	reserved int64 // bytes of all tasks
	inputs   int   // open inputs of each task
}

// share divides workers and memory among tasks. If the temporary directory lacks space, fewer
// tasks run at the same time. remote says that the tasks write to a remote store.
func (r *Runner) share(numbers []int, remote bool) (share, error) {
	openBytes := mapper.OpenBlocks(r.writer, r.plan.BlockSize, r.plan.Columns)
	consumers := fmt.Sprintf("%d columns with blocks of %d bytes", r.plan.Columns, r.plan.BlockSize)
	if r.options.Sink != nil {
		openBytes += r.options.Sink.Memory()
		consumers += " and " + r.options.Sink.Name()
	}
	memory := r.options.Memory.Available()
	//guard: refuses a task whose open blocks exceed the memory
	if openBytes > memory {
		size := r.options.Memory.Size()
		return share{}, failure.New(failure.Usage, "%s: %s", consumers, budget.TooLittle(size-memory+openBytes, size))
	}
	if r.readsStreams(numbers) {
		openBytes += streamMemory
	}
	s := divide(len(numbers), r.options.Workers, memory, openBytes, remote)
	s.inputs = max(budget.InputFiles()/s.mapping, 1)
	if r.checkDisk(numbers[:s.running]) == nil {
		return s, nil
	}
	s.running = s.mapping // no further task maps while one uploads its last row group
	return s, r.checkDisk(numbers[:s.running])
}

// readsStreams reports whether tasks read their inputs ahead from other machines.
// It examines only the first input, because the others are usually in the same place.
func (r *Runner) readsStreams(numbers []int) bool {
	for _, n := range numbers {
		for _, p := range r.plan.Tasks[n].Pieces {
			at, err := input.Locate(r.options.Resolve, r.plan.Request.Inputs[p.Input].Path)
			return err == nil && isRemote(at.Store)
		}
	}
	return false
}

// divide divides workers and memory among tasks. The open blocks of each task take openBytes. As
// many tasks map at the same time as workers and memory allow. If the memory allows it, up to the
// same number of tasks upload meanwhile. With a single worker, a task uploads meanwhile only if the
// store is remote, because a local upload keeps the worker busy. Most of the remaining memory is
// left for blocks and values of unusual size in any task.
func divide(tasks, workers int, memory, openBytes int64, remote bool) share {
	s := share{memory: taskMemory, spill: spillMemory}
	perTask := openBytes + s.spill + s.memory
	if rest := memory - openBytes; perTask > memory {
		s.spill = min(max(rest/3, minSpill), spillMemory)
		s.memory = min(max(rest-s.spill, minTaskMemory), taskMemory)
		perTask = openBytes + s.spill + s.memory
	}
	s.mapping = max(min(tasks, workers, int(memory/perTask)), 1)
	s.running = s.mapping
	rest := max(memory-int64(s.mapping)*perTask, 0)
	if workers > 1 || remote {
		s.running += min(tasks-s.mapping, s.mapping, int(rest/2/uploadMemory))
	}
	uploads := int64(s.running-s.mapping) * uploadMemory
	s.memory = min(s.memory+(rest-uploads)/4/int64(s.mapping), maxTaskMemory)
	s.workers = (workers + s.mapping - 1) / s.mapping
	s.reserved = min(int64(s.mapping)*(openBytes+s.spill+s.memory)+uploads, memory)
	return s
}

// checkDisk returns an error if the temporary directory has no room for the expected
// spills of the first tasks.
func (r *Runner) checkDisk(first []int) error {
	need := int64(spillReserve)
	for _, n := range first {
		expected := float64(r.plan.Tasks[n].Bytes()) * r.plan.Ratio
		need += int64(min(expected, float64(r.plan.Request.Options.RowGroupSize)))
	}
	return tempDirError(r.options.TempDir, spill.CheckFree(r.options.TempDir, need))
}
