package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// Convert plans a conversion, runs its tasks and publishes their files. It
// resumes what an earlier run of the same request left, and does nothing if the
// destination already holds the output. An error leaves nothing behind but
// finished parts that a rerun can use. When damage was allowed and met, the
// output is committed, the outcome is returned, and so is an error that is
// failure.Losses. An incremental conversion that fails behind an increment that it published
// returns an outcome with that, beside the error. Every error but that of a cancelled context and of a defect has
// a kind of package failure.
func Convert(ctx context.Context, r Request) (*Outcome, error) {
	out, err := convert(ctx, &r)
	return out, failure.Judge(err)
}

func convert(ctx context.Context, r *Request) (*Outcome, error) {
	if r.Incremental {
		return incremental(ctx, r)
	}
	c := &conversion{Request: r, out: &Outcome{}}
	survey, state, err := c.lookAndSurvey(ctx)
	//guard: is refused for an output that a killed run began to publish, and that is to go
	if err == nil && r.Overwrite && state.Pending() {
		if _, err = settle(ctx, c.dest, c.out, state); err == nil {
			survey, state, err = c.lookAndSurvey(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if m, nothing := r.nothing(state, survey); nothing {
		return finished(ctx, c.dest, state, m, c.out)
	}
	if err := r.allow(state, &survey.Request); err != nil {
		return nil, err
	}
	if err := c.make(ctx, survey, state); err != nil {
		return nil, err
	}
	c.began = time.Now()
	if err := c.run(ctx, c.work); err != nil {
		return nil, err
	}
	return c.out, c.out.losses()
}

// nothing reports whether there is nothing to do for what a survey found, and returns
// what the destination holds in its place.
func (r *Request) nothing(state *publish.State, survey *plan.Survey) (*manifest.Success, bool) {
	switch {
	case r.Incremental:
		return latest(state), len(survey.Request.Inputs) == 0
	case r.finished(state, &survey.Request):
		return state.Success, true
	//guard: an output would be made of no inputs because they are not complete yet
	case survey.Waits():
		return latest(state), true
	}
	return nil, false
}

// finished is the outcome where there is nothing to do but to clear up.
func finished(ctx context.Context, dest *publish.Destination, state *publish.State, m *manifest.Success, out *Outcome) (*Outcome, error) {
	if err := tidy(ctx, dest, state, out); err != nil {
		return nil, err
	}
	out.nothing(m)
	return out, out.losses()
}

// tidy clears up what an earlier run left in a destination. That it could not is no
// more than a warning.
func tidy(ctx context.Context, dest *publish.Destination, state *publish.State, out *Outcome) error {
	if !state.Leftovers {
		return nil
	}
	err := dest.Tidy(ctx)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of an earlier run could not be removed: %v", err))
	}
	return nil
}

// conversion is a conversion under way.
type conversion struct {
	*Request
	dest    *publish.Destination
	looked  *plan.Survey // of the inputs that the plan is of; nil of an incremental conversion
	plan    *manifest.Plan
	mapping *shred.Mapping // of the plan's schema; nil if there are no inputs, or tasks are to find out
	st      store.Store    // of the destination
	began   time.Time
	out     *Outcome

	resumed int // tasks

	staged bool // there is work that a rerun can use
	done   bool // what failed came behind the tasks, which are all done, or before them
}

// lookAndSurvey is Survey, for an outcome.
func (c *conversion) lookAndSurvey(ctx context.Context) (survey *plan.Survey, state *publish.State, err error) {
	if state, c.dest, err = c.look(ctx); err == nil {
		survey, err = c.survey(ctx, state)
	}
	return survey, state, err
}

// survey is Request.survey, for an outcome. What it read of inputs is kept for others.
func (c *conversion) survey(ctx context.Context, state *publish.State) (*plan.Survey, error) {
	survey, err := c.Request.survey(ctx, state)
	if err != nil {
		return nil, err
	}
	c.st, c.out.Skipped = survey.Dest.Store, survey.Skipped
	c.out.warn(survey.Warnings)
	c.out.keepAnswers(ctx, c.dest, survey)
	return survey, nil
}

// make makes the plan of an output of all inputs.
func (c *conversion) make(ctx context.Context, survey *plan.Survey, state *publish.State) (err error) {
	if c.plan, err = survey.Plan(ctx, state.ID(), state.Holds()...); err != nil {
		return err
	}
	c.out.warn(c.plan.Warnings)
	c.looked, c.mapping = survey, survey.Mapping
	return nil
}

// run does work under a claim, and gives that back.
func (c *conversion) run(ctx context.Context, work func(context.Context, *publish.Claim) error) error {
	claim, held, made, err := c.claim(ctx, c.dest)
	if err == nil {
		err = claim.Judge(ctx, work(held, claim))
		keep := c.staged && (c.out.Nothing || c.done || mendable(ctx, err))
		err = release(ctx, claim, err, keep, c.out)
	}
	if err != nil {
		made.remove(ctx)
	}
	return err
}

// release gives a claim back after work that ended with err, also if ctx has
// ended. An output that stands is not spoilt by leftovers.
func release(ctx context.Context, claim *publish.Claim, err error, keep bool, out *Outcome) error {
	if err != nil || ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = store.Cleanup(ctx)
		defer cancel()
	}
	if left := claim.Release(ctx, keep); left != nil && err == nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of the run could not be removed: %v", left))
	}
	return err
}

// mendable reports whether a person or time can mend what failed, so that a
// rerun of the same request may succeed.
func mendable(ctx context.Context, err error) bool {
	//guard: a run that was stopped would lose its work for what it died of
	if ctx.Err() != nil {
		return true // the run was stopped, whatever its error says
	}
	switch failure.KindOf(err) {
	case failure.Storage, failure.Refused, failure.Usage, failure.Foreign:
		return true
	}
	return false
}

// work runs the tasks that are left and publishes.
func (c *conversion) work(ctx context.Context, claim *publish.Claim) error {
	state := claim.State()
	//guard: unfinished runs would be removed by one that does nothing, or is refused
	c.staged = len(claim.Runs()) > 0
	//guard: an output that was completed since would be taken for another request's
	if err := compare(ctx, c.looked, state); err != nil {
		return err
	}
	if m, nothing := c.nothing(state, c.looked); nothing {
		c.out.nothing(m)
		return nil
	}
	//guard: an output or an increment would be replaced that came after the first look
	if len(state.Unseen(c.plan)) > 0 {
		if err := c.lookAgain(ctx, state); err != nil || c.out.Nothing {
			return err
		}
	}
	//guard: an output would be replaced that must not be
	if err := c.allow(state, &c.plan.Request); err != nil {
		return err
	}
	run, err := c.resume(ctx, claim)
	if err != nil {
		return err
	}
	return c.carryOut(ctx, claim, run)
}

// lookAgain plans anew because the destination changed after the first look. What was added
// is replaced only if all its inputs are still there.
func (c *conversion) lookAgain(ctx context.Context, state *publish.State) error {
	//guard: unfinished runs would be removed by one that does not come to its tasks
	c.done = true
	survey, err := c.survey(ctx, state)
	if err != nil {
		return err
	}
	if m, nothing := c.nothing(state, survey); nothing {
		c.out.nothing(m)
		return nil
	}
	if err := c.allow(state, &survey.Request); err != nil {
		return err
	}
	//guard: rows that came after the first look would go, and are nowhere else
	if err := c.covers(state.Unseen(c.plan), &survey.Request); err != nil {
		return fmt.Errorf("another run was faster: %w", err)
	}
	if err := c.make(ctx, survey, state); err != nil {
		return err
	}
	c.done = false
	return nil
}

// carryOut runs the tasks of a run that are left, and publishes it.
func (c *conversion) carryOut(ctx context.Context, claim *publish.Claim, run *publish.Run) error {
	results, err := c.results(ctx, run)
	if err != nil {
		return err
	}
	if results, err = c.lastStep(ctx, c.plan, c.st, run.Dir, results); err != nil {
		c.done = true
		return err
	}
	if err := c.checkInputs(ctx, c.plan, results, claim.State()); err != nil {
		return err
	}
	return c.out.publish(ctx, claim, run, results, c.made(c.plan, c.began, c.resumed))
}

// resume returns the unfinished run of the same request, whose plan it goes on
// with, or a new run. Other runs are removed.
func (c *conversion) resume(ctx context.Context, claim *publish.Claim) (*publish.Run, error) {
	var own *publish.Run
	for _, r := range slices.Clone(claim.Runs()) {
		if own == nil && !c.Restart && c.resumes(r.Plan) {
			own = r
		} else if err := claim.Discard(ctx, r); err != nil {
			return nil, err
		}
	}
	if own == nil {
		c.staged = false
		return claim.Begin(ctx, c.plan)
	}
	return own, c.adopt(own.Plan)
}

// adopt goes on with the plan of an earlier run of the same request.
func (c *conversion) adopt(p *manifest.Plan) error {
	//guard: a plan would be resumed that needs more memory than there is
	if err := plan.Fits(p, c.Formats, c.memory().Size()); err != nil {
		return err
	}
	if p.Schema != c.plan.Schema {
		c.mapping = nil // of the same schema in other words, which part files repeat
	}
	if had, now := p.BlockSize, c.plan.BlockSize; had != now {
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("the run that is resumed keeps its column blocks of %d bytes; --restart plans anew, with %d", had, now))
	}
	now := make(map[string]manifest.Input, len(c.plan.Request.Inputs))
	for _, in := range c.plan.Request.Inputs {
		now[in.Path] = in
	}
	for i, in := range p.Request.Inputs {
		p.Request.Inputs[i] = now[in.Path] // they may have been modified since
	}
	c.plan = p
	return nil
}

// results runs the tasks that have no sound result yet, and returns those of all.
func (c *conversion) results(ctx context.Context, run *publish.Run) ([]*manifest.TaskResult, error) {
	numbers := make([]int, len(c.plan.Tasks))
	for i := range numbers {
		numbers[i] = i
	}
	sink, err := c.sink(c.plan)
	if err != nil {
		return nil, err
	}
	found, err := finishedTasks(ctx, c.plan, c.Resolve, numbers, sink, c.st, run.Dir)
	if err != nil {
		return nil, err
	}
	results, progress := found.results, progressOf(c.plan, found.results)
	c.resumed = progress.Tasks
	c.out.Resumed, c.out.ResumedBytes = c.out.Resumed+progress.Tasks, c.out.ResumedBytes+progress.Bytes
	c.staged = progress.Tasks > 0
	left := missing(results)
	made, err := c.runTasks(ctx, run, left, lostRows(results), progress)
	for i, res := range made {
		results[left[i]] = res
		//guard: tasks would be removed that a rerun can use
		c.staged = c.staged || res != nil
	}
	return results, err
}

// progressOf is how far a plan is with the tasks that have results.
func progressOf(p *manifest.Plan, results []*manifest.TaskResult) (now Progress) {
	for i, res := range results {
		bytes := p.Tasks[i].Bytes()
		now.TotalTasks, now.TotalBytes = now.TotalTasks+1, now.TotalBytes+bytes
		if res != nil {
			now.Tasks, now.Bytes = now.Tasks+1, now.Bytes+bytes
		}
	}
	return now
}

// runTasks runs tasks into the directory of a run.
func (c *conversion) runTasks(ctx context.Context, run *publish.Run, numbers []int, lost int64, before Progress) (_ []*manifest.TaskResult, err error) {
	o, err := c.taskOptions(c.plan, func(p task.Progress) {
		if c.Progress != nil {
			now := before
			now.Rows, now.Bytes, now.Tasks = p.Rows, before.Bytes+p.Bytes, before.Tasks+p.Tasks
			c.Progress(now)
		}
	})
	if err != nil {
		return nil, err
	}
	o.Mapping, o.Lost = c.mapping, lost
	tasks, err := task.Open(c.plan, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tasks.Close()) }()
	return tasks.Run(ctx, c.st, run.Dir, numbers)
}
