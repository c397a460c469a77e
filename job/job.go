package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/index"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
)

// Options configure how a conversion runs. They do not change its output, except that little
// memory forces smaller column blocks. If Memory is nil, a pool of plan.DefaultMemory is used.
type Options struct {
	task.Environment
	// Overwrite allows replacing an earlier output of rowtocol.
	Overwrite bool
	// Destination are the options of the destination.
	Destination publish.Options
	// Sink, if set, returns the sink that receives the rows of a plan, or nil for no sink. It
	// replaces the indexes that the plan asks for. It is called where tasks run and where their
	// work is published, and must return a sink of the same name in both places.
	Sink func(p *manifest.Plan) (task.Sink, error)
	// Progress, if set, is called with the progress, from one goroutine at a time.
	Progress func(Progress)
}

func (o *Options) memory() *budget.Pool {
	return cmp.Or(o.Memory, budget.New(plan.DefaultMemory))
}

// taskOptions returns the options for the tasks of a plan. progress is called as they work.
func (o *Options) taskOptions(p *manifest.Plan, progress func(task.Progress)) (task.Options, error) {
	sink, err := o.sink(p)
	return task.Options{Environment: o.Environment, Sink: sink, Progress: progress}, err
}

// sink returns the sink for the rows of a plan; nil if there is none.
func (o *Options) sink(p *manifest.Plan) (task.Sink, error) {
	if o.Sink != nil {
		return o.Sink(p)
	}
	return index.NewSink(p, o.memory().Size())
}

// Request is a conversion.
type Request struct {
	Options
	plan.Asked
	// Incremental converts only the inputs that the destination does not have yet, and
	// publishes them as an increment. If the filter leaves no inputs, there is nothing to do
	// yet.
	Incremental bool
	// Restart makes a new plan even if an unfinished run of the same request could be resumed.
	// With Overwrite, it makes the output again even if the output is already there.
	Restart bool

	// partition is the name of the partition. taken holds the inputs of all partitions.
	partition string
	taken     *plan.Taken

	nonce   string // makes the ID of a new plan differ from earlier ones; empty unless Restart is set
	keep    bool   // with Overwrite: replace an output only if its inputs are among those of the request
	parents string // the outermost directory above Dest that is made if it is missing
	waits   bool   // if the filter leaves no inputs, there is nothing to do yet
}

// Anew reports whether the output is made again even if the destination holds it. A damaged
// file of full size looks sound until it is read.
func (r *Request) Anew() bool { return r.Overwrite && r.Restart && !r.keep }

// Progress counts what a conversion has done.
type Progress struct {
	Rows       int64 // rows of the tasks that this run works on, so far
	Bytes      int64 // input bytes done, including resumed tasks
	TotalBytes int64 // input bytes of the plan
	Tasks      int   // tasks done, including resumed ones
	TotalTasks int
	Spilled    int64  // bytes that RunTasks wrote to the temporary directory
	Waiting    string // what the tasks of Submit wait for; empty once they run
}

// with adds the progress of tasks since p.
func (p Progress) with(t task.Progress) Progress {
	p.Rows, p.Bytes, p.Tasks, p.Waiting = t.Rows, p.Bytes+t.Bytes, p.Tasks+t.Tasks, t.Waiting
	return p
}

// Outcome is the result of a conversion.
type Outcome struct {
	Plan     *manifest.Plan    // nil if there was nothing to do
	Manifest *manifest.Success // nil if there was nothing to do, and the destination holds nothing
	// Published are the outputs that the conversion published, in order. An incremental
	// conversion first completes an earlier unfinished one, as an increment of its own.
	Published []*manifest.Success
	Nothing   bool // whether the destination already holds this output, or all inputs
	// Incremental is whether only new inputs were asked for. If there was nothing to do,
	// Manifest is the latest output or increment.
	Incremental bool
	Tasks       int // tasks of the published outputs
	Resumed     int // tasks that an earlier run had finished
	// ResumedBytes are the input bytes of the resumed tasks.
	ResumedBytes int64
	Warnings     []string
	// Copies counts the published inputs that have the same content as another input.
	Copies int
	// Skipped are the files and directories that were found but are not inputs.
	Skipped []input.Skipped
}

// recordNothing records that there was nothing to do, unless something was published before.
func (o *Outcome) recordNothing(m *manifest.Success) {
	if len(o.Published) == 0 {
		o.Nothing, o.Manifest = true, m
	}
}

// Outputs returns the published outputs. If there are none, it returns what the destination
// already held.
func (o *Outcome) Outputs() []*manifest.Success {
	if o.Nothing && o.Manifest != nil {
		return []*manifest.Success{o.Manifest}
	}
	return o.Published
}

// losses returns failure.Losses if the outputs lack some of their input.
func (o *Outcome) losses() error {
	var lost []manifest.Loss
	for _, m := range o.Outputs() {
		lost = append(lost, m.Losses...)
	}
	if len(lost) == 0 {
		return nil
	}
	return failure.New(failure.Losses, "not in the output: %s", manifest.DescribeLosses(lost))
}

// warn adds warnings, each once.
func (o *Outcome) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(o.Warnings, w) {
			o.Warnings = append(o.Warnings, w)
		}
	}
}

// made describes how the output of a plan was made.
func (o *Options) made(p *manifest.Plan, began time.Time, resumed int) *manifest.Made {
	m := manifest.MadeNow(o.Program, began)
	m.Run, m.PeakMemory, m.Tasks, m.Resumed = o.Run, budget.PeakResident(), len(p.Tasks), resumed
	for _, in := range p.Request.Inputs {
		m.InputBytes += in.Size
	}
	return m
}
