package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// Convert plans a conversion, runs its tasks and publishes their files. It continues the work
// of an earlier run of the same request. If the destination holds the output,
// Convert only removes leftovers, unless the request asks for a new one: see Request.Anew. After an
// error, the work of finished tasks stays for a rerun if a rerun may succeed.
//
// If damage was allowed and found, Convert publishes the output and returns the outcome with a
// failure.Losses error. With Incremental, an earlier run may have left work on only some of the
// inputs. Convert then first finishes that work, and publishes it as a separate increment. If a
// later step fails, it returns the outcome with that increment, and the error. Every error has a kind of package failure, except those of a
// cancelled context or a defect.
func Convert(ctx context.Context, r Request) (*Outcome, error) {
	c := newConversion(&r)
	out, err := c.end(ctx, c.convert(ctx))
	return out, failure.Judge(err)
}

// convert converts until nothing is left.
func (c *conversion) convert(ctx context.Context) error {
	for more := true; more; {
		if err := c.look(ctx); err != nil {
			return err
		}
		done, err := c.decide()
		if err != nil {
			return err
		}
		if done {
			return tidy(ctx, c.dest, c.state, c.out)
		}
		claim, held, err := c.claim(ctx)
		if err != nil {
			return err
		}
		more, err = c.produce(held, claim)
		err = c.discard(ctx, claim, claim.LockedOr(ctx, err))
		if err := release(ctx, claim, err, c.out); err != nil {
			return err
		}
	}
	return nil
}

// produce makes and publishes one output under the destination's lock. more reports whether
// inputs are left for another output.
func (c *conversion) produce(ctx context.Context, claim *publish.Claim) (more bool, err error) {
	if err := c.update(ctx, claim.State(), claim.CompletedIDs()); err != nil {
		return false, err
	}
	if done, err := c.decide(); done || err != nil {
		return false, err
	}
	if err := c.choose(ctx); err != nil {
		return false, err
	}
	for _, id := range c.superseded {
		if err := claim.Discard(ctx, id); err != nil {
			return false, err
		}
	}
	if err := c.stage(ctx); err != nil {
		return false, err
	}
	if err := c.runTasks(ctx); err != nil {
		return false, err
	}
	if err := c.publishWork(ctx, claim); err != nil {
		return false, err
	}
	return c.more(), nil
}

// discard removes the work of the plan after err, unless a rerun can use it. It returns err.
func (c *conversion) discard(ctx context.Context, claim *publish.Claim, err error) error {
	if err == nil || c.dir == "" {
		return err
	}
	anyDone := c.work != nil && len(c.work.Unfinished()) < len(c.plan.Tasks)
	if mendable(ctx, err) && (anyDone || !c.madeDir) {
		return err
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	_ = claim.Discard(clean, c.plan.ID) // after an error, Clean removes the work later
	return err
}

// runTasks runs the tasks that are left.
func (c *conversion) runTasks(ctx context.Context) (err error) {
	if c.work == nil || len(c.work.Unfinished()) == 0 {
		return nil
	}
	before := c.resumed[c.plan.ID]
	o, err := c.taskOptions(c.plan, func(p task.Progress) {
		if c.Progress != nil {
			c.Progress(before.with(p))
		}
	})
	if err != nil {
		return err
	}
	o.Mapping, o.Lost = c.mapping, c.work.LostRows()
	tasks, err := task.Open(c.plan, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tasks.Close()) }()
	made, err := tasks.Run(ctx, c.st, c.dir, c.work.Unfinished())
	if err != nil {
		c.work.Add(made)
		return explainGone(ctx, c.plan, c.st, c.dir, err)
	}
	return c.work.AddResults(ctx, made)
}

// explainGone returns an error that is failure.Storage in place of err if the directory for the
// work of tasks is gone.
func explainGone(ctx context.Context, p *manifest.Plan, st store.Store, dir string, err error) error {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if _, gone := st.Stat(clean, dir); !errors.Is(gone, store.ErrNotExist) {
		return err
	}
	return failure.New(failure.Storage, "the work of plan %s is gone: a commit took it, or clean removed it: %w", p.ID, err)
}

// claim takes the destination's lock.
func (c *conversion) claim(ctx context.Context) (*publish.Claim, context.Context, error) {
	var claim *publish.Claim
	var held context.Context
	err := c.withParents(ctx, func() (err error) {
		claim, held, err = c.dest.Claim(ctx)
		return err
	})
	return claim, held, err
}

// release releases a claim after work that ended with err, even if ctx has ended. It
// returns err. Leftovers only cause a warning, and after an error not even that.
func release(ctx context.Context, claim *publish.Claim, err error, out *Outcome) error {
	if err != nil || ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = store.Cleanup(ctx)
		defer cancel()
	}
	if left := claim.Release(ctx); left != nil && err == nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of the run could not be removed: %v", left))
	}
	return err
}

// unsettled reports whether earlier holders of the destination left something.
func unsettled(state *publish.State) bool { return state.Leftovers || state.Pending() }

// settle completes outputs that dead holders were publishing, and removes leftovers. It
// returns the new state of the destination and the IDs of the outputs that it completed.
func settle(ctx context.Context, dest *publish.Destination, out *Outcome) (*publish.State, []string, error) {
	claim, held, err := dest.Claim(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = release(ctx, claim, claim.LockedOr(ctx, context.Cause(held)), out)
	return claim.State(), claim.CompletedIDs(), err
}

// tidy removes leftovers of earlier runs from a destination. If ctx has ended,
// it returns the error. Otherwise a failure only causes a warning.
func tidy(ctx context.Context, dest *publish.Destination, state *publish.State, out *Outcome) error {
	left, err := state.Leftovers, error(nil)
	if !left {
		left, err = dest.KeptOver(ctx, state)
	}
	if left {
		err = dest.Tidy(ctx)
	}
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of an earlier run could not be removed: %v", err))
	}
	return nil
}

// mendable reports whether a rerun of the same request may succeed after err.
func mendable(ctx context.Context, err error) bool {
	//guard: reports that a rerun may succeed after the run was stopped
	if ctx.Err() != nil {
		return true // the run was stopped, with any error
	}
	switch failure.KindOf(err) { // nil means a defect of the program, which a newer version may not have
	case nil, failure.Storage, failure.Refused, failure.Usage, failure.Foreign, failure.Locked:
		return true
	}
	return false
}
