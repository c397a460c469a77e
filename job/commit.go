package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
)

// namedTasks is how many tasks an error lists.
const namedTasks = 10

// Commit publishes what the tasks of a plan left. All of them must be done
// (else failure.Storage, as a retry may find them done), and their files must be what the
// results say (else failure.Foreign). It does nothing if the destination already
// holds the output. A destination that got another output or increment since the plan was
// made is failure.Foreign: with Overwrite, only what the plan saw is replaced.
func Commit(ctx context.Context, p *manifest.Plan, o Options) (*Outcome, error) {
	out, err := commit(ctx, p, &o, func(s *publish.State) (*manifest.Success, bool) { return committed(s, p) })
	return out, failure.Judge(err)
}

// commit commits a plan, unless it is committed.
func commit(ctx context.Context, p *manifest.Plan, o *Options, committed func(*publish.State) (*manifest.Success, bool)) (*Outcome, error) {
	place, err := input.Locate(o.Resolve, p.Dest)
	if err != nil {
		return nil, err
	}
	if p.Increment && o.Overwrite {
		return nil, failure.New(failure.Usage, "plan %s is of an incremental conversion, which replaces nothing: leave out --overwrite", p.ID)
	}
	c := newConversion(&Request{Options: *o, Incremental: p.Increment && len(p.Request.Inputs) == 0})
	c.dest, c.st, c.plan = publish.At(place, o.Destination), place.Store, p
	c.isCommitted, c.checkAllowed = committed, func(s *publish.State) error { return o.checkPlan(s, p) }
	return c.end(ctx, c.commit(ctx))
}

// committed reports whether nothing of a plan is left to commit, and returns what the
// destination holds instead: the plan's output, or the latest one if the plan has no inputs.
func committed(state *publish.State, p *manifest.Plan) (*manifest.Success, bool) {
	if p.Increment && len(p.Request.Inputs) == 0 {
		return latest(state), true
	}
	m := state.Committed(p)
	return m, m != nil
}

// checkPlan is failure.Foreign if a plan's output must not be published.
func (o *Options) checkPlan(state *publish.State, p *manifest.Plan) error {
	err := state.AllowPlan(p, o.Overwrite)
	if err == nil && p.Increment && !state.Pending() {
		_, err = checkCompatible(p.Dest, state.Outputs(), &p.Request.Options, p.Schema)
	}
	return err
}

// checked are results of tasks whose files were checked; nil for a task that is not done.
type checked struct {
	results []*manifest.TaskResult
	work    *task.Work // where they were found
}

// anyDone reports whether a task has a result.
func (c *checked) anyDone() bool {
	return slices.ContainsFunc(c.results, func(r *manifest.TaskResult) bool { return r != nil })
}

// commit publishes the work of the plan's tasks, unless there is nothing to commit.
func (c *conversion) commit(ctx context.Context) error {
	state, err := c.dest.Look(ctx)
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
	//guard: would replace an output, or add an increment to one, that came after the first look
	done, err = c.decideCommit(held, claim.State())
	if err == nil && !done {
		err = c.publishWork(held, claim)
	}
	return release(ctx, claim, claim.Judge(ctx, err), c.out)
}

// decideCommit finds out whether there is nothing to commit, and whether what is left is
// allowed.
func (c *conversion) decideCommit(ctx context.Context, state *publish.State) (done bool, err error) {
	if err := c.comparePlan(ctx, c.plan, state); err != nil {
		return false, err
	}
	if m, done := c.isCommitted(state); done {
		c.out.nothing(m)
		return true, nil
	}
	return false, c.checkAllowed(state)
}

// publishWork makes the work of all tasks the output. It checks everything in place first, so
// that a commit that comes too early does not disturb tasks that still run.
func (c *conversion) publishWork(ctx context.Context, claim *publish.Claim) error {
	dir := c.dest.StagingPath(c.plan.ID)
	if len(c.plan.Tasks) == 0 { // no task made the directory
		if _, _, err := c.dest.Staging(ctx, c.plan.ID); err != nil {
			return err
		}
	}
	now, err := c.check(ctx, dir, c.before)
	if err != nil {
		return err
	}
	//guard: tasks would lose more rows together than are allowed
	if err := task.CheckLost(c.plan, lostRows(now.results)); err != nil {
		return err
	}
	if err := c.checkInputs(ctx, c.plan, now.results, claim.State()); err != nil {
		return err
	}
	results, err := c.lastStep(ctx, c.plan, c.st, dir, now.results)
	if err != nil {
		return err
	}
	before := c.resumed[c.plan.ID]
	err = c.out.publish(ctx, claim, c.plan, results, c.Options.made(c.plan, c.began, before.Tasks), func(ctx context.Context, dir string) ([]*manifest.TaskResult, error) {
		again, err := c.check(ctx, dir, now)
		if err != nil {
			return nil, err
		}
		return append(again.results, results[len(now.results):]...), nil
	})
	if err == nil {
		c.out.Resumed, c.out.ResumedBytes = c.out.Resumed+before.Tasks, c.out.ResumedBytes+before.Bytes
	}
	return err
}

// check returns the results of all tasks, after it has checked all their files but
// those that are the same as when they were checked before.
func (c *conversion) check(ctx context.Context, dir string, before checked) (now checked, err error) {
	sink, err := c.sink(c.plan)
	if err != nil {
		return now, err
	}
	work := task.WorkIn(c.plan, c.st, dir)
	if err := work.List(ctx); err != nil {
		return now, err
	}
	now = checked{make([]*manifest.TaskResult, len(c.plan.Tasks)), work}
	err = parallel.Do(ctx, len(now.results), task.Checkers(c.st), func(ctx context.Context, i int) error {
		if before.results != nil && before.results[i] != nil && work.Still(ctx, before.work, before.results[i]) {
			now.results[i] = before.results[i]
			return nil
		}
		res, err := work.Finished(ctx, i)
		now.results[i] = ifSameSink(sink, res)
		return err
	})
	if err != nil {
		return now, err
	}
	return now, c.complete(now.results)
}

// complete is failure.Storage if tasks are not done.
func (c *conversion) complete(results []*manifest.TaskResult) error {
	left := missing(results)
	//guard: an output would be published without the rows of some tasks
	if n := len(left); n > 0 {
		more := ""
		if n > namedTasks {
			left, more = left[:namedTasks], fmt.Sprintf(" and %d more", n-namedTasks)
		}
		named := make([]string, len(left))
		for i, number := range left {
			named[i] = fmt.Sprint(number)
		}
		return failure.New(failure.Storage, "%d of %d tasks of plan %s are not done: %s%s", n, len(results), c.plan.ID, strings.Join(named, ", "), more)
	}
	return nil
}
