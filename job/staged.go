package job

import (
	"context"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
)

// CommitStaged is Commit of a plan, by its ID, that Submit left in a destination with the work
// of its tasks. The submitter was allowed to replace what the destination held then. It
// does nothing if the destination holds the plan's output.
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
		state, err := d.Look(ctx)
		if err == nil && unsettled(state) {
			// A process that died may have taken the work to commit it.
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
			out.nothing(outputs[i].Success)
			if err := tidy(ctx, d, state, out); err != nil {
				return nil, err
			}
			return out, out.losses()
		case p == nil:
			return nil, failure.New(failure.Foreign, "destination %s holds neither the output of plan %s nor the work of its tasks: another output replaced it, clean removed it, or another version of rowtocol made it", dest, id)
		}
	}
	//guard: would look for the work of tasks in the wrong destination
	if at, _ := input.Locate(o.Resolve, p.Dest); at.Origin != place.Origin || at.Path != place.Path {
		return nil, failure.New(failure.Foreign, "destination %s holds a plan that is for %s", dest, p.Dest)
	}
	o.Overwrite = len(p.Replaces) > 0
	return commit(ctx, p, o, func(s *publish.State) (*manifest.Success, bool) {
		m, done := committed(s, p)
		//guard: would keep an output that was to be made again
		if done && !p.Increment && m.Plan != p.ID && m.ID == p.Base {
			return nil, false
		}
		return m, done
	})
}
