package job

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
)

// Commit publishes the work of a plan's tasks. If tasks are not done, the error is
// failure.Storage, because a retry may find them done. If their files do not match their
// results, the error is failure.Foreign. If the destination already holds the output, Commit
// does nothing. If the destination got another output or increment since the plan was made,
// the error is failure.Foreign, even with Overwrite: a plan replaces only what the destination
// held when the plan was made.
func Commit(ctx context.Context, p *manifest.Plan, o Options) (*Outcome, error) {
	out, err := commit(ctx, p, &o)
	return out, failure.Judge(err)
}

// commit commits a plan unless it is already committed.
func commit(ctx context.Context, p *manifest.Plan, o *Options) (*Outcome, error) {
	place, err := input.Locate(o.Resolve, p.Dest)
	if err != nil {
		return nil, err
	}
	if p.Increment && o.Overwrite {
		return nil, failure.New(failure.Usage, "plan %s is of an incremental conversion, which replaces nothing: leave out --overwrite", p.ID)
	}
	c := newConversion(&Request{Options: *o, Asked: plan.Asked{Dest: p.Dest}, Incremental: p.Increment && len(p.Request.Inputs) == 0})
	c.dest, c.st, c.plan = publish.At(place, o.Destination), place.Store, p
	return c.end(ctx, c.commit(ctx))
}

// CommitStaged does what Commit does, for the plan with this ID that Submit left in a
// destination with the work of its tasks. The submitter was allowed to replace what the
// destination held then. If the destination holds the plan's output, CommitStaged does
// nothing.
func CommitStaged(ctx context.Context, dest, id string, o Options) (*Outcome, error) {
	out, err := commitStaged(ctx, dest, id, &o)
	return out, failure.Judge(err)
}

func commitStaged(ctx context.Context, dest, id string, o *Options) (*Outcome, error) {
	place, err := input.Locate(o.Resolve, dest)
	if err != nil {
		return nil, err
	}
	d, out := publish.At(place, o.Destination), new(Outcome)
	p, err := d.StagedPlan(ctx, id)
	if err != nil {
		return nil, err
	}
	if p == nil {
		state, err := d.ReadState(ctx)
		if err == nil && unsettled(state) {
			// A process may have taken the work to commit it, and died.
			if state, _, err = settle(ctx, d, out); err == nil {
				p, err = d.StagedPlan(ctx, id)
			}
		}
		if err != nil {
			return nil, err
		}
		outputs := state.Outputs()
		i := slices.IndexFunc(outputs, func(o publish.Committed) bool { return o.Success.Plan == id })
		switch {
		case i >= 0:
			out.recordNothing(outputs[i].Success)
			if err := tidy(ctx, d, state, out); err != nil {
				return nil, err
			}
			return out, out.losses()
		case p == nil:
			return nil, failure.New(failure.Foreign, "destination %s holds neither the output of plan %s nor the work of its tasks: another output replaced it, clean removed it, or another version of rowtocol made it", dest, id)
		}
	}
	//guard: refuses a plan of another destination
	if at, _ := input.Locate(o.Resolve, p.Dest); at.Origin != place.Origin || at.Path != place.Path {
		return nil, failure.New(failure.Foreign, "destination %s holds a plan that is for %s", dest, p.Dest)
	}
	o.Overwrite = len(p.Replaces) > 0
	return commit(ctx, p, o)
}

// committed reports whether nothing of the plan is left to commit, and returns what the
// destination holds instead: the plan's output, or the latest one if the plan has no inputs.
func (c *conversion) committed(state *publish.State) (*manifest.Success, bool) {
	p := c.plan
	if p.Increment && len(p.Request.Inputs) == 0 {
		return latest(state), true
	}
	m := state.Committed(p)
	switch {
	case p.Increment, m != nil && m.Plan == p.ID:
		return m, m != nil
	//guard: makes the output again if the request asked for that
	case c.Overwrite && p.Nonce != "" && state.ID() == p.Base:
		return nil, false
	}
	return state.Success, c.finished(state, &p.Request)
}

// checkCommit returns failure.Foreign if the plan's output must not be published.
func (c *conversion) checkCommit(state *publish.State) error {
	p := c.plan
	if err := state.CheckPlan(p, c.Overwrite); err != nil || state.Pending() {
		return err
	}
	if !p.Increment {
		return c.checkReplaceable(state, &p.Request)
	}
	_, err := checkCompatible(p.Dest, state.Outputs(), &p.Request.Options, p.Schema)
	return err
}

// commit publishes the work of the plan's tasks unless there is nothing to commit.
func (c *conversion) commit(ctx context.Context) error {
	state, err := c.dest.ReadState(ctx)
	if err != nil {
		return err
	}
	done, err := c.decideCommit(ctx, state)
	if err != nil {
		return err
	}
	if done {
		return tidy(ctx, c.dest, state, c.out)
	}
	claim, held, err := c.claim(ctx)
	if err != nil {
		return err
	}
	//guard: decides again under the lock
	done, err = c.decideCommit(held, claim.State())
	if err == nil && !done {
		err = c.publishWork(held, claim)
	}
	return release(ctx, claim, claim.LockedOr(ctx, err), c.out)
}

// decideCommit reports whether there is nothing to commit. Otherwise it checks that the commit
// is allowed.
func (c *conversion) decideCommit(ctx context.Context, state *publish.State) (done bool, err error) {
	if err := c.comparePlan(ctx, c.plan, state); err != nil {
		return false, err
	}
	if m, done := c.committed(state); done {
		c.out.recordNothing(m)
		return true, nil
	}
	return false, c.checkCommit(state)
}

// publishWork turns the work of all tasks into the output. It checks everything before it moves
// anything, so that an early commit does not disturb tasks that still run.
func (c *conversion) publishWork(ctx context.Context, claim *publish.Claim) error {
	p := c.plan
	if len(p.Tasks) == 0 { // no task made the directory
		if _, _, err := c.dest.Staging(ctx, p.ID); err != nil {
			return err
		}
	}
	options, err := c.taskOptions(p, nil)
	if err != nil {
		return err
	}
	dir, err := c.dest.StagedAt(ctx, p.ID)
	//guard: rejects a file in place of the work
	if err != nil {
		return err
	}
	work := task.NewWork(p, options.Sink, c.st, dir)
	if err := work.Check(ctx, c.work); err != nil {
		return err
	}
	//guard: bounds the rows that all tasks lose together
	if err := task.CheckLost(p, work.LostRows()); err != nil {
		return err
	}
	if err := c.checkInputs(ctx, p, work.Results, claim.State()); err != nil {
		return err
	}
	if err := work.MakeIndex(ctx, options); err != nil {
		return err
	}
	before := c.resumed[p.ID]
	m, err := claim.Publish(ctx, p, work, c.made(p, c.began, before.Tasks))
	if err != nil {
		return err
	}
	c.out.countCopies(m, claim.State().Outputs())
	c.out.published(p, m, before)
	return nil
}

// published records the output of a plan. resumed is the progress that earlier runs had made.
func (o *Outcome) published(p *manifest.Plan, m *manifest.Success, resumed Progress) {
	o.Plan, o.Manifest, o.Published, o.Tasks = p, m, append(o.Published, m), o.Tasks+len(p.Tasks)
	o.Resumed, o.ResumedBytes = o.Resumed+resumed.Tasks, o.ResumedBytes+resumed.Bytes
	if n := m.InvalidUTF8; n > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%d strings are not valid UTF-8 and were copied as they are; other readers may replace or refuse them", n))
	}
	if n := m.Inexact; n.Values() > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("values changed: %v", n))
	}
}
