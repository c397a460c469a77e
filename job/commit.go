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
	if p.Increment && o.Overwrite {
		return nil, failure.New(failure.Usage, "plan %s is of an incremental conversion, which replaces nothing: leave out --overwrite", p.ID)
	}
	dest := publish.At(place, o.Destination)
	k := &commitment{
		Options: o, plan: p, st: place.Store, dest: dest, out: &Outcome{Incremental: p.Increment && len(p.Request.Inputs) == 0}, began: time.Now(),
		committed: committed, allow: func(s *publish.State) error { return o.allowPlan(s, p) },
	}
	if err := k.run(ctx, dest.Claim); err != nil {
		return nil, err
	}
	return k.out, k.out.losses()
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

// commitment is the last step of a conversion.
type commitment struct {
	*Options
	plan  *manifest.Plan
	st    store.Store
	dest  *publish.Destination
	out   *Outcome
	began time.Time

	// before are the results of the tasks of which this process saw that they are done,
	// and resumed is how many of all were not run for it.
	before  checked
	resumed int
	// committed reports whether there is nothing to commit, and returns what the
	// destination holds in its place. allow is failure.Foreign if what the plan makes must
	// not come to the destination.
	committed func(*publish.State) (*manifest.Success, bool)
	allow     func(*publish.State) error
}

// checked are results of tasks whose files were checked, nil for tasks that have none.
type checked struct {
	results []*manifest.TaskResult
	work    *task.Work // in which they were found
}

// anyDone reports whether a task has a result.
func (c *checked) anyDone() bool {
	return slices.ContainsFunc(c.results, func(r *manifest.TaskResult) bool { return r != nil })
}

// run commits, unless a look at the destination says that there is nothing to do.
func (k *commitment) run(ctx context.Context, claims func(context.Context) (*publish.Claim, context.Context, error)) error {
	state, err := k.dest.Look(ctx)
	if err != nil {
		return err
	}
	done, err := k.decide(ctx, state)
	if err != nil {
		return err
	}
	if done {
		return tidy(ctx, k.dest, state, k.out)
	}
	claim, held, err := claims(ctx)
	if err != nil {
		return err
	}
	//guard: an output would be replaced, or be beside another, that came after the first look
	done, err = k.decide(held, claim.State())
	if err == nil && !done {
		err = k.publish(held, claim)
	}
	return release(ctx, claim, claim.Judge(ctx, err), k.out)
}

// decide finds out whether there is nothing to commit, and whether what is left is
// allowed.
func (k *commitment) decide(ctx context.Context, state *publish.State) (done bool, err error) {
	if err := k.comparePlan(ctx, k.plan, state); err != nil {
		return false, err
	}
	if m, done := k.committed(state); done {
		k.out.nothing(m)
		return true, nil
	}
	return false, k.allow(state)
}

// publish makes the work of all tasks the output. Everything is checked where the tasks
// left it, so that those that still run are not disturbed by a commit that comes too
// early.
func (k *commitment) publish(ctx context.Context, claim *publish.Claim) error {
	dir := k.dest.StagingPath(k.plan.ID)
	if len(k.plan.Tasks) == 0 { // and so nobody made the directory
		if _, _, err := k.dest.Staging(ctx, k.plan.ID); err != nil {
			return err
		}
	}
	now, err := k.check(ctx, dir, k.before)
	if err != nil {
		return err
	}
	//guard: tasks would lose more rows together than are allowed
	if err := task.CheckLost(k.plan, lostRows(now.results)); err != nil {
		return err
	}
	if err := k.checkInputs(ctx, k.plan, now.results, claim.State()); err != nil {
		return err
	}
	results, err := k.lastStep(ctx, k.plan, k.st, dir, now.results)
	if err != nil {
		return err
	}
	return k.out.publish(ctx, claim, k.plan, results, k.made(k.plan, k.began, k.resumed), func(ctx context.Context, dir string) ([]*manifest.TaskResult, error) {
		again, err := k.check(ctx, dir, now)
		if err != nil {
			return nil, err
		}
		return append(again.results, results[len(now.results):]...), nil
	})
}

// check returns the results of all tasks, after it has checked all their files but
// those that are the same as when they were checked before.
func (k *commitment) check(ctx context.Context, dir string, before checked) (now checked, err error) {
	sink, err := k.sink(k.plan)
	if err != nil {
		return now, err
	}
	work := task.WorkIn(k.plan, k.st, dir)
	if err := work.List(ctx); err != nil {
		return now, err
	}
	now = checked{make([]*manifest.TaskResult, len(k.plan.Tasks)), work}
	err = parallel.Do(ctx, len(now.results), task.Checkers(k.st), func(ctx context.Context, i int) error {
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
	return now, k.complete(now.results)
}

// complete is failure.Storage if tasks are not done.
func (k *commitment) complete(results []*manifest.TaskResult) error {
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
		return failure.New(failure.Storage, "%d of %d tasks of plan %s are not done: %s%s", n, len(results), k.plan.ID, strings.Join(named, ", "), more)
	}
	return nil
}
