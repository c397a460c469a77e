package publish

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestElsewhere commits what tasks left that ran elsewhere, after commits that
// failed; other runs do not touch it.
func TestElsewhere(t *testing.T) {
	d, st := inMemory(t)
	p := planOf(t, "P")
	dir, _, err := d.Staging(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := d.Staging(t.Context(), p.ID); err != nil || again != dir || dir != d.StagingPath(p.ID) {
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
	release(t, c)
	if got := names(t, st, dir); got != before {
		t.Errorf("after a commit that failed there are %s, before there were %s", got, before)
	}
	// A commit is killed, and a task comes late.
	c, held = claim(t, d)
	if _, err := c.Take(held, p); err != nil {
		t.Fatal(err)
	}
	abandon(c)
	if _, _, err := d.Staging(t.Context(), p.ID); err != nil {
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
	if _, err := c.Publish(held, r.Plan, results, nil, still(results)); err != nil {
		t.Fatal(err)
	}
	release(t, c)
	wantNames(t, st, d.path)
	c, held = claim(t, d)
	if _, err := c.Take(held, p); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("what was committed is taken again: %v", err)
	}
	release(t, c)
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
			dir, _, err := d.Staging(t.Context(), p.ID)
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
			release(t, c)
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
	dir, _, err := d.Staging(t.Context(), p.ID)
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
		if strings.HasPrefix(path.Base(p), pending) {
			return store.ErrQuota
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, results, nil, still(results)); !errors.Is(err, store.ErrQuota) {
		t.Fatal(err)
	}
	release(t, c)
	if after := names(t, st, dir); after != before {
		t.Errorf("there were %s and are %s", before, after)
	}
}

// TestUnreadableWhileRolling refuses to read what is to be completed: nothing is
// given up, and the next run completes it.
func TestUnreadableWhileRolling(t *testing.T) {
	for _, what := range []string{"part-", "a", "task-", pending, manifest.PlanName} {
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
		release(t, c)
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
