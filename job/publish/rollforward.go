package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// verifiers is how many files are read at a time to check them.
const verifiers = 4

// rollForward completes the outputs that former holders were publishing, in the
// order in which they began, and gives those up of which a file is lost.
func (c *Claim) rollForward(ctx context.Context) error {
	type pending struct {
		*record
		run *Run
	}
	var all []pending
	for _, r := range c.found.runs {
		for _, p := range r.pending {
			all = append(all, pending{p, r})
		}
	}
	slices.SortFunc(all, func(a, b pending) int { return cmp.Compare(a.success.Sequence, b.success.Sequence) })
	for _, p := range all {
		done, err := c.rollOne(ctx, p.run, p.success)
		if err != nil {
			return fmt.Errorf("destination %s: complete output %s of an earlier run: %w", c.path, p.success.ID, err)
		}
		if done {
			err = c.Discard(ctx, p.run)
		} else {
			err = c.giveUp(ctx, p.run, p.record)
		}
		if err != nil {
			return fmt.Errorf("destination %s: %w", c.path, err)
		}
	}
	if err := c.reinstate(ctx); err != nil {
		return fmt.Errorf("destination %s: put the manifest of the former output back: %w", c.path, err)
	}
	return nil
}

// rollOne completes an output, and reports whether it is, or was replaced since.
func (c *Claim) rollOne(ctx context.Context, r *Run, s *manifest.Success) (bool, error) {
	now, err := c.Look(ctx)
	if err != nil {
		return false, err
	}
	//guard: an older output would replace a newer one
	if done := now.passed(s); done {
		return true, nil
	}
	//guard: an increment would be published that counts for nobody
	if s.Increment && s.Base != now.ID() {
		return false, nil
	}
	//guard: rows would be there twice, as an increment that was restored waits to be published
	if in, _ := now.heldOf(s.Request.Inputs); s.Increment && in != "" {
		return false, nil
	}
	//guard: keeps what was published after a restored pending output began
	if !s.Increment && len(now.unseenBy(s)) > 0 {
		return false, nil
	}
	staged, err := c.staged(ctx, r, s)
	if err != nil {
		return false, err
	}
	whole, err := c.whole(ctx, r, s, staged)
	//guard: an output would be completed without all its files
	if !whole {
		return false, err
	}
	c.completed = true
	return true, c.carryOut(ctx, r, s, staged)
}

// passed reports whether an output was published, also if it was replaced since.
func (s *State) passed(m *manifest.Success) bool {
	if !m.Increment {
		return s.Success != nil && (s.Success.ID == m.ID || m.Sequence < s.Success.Sequence)
	}
	name := manifest.IncrementName(m.Sequence, m.ID)
	return slices.ContainsFunc(s.Increments, func(r Committed) bool { return r.Name == name })
}

// giveUp makes a run of which an output was being published one that can be
// resumed, or be committed again. What came to its place of the output is moved out
// first, as long as somebody knows whose it is.
func (c *Claim) giveUp(ctx context.Context, r *Run, p *record) error {
	if !p.success.Increment {
		var parts []string
		for i := range p.success.Parts {
			parts = append(parts, p.success.Parts[i].Entry().Name)
		}
		//guard: parts would stay that nobody knows, and the destination be refused
		if err := c.clearOut(ctx, &State{debris: parts}); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, p.path); err != nil {
		return err
	}
	r.pending = slices.DeleteFunc(r.pending, func(other *record) bool { return other == p })
	//guard: work would be out of the reach of the tasks that are to be done again, and of their commit
	if r.fromElsewhere() {
		c.forget(r)
		return c.giveBack(ctx, r.Dir)
	}
	return nil
}

// reinstate puts the manifest back of the latest output whose files are all in
// their places, if there is none: the output that was to replace it was given up.
func (c *Claim) reinstate(ctx context.Context) error {
	if len(c.found.retired) == 0 {
		return nil
	}
	infos, err := c.st.List(ctx, c.path)
	if err != nil || slices.ContainsFunc(infos, func(i store.Info) bool { return i.Name == manifest.SuccessName }) {
		return err
	}
	latest := slices.SortedFunc(slices.Values(c.found.retired), func(a, b *record) int {
		return cmp.Compare(b.success.Sequence, a.success.Sequence)
	})
	for _, r := range latest {
		s := &State{path: c.path, Success: r.success}
		if err := c.classify(ctx, s, infos, &c.found); err != nil {
			return err
		}
		//guard: an output would be back that lost files when it was replaced
		if s.damage != "" {
			continue
		}
		c.found.retired = slices.DeleteFunc(c.found.retired, func(other *record) bool { return other == r })
		return c.move(ctx, r.path, c.in(manifest.SuccessName))
	}
	return nil
}

// staged reads from the results in a run's directory where the files are that an
// output is to hold.
func (c *Claim) staged(ctx context.Context, r *Run, s *manifest.Success) (map[string]string, error) {
	infos, err := c.st.List(ctx, r.Dir)
	if err != nil {
		return nil, err
	}
	staged := make(map[string]string)
	for _, info := range infos {
		task, ok := manifest.TaskNumber(info.Name)
		if !ok || info.Dir {
			continue
		}
		//guard: a link could lead to a document that others wrote
		if info.Link {
			continue
		}
		text, err := c.readDocument(ctx, info.Path)
		if err != nil {
			return nil, err
		}
		if res, err := manifest.DecodeTaskResult(text, s.Plan, task); err == nil {
			stage(staged, res, s.ID)
		}
	}
	return staged, nil
}

// whole reports whether every file of an output is there, in its place or
// staged, with the bytes that the manifest says. The files of a directory must be
// in the same one, as it moves as a whole.
func (c *Claim) whole(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) (bool, error) {
	if err := c.checkStaged(ctx, r, s, staged); errors.Is(err, failure.Foreign) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	entries, place := s.Entries(), c.place(r, s)
	sound := make([]bool, len(entries))
	err := parallel.Do(ctx, len(entries), verifiers, func(ctx context.Context, i int) (err error) {
		e := entries[i]
		sound[i], err = c.sound(ctx, path.Join(place, e.Name), e)
		if name := staged[e.Name]; err == nil && !sound[i] && name != "" {
			sound[i], err = c.sound(ctx, path.Join(r.Dir, name), e)
		}
		return err
	})
	return err == nil && !slices.Contains(sound, false), err
}

// sound reports whether a file, or each of a directory, is at a place, and no link.
func (c *Claim) sound(ctx context.Context, place string, e manifest.Entry) (bool, error) {
	for _, f := range e.Files {
		name := place + strings.TrimPrefix(f.Name, e.Name)
		info, err := c.st.Stat(ctx, name)
		//guard: an output would be completed, and found changed, with what is elsewhere
		if err == nil && info.Link {
			return false, nil
		}
		size, crc, err := store.Sum(ctx, c.st, name, f.Bytes)
		//guard: an output would be given up for want of permission to look
		if err != nil && !store.Absent(err) {
			return false, err
		}
		//guard: an output would be completed with bytes that changed since
		if !(err == nil && size == f.Bytes && crc == f.CRC32C) {
			return false, nil
		}
	}
	return true, nil
}
