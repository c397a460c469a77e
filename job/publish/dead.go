package publish

import (
	"context"
	"errors"
	"strings"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// findDead notes the staged work of plans that can never be committed. Late tasks leave such
// work after their plan was published, and a killed run that of a plan which is outdated by now.
func (d *Destination) findDead(ctx context.Context, s *State) error {
	if len(s.Outputs()) == 0 {
		return nil // there is nothing by which a plan could be outdated
	}
	//guard: keeps staged work while the output cannot be judged
	if s.damage != "" || len(s.foreign) > 0 {
		return nil
	}
	published := make(map[string]bool)
	for _, o := range s.Outputs() {
		published[o.Success.Plan] = true
	}
	for _, id := range s.staged {
		dead := published[id]
		if !dead {
			p, err := d.StagedPlan(ctx, id)
			if err != nil {
				return err
			}
			dead = p != nil && s.outdated(p)
		}
		if dead {
			s.dead = append(s.dead, id)
		}
	}
	s.Leftovers = s.Leftovers || len(s.dead) > 0
	return nil
}

// outdated reports whether a plan can never be committed, because of what the destination got
// after it was made.
func (s *State) outdated(p *manifest.Plan) bool {
	if p.Increment {
		return errors.Is(s.allowIncrementPlan(p), failure.Foreign)
	}
	return len(s.Unseen(p)) > 0
}

// clearDead removes the work that findDead noted.
func (c *Claim) clearDead(ctx context.Context, dead []string) error {
	for _, id := range dead {
		if err := c.Discard(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// stagedPlan returns the ID of the plan whose tasks leave their work under a name.
func stagedPlan(info store.Info) (id string, ok bool) {
	id, ok = strings.CutPrefix(info.Name, planPrefix)
	return id, ok && info.Dir && !info.Link
}
