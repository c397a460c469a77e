package task

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// Environment is the environment of tasks of any plan. It does not affect the bytes of
// column files.
type Environment struct {
	// Formats are the formats that outputs can have.
	Formats format.Registry
	// Resolve finds the store of a location; nil is store.Resolve, which knows
	// only local disks.
	Resolve input.Resolve
	// Workers is the number of goroutines that work at the same time; 0 is
	// GOMAXPROCS.
	Workers int
	// Memory bounds the memory of tasks; nil is a pool of 512 MiB. While tasks run, their
	// shares of the memory are reserved in the pool.
	Memory *budget.Pool
	// TempDir is the local directory for spills; empty is the system's.
	TempDir string
	// Program is the version of the program, and Run the ID of this run of the program.
	// Results of tasks have both.
	Program, Run string
	// TaskDone, if set, is called with the result of each finished task, by one goroutine
	// at a time.
	TaskDone func(*manifest.TaskResult)
	// Warn, if set, is called with warnings about files in TempDir.
	Warn func(string)
}

// Options configures a Runner.
type Options struct {
	Environment
	// Mapping is how rows of the plan's schema become columns. If it is nil, Open computes
	// it, which takes time with thousands of columns.
	Mapping *shred.Mapping
	// Lost is the number of rows that finished tasks of the plan lost to damage. The
	// plan's limit of lost rows includes them.
	Lost int64
	// Sink, if set, also gets the rows.
	Sink Sink
	// Progress, if set, is called with the progress, by one goroutine at a time.
	Progress func(Progress)
}

// Progress is the progress of a Runner.
type Progress struct {
	Rows  int64
	Bytes int64 // input bytes
	Tasks int   // finished
	// Spilled are the bytes written to the temporary directory for row groups.
	Spilled int64
	// Waiting says what tasks on other machines wait for; it is empty once they run.
	Waiting string
}

// Runner runs tasks of one plan. Only one goroutine may use it at a time.
type Runner struct {
	plan        *manifest.Plan
	options     Options
	mapping     *shred.Mapping // nil if the plan has no tasks
	format      format.Format
	writer      format.Writer
	onDamage    mapper.OnDamage
	resolutions *input.Resolutions
	spill       *spill.Folder

	mu       sync.Mutex
	progress Progress
	lost     int64 // rows, of finished tasks
}

// Open returns a Runner for a plan. It removes the spills that dead processes
// left in the temporary directory. The caller closes the Runner.
func Open(p *manifest.Plan, o Options) (*Runner, error) {
	o.ensureDefaults()
	r := &Runner{plan: p, options: o, mapping: o.Mapping, lost: o.Lost}
	var err error
	if r.onDamage, err = parseOnDamage(p.Request.Options.OnDamage); err != nil {
		return nil, err
	}
	output := p.Request.Options
	if r.format, err = o.Formats.Named(output.Format); err == nil {
		r.writer, err = r.format.Writer(output.FormatOptions)
	}
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	if len(p.Tasks) > 0 {
		if err := r.openSchema(); err != nil {
			return nil, failure.As(failure.Input, fmt.Errorf("plan %s: %w", p.ID, err))
		}
	}
	if r.spill, err = openSpill(o.Environment); err != nil {
		return nil, err
	}
	return r, nil
}

// ensureDefaults replaces zeros.
func (e *Environment) ensureDefaults() {
	e.Workers = cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	e.TempDir = cmp.Or(e.TempDir, os.TempDir())
	e.Memory = cmp.Or(e.Memory, budget.New(defaultMemory))
}

// openSpill opens a folder for spills in the temporary directory.
func openSpill(e Environment) (*spill.Folder, error) {
	folder, err := spill.OpenFolder(e.TempDir)
	if err != nil {
		return nil, tempDirError(e.TempDir, err)
	}
	if e.Warn != nil {
		for _, w := range folder.Warnings() {
			e.Warn(w)
		}
	}
	return folder, nil
}

// openSchema computes how rows become columns, unless Options.Mapping is set.
func (r *Runner) openSchema() error {
	p := r.plan
	if r.mapping == nil {
		schema, err := shred.ParseSchema(p.Schema)
		if err != nil {
			return err
		}
		r.mapping, err = shred.Map(schema, shred.Options{RecursiveBytes: p.Request.Options.RecursiveBytes, Memory: r.options.Memory.NewHeap()})
		if err != nil {
			return err
		}
	}
	//guard: rejects a plan with another number of columns
	if n := len(r.mapping.Columns); n != p.Columns {
		return fmt.Errorf("its schema has %d columns, want %d", n, p.Columns)
	}
	//guard: rejects sizes out of range
	if p.BlockSize <= 0 || p.BlockSize > maxBlockSize || p.Request.Options.RowGroupSize <= 0 {
		return fmt.Errorf("column blocks of %d bytes or row groups of %d bytes are out of range", p.BlockSize, p.Request.Options.RowGroupSize)
	}
	r.resolutions = input.NewResolutions(&p.Request, r.mapping.Schema)
	return nil
}

// parseOnDamage parses the plan's option.
func parseOnDamage(word string) (mapper.OnDamage, error) {
	switch word {
	case "fail":
		return mapper.Fail, nil
	case "skip":
		return mapper.Skip, nil
	case "quarantine":
		return mapper.Quarantine, nil
	}
	return 0, failure.New(failure.Usage, "on damage %q: want fail, skip or quarantine", word)
}

// tempDirError returns an error that is failure.Usage if err says that the temporary directory is
// missing or not a directory. Otherwise it returns err.
func tempDirError(tempDir string, err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return failure.New(failure.Usage, "temporary directory %s does not exist (create it, or set another with --temp-dir)", tempDir)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return failure.New(failure.Usage, "temporary directory %s is not a directory", tempDir)
	}
	return err
}

// Close removes the spills.
func (r *Runner) Close() error { return r.spill.Close() }

// report adds to the progress and reports it to the caller.
func (r *Runner) report(rows, bytes int64, tasks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Rows += rows
	r.progress.Bytes += bytes
	r.progress.Tasks += tasks
	r.progress.Spilled = r.spill.Stored()
	if r.options.Progress != nil {
		r.options.Progress(r.progress)
	}
}

// taskDone reports a finished task to the caller.
func (r *Runner) taskDone(res *manifest.TaskResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.TaskDone != nil {
		r.options.TaskDone(res)
	}
}

// countLost adds to the lost rows and returns an error if they exceed the plan's limit.
func (r *Runner) countLost(rows int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += rows
	return CheckLost(r.plan, r.lost)
}

// CheckLost returns an error if the rows that all tasks of a plan lost together exceed
// the limit of the plan, which also bounds each task.
func CheckLost(p *manifest.Plan, lost int64) error {
	//guard: bounds the rows that all tasks lose together
	if limit := p.Request.Options.MaxLostRows; limit >= 0 && lost > limit {
		return failure.New(failure.Input, "%d rows were lost to damage, more than the %d allowed", lost, limit)
	}
	return nil
}
