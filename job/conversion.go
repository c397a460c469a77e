package job

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// storedPlans bounds how many plans are read, latest first, to find one to resume.
const storedPlans = 16

// conversion is a conversion in progress. Its tasks run on any machines. Its steps are look,
// decide, choose, stage, the tasks, and commit. The first decision is made without the lock, only
// to avoid useless work. Once the destination is locked, update reads its state again and decide
// runs again.
type conversion struct {
	*Request
	dest  *publish.Destination
	st    store.Store // store of the destination
	out   *Outcome
	began time.Time

	state  *publish.State // state of the destination, on which the fields below are based
	found  *plan.Survey   // survey of the inputs left to convert; nil if a pending output must be completed first
	plan   *manifest.Plan
	inputs int // number of inputs left to convert, including those of plan
	// superseded are the IDs of plans of the same request that Restart abandons.
	superseded []string
	mapping    *shred.Mapping // mapping of the plan's schema; nil if there are no inputs, or tasks compute it themselves
	dir        string         // directory of the plan's work; empty until stage made it
	madeDir    bool           // whether this conversion made dir
	work       *task.Work     // work in dir, also that of earlier runs; nil until stage found it
	parents    []*parents     // directories made for the destination
	// resumed holds the progress of plans when they were first staged, by plan ID.
	resumed map[string]Progress
}

func newConversion(r *Request) *conversion {
	if r.Restart {
		r.nonce = manifest.NewID()
	}
	return &conversion{Request: r, out: &Outcome{Incremental: r.Incremental}, began: time.Now(), resumed: make(map[string]Progress)}
}

// look reads what the destination holds, and surveys the inputs.
func (c *conversion) look(ctx context.Context) (err error) {
	if c.state, c.dest, err = c.readState(ctx); err != nil {
		return err
	}
	return c.find(ctx)
}

// find surveys the inputs and keeps what it read of them for later surveys.
func (c *conversion) find(ctx context.Context) (err error) {
	c.found = nil
	//guard: surveys only after a pending output is completed
	if c.Incremental && c.state.Pending() {
		return nil
	}
	if c.found, err = c.survey(ctx, c.state); err != nil {
		return err
	}
	c.st, c.out.Skipped = c.found.Dest.Store, c.found.Skipped
	c.out.warn(c.found.Warnings)
	c.out.keepAnswers(ctx, c.dest, c.found)
	return nil
}

// decide reports whether nothing is left to do. Otherwise it checks that the conversion is
// allowed.
func (c *conversion) decide() (done bool, err error) {
	if c.Incremental {
		//guard: refuses an increment to an output that was changed
		if err := c.state.CheckIncrement(); err != nil {
			return false, err
		}
	}
	if c.found == nil {
		return false, nil
	}
	if m, done := c.nothingToDo(c.state, c.found); done {
		c.out.recordNothing(m)
		return true, nil
	}
	if c.Incremental {
		return false, nil
	}
	return false, c.checkReplaceable(c.state, &c.found.Request)
}

// nothingToDo reports whether a survey found nothing to do, and returns what the destination
// holds instead.
func (r *Request) nothingToDo(state *publish.State, survey *plan.Survey) (*manifest.Success, bool) {
	switch {
	case r.Incremental:
		return latest(state), len(survey.Request.Inputs) == 0
	case r.finished(state, &survey.Request):
		return state.Success, true
	//guard: makes no output while the filter leaves all inputs out
	case survey.OnlyWaiting():
		return latest(state), true
	}
	return nil, false
}

// update replaces the state with what the destination holds now. If that changed, it surveys
// the inputs again. completed are the IDs of outputs that the claim
// published for dead holders while it took the lock.
func (c *conversion) update(ctx context.Context, now *publish.State, completed []string) error {
	before := c.state
	c.state = now
	came := slices.DeleteFunc(now.NewSince(before), func(o publish.Committed) bool {
		return o.Success != nil && slices.Contains(completed, o.Success.ID)
	})
	replaces := c.Overwrite && !c.keep
	//guard: refuses to replace what another process published meanwhile
	if replaces && before.Pending() && len(came) > 0 {
		return failure.New(failure.Locked, "another run published to the destination meanwhile")
	}
	if now.SameOutputs(before) && len(came) == 0 {
		return nil
	}
	//guard: surveys the inputs again under the lock
	if err := c.find(ctx); err != nil {
		return err
	}
	if !replaces {
		return nil
	}
	//guard: refuses a plan that lacks rows which came meanwhile
	if err := c.covers(came, &c.found.Request); err != nil {
		return fmt.Errorf("another run was faster: %w", err)
	}
	return nil
}

// choose selects the plan. Earlier runs of the request may have left plans, perhaps for only
// some of its inputs. choose takes the one with the most input bytes done. If there is none, it
// takes a new plan, but returns an error if a plan is left that needs too much memory.
func (c *conversion) choose(ctx context.Context) error {
	fresh, err := c.found.Plan(ctx, c.state.ID(), c.state.OutputIDs()...)
	if err != nil {
		return err
	}
	c.plan, c.mapping, c.inputs = fresh, c.found.Mapping, len(c.found.Request.Inputs)
	c.superseded, c.dir, c.madeDir = nil, "", false
	c.out.warn(fresh.Warnings)
	stored, err := c.stored(ctx)
	if err != nil {
		return err
	}
	var best *manifest.Plan
	var tooLarge error
	most := int64(-1)
	for _, p := range stored {
		if c.Restart && p.ID != fresh.ID {
			c.superseded = append(c.superseded, p.ID)
			continue
		}
		//guard: refuses a plan that needs more memory than there is
		if err := plan.Fits(p, c.Formats, c.memory().Size()); err != nil {
			tooLarge = err
			continue
		}
		if len(stored) == 1 {
			best = p
			break
		}
		work, err := c.dest.Progress(ctx, p.ID)
		if err != nil {
			return err
		}
		if work.Input > most {
			best, most = p, work.Input
		}
	}
	switch {
	case best == nil:
		return tooLarge
	case best.ID != fresh.ID:
		c.resume(best)
	}
	return nil
}

// stored returns the plans of the same request that have work in the destination.
func (c *conversion) stored(ctx context.Context) (plans []*manifest.Plan, err error) {
	ids, err := c.dest.StagedPlans(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids[:min(len(ids), storedPlans)] {
		p := c.plan
		if id != p.ID {
			if p, err = c.dest.StagedPlan(ctx, id); err != nil {
				return nil, err
			}
		}
		if p == nil && c.dest.OfOtherVersion(ctx, id) {
			c.out.warn([]string{fmt.Sprintf("unfinished work of another version of rowtocol (plan %s) is not resumed, because its tasks may write other bytes: this run plans anew, and clean removes that work", id)})
		}
		//guard: does not resume work that can never be committed
		if c.resumes(p) && len(c.state.NewSincePlan(p)) == 0 {
			plans = append(plans, p)
		}
	}
	return plans, nil
}

// resumes reports whether an earlier plan does what the present one does. The plan of an
// increment may do so for only some of the inputs.
func (c *conversion) resumes(p *manifest.Plan) bool {
	if p == nil || p.Increment != c.plan.Increment {
		return false
	}
	now := c.plan.Request
	if p.Increment {
		//guard: refuses an increment to another output
		if p.Base != c.plan.Base {
			return false
		}
		some := make(map[string]bool, len(p.Request.Inputs))
		for _, in := range p.Request.Inputs {
			some[in.Path] = true
		}
		now.Inputs = slices.DeleteFunc(slices.Clone(now.Inputs), func(in manifest.Input) bool { return !some[in.Path] })
	}
	return p.Request.Resumes(&now)
}

// resume continues with the plan of an earlier run.
func (c *conversion) resume(p *manifest.Plan) {
	if p.Schema != c.plan.Schema {
		c.mapping = nil // it is of the new schema text, but part files contain the text of the resumed plan
	}
	if had, now := p.BlockSize, c.plan.BlockSize; had != now {
		c.out.warn([]string{fmt.Sprintf("the run that is resumed keeps its column blocks of %d bytes; --restart plans anew, with %d", had, now)})
	}
	now := make(map[string]manifest.Input, len(c.plan.Request.Inputs))
	for _, in := range c.plan.Request.Inputs {
		now[in.Path] = in
	}
	for i, in := range p.Request.Inputs {
		p.Request.Inputs[i] = now[in.Path] // modification times may have changed
	}
	c.plan = p
}

// stage makes the directory for the work of the plan's tasks and finds which tasks are done.
func (c *conversion) stage(ctx context.Context) error {
	c.work = nil
	if len(c.plan.Tasks) == 0 {
		return nil
	}
	err := c.withParents(ctx, func() (err error) {
		c.dir, c.madeDir, err = c.dest.Staging(ctx, c.plan.ID)
		return err
	})
	if err == nil {
		err = c.dest.KeepPlan(ctx, c.plan)
	}
	if err != nil {
		return err
	}
	if !store.CapabilitiesOf(c.st).Local {
		c.out.warn(tooMany(len(c.plan.Tasks)))
	}
	sink, err := c.sink(c.plan)
	if err != nil {
		return err
	}
	c.work = task.NewWork(c.plan, sink, c.st, c.dir)
	if err := c.work.Find(ctx, c.Resolve, c.work.Unfinished()); err != nil {
		return err
	}
	//guard: does not record this conversion's own work as resumed
	if _, again := c.resumed[c.plan.ID]; !again {
		c.resumed[c.plan.ID] = progressOf(c.plan, c.work)
	}
	return task.CheckLost(c.plan, c.work.LostRows())
}

// more reports whether inputs are left after the plan's output.
func (c *conversion) more() bool { return c.Incremental && len(c.plan.Request.Inputs) < c.inputs }

// end returns the outcome of a conversion that ended with err.
func (c *conversion) end(ctx context.Context, err error) (*Outcome, error) {
	if err == nil {
		return c.out, c.out.losses()
	}
	for _, made := range slices.Backward(c.parents) {
		made.remove(ctx)
	}
	//guard: reports an increment published before one that failed
	if m := c.out.Manifest; len(c.out.Published) > 0 {
		return c.out, fmt.Errorf("after %s was published: %w", manifest.IncrementName(m.Sequence, m.ID), err)
	}
	return nil, err
}

// latest returns the manifest of the latest output or increment; nil if there is none.
func latest(state *publish.State) *manifest.Success {
	outputs := state.Outputs()
	if len(outputs) == 0 {
		return nil
	}
	return outputs[len(outputs)-1].Success
}

// progressOf returns the progress of a plan. work is the work that was found, or nil.
func progressOf(p *manifest.Plan, work *task.Work) (now Progress) {
	for i, t := range p.Tasks {
		bytes := t.Bytes()
		now.TotalTasks, now.TotalBytes = now.TotalTasks+1, now.TotalBytes+bytes
		if work != nil && work.Results[i] != nil {
			now.Tasks, now.Bytes = now.Tasks+1, now.Bytes+bytes
		}
	}
	return now
}

// maxWork is the default limit of files in one directory on a name node
// (dfs.namenode.fs-limits.max-directory-items).
const maxWork = 1 << 20

// tooMany returns a warning if the tasks cannot all leave their work in one directory. Each task
// leaves at least a part and a result.
func tooMany(tasks int) []string {
	if tasks <= maxWork/2 {
		return nil
	}
	return []string{fmt.Sprintf("%d tasks leave more files in one directory than the %d that a name node takes by default (dfs.namenode.fs-limits.max-directory-items): a larger --row-group-size makes fewer", tasks, maxWork)}
}

// claimTries is how often withParents makes parents that other processes remove.
const claimTries = 3

// withParents makes the parents of the destination if the request allows it, and then calls do,
// which makes the destination.
func (c *conversion) withParents(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		made, err := c.makeParents(ctx)
		c.parents = append(c.parents, made)
		if err == nil {
			err = do()
		}
		//guard: makes a parent again that another process removed
		if try < claimTries && made.store != nil && failure.KindOf(failure.Judge(err)) == failure.Refused {
			if _, gone := made.store.Stat(ctx, path.Dir(made.dest)); errors.Is(gone, store.ErrNotExist) {
				continue
			}
		}
		return err
	}
}

// parents are directories that were made for a destination, outermost first.
type parents struct {
	store store.Store
	dest  string
	paths []string
}

// remove removes the directories that are still empty.
func (p *parents) remove(ctx context.Context) {
	if len(p.paths) == 0 {
		return
	}
	ctx, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, dir := range slices.Backward(p.paths) {
		_ = p.store.Remove(ctx, dir)
	}
}

// makeParents makes the missing directories above the destination, from the directory of
// all partitions down. It returns those that it made, also after an error.
func (r *Request) makeParents(ctx context.Context) (*parents, error) {
	made := &parents{}
	if r.parents == "" {
		return made, nil
	}
	top, err := input.Locate(r.Resolve, r.parents)
	if err != nil {
		return made, err
	}
	dest, err := input.Locate(r.Resolve, r.Dest)
	if err != nil {
		return made, err
	}
	made.store, made.dest = top.Store, dest.Path
	var missing []string
	for dir := path.Dir(dest.Path); store.Within(dir, top.Path); dir = path.Dir(dir) {
		_, err := top.Store.Stat(ctx, dir)
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrNotExist) {
			return made, err
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := top.Store.Mkdir(ctx, dir)
		if err == nil {
			made.paths = append(made.paths, dir)
		} else if !errors.Is(err, store.ErrExist) {
			return made, err
		}
	}
	return made, nil
}
