package job

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// namedTasks is how many tasks an error lists.
const namedTasks = 10

// Commit publishes what the tasks of a plan left: all of them must be done
// (else failure.Storage, as they may be yet), and their files must be what the
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
	dest := publish.At(place, o.Destination)
	state, err := dest.Look(ctx)
	if err != nil {
		return nil, err
	}
	if p.Increment && o.Overwrite {
		return nil, failure.New(failure.Usage, "plan %s is of an incremental conversion, which replaces nothing: leave out --overwrite", p.ID)
	}
	out := &Outcome{Incremental: p.Increment && len(p.Request.Inputs) == 0}
	c := &commitment{
		Options: o, plan: p, st: place.Store, dest: dest, out: out, began: time.Now(), claims: dest.Claim,
		committed: committed, allow: func(s *publish.State) error { return o.allowPlan(s, p) },
	}
	if err := c.run(ctx, state); err != nil {
		return nil, err
	}
	return out, out.losses()
}

// committed reports whether there is nothing to commit of a plan, and returns what
// the destination holds in its place: its output, or the latest one where it found
// no new inputs.
func committed(state *publish.State, p *manifest.Plan) (*manifest.Success, bool) {
	if p.Increment && len(p.Request.Inputs) == 0 {
		return latest(state), true
	}
	m := state.Committed(p)
	return m, m != nil
}

// allowPlan is failure.Foreign if what a plan makes must not come to a destination.
func (o *Options) allowPlan(state *publish.State, p *manifest.Plan) error {
	err := state.AllowPlan(p, o.Overwrite)
	if err == nil && p.Increment && !state.Pending() {
		_, err = alike(p.Dest, state.Outputs(), &p.Request.Options, p.Schema)
	}
	return err
}

// commitment is a commit under way.
type commitment struct {
	*Options
	plan  *manifest.Plan
	st    store.Store
	dest  *publish.Destination
	claim *publish.Claim
	out   *Outcome
	began time.Time

	// before are the results of the tasks of which this process saw that they are done,
	// and resumed is how many of all were not run for it.
	before  checked
	resumed int
	// claims takes the destination's lock.
	claims func(context.Context) (*publish.Claim, context.Context, error)
	// committed reports whether there is nothing to commit, and returns what the
	// destination holds in its place.
	committed func(*publish.State) (*manifest.Success, bool)
	// allow is failure.Foreign if what the plan makes must not come to a destination.
	allow func(*publish.State) error
}

// checked are results of tasks whose files were checked, nil for tasks that have none.
type checked struct {
	results []*manifest.TaskResult
	work    *task.Work // in which they were found
}

// run commits, unless a look at the destination says that there is nothing to do.
func (c *commitment) run(ctx context.Context, state *publish.State) error {
	if err := c.comparePlan(ctx, c.plan, state); err != nil {
		return err
	}
	if m, done := c.committed(state); done {
		if m != nil && m.Plan == c.plan.ID {
			// Tasks that were tried again after the commit left their work in vain.
			if err := c.dest.RemoveStaging(ctx, c.plan.ID); err != nil {
				c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("leftovers of the plan's tasks could not be removed: %v", err))
			}
		}
		c.out.nothing(m)
		return tidy(ctx, c.dest, state, c.out)
	}
	if err := c.allow(state); err != nil {
		return err
	}
	claim, held, err := c.claims(ctx)
	if err != nil {
		return err
	}
	c.claim = claim
	unfinished, keep := len(claim.Runs()) > 0, false
	err = claim.Judge(ctx, c.work(held))
	//guard: unfinished runs would be removed by a commit that fails, or does nothing
	if err != nil || c.out.Nothing {
		keep = unfinished
	}
	return release(ctx, claim, err, keep, c.out)
}

func (c *commitment) work(ctx context.Context) error {
	state := c.claim.State()
	if m, done := c.committed(state); done {
		c.out.nothing(m)
		return nil
	}
	//guard: an output would be replaced, or be beside another, that came after the first look
	if err := c.allow(state); err != nil {
		return err
	}
	// Everything is checked where the tasks left it, so that tasks which still
	// run are not disturbed by a commit that comes too early.
	before, err := c.check(ctx, c.dest.StagingPath(c.plan.ID), c.before)
	if err != nil {
		return err
	}
	//guard: tasks would lose more rows together than are allowed
	if err := task.CheckLost(c.plan, lostRows(before.results)); err != nil {
		return err
	}
	if err := c.checkInputs(ctx, c.plan, before.results, state); err != nil {
		return err
	}
	run, err := c.take(ctx)
	if err != nil {
		return err
	}
	now, err := c.check(ctx, run.Dir, before)
	if err != nil {
		return err
	}
	//guard: what a task that ran late read would be published unchecked
	if !slices.Equal(now.results, before.results) {
		if err := c.checkInputs(ctx, c.plan, now.results, state); err != nil {
			return err
		}
	}
	results, err := c.lastStep(ctx, c.plan, c.st, run.Dir, now.results)
	if err != nil {
		return err
	}
	return c.out.publish(ctx, c.claim, run, results, c.made(c.plan, c.began, c.resumed))
}

// take returns the run of the tasks' work. A plan without inputs has no tasks,
// and so nobody made a directory for what they leave.
func (c *commitment) take(ctx context.Context) (*publish.Run, error) {
	if len(c.plan.Tasks) == 0 {
		return c.claim.Begin(ctx, c.plan)
	}
	return c.claim.Take(ctx, c.plan)
}

// check returns the results of all tasks, after it has checked all their files but
// those that are the same as when they were checked before.
func (c *commitment) check(ctx context.Context, dir string, before checked) (now checked, err error) {
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
		now.results[i] = of(sink, res)
		return err
	})
	if err != nil {
		return now, err
	}
	return now, c.complete(now.results)
}

// complete is failure.Storage if tasks are not done.
func (c *commitment) complete(results []*manifest.TaskResult) error {
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
