package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// storedPlans is how many plans are read to find one to go on with: those that nobody
// went on with wait for clean.
const storedPlans = 16

// Elsewhere runs tasks on other machines.
type Elsewhere interface {
	// Run runs the tasks of batches, whose plans differ, and tells progress of what
	// they did, by one goroutine at a time. A task may run twice, also after Run has
	// returned. nil is no promise that all tasks are done: the results that they leave
	// tell. An error that is or joins a *task.Failure is of the plans that are named, and
	// another one of all. After task.ErrDetached the tasks run on.
	Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error
}

// Submit does what Convert does, but its tasks run elsewhere, and no lock is held
// meanwhile. They leave their work where Commit finds it: also after an error, so that a
// rerun of the same request has only those run that are left. The inputs and the
// destination must be where other machines find them. After task.ErrDetached the outcome
// has the plan.
func Submit(ctx context.Context, r Request, e Elsewhere) (out *Outcome, err error) {
	s := newSubmission("", func(context.Context) (Request, bool, error) { return r, false, nil })
	submitAll(ctx, []*submission{s}, e, r.Progress, func(_ *submission, o *Outcome, failed error) { out, err = o, failed })
	return out, err
}

// submission is a conversion whose tasks run elsewhere.
type submission struct {
	conversion
	name string // of the partition; empty if it is of none
	// request says what to convert, once it is to be. first is whether it would be the
	// first output of a partition: if another process makes one meanwhile, the request is
	// another.
	request func(context.Context) (r Request, first bool, err error)
	first   bool
	state   *publish.State // that the plan was made for
	before  checked        // the tasks that were done before
	batch   *task.Batch    // nil if no task is left to run
	inputs  int            // that there are to convert, those of the plan included
	dirs    []*parents     // directories that were made for the destination
	renewed bool           // what Restart discards was discarded
	// resumed is how far plans were when they were staged first, by their IDs.
	resumed map[string]Progress
}

func newSubmission(partition string, request func(context.Context) (Request, bool, error)) *submission {
	return &submission{name: partition, request: request, resumed: make(map[string]Progress)}
}

// begin finds out what is asked for, unless it did.
func (s *submission) begin(ctx context.Context) error {
	if s.Request != nil && !s.first {
		return nil
	}
	r, first, err := s.request(ctx)
	if err != nil {
		return err
	}
	if err := Reachable(r.Resolve, r.Dest, r.Inputs); err != nil {
		return err
	}
	s.Request, s.first, s.began = &r, first, time.Now()
	s.out = &Outcome{Incremental: r.Incremental}
	return nil
}

// Reachable is failure.Usage if other machines would not find the destination or an
// input. It asks no server.
func Reachable(resolve input.Resolve, dest string, inputs []string) error {
	for _, location := range append([]string{dest}, inputs...) {
		at, err := input.Locate(resolve, location)
		if err != nil {
			return err
		}
		//guard: tasks would look for inputs, and leave their work, on disks of their own machines
		if store.CapabilitiesOf(at.Store).Local {
			return failure.New(failure.Usage, "%s is on this machine, where the machines that run the tasks cannot reach it: inputs and destination must be on hdfs://, webhdfs:// or swebhdfs://", store.Shown(location))
		}
	}
	return nil
}

// prepare plans what is left to convert, and finds out which tasks of that are left.
// done is whether there was nothing to do.
func (s *submission) prepare(ctx context.Context) (done bool, err error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	s.plan = nil
	survey, m, err := s.findWork(ctx)
	if err != nil {
		return false, err
	}
	if survey == nil {
		s.out.nothing(m)
		return true, tidy(ctx, s.dest, s.state, s.out)
	}
	s.inputs = len(survey.Request.Inputs)
	if err := s.choose(ctx, survey); err != nil {
		return false, err
	}
	return false, s.stage(ctx)
}

// findWork looks at the destination and surveys the inputs, until nothing that others
// left in the destination is in the way. Without a survey there is nothing to do, and
// the destination holds m.
func (s *submission) findWork(ctx context.Context) (survey *plan.Survey, m *manifest.Success, err error) {
	if s.Incremental {
		return s.findNewWork(ctx)
	}
	if survey, s.state, err = s.lookAndSurvey(ctx); err != nil {
		return nil, nil, err
	}
	for settled := false; ; settled = true {
		if m, nothing := s.nothing(s.state, survey); nothing {
			return nil, m, nil
		}
		if err := s.Request.allow(s.state, &survey.Request); err != nil {
			return nil, nil, err
		}
		if settled || !unsettled(s.state) {
			return survey, nil, nil
		}
		before := s.state
		var seen *publish.State
		if s.Overwrite && !s.keep && before.Pending() {
			seen = before
		}
		if s.state, err = settle(ctx, s.dest, s.out, seen); err != nil {
			return nil, nil, err
		}
		//guard: inputs would be missing that another run published after they were found
		if !s.state.Same(before) {
			if survey, err = s.survey(ctx, s.state); err != nil {
				return nil, nil, err
			}
		}
	}
}

// findNewWork is findWork for the inputs that the destination does not have.
func (s *submission) findNewWork(ctx context.Context) (survey *plan.Survey, m *manifest.Success, err error) {
	if s.state, s.dest, err = s.look(ctx); err != nil {
		return nil, nil, err
	}
	//guard: a destination would be cleared of what is ours that is refused
	if err := s.state.AllowIncrement(); err != nil {
		return nil, nil, err
	}
	if unsettled(s.state) {
		if s.state, err = settle(ctx, s.dest, s.out, nil); err != nil {
			return nil, nil, err
		}
	}
	if survey, err = s.survey(ctx, s.state); err != nil {
		return nil, nil, err
	}
	if m, nothing := s.nothing(s.state, survey); nothing {
		return nil, m, nil
	}
	return survey, nil, nil
}

// unsettled reports whether a former holder of the destination left something that
// may be an output, or the work of tasks.
func unsettled(state *publish.State) bool { return state.Leftovers || state.Pending() }

// settle lets what others left in a destination come to its end: an output that was
// being published, and the work of tasks that somebody took to commit it. It looks at
// the destination again. If that is to be replaced, seen is what it was seen to hold
// before, else nil: it is failure.Locked if another process published to it since.
func settle(ctx context.Context, dest *publish.Destination, out *Outcome, seen *publish.State) (*publish.State, error) {
	claim, held, err := dest.Claim(ctx)
	if err != nil {
		return nil, err
	}
	err = claim.Judge(ctx, context.Cause(held))
	if err := release(ctx, claim, err, len(claim.Runs()) > 0, out); err != nil {
		return nil, err
	}
	state, err := dest.Look(ctx)
	//guard: replaces what a process published, and reported, while this one waited for the lock
	if err == nil && seen != nil && !claim.Completed() && !slices.Equal(seen.Holds(), state.Holds()) {
		return nil, failure.New(failure.Locked, "another run published to the destination meanwhile")
	}
	return state, err
}

// choose decides on the plan: that of an earlier submission of the same request, of
// some of its inputs perhaps, or a new one.
func (s *submission) choose(ctx context.Context, survey *plan.Survey) error {
	fresh, err := survey.Plan(ctx, s.state.ID(), s.state.Holds()...)
	if err != nil {
		return err
	}
	s.plan = fresh
	s.out.warn(fresh.Warnings)
	ids, err := s.dest.StagedPlans(ctx)
	if err != nil {
		return err
	}
	if s.Restart && !s.renewed {
		s.renewed = true
		_, err := s.stored(ctx, ids, func(id string) error { return s.dest.RemoveStaging(ctx, id) })
		return err
	}
	if slices.Contains(ids, fresh.ID) {
		return nil
	}
	earlier, err := s.stored(ctx, ids, nil)
	if err != nil || earlier == nil {
		return err
	}
	return s.adopt(earlier)
}

// stored returns the first of some stored plans that can be gone on with in place of
// the one that was made anew; nil if there is none. With discard, it is told of all.
func (s *submission) stored(ctx context.Context, ids []string, discard func(id string) error) (*manifest.Plan, error) {
	for _, id := range ids[:min(len(ids), storedPlans)] {
		p := s.plan
		if id != p.ID {
			var err error
			if p, err = s.dest.StagedPlan(ctx, id); err != nil {
				return nil, err
			}
		}
		//guard: work would be gone on with that can never be committed
		if !s.resumes(p) || len(s.state.Unseen(p)) > 0 {
			continue
		}
		if discard == nil {
			return p, nil
		}
		if err := discard(id); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// maxWork is how many files a name node takes in one directory, unless it is told
// otherwise (dfs.namenode.fs-limits.max-directory-items).
const maxWork = 1 << 20

// tooMany warns of more tasks than leave their work in one directory: each leaves a
// part and a result. It is empty if there are not so many.
func tooMany(tasks int) string {
	if tasks <= maxWork/2 {
		return ""
	}
	return fmt.Sprintf("%d tasks leave more files in one directory than the %d that a name node takes by default (dfs.namenode.fs-limits.max-directory-items): a larger --row-group-size makes fewer", tasks, maxWork)
}

// stage makes the directory for the work of the plan's tasks, and finds out which of
// them are left.
func (s *submission) stage(ctx context.Context) error {
	s.batch, s.before = nil, checked{}
	if len(s.plan.Tasks) == 0 {
		return nil
	}
	if warning := tooMany(len(s.plan.Tasks)); warning != "" {
		s.out.warn([]string{warning})
	}
	var dir string
	made, err := s.withParents(ctx, func() (err error) {
		dir, err = s.dest.Staging(ctx, s.plan.ID)
		return err
	})
	s.dirs = append(s.dirs, made)
	if err == nil {
		err = s.dest.KeepPlan(ctx, s.plan)
	}
	if err != nil {
		return err
	}
	sink, err := s.sink(s.plan)
	if err != nil {
		return err
	}
	numbers := make([]int, len(s.plan.Tasks))
	for i := range numbers {
		numbers[i] = i
	}
	if s.before, err = finishedTasks(ctx, s.plan, s.Resolve, numbers, sink, s.st, dir); err != nil {
		return err
	}
	//guard: what was done for an earlier round of this submission would count as resumed
	if _, again := s.resumed[s.plan.ID]; !again {
		s.resumed[s.plan.ID] = progressOf(s.plan, s.before.results)
	}
	if left := missing(s.before.results); len(left) > 0 {
		s.batch = &task.Batch{Plan: s.plan, Dest: s.plan.Dest, Store: s.st, Dir: dir, Numbers: left}
	}
	return task.CheckLost(s.plan, lostRows(s.before.results))
}

// publish commits the work of all tasks. more is whether there are inputs left then.
func (s *submission) publish(ctx context.Context) (more bool, err error) {
	state, err := s.dest.Look(ctx)
	if err == nil {
		err = s.commitment().run(ctx, state)
	}
	if err != nil {
		return false, err
	}
	p := s.resumed[s.plan.ID]
	s.out.Resumed, s.out.ResumedBytes = s.out.Resumed+p.Tasks, s.out.ResumedBytes+p.Bytes
	return s.Incremental && len(s.plan.Request.Inputs) < s.inputs, nil
}

// overtaken reports whether what failed would be another thing to do now, because
// another process changed what the destination holds.
func (s *submission) overtaken(ctx context.Context, err error) bool {
	if !errors.Is(err, failure.Foreign) || s.Request == nil {
		return false
	}
	if s.first {
		_, still, err := s.request(ctx)
		return err == nil && !still
	}
	if !s.Incremental && !s.keep || s.plan == nil {
		return false
	}
	now, err := s.dest.Look(ctx)
	return err == nil && !now.Same(s.state)
}

// published reports whether others committed what the tasks were to make.
func (s *submission) published(ctx context.Context) bool {
	state, err := s.dest.Look(ctx)
	if err != nil {
		return false
	}
	_, done := s.committed(state)
	return done
}

// commitment is what is to be done once the tasks are.
func (s *submission) commitment() *commitment {
	return &commitment{
		Options: &s.Options, plan: s.plan, st: s.st, dest: s.dest, out: s.out, began: s.began, before: s.before,
		resumed:   s.resumed[s.plan.ID].Tasks,
		committed: s.committed,
		allow: func(state *publish.State) error {
			if err := s.allowPlan(state, s.plan); err != nil || s.plan.Increment {
				return err
			}
			return s.Request.allow(state, &s.plan.Request)
		},
		claims: func(ctx context.Context) (*publish.Claim, context.Context, error) {
			claim, held, made, err := s.claim(ctx, s.dest)
			s.dirs = append(s.dirs, made)
			return claim, held, err
		},
	}
}

// committed is what the destination holds if nothing of the plan is left to commit.
func (s *submission) committed(state *publish.State) (*manifest.Success, bool) {
	m, done := committed(state, s.plan)
	if s.plan.Increment || done && m.Plan == s.plan.ID {
		return m, done
	}
	return state.Success, s.Request.finished(state, &s.plan.Request)
}

// end is what a submission came to.
func (s *submission) end(ctx context.Context, err error) (*Outcome, error) {
	switch {
	case err == nil:
		return s.out, failure.Judge(s.out.losses())
	case errors.Is(err, task.ErrDetached):
		s.out.Plan = s.plan
		return s.out, err
	}
	for _, made := range s.dirs {
		made.remove(ctx)
	}
	//guard: nobody would be told of an increment that was published before another failed
	if s.out != nil && len(s.out.Published) > 0 {
		m := s.out.Manifest
		return s.out, failure.Judge(fmt.Errorf("after %s was published: %w", manifest.IncrementName(m.Sequence, m.ID), err))
	}
	return nil, failure.Judge(err)
}
