package publish

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestWorkIsTakenBeforeRetiring checks that the pending manifest is there when the work is taken,
// and that the work is taken before the former output is moved out.
func TestWorkIsTakenBeforeRetiring(t *testing.T) {
	d, st := withHooks(t)
	publishOutput(t, d, st, "P")
	c, held, r := claimAndStage(t, d, "Q")
	var taken, retired bool
	st.rename = func(from, _ string, do func() error) error {
		switch from {
		case r.Dir:
			taken = true
			if waits := pendingOutputs(t, d); len(waits) != 1 || waits[0].Plan != r.Plan.ID {
				t.Errorf("the work is taken: got pending outputs %+v", waits)
			}
		case d.pathOf(manifest.SuccessName):
			if retired = true; !taken {
				t.Error("the output is retired before the work is taken")
			}
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); err != nil || !retired {
		t.Error(err)
	}
	mustRelease(t, c)
	wantOnlyOutput(t, st, d.path)
}

// TestChangedBeforeTaking checks that an output is withdrawn if its work changed. The work is
// put back, unless tasks made its directory again, and the destination is as it was.
func TestChangedBeforeTaking(t *testing.T) {
	alter := func(file string) error { return os.WriteFile(file, []byte("task 0 of R"), 0o666) }
	for name, tc := range map[string]struct {
		change func(part, directory string) error
		remade bool // whether tasks make the directory again while the work is checked
		want   error
	}{
		"a file":                 {func(part, _ string) error { return alter(part) }, false, failure.Foreign},
		"a file gone":            {func(part, _ string) error { return os.Remove(part) }, false, failure.Storage},
		"a link":                 {func(part, _ string) error { return errors.Join(os.Remove(part), os.Symlink("nowhere", part)) }, false, failure.Foreign},
		"a directory for a file": {func(part, _ string) error { return errors.Join(os.Remove(part), os.Mkdir(part, 0o777)) }, false, failure.Foreign},
		"a file for a directory": {func(_, dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666)) }, false, failure.Foreign},
		"a file inside":          {func(_, dir string) error { return alter(dir + "/a") }, false, failure.Foreign},
		"a link inside":          {func(_, dir string) error { return errors.Join(os.Remove(dir+"/a"), os.Symlink("nowhere", dir+"/a")) }, false, failure.Foreign},
		"one more inside":        {func(_, dir string) error { return os.WriteFile(dir+"/c", nil, 0o666) }, false, failure.Foreign},
		"a file while tasks run": {func(part, _ string) error { return alter(part) }, true, failure.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			onDisk, m := onDisk(t)
			st := &hookStore{Store: onDisk.st}
			d := at(st, onDisk.path)
			c, held, r := claimAndStage(t, d, "Q")
			work := ""
			st.rename = func(from, to string, do func() error) error {
				if err := do(); err != nil || from != r.Dir {
					return err
				}
				if err := tc.change(path.Join(to, r.Results[0].Files()[0].Name), path.Join(to, r.Results[1].Entries()[0].Name)); err != nil {
					t.Error(err)
				}
				if work = namesBelow(t, d.st, to); tc.remade {
					if work = "late"; os.Mkdir(r.Dir, 0o777) != nil || os.WriteFile(r.Dir+"/late", nil, 0o666) != nil {
						t.Error("tasks cannot make the directory again")
					}
				}
				return nil
			}
			_, err := c.Publish(held, r.Plan, r.Work, nil)
			failuretest.Want(t, err, tc.want, "")
			st.rename = nil
			if got := namesBelow(t, d.st, r.Dir); got != work {
				t.Errorf("got work %s, want %s", got, work)
			}
			if w := mustStatus(t, d).Unfinished; len(w) != 1 || w[0].Output != "" {
				t.Errorf("got work %+v", w)
			}
			mustRelease(t, c)
			c, held = mustClaim(t, d)
			if s := c.State(); s.ID() != m.ID || s.damage != "" || len(c.CompletedIDs()) > 0 {
				t.Errorf("%+v", s)
			}
			if err := c.Discard(held, r.Plan.ID); err != nil {
				t.Error(err)
			}
			mustRelease(t, c)
			wantOnlyOutput(t, d.st, d.path)
		})
	}
}

// TestPublishAfterWithdrawal checks that a claim can publish an output that it withdrew
// before.
func TestPublishAfterWithdrawal(t *testing.T) {
	d, st := inMemory(t)
	c, held, r := claimAndStage(t, d, "P")
	part := path.Join(r.Dir, r.Results[0].Files()[0].Name)
	testenv.Must(t, st.Rename(t.Context(), part, "/parent/kept"))
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, err, failure.Storage, "the work of task 0 is gone")
	testenv.Must(t, st.Rename(t.Context(), "/parent/kept", part))
	mustPublish(t, c, r)
	mustRelease(t, c)
	wantOnlyOutput(t, st, d.path)
}

// TestLateTasks checks that the next holder publishes the work that was taken, and removes
// late work, if tasks make a staging directory again after that.
func TestLateTasks(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	killPublish(t, d, "Q", 2)
	plan := pendingOutputs(t, d)[0].Plan
	dir, made, err := d.Staging(t.Context(), plan)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if again, made, err := d.Staging(t.Context(), plan); err != nil || made || again != dir || dir != d.StagingPath(plan) {
		t.Errorf("%s, then %s, made %v, %v", dir, again, made, err)
	}
	testenv.Must(t, st.WriteFile(t.Context(), path.Join(dir, manifest.TaskName(0)), []byte("another try's"), true))
	c, _ := mustClaim(t, d)
	if !c.State().Finished(requestOf("Q")) || len(c.CompletedIDs()) != 1 || c.CompletedIDs()[0] != c.State().ID() {
		t.Errorf("got completed %q", c.CompletedIDs())
	}
	mustRelease(t, c)
	wantOnlyOutput(t, st, d.path)
}

// TestLostAnswerOfTake checks that the next holder publishes the work if the rename that takes
// it fails and is carried out at various times.
func TestLostAnswerOfTake(t *testing.T) {
	for name, times := range map[string]struct{ atOnce, late bool }{
		"not done": {}, "done": {atOnce: true}, "done late": {late: true}, "done twice": {atOnce: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := withHooks(t)
			c, held, r := claimAndStage(t, d, "P")
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
				case from == d.pathOf(manifest.LockName) && times.late:
					_ = take()
				}
				return do()
			}
			if _, err := c.Publish(held, r.Plan, r.Work, nil); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			mustRelease(t, c)
			st.rename = nil
			wantFinished(t, d, "P")
		})
	}
}

// TestPendingManifestNotWritten checks that the work stays where it is if the pending manifest
// could not be written.
func TestPendingManifestNotWritten(t *testing.T) {
	d, st := withHooks(t)
	c, held, r := claimAndStage(t, d, "P")
	before := namesBelow(t, st, r.Dir)
	st.write = func(p string, do func() error) error {
		if strings.HasPrefix(path.Base(p), pending) {
			return store.ErrQuota
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); !errors.Is(err, store.ErrQuota) {
		t.Fatal(err)
	}
	mustRelease(t, c)
	if infos, err := st.List(t.Context(), d.workDir()); err != nil || len(infos) != 1 || infos[0].Path != r.Dir || namesBelow(t, st, r.Dir) != before {
		t.Errorf("got %v, want %s: %v", infos, before, err)
	}
}

// TestUnreadableDuringRollForward checks that a pending output is not given up if its files
// cannot be read. The next run completes it.
func TestUnreadableDuringRollForward(t *testing.T) {
	for _, what := range []string{"part-", "a", pending, manifest.PlanName} {
		d, _ := onDisk(t)
		killPublish(t, d, "Q", 1)
		st := &hookStore{Store: store.Local(), read: func(p string) error {
			if strings.HasPrefix(path.Base(p), what) {
				return os.ErrPermission
			}
			return nil
		}}
		if _, _, err := at(st, d.path).Claim(t.Context()); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s cannot be read: got %v, want %v", what, err, os.ErrPermission)
		}
		wantFinished(t, d, "Q")
	}
}

// TestPendingManifestElsewhere checks that a pending manifest does not count in a directory
// with the name of a staging directory, or in the trash.
func TestPendingManifestElsewhere(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	kept := t.TempDir() + "/holder"
	testenv.Must(t, os.Rename(pendingHolderDir(t, d), kept))
	publishOutput(t, d, store.Local(), "P")
	for _, place := range []string{"plan-0123", "trash-0123/holder"} {
		to := filepath.Join(d.workDir(), place)
		testenv.Must(t, os.MkdirAll(filepath.Dir(to), 0o777), os.Rename(kept, to))
		s := stateOf(t, d)
		if !s.Finished(requestOf("P")) {
			t.Errorf("%s: the pending manifest counts", place)
		}
		failuretest.Want(t, s.CheckReplaceable(requestOf("R"), false), failure.Foreign, "--overwrite")
		testenv.Must(t, os.Rename(to, kept))
	}
}

// TestLinkInPlaceOfWork checks that a link in place of the work of a pending output is
// refused.
func TestLinkInPlaceOfWork(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 1)
	work, others := staged(t, d, planPrefix)[0], t.TempDir()
	testenv.Must(t, os.RemoveAll(work), os.Symlink(others, work))
	_, _, err := d.Claim(t.Context())
	failuretest.Want(t, err, failure.Foreign, "is a link")
	testenv.Must(t, os.Remove(work))
	claimAndRelease(t, d)
	if _, err := os.Stat(others); err != nil {
		t.Error(err)
	}
}
