package publish

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/failure/failuretest"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// killed publishes the output of a request on a store whose n-th rename fails, or
// with 0 the last, and so does everything after it.
func killed(t *testing.T, d *Destination, name string, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	st := d.st
	first := At(store.Location{Store: &endsAtRename{Store: st, left: n, to: manifest.SuccessName, end: cancel}, Path: d.path}, Options{Times: d.times, Movers: 1, Now: d.now, Sleep: d.sleep})
	c, held, err := first.Claim(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Begin(held, planOf(t, name))
	if err != nil {
		t.Fatal(err)
	}
	first.st.(*endsAtRename).counts = true
	if _, err := c.Publish(held, r, stageTasks(t, st, r.Dir, r.Plan), nil); err == nil {
		t.Fatal("it was not killed")
	}
	c.cancel(nil)
	c.heart.Wait()
	live.Delete(c.id)
}

// endsAtRename is a store for a process that is killed before its n-th rename.
type endsAtRename struct {
	store.Store
	counts bool
	left   int    // 0: the one to a name
	to     string // that name
	end    func()
}

func (e *endsAtRename) Rename(ctx context.Context, from, to string) error {
	if e.counts {
		if e.left--; e.left == 0 || e.left < 0 && path.Base(to) == e.to {
			e.end()
			return context.Canceled
		}
	}
	return e.Store.Rename(ctx, from, to)
}

// staged returns the files below the destination's directory of holders whose
// names begin with a prefix.
func staged(t *testing.T, d *Destination, prefix string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(d.root(), func(p string, e os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), prefix) {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRollForward completes what a run was publishing that was killed.
func TestRollForward(t *testing.T) {
	// The old manifest goes, a directory comes with two renames, then three files;
	// the old files go, and the manifest comes.
	for n := 1; n <= 1+2+3+3+1; n++ {
		d, _ := onDisk(t)
		killed(t, d, "Q", n)
		s := look(t, d)
		if s.Finished(requestOf("P")) || s.Allow(requestOf("P"), false) != nil {
			t.Errorf("killed at rename %d: what is pending does not count", n)
		}
		c, _ := claim(t, d)
		if !c.State().Finished(requestOf("Q")) {
			t.Errorf("killed at rename %d: it was not completed", n)
		}
		release(t, c, false)
		wantNames(t, store.Local(), d.path)
	}
}

// linkAway moves something out of the destination, and leaves a link to it.
func linkAway(dest, name string) error {
	elsewhere := filepath.Join(filepath.Dir(dest), "elsewhere")
	return errors.Join(os.Rename(name, elsewhere), os.Symlink(elsewhere, name))
}

// TestRollForwardOverEmpty finds the empty directory that a rename leaves which
// was cut short.
func TestRollForwardOverEmpty(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 1)
	dir := staged(t, d, "part-00001")[0]
	id := strings.TrimPrefix(path.Base(staged(t, d, manifest.PendingPrefix)[0]), manifest.PendingPrefix)
	if err := os.Mkdir(d.in(manifest.Published(path.Base(dir), id)), 0o777); err != nil {
		t.Fatal(err)
	}
	c, _ := claim(t, d)
	if !c.State().Finished(requestOf("Q")) {
		t.Error("it was not completed")
	}
	release(t, c, false)
	wantNames(t, store.Local(), d.path)
}

// TestReplacedPartIsNotRead keeps the files of a part that was moved out from being
// taken for manifests by their names: they may be large.
func TestReplacedPartIsNotRead(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 0)
	if out := staged(t, d, "retired-b"); len(out) != 1 || !strings.Contains(out[0], "/"+old+"-") {
		t.Fatalf("moved out are %q", out)
	}
	c, _ := claim(t, at(&odd{Store: store.Local(), read: func(p string) error {
		if strings.Contains(p, "/"+old+"-") {
			t.Errorf("%s is read", p)
		}
		return nil
	}}, d.path))
	release(t, c, false)
	wantNames(t, store.Local(), d.path)
}

// TestNothingToRollForward finds that a file of what was being published changed
// or is gone: the output is given up, and made again.
func TestNothingToRollForward(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, d *Destination) error{
		"a bit": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00000")[0], []byte("task 0 of R"), 0o666)
		},
		"a part gone":   func(t *testing.T, d *Destination) error { return os.Remove(staged(t, d, "part-00000")[0]) },
		"a part a link": func(t *testing.T, d *Destination) error { return linkAway(d.path, staged(t, d, "part-00000")[0]) },
		"a bit inside": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00001")[0]+"/a", []byte("task 1 of R"), 0o666)
		},
		"a file inside gone":   func(t *testing.T, d *Destination) error { return os.Remove(staged(t, d, "part-00001")[0] + "/a") },
		"a file inside a link": func(t *testing.T, d *Destination) error { return linkAway(d.path, staged(t, d, "part-00001")[0]+"/a") },
		"a directory a link":   func(t *testing.T, d *Destination) error { return linkAway(d.path, staged(t, d, "part-00001")[0]) },
		"a directory a file": func(t *testing.T, d *Destination) error {
			dir := staged(t, d, "part-00001")[0]
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666))
		},
		"a directory gone": func(t *testing.T, d *Destination) error { return os.RemoveAll(staged(t, d, "part-00001")[0]) },
		"one more inside": func(t *testing.T, d *Destination) error {
			return os.WriteFile(staged(t, d, "part-00001")[0]+"/c", nil, 0o666)
		},
		"files of a part in two places": func(t *testing.T, d *Destination) error {
			dir := staged(t, d, "part-00001")[0]
			id := strings.TrimPrefix(path.Base(staged(t, d, manifest.PendingPrefix)[0]), manifest.PendingPrefix)
			to := d.in(manifest.Published(path.Base(dir), id))
			return errors.Join(os.Mkdir(to, 0o777), os.Rename(dir+"/a", to+"/a"))
		},
		"a result gone": func(t *testing.T, d *Destination) error { return os.Remove(staged(t, d, "task-00001")[0]) },
		"a result a link": func(t *testing.T, d *Destination) error {
			return linkAway(d.path, staged(t, d, "task-00001")[0])
		},
	} {
		d, m := onDisk(t)
		killed(t, d, "Q", 1)
		if err := change(t, d); err != nil {
			t.Fatal(err)
		}
		c, _ := claim(t, d)
		if s := c.State(); s.ID() != m.ID || s.Finished(requestOf("Q")) || s.Allow(requestOf("Q"), true) != nil {
			t.Errorf("%s: after a part was lost there is output %s", name, s.ID())
		}
		release(t, c, false)
		output(t, d, store.Local(), "Q")
		wantNames(t, store.Local(), d.path)
	}
}

// TestRollForwardInPlace completes an output of which all files are in their
// places, and of which only the manifest is left besides.
func TestRollForwardInPlace(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 0)
	for _, file := range staged(t, d, "task-") {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := claim(t, d)
	if !c.State().Finished(requestOf("Q")) {
		t.Error("it was not completed")
	}
	release(t, c, false)
	wantNames(t, store.Local(), d.path)
}

// TestRolledForward finds an output that was completed by a run which did not
// clear up: nothing is published again.
func TestRolledForward(t *testing.T) {
	d, st := inMemory(t)
	c, held := claim(t, d)
	r, results := begun(t, c, "P")
	if _, err := c.Publish(held, r, results, nil); err != nil {
		t.Fatal(err)
	}
	c.cancel(nil)
	c.heart.Wait()
	live.Delete(c.id)
	before, err := st.Stat(t.Context(), d.in(manifest.SuccessName))
	if err != nil {
		t.Fatal(err)
	}
	c, _ = claim(t, d)
	release(t, c, false)
	after, err := st.Stat(t.Context(), d.in(manifest.SuccessName))
	if err != nil || after.FileID != before.FileID {
		t.Errorf("it was published again (%v)", err)
	}
	wantNames(t, st, d.path)
}

// TestOlderPending does not bring back an output that was replaced since.
func TestOlderPending(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 1)
	kept := t.TempDir() + "/kept"
	if err := os.Rename(staged(t, d, "run-")[0], kept); err != nil {
		t.Fatal(err)
	}
	output(t, d, store.Local(), "R")
	if m := output(t, d, store.Local(), "P"); m.Sequence != 3 {
		t.Fatalf("sequence %d", m.Sequence)
	}
	if err := errors.Join(os.MkdirAll(d.root()+"/0123456789abcdef", 0o777), os.Rename(kept, d.root()+"/0123456789abcdef/run-1")); err != nil {
		t.Fatal(err)
	}
	c, _ := claim(t, d)
	if !c.State().Finished(requestOf("P")) {
		t.Error("an older output replaced a newer one")
	}
	release(t, c, false)
	wantNames(t, store.Local(), d.path)
}

// TestPublishRefuses puts a link among staged files, and a link in the place of
// the directory for copies.
func TestPublishRefuses(t *testing.T) {
	for name, change := range map[string]func(d *Destination, run, elsewhere string) error{
		"a staged link": func(_ *Destination, run, elsewhere string) error {
			parts, err := filepath.Glob(run + "/part-*")
			if err != nil {
				return err
			}
			return errors.Join(os.Remove(parts[0]), os.Symlink(elsewhere, parts[0]))
		},
		"a staged link inside": func(_ *Destination, run, elsewhere string) error {
			return inside(run, func(dir string) error { return errors.Join(os.Remove(dir+"/a"), os.Symlink(elsewhere, dir+"/a")) })
		},
		"a directory in place of a file": func(_ *Destination, run, _ string) error {
			parts, err := filepath.Glob(run + "/part-00000*")
			if err != nil {
				return err
			}
			return errors.Join(os.Remove(parts[0]), os.Mkdir(parts[0], 0o777))
		},
		"one more inside": func(_ *Destination, run, _ string) error {
			return inside(run, func(dir string) error { return os.WriteFile(dir+"/c", nil, 0o666) })
		},
		"a link for copies":  func(d *Destination, _, elsewhere string) error { return os.Symlink(elsewhere, d.in("_quarantine")) },
		"another's manifest": func(d *Destination, _, _ string) error { return os.WriteFile(d.in("_SUCCESS"), nil, 0o666) },
	} {
		d := at(store.Local(), filepath.Join(t.TempDir(), "dest"))
		c, held := claim(t, d)
		r, results := begun(t, c, "P")
		elsewhere := t.TempDir()
		if err := change(d, r.Dir, elsewhere); err != nil {
			t.Fatal(err)
		}
		_, err := c.Publish(held, r, results, nil)
		failuretest.Want(t, err, failure.Foreign, "")
		if got := names(t, store.Local(), elsewhere); got != "" {
			t.Errorf("%s: elsewhere there are %s", name, got)
		}
		release(t, c, false)
	}
}

// inside changes the staged part that is a directory.
func inside(run string, change func(dir string) error) error {
	parts, err := filepath.Glob(run + "/part-00001*")
	if err != nil {
		return err
	}
	return change(parts[0])
}

// TestLinkMeanwhile makes a link in the place of the directory for copies once
// the destination was looked at.
func TestLinkMeanwhile(t *testing.T) {
	d, _ := onDisk(t)
	elsewhere, copies := t.TempDir(), d.in(manifest.QuarantineDir)
	st := &odd{Store: store.Local()}
	c, held := claim(t, at(st, d.path))
	r, results := begun(t, c, "Q")
	st.rename = func(from, _ string, do func() error) error {
		if path.Base(from) == manifest.SuccessName {
			return errors.Join(do(), os.RemoveAll(copies), os.Symlink(elsewhere, copies))
		}
		return do()
	}
	_, err := c.Publish(held, r, results, nil)
	failuretest.Want(t, err, failure.Foreign, "holds what rowtocol did not write: _quarantine")
	if got := names(t, store.Local(), elsewhere); got != "" {
		t.Errorf("elsewhere there are %s", got)
	}
	release(t, c, false)
}

// TestLinksInside puts links among what holders left: nobody follows them.
func TestLinksInside(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 1)
	elsewhere := t.TempDir()
	run := staged(t, d, "run-")[0]
	pending := staged(t, d, manifest.PendingPrefix)[0]
	err := errors.Join(
		os.Mkdir(d.root()+"/0123456789abcdef", 0o777),
		os.Rename(run+"/"+manifest.PlanName, elsewhere+"/"+manifest.PlanName), os.Symlink(elsewhere+"/"+manifest.PlanName, run+"/"+manifest.PlanName),
		os.Rename(pending, elsewhere+"/pending-x"), os.Symlink(elsewhere+"/pending-x", pending),
		os.Mkdir(elsewhere+"/run-1", 0o777), os.WriteFile(elsewhere+"/retired-1", nil, 0o666),
		os.Symlink(elsewhere, d.root()+"/0123456789abcdef/link"), os.Symlink(elsewhere, d.root()+"/fedcba9876543210"),
	)
	if err != nil {
		t.Fatal(err)
	}
	before := names(t, store.Local(), elsewhere)
	c, _ := claim(t, d)
	if runs := c.Runs(); len(runs) != 1 || runs[0].Plan != nil || !c.State().Finished(requestOf("P")) {
		t.Errorf("links were followed to %d runs, or what is pending", len(runs))
	}
	release(t, c, false)
	if after := names(t, store.Local(), elsewhere); after != before {
		t.Errorf("elsewhere there were %s and are %s", before, after)
	}
	wantNames(t, store.Local(), d.path)
}

// withoutIDs is a store that has no numbers of files, as HttpFS.
type withoutIDs struct{ store.Store }

func (w withoutIDs) Stat(ctx context.Context, p string) (store.Info, error) {
	info, err := w.Store.Stat(ctx, p)
	info.FileID = 0
	return info, err
}

// TestLockWithoutAnswer takes the lock, and does not hear so.
func TestLockWithoutAnswer(t *testing.T) {
	_, st := inMemory(t)
	faulty := storetest.NewFaulty(withoutIDs{st}, storetest.Fault{Op: storetest.Rename, N: 1, Err: store.ErrUnavailable, Late: true})
	patient := store.WithRetry(faulty, store.Patience{Limit: 1 << 40, Sleep: func(context.Context, time.Duration) error { return nil }})
	d := at(patient, "/parent/dest")
	c, _, err := d.claim(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if made := faulty.Calls(storetest.Mkdir); made != 3 {
		t.Errorf("%d directories were made", made)
	}
	release(t, c, false)
}

// TestElsewhere commits what tasks left that ran elsewhere, after commits that
// failed; other runs do not touch it.
func TestElsewhere(t *testing.T) {
	d, st := inMemory(t)
	p := planOf(t, "P")
	dir, err := d.Staging(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Staging(t.Context(), p.ID); err != nil || again != dir || dir != d.StagingPath(p.ID) {
		t.Errorf("%s, then %s, %v", dir, again, err)
	}
	results := stageTasks(t, st, dir, p)
	before := names(t, st, dir)
	output(t, d, st, "Q")
	c, held := claim(t, d)
	if _, err := c.Take(held, p); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Stat(t.Context(), dir); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("late tasks reach what is being committed: %v", err)
	}
	release(t, c, false)
	if got := names(t, st, dir); got != before {
		t.Errorf("after a commit that failed there are %s, before there were %s", got, before)
	}
	// A commit is killed, and a task comes late.
	c, held = claim(t, d)
	if _, err := c.Take(held, p); err != nil {
		t.Fatal(err)
	}
	c.cancel(nil)
	c.heart.Wait()
	if _, err := d.Staging(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if err := st.WriteFile(t.Context(), path.Join(dir, manifest.TaskName(0)), []byte("another try's"), true); err != nil {
		t.Fatal(err)
	}
	output(t, d, st, "R")
	if got := names(t, st, dir); got != before {
		t.Errorf("after a run of another request there are %s, before there were %s", got, before)
	}
	c, held = claim(t, d)
	r, err := c.Take(held, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(held, r, results, nil); err != nil {
		t.Fatal(err)
	}
	release(t, c, false)
	wantNames(t, st, d.path)
	c, held = claim(t, d)
	if _, err := c.Take(held, p); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("what was committed is taken again: %v", err)
	}
	release(t, c, false)
}

// odd is a store on which calls end in an odd way, if a function for it is set.
type odd struct {
	store.Store
	rename func(from, to string, do func() error) error
	write  func(p string, do func() error) error
	read   func(p string) error
}

func (o *odd) Rename(ctx context.Context, from, to string) error {
	do := func() error { return o.Store.Rename(context.WithoutCancel(ctx), from, to) } // a request stays under way
	if o.rename != nil {
		return o.rename(from, to, do)
	}
	return do()
}

func (o *odd) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	do := func() error { return o.Store.WriteFile(ctx, p, b, exclusive) }
	if o.write != nil {
		return o.write(p, do)
	}
	return do()
}

func (o *odd) ReadFile(ctx context.Context, p string, max int64) ([]byte, error) {
	if o.read != nil {
		if err := o.read(p); err != nil {
			return nil, err
		}
	}
	return o.Store.ReadFile(ctx, p, max)
}

func (o *odd) Open(ctx context.Context, p string) (store.File, error) {
	if o.read != nil {
		if err := o.read(p); err != nil {
			return nil, err
		}
	}
	return o.Store.Open(ctx, p)
}

// TestTakeWithoutAnswer takes the work of tasks, and hears an error, whenever that
// is done: the work is given back, or stays.
func TestTakeWithoutAnswer(t *testing.T) {
	for name, times := range map[string]struct{ atOnce, late bool }{
		"done": {atOnce: true}, "done late": {late: true}, "done twice": {atOnce: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, inner := inMemory(t)
			st := &odd{Store: inner}
			d := at(st, "/parent/dest")
			p := planOf(t, "P")
			dir, err := d.Staging(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			stageTasks(t, st, dir, p)
			before := names(t, st, dir)
			c, held := claim(t, d)
			var take func() error
			st.rename = func(from, _ string, do func() error) error {
				switch {
				case from == dir:
					take = do
					if times.atOnce {
						if err := do(); err != nil {
							t.Error(err)
						}
					}
					return context.Canceled
				case from == d.in(manifest.LockName) && times.late:
					_ = take()
				}
				return do()
			}
			if _, err := c.Take(held, p); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			release(t, c, false)
			if after := names(t, st, dir); after != before {
				t.Errorf("there were %s and are %s", before, after)
			}
		})
	}
}

// TestPendingNotWritten cannot write the manifest of what is to be published: the
// work of the tasks is given back.
func TestPendingNotWritten(t *testing.T) {
	_, inner := inMemory(t)
	st := &odd{Store: inner}
	d := at(st, "/parent/dest")
	p := planOf(t, "P")
	dir, err := d.Staging(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	results := stageTasks(t, st, dir, p)
	before := names(t, st, dir)
	c, held := claim(t, d)
	r, err := c.Take(held, p)
	if err != nil {
		t.Fatal(err)
	}
	st.write = func(p string, do func() error) error {
		if strings.HasPrefix(path.Base(p), manifest.PendingPrefix) {
			return store.ErrQuota
		}
		return do()
	}
	if _, err := c.Publish(held, r, results, nil); !errors.Is(err, store.ErrQuota) {
		t.Fatal(err)
	}
	release(t, c, false)
	if after := names(t, st, dir); after != before {
		t.Errorf("there were %s and are %s", before, after)
	}
}

// TestUnreadableWhileRolling refuses to read what is to be completed: nothing is
// given up, and the next run completes it.
func TestUnreadableWhileRolling(t *testing.T) {
	for _, what := range []string{"part-", "a", "task-", manifest.PendingPrefix, manifest.PlanName} {
		d, _ := onDisk(t)
		killed(t, d, "Q", 2)
		st := &odd{Store: store.Local(), read: func(p string) error {
			if strings.HasPrefix(path.Base(p), what) {
				return os.ErrPermission
			}
			return nil
		}}
		if _, _, err := at(st, d.path).Claim(t.Context()); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s cannot be read: %v", what, err)
		}
		c, _ := claim(t, d)
		if !c.State().Finished(requestOf("Q")) {
			t.Errorf("%s could not be read, and then the output was not completed", what)
		}
		release(t, c, false)
		wantNames(t, store.Local(), d.path)
	}
}

// TestPlannedElsewhere puts a pending manifest where tasks leave their work, and
// into what is being removed: neither counts.
func TestPlannedElsewhere(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 1)
	run := staged(t, d, "run-")[0]
	kept := t.TempDir() + "/run"
	if err := os.Rename(run, kept); err != nil {
		t.Fatal(err)
	}
	output(t, d, store.Local(), "P")
	for _, place := range []string{"plan-0123", "trash-0123/run-1"} {
		to := filepath.Join(d.root(), place)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.Rename(kept, to)); err != nil {
			t.Fatal(err)
		}
		s := look(t, d)
		if !s.Finished(requestOf("P")) {
			t.Errorf("%s: an output that is not pending counts", place)
		}
		failuretest.Want(t, s.Allow(requestOf("R"), false), failure.Foreign, "--overwrite")
		if err := os.Rename(to, kept); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWrongResults has results that are not what was staged, or that make a
// manifest that nobody can read.
func TestWrongResults(t *testing.T) {
	for name, change := range map[string]func(results []*manifest.TaskResult){
		"another length": func(r []*manifest.TaskResult) { r[0].Parts[0].Files[0].Bytes++ },
		"a name twice":   func(r []*manifest.TaskResult) { r[1].Parts = append(r[1].Parts, r[1].Parts[0]) },
		"no such file": func(r []*manifest.TaskResult) {
			r[0].Parts[0].Files[0].Name = manifest.StagedPart(0, 0, manifest.NewID(), ".trv")
		},
	} {
		d, _ := inMemory(t)
		c, held := claim(t, d)
		r, results := begun(t, c, "P")
		change(results)
		if _, err := c.Publish(held, r, results, nil); err == nil {
			t.Errorf("%s: it was published", name)
		}
		release(t, c, false)
		if s := look(t, d); s.Success != nil {
			t.Errorf("%s: there is an output", name)
		}
	}
}

// TestLookMeanwhile publishes another output while one looks: neither is called
// changed.
func TestLookMeanwhile(t *testing.T) {
	d, st := inMemory(t)
	output(t, d, st, "P")
	seen := &odd{Store: st}
	seen.read = func(p string) error {
		seen.read = nil
		output(t, d, st, "Q")
		return nil
	}
	if s := look(t, at(seen, d.path)); !s.Finished(requestOf("Q")) || s.Allow(requestOf("Q"), false) != nil {
		t.Errorf("%+v", s)
	}
}

// TestDiscard removes a run that nobody wants.
func TestDiscard(t *testing.T) {
	d, st := inMemory(t)
	c, held := claim(t, d)
	if _, err := c.Begin(held, planOf(t, "P")); err != nil {
		t.Fatal(err)
	}
	release(t, c, true)
	c, held = claim(t, d)
	if err := c.Discard(held, c.Runs()[0]); err != nil || len(c.Runs()) != 0 {
		t.Errorf("%d runs are left: %v", len(c.Runs()), err)
	}
	release(t, c, true)
	c, _ = claim(t, d)
	if len(c.Runs()) != 0 {
		t.Error("a run that was discarded is there")
	}
	release(t, c, false)
	if _, err := st.Stat(t.Context(), d.path); err != nil {
		// The destination was made by the first claim, which kept a run in it.
		t.Error(err)
	}
}

// TestLostAnswers repeats calls of which the first answer was lost, on stores with
// and without numbers of files.
func TestLostAnswers(t *testing.T) {
	lostAnswers(t, func(st store.Store) store.Store { return st })
	lostAnswers(t, func(st store.Store) store.Store { return withoutIDs{st} })
}

func lostAnswers(t *testing.T, seen func(store.Store) store.Store) {
	t.Helper()
	for _, op := range []storetest.Op{storetest.Mkdir, storetest.Rename, storetest.WriteFile, storetest.RemoveAll} {
		for n := 1; n < 40; n++ {
			d, st := inMemory(t)
			output(t, d, st, "P")
			faulty := storetest.NewFaulty(seen(st), storetest.Fault{Op: op, N: n, Err: store.ErrUnavailable, Late: true})
			patient := store.WithRetry(faulty, store.Patience{Limit: 1 << 40, Sleep: func(context.Context, time.Duration) error { return nil }})
			output(t, at(patient, d.path), patient, "Q")
			wantNames(t, st, d.path)
			if t.Failed() {
				t.Fatalf("after the answer of %s %d was lost", op, n)
			}
			if faulty.Calls(op) < n {
				break
			}
		}
	}
}

// TestStagingIsALink has tasks find a link in the place of their directory.
func TestStagingIsALink(t *testing.T) {
	d, _ := onDisk(t)
	elsewhere := t.TempDir()
	if err := errors.Join(os.Mkdir(d.root(), 0o777), os.Symlink(elsewhere, d.StagingPath("0123"))); err != nil {
		t.Fatal(err)
	}
	_, err := d.Staging(t.Context(), "0123")
	failuretest.Want(t, err, failure.Foreign, "is a link")
	if err := d.RemoveStaging(t.Context(), "0123"); err != nil {
		t.Error(err)
	}
	wantNames(t, store.Local(), d.path)
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}
