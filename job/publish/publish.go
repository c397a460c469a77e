package publish

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Publish makes the staged files of a run the output. The caller has checked
// that they hold what the results say. made says how the output came about, and
// may be nil.
func (c *Claim) Publish(ctx context.Context, r *Run, results []*manifest.TaskResult, made *manifest.Made) (*manifest.Success, error) {
	s := manifest.NewSuccess(r.Plan, manifest.NewID(), results)
	s.Sequence, s.Made = c.state.sequence+1, made
	if !s.Increment {
		s.Replaces = c.state.all()
	}
	doc, err := s.Encode()
	if err == nil {
		//guard: an output would be published that nobody can read
		_, err = manifest.DecodeSuccess(doc)
	}
	if err != nil {
		return nil, err
	}
	staged := make(map[string]string)
	for _, res := range results {
		stage(staged, res, s.ID)
	}
	if err := c.checkStaged(ctx, r, s, staged); err != nil {
		return nil, err
	}
	p := &record{path: path.Join(r.Dir, manifest.PendingPrefix+s.ID), success: s}
	if err := c.st.WriteFile(ctx, p.path, doc, true); err != nil {
		//guard: an output that waits to be published would be given back, or removed
		c.mayPend(ctx, r, p)
		return nil, fmt.Errorf("publish: %w", err)
	}
	r.pending = append(r.pending, p)
	if err := c.carryOut(ctx, r, s, staged); err != nil {
		return nil, err
	}
	//guard: what is published would be kept, or be put back where tasks left it
	c.forget(r)
	return s, nil
}

// mayPend notes that an output waits to be published, unless its manifest was
// certainly not written: then the run can be given back as it was.
func (c *Claim) mayPend(ctx context.Context, r *Run, p *record) {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if _, err := c.st.Stat(clean, p.path); !errors.Is(err, store.ErrNotExist) {
		r.pending = append(r.pending, p)
	}
}

// stage notes where the files and directories of a result are that an output is to
// hold.
func stage(staged map[string]string, res *manifest.TaskResult, id string) {
	for _, e := range res.Entries() {
		staged[manifest.Published(e.Name, id)] = e.Name
	}
}

// checkStaged refuses links among what is staged, and what is in the directory of
// a part but not of the output.
func (c *Claim) checkStaged(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) error {
	infos, err := c.st.List(ctx, r.Dir)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	there := make(map[string]store.Info)
	for _, info := range infos {
		there[info.Name] = info
	}
	for _, name := range staged {
		//guard: a link to a file elsewhere would become part of the output
		if there[name].Link {
			return failure.New(failure.Foreign, "%s is a link", path.Join(r.Dir, name))
		}
	}
	var parts []manifest.Entry // that are directories
	for _, e := range s.Entries() {
		info, ok := there[staged[e.Name]]
		if !ok {
			continue // it may be in its place
		}
		//guard: a directory would become part of the output in the place of a file
		if info.Dir != e.Dir {
			return failure.New(failure.Foreign, "%s is a file in the place of a directory, or a directory in that of a file", info.Path)
		}
		if e.Dir {
			parts = append(parts, e)
		}
	}
	return parallel.Do(ctx, len(parts), c.movers, func(ctx context.Context, i int) error {
		return c.checkInside(ctx, path.Join(r.Dir, staged[parts[i].Name]), parts[i])
	})
}

// checkInside does what checkStaged does, in the directory of a part.
func (c *Claim) checkInside(ctx context.Context, dir string, part manifest.Entry) error {
	infos, err := c.st.List(ctx, dir)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	inside := part.Inside()
	for _, info := range infos {
		//guard: a link to a file elsewhere would become part of the output
		if info.Link {
			return failure.New(failure.Foreign, "%s is a link", info.Path)
		}
		//guard: what no task made would become part of the output
		if !inside[info.Name] {
			return failure.New(failure.Foreign, "%s is of no task", info.Path)
		}
	}
	return nil
}

// carryOut does what a pending manifest says. Every step finds out whether it
// was done before, by a run that was killed.
func (c *Claim) carryOut(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) error {
	carryOut := c.replace
	if s.Increment {
		carryOut = c.addIncrement
	}
	if err := carryOut(ctx, r, s, staged); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// replace makes staged files the output, in the place of another and of the increments
// beside that: these do not count any more once the new manifest is there.
func (c *Claim) replace(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) error {
	replaced, err := c.retire(ctx, s)
	if err != nil {
		return err
	}
	if err := c.bringAll(ctx, r, s, staged); err != nil {
		return err
	}
	now := &State{path: c.path, Success: s}
	infos, err := c.st.List(ctx, c.path)
	if err == nil {
		err = c.classify(ctx, now, infos, &c.found)
	}
	//guard: an output would be finished of which a file has another length
	if err == nil && now.damage != "" {
		err = mismatch(now.damage)
	}
	//guard: an output would be finished with what others put into the directory of a part
	if err == nil {
		err = now.refuseForeign()
	}
	if err == nil {
		err = c.clearOut(ctx, now)
	}
	if err == nil {
		err = c.finish(ctx, s)
	}
	if err == nil {
		err = c.clearIncrements(ctx, replaced)
	}
	return err
}

func mismatch(damage string) error { return fmt.Errorf("%s: %w", damage, store.ErrMismatch) }

// retire moves the _SUCCESS of the output that is replaced into the claim's own
// directory, where it is the record of that output's files. It returns the names of
// the increments that will not count any more.
func (c *Claim) retire(ctx context.Context, s *manifest.Success) (replaced []string, err error) {
	//guard: what others put into an increment since it was read would be removed with it
	c.increments.forget()
	now, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	//guard: what others put here meanwhile would be replaced
	if err := now.refuseForeign(); err != nil {
		return nil, err
	}
	//guard: what came back here meanwhile would be removed
	if came := now.unseenBy(s); len(came) > 0 {
		return nil, now.overtook(s.Plan, came)
	}
	replaced = now.replaces()
	if now.Success == nil {
		return replaced, nil
	}
	to := c.name(retired)
	if err := c.move(ctx, c.in(manifest.SuccessName), to); err != nil {
		return nil, err
	}
	c.found.retired = append(c.found.retired, &record{path: to, success: now.Success})
	return replaced, nil
}

// bringAll moves staged files and directories to their places, beside each other:
// none has to come before another, as readers wait for the manifest, and who
// completes the output finds out which of them are there.
func (c *Claim) bringAll(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) error {
	entries, place := s.Entries(), c.place(r, s)
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := c.makeDirs(ctx, place, path.Dir(e.Name), made); err != nil {
			return err
		}
	}
	return parallel.Do(ctx, len(entries), c.movers, func(ctx context.Context, i int) error {
		e := entries[i]
		to, err := path.Join(place, e.Name), store.ErrNotExist
		//guard: the increment's directory would be renamed in place of a file
		if staged[e.Name] != "" {
			err = c.moveOne(ctx, i, path.Join(r.Dir, staged[e.Name]), to)
		}
		if !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrNotExist) {
			return err
		}
		if e.Dir {
			return c.replaceEmpty(ctx, path.Join(r.Dir, staged[e.Name]), to, err)
		}
		return c.arrived(ctx, e, to, err)
	})
}

// arrived returns nil in place of err if a file is in its place. No other output
// has a file of that name, so one that is there is this one.
func (c *Claim) arrived(ctx context.Context, e manifest.Entry, place string, err error) error {
	info, statErr := c.st.Stat(ctx, place)
	//guard: a run that was killed could not be completed
	if statErr == nil && !info.Dir && info.Size == e.Files[0].Bytes {
		return nil
	}
	return err
}

// replaceEmpty returns nil in place of err if a directory is in its place; what it
// holds is looked at once all are. A rename that was cut short leaves an empty one
// there: then the staged one still has to come.
func (c *Claim) replaceEmpty(ctx context.Context, staged, place string, err error) error {
	infos, listErr := c.st.List(ctx, place)
	if listErr != nil {
		return err
	}
	//guard: a run that was killed could not be completed
	if len(infos) > 0 {
		return nil
	}
	if err := c.move(ctx, place, c.name(old)); err != nil {
		return err
	}
	return c.move(ctx, staged, place)
}

// makeDirs makes a directory in another, and those between, unless they are in
// made, and notes them there.
func (c *Claim) makeDirs(ctx context.Context, in, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	if err := c.makeDirs(ctx, in, path.Dir(name), made); err != nil {
		return err
	}
	info, err := c.below(in).entry(ctx, name)
	if errors.Is(err, store.ErrNotExist) {
		dir, err := c.newDir(ctx, old)
		if err != nil {
			return err
		}
		return c.move(ctx, dir, path.Join(in, name))
	}
	//guard: files would go to where a link leads
	if err == nil && info.Link {
		return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s", c.path, name)
	}
	return err
}

// clearOut moves what is ours, but not of the output, out of the destination.
func (c *Claim) clearOut(ctx context.Context, s *State) error {
	err := parallel.Do(ctx, len(s.debris), c.movers, func(ctx context.Context, i int) error {
		err := c.moveOne(ctx, i, c.in(s.debris[i]), c.name(old))
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	emptied := make(map[string]bool)
	for _, name := range s.debris {
		if dir := path.Dir(name); dir != "." {
			emptied[c.in(dir)] = true
		}
	}
	for dir := range emptied {
		infos, err := c.st.List(ctx, dir)
		if err == nil && len(infos) == 0 {
			err = c.move(ctx, dir, c.name(old))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSuccess writes a manifest that is to get its name.
func (c *Claim) writeSuccess(ctx context.Context, s *manifest.Success) (string, error) {
	doc, err := s.Encode()
	if err != nil {
		return "", err
	}
	file := c.name("success")
	return file, c.st.WriteFile(ctx, file, doc, true)
}

// finish gives the manifest its name.
func (c *Claim) finish(ctx context.Context, s *manifest.Success) error {
	file, err := c.writeSuccess(ctx, s)
	if err != nil {
		return err
	}
	//guard: a former holder would commit until its directory is moved away
	if err := c.check(ctx); err != nil {
		return err
	}
	err = c.st.Rename(ctx, file, c.in(manifest.SuccessName))
	//guard: a storage that refuses would be taken for another run
	if !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	now, lookErr := c.Look(ctx)
	if lookErr != nil {
		return lookErr
	}
	//guard: a commit whose answer was lost would count as another run's
	if now.Success != nil && now.Success.ID == s.ID {
		return nil
	}
	//guard: what others put here meanwhile would be taken for a run's
	if err := now.refuseForeign(); err != nil {
		return err
	}
	return failure.New(failure.Locked, "destination %s: another run committed to it", c.path)
}
