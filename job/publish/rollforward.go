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
// order in which they began, and gives up those that lost a file.
func (c *Claim) rollForward(ctx context.Context) error {
	waiting := slices.SortedFunc(slices.Values(c.found.pending), func(a, b *record) int {
		return cmp.Compare(a.success.Sequence, b.success.Sequence)
	})
	for _, p := range waiting {
		if err := c.rollOne(ctx, p); err != nil {
			return fmt.Errorf("destination %s: complete output %s of an earlier run: %w", c.path, p.success.ID, err)
		}
	}
	if err := c.reinstate(ctx); err != nil {
		return fmt.Errorf("destination %s: put the manifest of the former output back: %w", c.path, err)
	}
	return nil
}

// rollOne completes an output, unless it is complete or was replaced since, or gives it
// up.
func (c *Claim) rollOne(ctx context.Context, p *record) error {
	s := p.success
	now, err := c.Look(ctx)
	if err != nil {
		return err
	}
	//guard: an older output would replace a newer one
	if !now.passed(s) {
		from, err := c.sourceOf(ctx, s)
		if err != nil {
			return err
		}
		whole := now.takes(s)
		if whole {
			whole, err = c.whole(ctx, from, s)
		}
		if err != nil {
			return err
		}
		//guard: an output would be completed without all its files
		if !whole {
			return c.giveUp(ctx, p, from.dir)
		}
		c.completed = append(c.completed, s.ID)
		if err := c.carryOut(ctx, from, s); err != nil {
			return err
		}
	}
	c.forget(p)
	return nil
}

// takes reports whether an output that waits may still come to the destination.
func (s *State) takes(m *manifest.Success) bool {
	switch in, _ := s.heldOf(m.Request.Inputs); {
	//guard: would replace what was restored after the output was begun
	case !m.Increment && len(s.unseenBy(m)) > 0:
		return false
	//guard: would publish an increment that does not count
	case m.Increment && m.Base != s.ID():
		return false
	//guard: would publish rows again that an increment has which was restored meanwhile
	case m.Increment && in != "":
		return false
	}
	return true
}

// passed reports whether an output was published, also if it was replaced since.
func (s *State) passed(m *manifest.Success) bool {
	if !m.Increment {
		return s.Success != nil && (s.Success.ID == m.ID || m.Sequence < s.Success.Sequence)
	}
	name := manifest.IncrementName(m.Sequence, m.ID)
	return slices.ContainsFunc(s.Increments, func(r Committed) bool { return r.Name == name })
}

// giveUp withdraws an output that a former holder was publishing. It first moves out what is
// in its place already: later nobody knows whose it is.
func (c *Claim) giveUp(ctx context.Context, p *record, work string) error {
	if !p.success.Increment {
		var parts []string
		for i := range p.success.Parts {
			parts = append(parts, p.success.Parts[i].Entry().Name)
		}
		//guard: parts of no output would stay, and the destination would be refused
		if err := c.clearOut(ctx, &State{debris: parts}); err != nil {
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
		if err := c.readSuccessAt(ctx, now, infos[i]); err != nil {
			return err
		}
		//guard: the former output would lose its manifest, as others' stands in its place
		return now.refuseForeign()
	}
	latest := slices.SortedFunc(slices.Values(c.found.retired), func(a, b *record) int {
		return cmp.Compare(b.success.Sequence, a.success.Sequence)
	})
	for _, r := range latest {
		s := &State{path: c.path, Success: r.success}
		if err := c.classify(ctx, s, infos); err != nil {
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

// sourceOf takes the work that an output is made of, and reads from its results where
// the files are.
func (c *Claim) sourceOf(ctx context.Context, s *manifest.Success) (from source, err error) {
	from.names = make(map[string]string)
	if from.dir, err = c.take(ctx, s.Plan); err != nil {
		return from, err
	}
	infos, err := c.list(ctx, from.dir)
	if err != nil {
		return from, err
	}
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
			return from, err
		}
		if res, err := manifest.DecodeTaskResult(text, s.Plan, task); err == nil {
			from.stage(res, s.ID)
		}
	}
	return from, nil
}

// whole reports whether every file of an output is there, in its place or
// staged, with the bytes that the manifest says. The files of a directory must be
// in the same one, as it moves as a whole.
func (c *Claim) whole(ctx context.Context, from source, s *manifest.Success) (bool, error) {
	if err := c.checkStaged(ctx, from, s); errors.Is(err, failure.Foreign) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	entries, place := s.Entries(), c.place(from, s)
	sound := make([]bool, len(entries))
	err := parallel.Do(ctx, len(entries), verifiers, func(ctx context.Context, i int) (err error) {
		e := entries[i]
		sound[i], err = c.sound(ctx, path.Join(place, e.Name), e)
		if staged := from.of(e); err == nil && !sound[i] && staged != "" {
			sound[i], err = c.sound(ctx, staged, e)
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
		//guard: would complete an output with a link
		if err == nil && info.Link {
			return false, nil
		}
		size, crc, err := store.Sum(ctx, c.st, name, f.Bytes)
		//guard: would give an output up because it may not read a file
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
