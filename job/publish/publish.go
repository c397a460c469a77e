package publish

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// Publish turns the work of a plan's tasks into the output. The caller has just checked work, in
// the directory that StagedAt returned. Publish checks the files again once tasks cannot reach
// them. If files changed, it publishes nothing and puts the work back. made says how the output
// was made, and may be nil.
func (c *Claim) Publish(ctx context.Context, p *manifest.Plan, work *task.Work, made *manifest.Made) (*manifest.Success, error) {
	s := manifest.NewPending(p, manifest.NewID(), work.Results)
	s.Sequence, s.Made = c.state.sequence+1, made
	if !s.Increment {
		s.Replaces, s.KeepSeconds = c.state.allIDs(), manifest.SecondsToKeep(c.keep)
	}
	doc, err := s.Encode()
	if err == nil {
		//guard: refuses to publish a manifest that does not decode
		_, err = manifest.DecodePending(doc)
	}
	if err != nil {
		return nil, err
	}
	out := &pendingOutput{path: c.newPath(pending), Pending: s}
	c.found.pending = append(c.found.pending, out)
	if err := c.st.WriteFile(ctx, out.path, doc, true); err != nil {
		c.forgetUnwritten(ctx, out)
		return nil, fmt.Errorf("publish: %w", err)
	}
	dir, err := c.takeWork(ctx, p.ID)
	if err != nil {
		return nil, fmt.Errorf("destination %s: take the work of plan %s: %w", c.path, p.ID, err)
	}
	//guard: refuses files that changed before they were taken
	if err := work.CheckAt(ctx, dir); err != nil {
		return nil, errors.Join(err, c.withdraw(ctx, out, dir))
	}
	if err := c.carryOut(ctx, dir, s); err != nil {
		return nil, err
	}
	c.forget(out)
	_ = c.clearOutdated(ctx, out) // after an error, the next holder clears up
	return s.Success, nil
}

// forgetUnwritten forgets an output if its pending manifest does not exist.
func (c *Claim) forgetUnwritten(ctx context.Context, p *pendingOutput) {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if _, err := c.st.Stat(clean, p.path); errors.Is(err, store.ErrNotExist) {
		c.forget(p)
	}
}

// takeWork moves the staging directory of a plan into the claim's own directory, unless it is
// there already. A missing directory is no error, because the caller checks the files later.
func (c *Claim) takeWork(ctx context.Context, planID string) (string, error) {
	if dir := c.found.workOf(planID); dir != "" {
		return dir, nil
	}
	dir := c.newPath(planPrefix + planID)
	err := c.move(ctx, c.StagingPath(planID), dir)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return "", err
	}
	c.found.taken = append(c.found.taken, dir)
	return dir, nil
}

// withdraw gives up a pending output: it puts the work of its plan back, so that the plan
// can be resumed, and then removes the pending manifest. If tasks made the staging
// directory again, it removes the work. The order matters: the next holder removes work
// that no pending manifest names.
func (c *Claim) withdraw(ctx context.Context, p *pendingOutput, dir string) error {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	err := c.move(clean, dir, c.StagingPath(p.Plan))
	if errors.Is(err, store.ErrExist) {
		err = c.remove(clean, dir)
	}
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	c.found.taken = slices.DeleteFunc(c.found.taken, func(taken string) bool { return taken == dir })
	if err := c.remove(clean, p.path); err != nil {
		return err
	}
	c.forget(p)
	return nil
}

// forget records that an output is no longer pending. If its pending manifest
// still exists, the manifest is removed with the claim's directory at the latest.
func (c *Claim) forget(p *pendingOutput) {
	c.found.pending = slices.DeleteFunc(c.found.pending, func(other *pendingOutput) bool { return other == p })
}

// clearOutdated removes the work of the plans that a published output outdates. These plans can
// never be committed.
func (c *Claim) clearOutdated(ctx context.Context, published *pendingOutput) error {
	if len(c.state.staged) == 0 {
		return nil
	}
	//guard: removes the pending manifest, so that ReadState finds the outdated plans
	if err := c.remove(ctx, published.path); err != nil {
		return err
	}
	now, err := c.ReadState(ctx)
	if err != nil {
		return err
	}
	return c.clearDead(ctx, now.dead)
}

// carryOut publishes a pending output. Each step finds out whether a killed run did it
// before. work is the directory of the staged files.
func (c *Claim) carryOut(ctx context.Context, work string, s *manifest.Pending) (err error) {
	if s.Increment {
		err = c.addIncrement(ctx, work, s)
	} else {
		err = c.replace(ctx, work, s)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// replace makes staged files the output. The former output and its increments no longer count
// once the new manifest is there.
func (c *Claim) replace(ctx context.Context, work string, s *manifest.Pending) error {
	before, err := c.retire(ctx, s.Success)
	if err != nil {
		return err
	}
	replaced, err := c.keepReplaced(ctx, s, before)
	if err != nil {
		return err
	}
	if err := c.moveIn(ctx, work, c.path, s); err != nil {
		return err
	}
	now := &State{path: c.path, Success: s.Success}
	infos, err := c.st.List(ctx, c.path)
	if err == nil {
		err = c.classify(ctx, now, infos)
	}
	//guard: refuses to finish an output with a wrong file
	if err == nil && now.damage != "" {
		err = mismatch(now.damage)
	}
	//guard: refuses to finish an output with foreign files in a part
	if err == nil {
		err = now.checkForeign()
	}
	if err == nil {
		err = c.moveOut(ctx, now)
	}
	if err == nil {
		err = c.finish(ctx, s.Success)
	}
	if err == nil {
		_ = c.clearIncrements(ctx, replaced) // after an error, the next holder clears up
	}
	return err
}

func mismatch(damage string) error { return fmt.Errorf("%s: %w", damage, store.ErrMismatch) }

// retire moves the _SUCCESS of the output that is replaced into the claim's own
// directory, where it is the record of that output's files. It returns the state before that.
func (c *Claim) retire(ctx context.Context, s *manifest.Success) (before *State, err error) {
	//guard: reads increments again before they are removed
	c.increments.Clear()
	now, err := c.ReadState(ctx)
	if err != nil {
		return nil, err
	}
	//guard: refuses to replace foreign files that came meanwhile
	if err := now.checkForeign(); err != nil {
		return nil, err
	}
	//guard: refuses to replace rows that came meanwhile
	if came := now.unseenBy(s); len(came) > 0 {
		return nil, now.outdatedError(s.Plan, came)
	}
	if now.Success == nil {
		return now, nil
	}
	to := c.newPath(retired)
	if err := c.move(ctx, c.pathOf(manifest.SuccessName), to); err != nil {
		return nil, err
	}
	c.found.retired = append(c.found.retired, &retiredOutput{path: to, Success: now.Success})
	return now, nil
}

// moveIn moves staged files and directories to their places, several at a time. The order does
// not matter, because readers use only files that a manifest lists, and a process that completes
// the output finds out which files are in place.
func (c *Claim) moveIn(ctx context.Context, work, place string, s *manifest.Pending) error {
	entries, made := s.Entries(), map[string]bool{".": true}
	for _, e := range entries {
		if err := c.makeDirs(ctx, place, path.Dir(e.Name), made); err != nil {
			return err
		}
	}
	return parallel.Do(ctx, len(entries), c.movers, func(ctx context.Context, i int) error {
		e, staged := entries[i], path.Join(work, s.Staged[i])
		to := path.Join(place, e.Name)
		err := c.moveNth(ctx, i, staged, to)
		if !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrNotExist) {
			return err
		}
		if e.Dir {
			return c.replaceEmpty(ctx, staged, to, err)
		}
		return c.acceptPlaced(ctx, e, to, err)
	})
}

// acceptPlaced returns nil instead of err if a file is in its place already. The file is that
// of this output, because no other output has a file of that name.
func (c *Claim) acceptPlaced(ctx context.Context, e manifest.Entry, place string, err error) error {
	info, statErr := c.st.Stat(ctx, place)
	//guard: completes the output of a killed run (tests: ./job)
	if statErr == nil && !info.Dir && info.Size == e.Files[0].Bytes {
		return nil
	}
	return err
}

// replaceEmpty returns nil instead of err if a directory is in its place already. The caller
// checks its contents later. If the directory is empty, a rename was interrupted:
// replaceEmpty moves it out and the staged one in.
func (c *Claim) replaceEmpty(ctx context.Context, staged, place string, err error) error {
	infos, listErr := c.st.List(ctx, place)
	if listErr != nil {
		return err
	}
	//guard: completes the output of a killed run
	if len(infos) > 0 {
		return nil
	}
	if err := c.move(ctx, place, c.newPath(old)); err != nil {
		return err
	}
	return c.move(ctx, staged, place)
}

// makeDirs makes the directory name in the directory in, with missing parents. It skips the
// names in made, and adds the other names to made.
func (c *Claim) makeDirs(ctx context.Context, in, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	if err := c.makeDirs(ctx, in, path.Dir(name), made); err != nil {
		return err
	}
	info, err := c.atDir(in).entry(ctx, name)
	if errors.Is(err, store.ErrNotExist) {
		dir, err := c.newDir(ctx, old)
		if err != nil {
			return err
		}
		return c.move(ctx, dir, path.Join(in, name))
	}
	//guard: does not follow a link to another directory
	if err == nil && info.Link {
		return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s", c.path, name)
	}
	return err
}

// moveOut moves debris, and directories that become empty, out of the destination.
func (c *Claim) moveOut(ctx context.Context, s *State) error {
	err := parallel.Do(ctx, len(s.debris), c.movers, func(ctx context.Context, i int) error {
		err := c.moveNth(ctx, i, c.pathOf(s.debris[i]), c.newPath(old))
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
			emptied[c.pathOf(dir)] = true
		}
	}
	for dir := range emptied {
		infos, err := c.st.List(ctx, dir)
		if err == nil && len(infos) == 0 {
			err = c.move(ctx, dir, c.newPath(old))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSuccess writes a manifest into the claim's own directory, to be renamed.
func (c *Claim) writeSuccess(ctx context.Context, s *manifest.Success) (string, error) {
	doc, err := s.Encode()
	if err != nil {
		return "", err
	}
	file := c.newPath("success")
	return file, c.st.WriteFile(ctx, file, doc, true)
}

// finish writes the manifest and renames it to _SUCCESS.
func (c *Claim) finish(ctx context.Context, s *manifest.Success) error {
	file, err := c.writeSuccess(ctx, s)
	if err != nil {
		return err
	}
	//guard: stops a process that lost the lock, before the rename
	if err := c.checkLock(ctx); err != nil {
		return err
	}
	err = c.st.Rename(ctx, file, c.pathOf(manifest.SuccessName))
	//guard: reports success or failing storage, not another run
	if !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	now, lookErr := c.ReadState(ctx)
	if lookErr != nil {
		return lookErr
	}
	//guard: recognizes its own commit if the answer was lost
	if now.Success != nil && now.Success.ID == s.ID {
		return nil
	}
	//guard: refuses foreign files that came meanwhile
	if err := now.checkForeign(); err != nil {
		return err
	}
	return failure.New(failure.Locked, "destination %s: another run committed to it", c.path)
}
