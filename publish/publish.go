package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// verifiers is how many files are read at a time to check them.
const verifiers = 4

// Publish makes the staged files of a run the output. The caller has checked
// that they hold what the results say. made says how the output came about, and
// may be nil.
func (c *Claim) Publish(ctx context.Context, r *Run, results []*manifest.TaskResult, made *manifest.Made) (*manifest.Success, error) {
	s := manifest.NewSuccess(r.Plan, manifest.NewID(), results)
	s.Sequence, s.Made = c.state.sequence+1, made
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
	if err := c.checkRegular(ctx, r, staged); err != nil {
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

// stage notes where the files of a result are that an output is to hold.
func stage(staged map[string]string, res *manifest.TaskResult, id string) {
	for _, f := range res.Files() {
		staged[manifest.Published(f.Name, id)] = f.Name
	}
}

// checkRegular refuses staged files that are links.
func (c *Claim) checkRegular(ctx context.Context, r *Run, staged map[string]string) error {
	infos, err := c.st.List(ctx, r.Dir)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	links := make(map[string]bool)
	for _, info := range infos {
		links[info.Name] = info.Link
	}
	for _, name := range staged {
		//guard: a link to a file elsewhere would become part of the output
		if links[name] {
			return failure.New(failure.Foreign, "%s is a link", path.Join(r.Dir, name))
		}
	}
	return nil
}

// carryOut does what a pending manifest says. Every step finds out whether it
// was done before, by a run that was killed.
func (c *Claim) carryOut(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) error {
	if err := c.retire(ctx, s); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if err := c.bringAll(ctx, r, s.Files(), staged); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	now := &State{path: c.path, Success: s}
	infos, err := c.st.List(ctx, c.path)
	if err == nil {
		err = c.classify(ctx, now, infos, &c.found)
	}
	//guard: an output would be finished of which a file has another length
	if err == nil && now.damage != "" {
		err = fmt.Errorf("%s: %w", now.damage, store.ErrMismatch)
	}
	if err == nil {
		err = c.clearOut(ctx, now)
	}
	if err == nil {
		err = c.finish(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// retire moves the _SUCCESS of the output that is replaced into the claim's own
// directory, where it is the record of that output's files.
func (c *Claim) retire(ctx context.Context, s *manifest.Success) error {
	now, err := c.Look(ctx)
	if err != nil {
		return err
	}
	//guard: what others put here meanwhile would be replaced
	if len(now.foreign) > 0 {
		return now.Allow(&s.Request, true)
	}
	if now.Success == nil {
		return nil
	}
	to := c.name(retired)
	if err := c.move(ctx, c.in(manifest.SuccessName), to); err != nil {
		return err
	}
	c.found.retired = append(c.found.retired, &record{path: to, success: now.Success})
	return nil
}

// bringAll moves staged files to their places, beside each other: none has to
// come before another, as readers wait for the manifest, and who completes the
// output finds out which of them are there.
func (c *Claim) bringAll(ctx context.Context, r *Run, files []manifest.File, staged map[string]string) error {
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := c.makeDirs(ctx, path.Dir(f.Name), made); err != nil {
			return err
		}
	}
	return parallel.Do(ctx, len(files), c.movers, func(ctx context.Context, i int) error {
		return c.bring(ctx, r, staged[files[i].Name], files[i])
	})
}

// bring moves a staged file to its place. No other output has a file of that
// name, so one that is there is this one.
func (c *Claim) bring(ctx context.Context, r *Run, staged string, f manifest.File) error {
	err := store.ErrNotExist
	//guard: the run's directory would be renamed in place of a file
	if staged != "" {
		err = c.move(ctx, path.Join(r.Dir, staged), c.in(f.Name))
	}
	if errors.Is(err, store.ErrExist) || errors.Is(err, store.ErrNotExist) {
		info, statErr := c.st.Stat(ctx, c.in(f.Name))
		//guard: a run that was killed could not be completed
		if statErr == nil && !info.Dir && info.Size == f.Bytes {
			return nil
		}
	}
	return err
}

// makeDirs makes a directory in the destination, and those above it, unless they
// are in made, and notes them there.
func (c *Claim) makeDirs(ctx context.Context, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	if err := c.makeDirs(ctx, path.Dir(name), made); err != nil {
		return err
	}
	info, err := c.entry(ctx, name)
	if errors.Is(err, store.ErrNotExist) {
		dir, err := c.newDir(ctx, old)
		if err != nil {
			return err
		}
		return c.move(ctx, dir, c.in(name))
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
		err := c.move(ctx, c.in(s.debris[i]), c.name(old))
		if errors.Is(err, store.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.debris, func(name string) bool { return strings.HasPrefix(name, manifest.QuarantineDir+"/") }) {
		return nil
	}
	dir := c.in(manifest.QuarantineDir)
	infos, err := c.st.List(ctx, dir)
	if err != nil || len(infos) > 0 {
		return err
	}
	return c.move(ctx, dir, c.name(old))
}

// finish gives the manifest its name.
func (c *Claim) finish(ctx context.Context, s *manifest.Success) error {
	doc, err := s.Encode()
	if err != nil {
		return err
	}
	file := c.name("success")
	if err := c.st.WriteFile(ctx, file, doc, true); err != nil {
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
	//guard: a commit whose answer was lost would count as another run's
	if lookErr == nil && now.Success != nil && now.Success.ID == s.ID {
		return nil
	}
	return failure.New(failure.Locked, "destination %s: another run committed to it", c.path)
}

// rollForward completes the outputs that former holders were publishing, in the
// order in which they began. Of an output that lost a file the manifest stays as
// a record of the files that are there.
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
	return nil
}

// rollOne completes an output, and reports whether it is, or was replaced since.
func (c *Claim) rollOne(ctx context.Context, r *Run, s *manifest.Success) (bool, error) {
	now, err := c.Look(ctx)
	if err != nil {
		return false, err
	}
	//guard: an older output would replace a newer one
	if now.Success != nil && (now.Success.ID == s.ID || s.Sequence < now.Success.Sequence) {
		return true, nil
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
	return true, c.carryOut(ctx, r, s, staged)
}

// giveUp makes the manifest of an output that lost a file a retired one.
func (c *Claim) giveUp(ctx context.Context, r *Run, p *record) error {
	to := c.name(retired)
	if err := c.rename(ctx, p.path, to); err != nil {
		return err
	}
	r.pending = slices.DeleteFunc(r.pending, func(other *record) bool { return other == p })
	c.found.retired = append(c.found.retired, &record{path: to, success: p.success})
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
// staged, with the bytes that the manifest says.
func (c *Claim) whole(ctx context.Context, r *Run, s *manifest.Success, staged map[string]string) (bool, error) {
	if err := c.checkRegular(ctx, r, staged); errors.Is(err, failure.Foreign) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	files := s.Files()
	sound := make([]bool, len(files))
	err := parallel.Do(ctx, len(files), verifiers, func(ctx context.Context, i int) error {
		places := []string{c.in(files[i].Name)}
		if name := staged[files[i].Name]; name != "" {
			places = append(places, path.Join(r.Dir, name))
		}
		for _, place := range places {
			size, crc, err := store.Sum(ctx, c.st, place)
			//guard: an output would be given up for want of permission to look
			if err != nil && !store.Absent(err) {
				return err
			}
			//guard: an output would be completed with bytes that changed since
			if err == nil && size == files[i].Bytes && crc == files[i].CRC32C {
				sound[i] = true
				return nil
			}
		}
		return nil
	})
	return err == nil && !slices.Contains(sound, false), err
}
