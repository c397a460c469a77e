package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// Convert plans a conversion, runs its tasks and publishes their files. It goes on with
// what an earlier run of the same request left, and does nothing if the destination holds
// the output. After an error, finished tasks stay for a rerun, if that may succeed.
//
// If damage was allowed and met, the output is published, and the outcome is returned with
// an error that is failure.Losses. With Incremental, an earlier run's work on some of
// the inputs is published first, as an increment of its own; if what follows fails, the
// outcome with that increment is returned with the error. Every error but that of a cancelled context
// and of a defect has a kind of package failure.
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
		more, err = c.work(held, claim)
		err = c.discard(ctx, claim, claim.Judge(ctx, err))
		if err := release(ctx, claim, err, c.out); err != nil {
			return err
		}
	}
	return nil
}

// work makes and publishes one output under the destination's lock.
func (c *conversion) work(ctx context.Context, claim *publish.Claim) (more bool, err error) {
	if err := c.update(ctx, claim.State(), claim.Completed()); err != nil {
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

// discard removes the work of the plan after err, unless a rerun can use it, and returns err.
func (c *conversion) discard(ctx context.Context, claim *publish.Claim, err error) error {
	if err == nil || c.dir == "" {
		return err
	}
	if mendable(ctx, err) && (c.before.anyDone() || !c.madeDir) {
		return err
	}
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	_ = claim.Discard(clean, c.plan.ID) // else clean does
	return err
}

// runTasks runs the tasks that are left.
func (c *conversion) runTasks(ctx context.Context) (err error) {
	left := missing(c.before.results)
	if len(left) == 0 {
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
	o.Mapping, o.Lost = c.mapping, lostRows(c.before.results)
	tasks, err := task.Open(c.plan, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tasks.Close()) }()
	made, err := tasks.Run(ctx, c.st, c.dir, left)
	for i, res := range made {
		c.before.results[left[i]] = res
	}
	if err != nil {
		return explainGone(ctx, c.plan, c.st, c.dir, err)
	}
	return c.before.work.Vouch(ctx, made)
}
