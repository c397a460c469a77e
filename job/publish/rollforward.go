package publish

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// rollForward completes the outputs that former holders were publishing, in the
// order in which they began, and gives up those that lost a file.
func (c *Claim) rollForward(ctx context.Context) error {
	waiting := slices.SortedFunc(slices.Values(c.found.pending), func(a, b *pendingOutput) int {
		return cmp.Compare(a.Sequence, b.Sequence)
	})
	for _, p := range waiting {
		if err := c.completeOrGiveUp(ctx, p); err != nil {
			return fmt.Errorf("destination %s: complete output %s of an earlier run: %w", c.path, p.ID, err)
		}
	}
	if err := c.reinstate(ctx); err != nil {
		return fmt.Errorf("destination %s: put the manifest of the former output back: %w", c.path, err)
	}
	return nil
}

// completeOrGiveUp completes an output, unless it is complete or was replaced since, or gives it
// up.
func (c *Claim) completeOrGiveUp(ctx context.Context, p *pendingOutput) error {
	s := p.Success
	now, err := c.Look(ctx)
	if err != nil {
		return err
	}
	//guard: keeps a newer output
	if !now.wasPublished(s) {
		if c.found.workOf(s.Plan) == "" {
			//guard: does not follow a link to staged files
			if _, err := c.StagedAt(ctx, s.Plan); err != nil {
				return err
			}
		}
		work, err := c.takeWork(ctx, s.Plan)
		if err != nil {
			return err
		}
		whole := now.accepts(s)
		if whole {
			whole, err = c.hasAllFiles(ctx, work, p.Pending)
		}
		if err != nil {
			return err
		}
		//guard: completes an output only with all its files
		if !whole {
			return c.giveUp(ctx, p, work)
		}
		c.completed = append(c.completed, s.ID)
		if err := c.carryOut(ctx, work, p.Pending); err != nil {
			return err
		}
	}
	c.forget(p)
	return nil
}

// accepts reports whether an output that waits may still come to the destination.
func (s *State) accepts(m *manifest.Success) bool {
	switch in, _ := s.ownerOf(m.Request.Inputs); {
	//guard: keeps what was restored after the output was begun
	case !m.Increment && len(s.unseenBy(m)) > 0:
		return false
	//guard: gives up an increment that does not count
	case m.Increment && m.Base != s.ID():
		return false
	//guard: gives up an increment whose inputs are held meanwhile
	case m.Increment && in != "":
		return false
	}
	return true
}

// wasPublished reports whether an output was published, also if it was replaced since.
func (s *State) wasPublished(m *manifest.Success) bool {
	if !m.Increment {
		return s.Success != nil && (s.Success.ID == m.ID || m.Sequence < s.Success.Sequence)
	}
	name := manifest.IncrementName(m.Sequence, m.ID)
	return slices.ContainsFunc(s.Increments, func(r Committed) bool { return r.Name == name })
}

// giveUp withdraws an output that a former holder was publishing. It first moves out what is
// in its place already: later nobody knows whose it is.
func (c *Claim) giveUp(ctx context.Context, p *pendingOutput, work string) error {
	if !p.Increment {
		var parts []string
		for i := range p.Parts {
			parts = append(parts, p.Parts[i].Entry().Name)
		}
		//guard: moves parts without an output out of the way
		if err := c.moveOut(ctx, &State{debris: parts}); err != nil {
			return err
		}
	}
	return c.withdraw(ctx, p, work)
}

// reinstate puts back the manifest of the latest retired output whose files are all in
// their places, if there is no manifest: the output that was to replace it was given up. A
// manifest that others put there is refused.
func (c *Claim) reinstate(ctx context.Context) error {
	if len(c.found.retired) == 0 {
		return nil
	}
	infos, err := c.st.List(ctx, c.path)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName }); i >= 0 {
		now := &State{path: c.path}
		if err := c.readSuccess(ctx, now, infos[i]); err != nil {
			return err
		}
		//guard: keeps the manifest while others' stands in its place
		return now.checkForeign()
	}
	latest := slices.SortedFunc(slices.Values(c.found.retired), func(a, b *retiredOutput) int {
		return cmp.Compare(b.Sequence, a.Sequence)
	})
	for _, r := range latest {
		s := &State{path: c.path, Success: r.Success}
		if err := c.classify(ctx, s, infos); err != nil {
			return err
		}
		//guard: does not bring back an output that lost files
		if s.damage != "" {
			continue
		}
		c.found.retired = slices.DeleteFunc(c.found.retired, func(other *retiredOutput) bool { return other == r })
		return c.move(ctx, r.path, c.pathOf(manifest.SuccessName))
	}
	return nil
}

// hasAllFiles reports whether every file of an output is there, staged or in its place, with the
// bytes that the manifest says. The files of a directory must be in the same one, as it moves
// as a whole.
func (c *Claim) hasAllFiles(ctx context.Context, work string, s *manifest.Pending) (bool, error) {
	staged, err := task.Sound(ctx, c.st, work, s.StagedEntries(), true)
	if err != nil {
		return false, err
	}
	var rest []manifest.Entry
	for i, e := range s.Entries() {
		if !staged[i] {
			rest = append(rest, e)
		}
	}
	placed, err := task.Sound(ctx, c.st, c.placeOf(work, s), rest, false)
	return err == nil && !slices.Contains(placed, false), err
}
