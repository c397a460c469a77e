package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// RemoteRunner runs tasks on other machines.
type RemoteRunner interface {
	// Run runs the tasks of batches, each of another plan. It calls progress from one goroutine
	// at a time. A task may run twice, even after Run has returned. A nil error does not mean
	// that all tasks are done, only their results do. An error that is or joins *task.Failure
	// values concerns the plans that they name. Any other error concerns all plans. After
	// task.ErrDetached the tasks keep running.
	Run(ctx context.Context, batches []task.Batch, progress func(task.Progress)) error
}

// Submit does what Convert does, but runs the tasks on other machines and holds no lock in the
// meantime. Tasks leave their work where Commit finds it, even after an error, so a rerun of
// the same request runs only the tasks that are left. The other machines must reach the inputs
// and the destination. After task.ErrDetached the outcome has the plan.
func Submit(ctx context.Context, r Request, runner RemoteRunner) (out *Outcome, err error) {
	s := &submission{request: func(context.Context) (Request, bool, error) { return r, false, nil }}
	submitAll(ctx, []*submission{s}, runner, r.Progress, func(_ *submission, o *Outcome, failed error) { out, err = o, failed })
	return out, err
}

// submission is a conversion whose tasks run on other machines. It takes the destination's
// lock only to complete the outputs of dead holders and to commit.
type submission struct {
	*conversion        // nil until begin
	name        string // name of the partition; empty if there is none
	// request returns what to convert. first is whether the request would make the first output
	// of a partition. If another process makes that output in the meantime, the request changes.
	request func(context.Context) (r Request, first bool, err error)
	first   bool
	batch   *task.Batch // nil if no task is left to run
}

// begin makes the conversion, unless it exists and the request cannot change.
func (s *submission) begin(ctx context.Context) error {
	if s.conversion != nil && !s.first {
		return nil
	}
	r, first, err := s.request(ctx)
	if err != nil {
		return err
	}
	if err := Reachable(r.Resolve, r.Dest, r.Inputs); err != nil {
		return err
	}
	c := newConversion(&r)
	//guard: does not record this submission's own work as resumed
	if s.conversion != nil {
		c.nonce, c.resumed = s.nonce, s.resumed
	}
	s.conversion, s.first = c, first
	return nil
}

// Reachable returns failure.Usage if the destination or an input is on this machine, where
// other machines cannot reach it. It contacts no server.
func Reachable(resolve input.Resolve, dest string, inputs []string) error {
	for _, location := range append([]string{dest}, inputs...) {
		at, err := input.Locate(resolve, location)
		if err != nil {
			return err
		}
		//guard: refuses a local store for tasks on other machines
		if store.CapabilitiesOf(at.Store).Local {
			return failure.New(failure.Usage, "%s is on this machine, where the machines that run the tasks cannot reach it: inputs and destination must be on storage that all of them reach, such as hdfs://", store.Showable(location))
		}
	}
	return nil
}

// prepare plans what is left to convert and finds which tasks of the plan are left. done is
// whether there was nothing to do.
func (s *submission) prepare(ctx context.Context) (done bool, err error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	s.plan, s.batch = nil, nil
	if err := s.look(ctx); err != nil {
		return false, err
	}
	if done, err := s.decide(); err != nil {
		return false, err
	} else if done {
		return true, tidy(ctx, s.dest, s.state, s.out)
	}
	if unsettled(s.state) {
		state, completed, err := settle(ctx, s.dest, s.out)
		if err == nil {
			err = s.update(ctx, state, completed)
		}
		if err != nil {
			return false, err
		}
		if done, err := s.decide(); done || err != nil {
			return done, err
		}
	}
	if err := s.choose(ctx); err != nil {
		return false, err
	}
	if err := s.stage(ctx); err != nil {
		return false, err
	}
	if s.work != nil && len(s.work.Unfinished()) > 0 {
		s.batch = &task.Batch{Plan: s.plan, Superseded: s.superseded, Store: s.st, Dir: s.dir, Numbers: s.work.Unfinished()}
	}
	return false, nil
}

// overtaken reports whether another process changed the destination, so that the submission
// that failed with err must begin again.
func (s *submission) overtaken(ctx context.Context, err error) bool {
	if !errors.Is(err, failure.Foreign) || s.conversion == nil {
		return false
	}
	if s.first {
		_, still, err := s.request(ctx)
		return err == nil && !still
	}
	if !s.Incremental && !s.keep || s.plan == nil {
		return false
	}
	now, err := s.dest.ReadState(ctx)
	return err == nil && !now.SameOutputs(s.state)
}

// published reports whether another process committed the work that the tasks were to do.
func (s *submission) published(ctx context.Context) bool {
	state, err := s.dest.ReadState(ctx)
	if err != nil {
		return false
	}
	_, done := s.committed(state)
	return done
}

// end returns the outcome of a submission that ended with err.
func (s *submission) end(ctx context.Context, err error) (*Outcome, error) {
	switch {
	case s.conversion == nil:
		return nil, failure.Judge(err)
	case errors.Is(err, task.ErrDetached):
		s.out.Plan = s.plan
		return s.out, err
	}
	out, err := s.conversion.end(ctx, err)
	return out, failure.Judge(err)
}
