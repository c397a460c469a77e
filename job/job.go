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

// Options say how a conversion is done. None of them shapes its output, but for
// a memory that forces smaller column blocks. Memory nil is a pool of plan.DefaultMemory.
type Options struct {
	task.Environment
	// Overwrite allows replacing an earlier output of rowtocol.
	Overwrite bool
	// Destination is what may be chosen about the destination.
	Destination publish.Options
	// Sink, if set, returns what takes the rows of a plan along in place of the
	// indexes that the plan asks for; nil for none. It is asked where tasks run and
	// where their work is published, and must give a sink of the same name there.
	Sink func(p *manifest.Plan) (task.Sink, error)
	// Progress, if set, is told of progress, by one goroutine at a time.
	Progress func(Progress)
}

func (o *Options) memory() *budget.Pool {
	return cmp.Or(o.Memory, budget.New(plan.DefaultMemory))
}

// taskOptions are those of the tasks of a plan. progress is told of what they do.
func (o *Options) taskOptions(p *manifest.Plan, progress func(task.Progress)) (task.Options, error) {
	sink, err := o.sink(p)
	return task.Options{Environment: o.Environment, Sink: sink, Progress: progress}, err
}

// sink returns what takes the rows of a plan along; nil if nothing does.
func (o *Options) sink(p *manifest.Plan) (task.Sink, error) {
	if o.Sink != nil {
		return o.Sink(p)
	}
	return index.Of(p, o.memory().Size())
}

// Request is a conversion.
type Request struct {
	Options
	plan.Asked
	// Incremental converts the inputs that the destination does not have yet, as an
	// increment. If the filter leaves nothing, there is nothing to do yet.
	Incremental bool
	// Restart plans anew where an unfinished run of the same request could be
	// resumed, and with Overwrite also where the output is there.
	Restart bool

	// partition is the name of the partition, and taken are the inputs of all partitions.
	partition string
	taken     *plan.Taken

	nonce   string // of plans that are made anew; empty unless Restart is set
	keep    bool   // with Overwrite: nothing is replaced that has other inputs
	parents string // the directory that, with those down to Dest, is made if it is missing
	waits   bool   // inputs of which the filter leaves nothing are nothing to do yet
}

// Anew is whether the output is made also where the destination holds it: files
// that were damaged at their full size look as they should, until they are read.
func (r *Request) Anew() bool { return r.Overwrite && r.Restart && !r.keep }

// Progress is how far a conversion is.
type Progress struct {
	Rows       int64 // rows of the tasks that this run works on, so far
	Bytes      int64 // input bytes done, those of resumed tasks included
	TotalBytes int64 // input bytes of the plan
	Tasks      int   // tasks done, resumed ones included
	TotalTasks int
	Spilled    int64 // bytes that RunTasks wrote to the temporary directory
}

// with adds what tasks did since.
func (p Progress) with(t task.Progress) Progress {
	p.Rows, p.Bytes, p.Tasks = t.Rows, p.Bytes+t.Bytes, p.Tasks+t.Tasks
	return p
}

// Outcome is what a conversion came to.
type Outcome struct {
	Plan     *manifest.Plan    // nil if there was nothing to do
	Manifest *manifest.Success // nil if there was nothing to do, and the destination holds nothing
	// Published are what the conversion published, in their order: an incremental one
	// completes what is left of an earlier one as an increment of its own.
	Published []*manifest.Success
	Nothing   bool // the destination already held this output, or all inputs
	// Incremental is whether only new inputs were asked for: with nothing to do,
	// Manifest is what came last.
	Incremental bool
	Tasks       int // of what was published
	Resumed     int // tasks that an earlier run had finished
	// ResumedBytes are the input bytes of those tasks.
	ResumedBytes int64
	Warnings     []string
	// Copies is how many inputs of what was published have the content of another.
	Copies int
	// Skipped are the files and directories that were found and are no inputs.
	Skipped []input.Skipped
}

// nothing notes that there was nothing to do, unless something was published before.
func (o *Outcome) nothing(m *manifest.Success) {
	if len(o.Published) == 0 {
		o.Nothing, o.Manifest = true, m
	}
}

// Outputs are what was published or, if nothing was, what the destination held already.
func (o *Outcome) Outputs() []*manifest.Success {
	if o.Nothing && o.Manifest != nil {
		return []*manifest.Success{o.Manifest}
	}
	return o.Published
}

// losses is failure.Losses if the outputs lack some of their input.
func (o *Outcome) losses() error {
	var lost []manifest.Loss
	for _, m := range o.Outputs() {
		lost = append(lost, m.Losses...)
	}
	if len(lost) == 0 {
		return nil
	}
	rows, known := manifest.LostRows(lost)
	atLeast := "at least "
	if known {
		atLeast = ""
	}
	text, ending := "%d damaged ranges of the input, with %s%d row%s, are not in the output", "s"
	if len(lost) == 1 {
		text = "%d damaged range of the input, with %s%d row%s, is not in the output"
	}
	if rows == 1 {
		ending = ""
	}
	return failure.New(failure.Losses, text, len(lost), atLeast, rows, ending)
}

// warn adds warnings, each once.
func (o *Outcome) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(o.Warnings, w) {
			o.Warnings = append(o.Warnings, w)
		}
	}
}

// made says how the output of a plan came about.
func (o *Options) made(p *manifest.Plan, began time.Time, resumed int) *manifest.Made {
	m := manifest.MadeNow(o.Program, began)
	m.Run, m.PeakMemory, m.Tasks, m.Resumed = o.Run, budget.PeakResident(), len(p.Tasks), resumed
	for _, in := range p.Request.Inputs {
		m.InputBytes += in.Size
	}
	return m
}
