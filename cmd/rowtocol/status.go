package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

const statusLong = `Show the contents of DEST and the work under way: the holder of the lock and its
last sign of life, the output and its increments, how far unfinished work is,
leftovers that clean would remove, replaced outputs that --keep-replaced keeps,
damage, outputs in directories below, and files that rowtocol did not write.
status takes no lock and changes nothing.

With --input and the flags of a convert command, status says what that command
would do: nothing, resume, add an increment, plan anew, or be refused. It also
says how the command's inputs and options differ from those of the output in
DEST. A job file can name the inputs.

For a tree of directories named key=value, status shows a line for each
partition, and totals. It refuses --input for a tree. Times are in UTC. Times
of signs of life and of leftovers come from the clock of DEST's storage.

If DEST does not exist, the exit code is 3. If DEST cannot be read, or if the
inputs would make convert fail, it is the code of that failure. Otherwise it is
0, even if DEST has nothing of rowtocol's.`

const statusExample = `  rowtocol status /data/mail.columns

  # what would convert do?
  rowtocol status --incremental --input /data/mail /data/mail.columns
  rowtocol status --config job.yaml /data/mail.columns

  # is a run at work on it?
  rowtocol status --json /data/mail.columns | jq .result.lock`

// statusCommand is rowtocol status.
type statusCommand struct {
	requestFlags
}

func newStatusCommand(a *app) *cobra.Command {
	f := &statusCommand{requestFlags{outcomes: outcomes{a}}}
	cmd := &cobra.Command{
		Use:     "status DEST",
		Short:   "Show the contents of a destination and the work under way",
		Long:    statusLong,
		Example: statusExample,
		Args:    a.Takes(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	f.add(cmd)
	flags.Lookup("incremental").Usage = "say what convert would do with this flag; needs --input"
	flags.StringArrayVar(&f.req.Inputs, "input", nil, "say what convert would do with this `input`; repeatable")
	flags.BoolVar(&f.req.Overwrite, "overwrite", false, "say what convert would do with this flag; needs --input")
	flags.BoolVar(&f.req.Restart, "restart", false, "say what convert would do with this flag; needs --input")
	return cmd
}

// statusOf is the result of status in the final JSON object. The result for a tree has a
// statusOf for each partition.
type statusOf struct {
	Dest       string             `json:"dest"`
	Lock       *publish.Lock      `json:"lock"` // null if no run has the lock
	Output     *outputOf          `json:"output"`
	Increments []outputOf         `json:"increments"`
	Totals     totals             `json:"totals"` // sums of output and increments, or of all partitions
	Unfinished []workOf           `json:"unfinished"`
	Debris     []publish.Leftover `json:"debris"`     // leftovers that clean removes
	Kept       []removable        `json:"kept"`       // replaced outputs whose files stay for a time
	LeftAlone  []publish.Leftover `json:"left_alone"` // files that clean keeps because of foreign files
	Damage     string             `json:"damage,omitempty"`
	Foreign    []string           `json:"foreign"`
	Below      []string           `json:"outputs_below,omitempty"` // those of Foreign that hold outputs
	Request    *job.Prospect      `json:"request,omitempty"`
	Partitions []*statusOf        `json:"partitions,omitempty"`
	Error      *cli.Reported      `json:"error,omitempty"` // error of a partition that could not be read

	err error
}

// totals holds the sums of outputs.
type totals struct {
	Outputs int `json:"outputs"`
	outputFigures
}

// outputFigures holds the figures of outputs.
type outputFigures struct {
	Inputs   int   `json:"inputs"`
	Rows     int64 `json:"rows"`
	Bytes    int64 `json:"bytes"`
	Parts    int   `json:"parts"`
	Losses   int   `json:"losses"`    // number of lost ranges of inputs
	LostRows int64 `json:"lost_rows"` // number of lost rows, as far as known
}

// outputOf is a committed output.
type outputOf struct {
	ID       string    `json:"id"`
	Sequence int64     `json:"sequence"`
	Name     string    `json:"name,omitempty"` // name of an increment's directory
	Plan     string    `json:"plan"`
	At       time.Time `json:"at,omitzero"` // time by the clock of the machine that made the output
	Version  string    `json:"version,omitempty"`
	outputFigures
	Indexes []indexOf `json:"indexes,omitempty"`
}

// workOf is work that has no output yet.
type workOf struct {
	publish.Work
	OfTasks *int   `json:"tasks"` // number of tasks of the plan; null if unknown
	OfInput *int64 `json:"input_bytes"`
	Job     *jobOf `json:"job,omitempty"` // the last job that a run started for the tasks
}

// jobOf is a job of a scheduler, and its state.
type jobOf struct {
	*task.Started
	State   string `json:"state"` // in the scheduler's words; empty if it is not known
	Percent int    `json:"percent"`
	Unknown string `json:"unknown,omitempty"` // why the state is not known
}

func (f *statusCommand) execute(ctx context.Context, dest string) error {
	at, err := input.Locate(f.Resolve, dest)
	if err != nil {
		return err
	}
	tree, err := publish.FindTree(ctx, at)
	if err != nil {
		return err
	}
	if tree != nil {
		return f.showTree(ctx, dest, at, tree)
	}
	s, err := publish.At(at, publish.Options{}).Status(ctx)
	if err != nil {
		return err
	}
	r := newStatus(dest, s)
	if err := r.lookBelow(ctx, at); err != nil {
		return err
	}
	f.lookAtJobs(ctx, r)
	f.Result = r
	var failed error
	if len(f.req.Inputs) > 0 {
		r.Request, failed = f.foresee(ctx, dest, s)
	}
	if !f.JSON {
		f.printStatus(r)
	}
	return failed
}

// lookTime bounds the time for asking a scheduler about jobs.
const lookTime = 30 * time.Second

// lookAtJobs asks the scheduler for the states of the jobs of destinations.
func (f *statusCommand) lookAtJobs(ctx context.Context, all ...*statusOf) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	looked := make(map[string]*jobOf) // one job may run the tasks of many partitions
	for _, r := range all {
		for i := range r.Unfinished {
			w := &r.Unfinished[i]
			if w.Started == nil {
				continue
			}
			if looked[w.Started.Job] == nil {
				looked[w.Started.Job] = f.lookAtJob(ctx, w.Started)
			}
			w.Job = looked[w.Started.Job]
		}
	}
}

func (f *statusCommand) lookAtJob(ctx context.Context, started *task.Started) *jobOf {
	j, s := &jobOf{Started: started}, schedulers[0]()
	err := s.Open(task.RemoteOptions{Resolve: f.Resolve, StoreRetry: lookTime / 2}, f.Stores)
	if err == nil {
		j.State, j.Percent, err = s.Look(ctx, started.Job)
	}
	if err != nil {
		j.Unknown = err.Error()
	}
	return j
}

// foresee returns what a conversion into the destination would do.
func (f *statusCommand) foresee(ctx context.Context, dest string, s *publish.Status) (*job.Prospect, error) {
	f.req.Dest = dest
	req, err := f.request(ctx)
	if err != nil {
		return nil, err
	}
	p, err := job.Foresee(ctx, req, s)
	if err != nil {
		return nil, fmt.Errorf("convert would fail: %w", damageHelp(err, req.Output.OnDamage))
	}
	return p, nil
}

// statusWorkers is the number of partitions that are read at the same time.
const statusWorkers = 8

// showTree shows the partitions of a tree, and for a partition that cannot be read the error.
func (f *statusCommand) showTree(ctx context.Context, dest string, at store.Location, tree *publish.Tree) error {
	//guard: refuses --input for a tree; ignores inputs of a job file, which are for convert
	if f.OnCommandLine("input") {
		return cli.Usagef("--input needs one destination, and %s is a tree of partitions: name one of them", dest)
	}
	r := newStatus(dest, &publish.Status{State: &publish.State{}, Foreign: tree.Beside})
	r.Partitions = make([]*statusOf, len(tree.Partitions))
	err := parallel.Do(ctx, len(r.Partitions), statusWorkers, func(ctx context.Context, i int) error {
		s, err := publish.At(tree.Partitions[i], publish.Options{}).Status(ctx)
		if err != nil {
			s = &publish.Status{State: &publish.State{}}
		}
		p := newStatus(below(dest, at, tree.Partitions[i]), s)
		p.err, p.Error = err, cli.Describe(err)
		r.Partitions[i] = p
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if err := r.lookBelow(ctx, at); err != nil {
		return err
	}
	f.lookAtJobs(ctx, r.Partitions...)
	var worst worstOf
	for _, p := range r.Partitions {
		r.Totals.add(p.Totals)
		worst.add(p.Dest, p.err)
	}
	f.Result = r
	if !f.JSON {
		f.printTree(r)
	}
	return worst.err
}

// lookBelow finds the directories that hold outputs among the names that are not rowtocol's.
func (r *statusOf) lookBelow(ctx context.Context, at store.Location) error {
	holds := make([]bool, len(r.Foreign))
	err := parallel.Do(ctx, len(holds), statusWorkers, func(ctx context.Context, i int) error {
		child := store.Location{Store: at.Store, Origin: at.Origin, Path: path.Join(at.Path, r.Foreign[i])}
		s, err := publish.At(child, publish.Options{}).Status(ctx)
		holds[i] = err == nil && len(s.Outputs()) > 0
		return ctx.Err()
	})
	for i, name := range r.Foreign {
		if holds[i] {
			r.Below = append(r.Below, name)
		}
	}
	return err
}

// below returns the path of a partition, beginning with the tree as the user named it.
func below(dest string, tree, partition store.Location) string {
	return dest + partition.Path[len(tree.Path):]
}

func newStatus(dest string, s *publish.Status) *statusOf {
	r := &statusOf{
		Dest: dest, Lock: s.Lock, Increments: []outputOf{}, Unfinished: worksOf(s.Unfinished),
		Debris: cli.OrEmpty(s.Debris), Kept: dated(s.Kept, 0), LeftAlone: cli.OrEmpty(s.LeftAlone), Damage: s.Damage, Foreign: cli.OrEmpty(s.Foreign),
	}
	for _, c := range s.Outputs() {
		o := newOutput(c)
		r.Totals.add(totals{1, o.outputFigures})
		if c.Name == "" {
			r.Output = &o
		} else {
			r.Increments = append(r.Increments, o)
		}
	}
	return r
}

func newOutput(c publish.Committed) outputOf {
	m := c.Success
	made := cmp.Or(m.Made, &manifest.Made{})
	lost, _ := manifest.LostRows(m.Losses)
	return outputOf{
		ID: m.ID, Sequence: m.Sequence, Name: c.Name, Plan: m.Plan, At: made.At, Version: made.Program,
		outputFigures: outputFigures{len(m.Request.Inputs), m.Rows, m.Bytes, len(m.Parts), len(m.Losses), lost},
		Indexes:       addIndexes(nil, m.Request.Options.Index, m.Index),
	}
}

func worksOf(works []publish.Work) []workOf {
	all := make([]workOf, len(works))
	for i, w := range works {
		all[i].Work = w
		if w.Plan != nil {
			tasks, bytes := len(w.Plan.Tasks), int64(0)
			for t := range w.Plan.Tasks {
				bytes += w.Plan.Tasks[t].Bytes()
			}
			all[i].OfTasks, all[i].OfInput = &tasks, &bytes
		}
	}
	return all
}

func (t *totals) add(o totals) {
	t.Outputs += o.Outputs
	t.Inputs += o.Inputs
	t.Rows += o.Rows
	t.Bytes += o.Bytes
	t.Parts += o.Parts
	t.Losses += o.Losses
	t.LostRows += o.LostRows
}
