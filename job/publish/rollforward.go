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

// rollForward completes the pending outputs of former holders, in the order of their numbers.
// It gives up those that lost a file or that accepts refuses. If no output is left, it puts
// back the manifest of the former one.
func (c *Claim) rollForward(ctx context.Context) error {
	outputs := slices.SortedFunc(slices.Values(c.found.pending), func(a, b *pendingOutput) int {
		return cmp.Compare(a.Sequence, b.Sequence)
	})
	for _, p := range outputs {
		if err := c.completeOrGiveUp(ctx, p); err != nil {
			return fmt.Errorf("destination %s: complete output %s of an earlier run: %w", c.path, p.ID, err)
		}
	}
	if err := c.reinstate(ctx); err != nil {
		return fmt.Errorf("destination %s: put the manifest of the former output back: %w", c.path, err)
	}
	return nil
}

// completeOrGiveUp completes a pending output or gives it up. If the output is in place
// already, or a later one is, it only forgets the output.
func (c *Claim) completeOrGiveUp(ctx context.Context, p *pendingOutput) error {
	s := p.Success
	now, err := c.ReadState(ctx)
	if err != nil {
		return err
	}
	//guard: does not publish an output again, or over a later one
	if !now.hasOrReplaced(s) {
		if c.found.workOf(s.Plan) == "" {
			//guard: refuses a link in place of the staged files
			if _, err := c.StagedAt(ctx, s.Plan); err != nil {
				return err
			}
		}
		work, err := c.takeWork(ctx, s.Plan)
		if err != nil {
			return err
		}
		publishable := now.accepts(s)
		if publishable {
			publishable, err = c.hasAllFiles(ctx, work, p.Pending)
		}
		if err != nil {
			return err
		}
		//guard: completes an output only with all its files
		if !publishable {
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

// accepts reports whether a pending output may still be published.
func (s *State) accepts(m *manifest.Success) bool {
	switch input, _ := s.ownerOf(m.Request.Inputs); {
	//guard: refuses to replace an output that the pending one does not name
	case !m.Increment && len(s.unseenBy(m)) > 0:
		return false
	//guard: refuses an increment whose base is not the output
	case m.Increment && m.Base != s.ID():
		return false
	//guard: refuses an increment whose inputs another output has
	case m.Increment && input != "":
		return false
	}
	return true
}

// hasOrReplaced reports whether a pending output is in place, or the output in place has a
// higher number. For an increment, it reports only whether the increment is in place and counts.
func (s *State) hasOrReplaced(m *manifest.Success) bool {
	if !m.Increment {
		return s.Success != nil && (s.Success.ID == m.ID || m.Sequence < s.Success.Sequence)
	}
	name := manifest.IncrementName(m.Sequence, m.ID)
	return slices.ContainsFunc(s.Increments, func(r Committed) bool { return r.Name == name })
}

// giveUp withdraws a pending output of a former holder. It first moves out the parts that are in
// place, because parts without a manifest would count as orphans. clearUp moves out the copies
// and indexes. The files of an increment are still in the directory of its work.
func (c *Claim) giveUp(ctx context.Context, p *pendingOutput, work string) error {
	if !p.Increment {
		var parts []string
		for i := range p.Parts {
			parts = append(parts, p.Parts[i].Entry().Name)
		}
		//guard: moves out parts that would be left without a manifest
		if err := c.moveOut(ctx, &State{debris: parts}); err != nil {
			return err
		}
	}
	return c.withdraw(ctx, p, work)
}

// reinstate puts back a retired manifest if the destination has none, because the output that
// was to replace the former one was given up. It chooses the latest output whose files are all
// in place. It refuses a foreign manifest.
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
		//guard: refuses to go on while a foreign file has the name of the manifest
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
		//guard: does not put back the manifest of an output that lost files
		if s.damage != "" {
			continue
		}
		c.found.retired = slices.DeleteFunc(c.found.retired, func(other *retiredOutput) bool { return other == r })
		return c.move(ctx, r.path, c.pathOf(manifest.SuccessName))
	}
	return nil
}

// hasAllFiles reports whether every file of an output is there, staged or in place, with the
// bytes that its manifest says. The files of a directory must be in the same place, because
// the directory moves as a whole.
func (c *Claim) hasAllFiles(ctx context.Context, work string, s *manifest.Pending) (bool, error) {
	staged, err := task.Intact(ctx, c.st, work, s.StagedEntries(), true)
	if err != nil {
		return false, err
	}
	var rest []manifest.Entry
	for i, e := range s.Entries() {
		if !staged[i] {
			rest = append(rest, e)
		}
	}
	placed, err := task.Intact(ctx, c.st, c.placeOf(work, s), rest, false)
	return err == nil && !slices.Contains(placed, false), err
}
