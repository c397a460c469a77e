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

// TestWorkIsTakenBeforeItIsChecked looks at the destination when the work is taken, and
// when it is checked.
func TestWorkIsTakenBeforeItIsChecked(t *testing.T) {
	_, inner := inMemory(t)
	st := &odd{Store: inner}
	d := at(st, "/parent/dest")
	m := output(t, d, st, "P")
	before := names(t, st, d.path)
	c, held := claim(t, d)
	r, results := begun(t, c, "Q")
	st.rename = func(from, _ string, do func() error) error {
		if waits := pendingOf(t, d); from == r.Dir && (len(waits) != 1 || waits[0].Plan != r.Plan.ID) {
			t.Errorf("the work is taken, and there waits %+v", waits)
		}
		return do()
	}
	checked := false
	_, err := c.Publish(held, r.Plan, results, nil, func(_ context.Context, dir string) ([]*manifest.TaskResult, error) {
		checked = true
		if _, err := st.Stat(t.Context(), r.Dir); !errors.Is(err, store.ErrNotExist) {
			t.Errorf("late tasks reach what is checked: %v", err)
		}
		if s := look(t, d); s.ID() != m.ID || !strings.HasPrefix(names(t, st, d.path), ".rowtocol") {
			t.Errorf("there are %s, and were %s", names(t, st, d.path), before)
		}
		return readResults(t, st, dir, r.Plan), nil
	})
	if err != nil || !checked {
		t.Error(err)
	}
	release(t, c)
	wantNames(t, st, d.path)
}

// TestChangedBeforeItWasTaken withdraws an output: the work is back, unless tasks made its
// directory anew, and the destination is as it was.
func TestChangedBeforeItWasTaken(t *testing.T) {
	file := func(r []*manifest.TaskResult) string { return r[0].Parts[0].Files[0].Name }
	for name, tc := range map[string]struct {
		change func(dir string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error)
		anew   bool // tasks make the directory while the work is checked
		want   error
	}{
		"a file": {change: func(_ string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error) {
			return r, failure.New(failure.Foreign, "changed")
		}, want: failure.Foreign},
		"a result": {change: func(_ string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error) {
			r[0].Parts[0].Files[0].CRC32C++
			return r, nil
		}, want: failure.Storage},
		"a result gone": {change: func(_ string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error) { return r[1:], nil }, want: failure.Storage},
		"a link": {change: func(dir string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error) {
			return r, errors.Join(os.Remove(path.Join(dir, file(r))), os.Symlink("nowhere", path.Join(dir, file(r))))
		}, want: failure.Foreign},
		"a file while tasks run": {change: func(_ string, r []*manifest.TaskResult) ([]*manifest.TaskResult, error) {
			return r, failure.New(failure.Foreign, "changed")
		}, anew: true, want: failure.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			d, m := onDisk(t)
			c, held := claim(t, d)
			r, results := begun(t, c, "Q")
			work := names(t, d.st, r.Dir)
			_, err := c.Publish(held, r.Plan, results, nil, func(_ context.Context, dir string) ([]*manifest.TaskResult, error) {
				if tc.anew {
					if work = "late"; os.Mkdir(r.Dir, 0o777) != nil || os.WriteFile(r.Dir+"/late", nil, 0o666) != nil {
						t.Error("tasks cannot make the directory")
					}
				}
				return tc.change(dir, readResults(t, d.st, dir, r.Plan))
			})
			failuretest.Want(t, err, tc.want, "")
			if got := names(t, d.st, r.Dir); got != work {
				t.Errorf("the work is %s, not %s", got, work)
			}
			if w := status(t, d).Unfinished; len(w) != 1 || w[0].Output != "" {
				t.Errorf("there is the work %+v", w)
			}
			release(t, c)
			c, held = claim(t, d)
			if s := c.State(); s.ID() != m.ID || s.damage != "" || len(c.Completed()) > 0 {
				t.Errorf("%+v", s)
			}
			if err := c.Discard(held, r.Plan.ID); err != nil {
				t.Error(err)
			}
			release(t, c)
			wantNames(t, d.st, d.path)
		})
	}
}

// TestPublishAfterWithdrawal publishes what the same claim withdrew before.
func TestPublishAfterWithdrawal(t *testing.T) {
	d, st := inMemory(t)
	c, held := claim(t, d)
	r, results := begun(t, c, "P")
	_, err := c.Publish(held, r.Plan, results, nil, still(results[1:]))
	failuretest.Want(t, err, failure.Storage, "done again meanwhile")
	if _, err := c.Publish(held, r.Plan, results, nil, still(results)); err != nil {
		t.Error(err)
	}
	release(t, c)
	wantNames(t, st, d.path)
}

// TestLateTasks make the directory of a plan anew whose work was taken: the next holder
// publishes what was taken, and removes what they made.
func TestLateTasks(t *testing.T) {
	d, st := inMemory(t)
	output(t, d, st, "P")
	killed(t, d, "Q", 2)
	plan := pendingOf(t, d)[0].Plan
	dir, made, err := d.Staging(t.Context(), plan)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if again, made, err := d.Staging(t.Context(), plan); err != nil || made || again != dir || dir != d.StagingPath(plan) {
		t.Errorf("%s, then %s, made %v, %v", dir, again, made, err)
	}
	if err := st.WriteFile(t.Context(), path.Join(dir, manifest.TaskName(0)), []byte("another try's"), true); err != nil {
		t.Fatal(err)
	}
	c, _ := claim(t, d)
	if !c.State().Finished(requestOf("Q")) || len(c.Completed()) != 1 || c.Completed()[0] != c.State().ID() {
		t.Errorf("completed were %q", c.Completed())
	}
	release(t, c)
	wantNames(t, st, d.path)
}

// TestTakeWithoutAnswer takes the work of tasks, and hears an error, whenever that
// is done: the next holder publishes it.
func TestTakeWithoutAnswer(t *testing.T) {
	for name, times := range map[string]struct{ atOnce, late bool }{
		"not done": {}, "done": {atOnce: true}, "done late": {late: true}, "done twice": {atOnce: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, inner := inMemory(t)
			st := &odd{Store: inner}
			d := at(st, "/parent/dest")
			c, held := claim(t, d)
			r, results := begun(t, c, "P")
			var take func() error
			st.rename = func(from, _ string, do func() error) error {
				switch {
				case from == r.Dir:
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
			if _, err := c.Publish(held, r.Plan, results, nil, still(results)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			release(t, c)
			st.rename = nil
			wantFinished(t, d, "P")
		})
	}
}

// TestPendingNotWritten cannot write the manifest of what is to be published: the
// work stays where it is.
func TestPendingNotWritten(t *testing.T) {
	_, inner := inMemory(t)
	st := &odd{Store: inner}
	d := at(st, "/parent/dest")
	c, held := claim(t, d)
	r, results := begun(t, c, "P")
	before := names(t, st, r.Dir)
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
	if infos, err := st.List(t.Context(), d.root()); err != nil || len(infos) != 1 || infos[0].Path != r.Dir || names(t, st, r.Dir) != before {
		t.Errorf("there were %s and are %v, %v", before, infos, err)
	}
}

// TestUnreadableWhileRolling refuses to read what is to be completed: nothing is
// given up, and the next run completes it.
func TestUnreadableWhileRolling(t *testing.T) {
	for _, what := range []string{"part-", "a", "task-", pending, manifest.PlanName} {
		d, _ := onDisk(t)
		killed(t, d, "Q", 1)
		st := &odd{Store: store.Local(), read: func(p string) error {
			if strings.HasPrefix(path.Base(p), what) {
				return os.ErrPermission
			}
			return nil
		}}
		if _, _, err := at(st, d.path).Claim(t.Context()); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s cannot be read: %v", what, err)
		}
		wantFinished(t, d, "Q")
	}
}

// TestPendingElsewhere puts a holder's directory with a pending manifest where tasks leave
// their work, and into what is being removed: it does not count.
func TestPendingElsewhere(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 2)
	kept := t.TempDir() + "/holder"
	if err := os.Rename(holderOf(t, d), kept); err != nil {
		t.Fatal(err)
	}
	output(t, d, store.Local(), "P")
	for _, place := range []string{"plan-0123", "trash-0123/holder"} {
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

// TestTakeThroughALink follows no link that stands where the work of an output should be
// that waits to be published.
func TestTakeThroughALink(t *testing.T) {
	d, _ := onDisk(t)
	killed(t, d, "Q", 1)
	work, others := staged(t, d, planPrefix)[0], t.TempDir()
	if err := errors.Join(os.RemoveAll(work), os.Symlink(others, work)); err != nil {
		t.Fatal(err)
	}
	_, _, err := d.Claim(t.Context())
	failuretest.Want(t, err, failure.Foreign, "is a link")
	if err := os.Remove(work); err != nil {
		t.Fatal(err)
	}
	c, _ := claim(t, d)
	release(t, c)
	if _, err := os.Stat(others); err != nil {
		t.Error(err)
	}
}
