package publish

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestForeignFileDuringRun checks that the output of a destination stays if a foreign file
// comes after the destination was claimed.
func TestForeignFileDuringRun(t *testing.T) {
	d, m := onDisk(t)
	c, held, r := claimAndStage(t, d, "Q")
	testenv.Must(t, os.WriteFile(d.pathOf("notes.txt"), nil, 0o666))
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, err, failure.Foreign, "notes.txt")
	if s := stateOf(t, d); s.ID() != m.ID {
		t.Errorf("got output %q, want %q", s.ID(), m.ID)
	}
	mustRelease(t, c)
	testenv.Must(t, os.Remove(d.pathOf("notes.txt")))
	wantFinished(t, d, "Q")
}

// TestLinkDuringRun checks that a link is refused that was made in place of the directory of
// copies after the state of the destination was read.
func TestLinkDuringRun(t *testing.T) {
	d, _ := onDisk(t)
	elsewhere, copies := t.TempDir(), d.pathOf(manifest.QuarantineDir)
	st := &hookStore{Store: store.Local()}
	c, held := mustClaim(t, at(st, d.path))
	r := stageWork(t, c, "Q")
	st.rename = func(from, _ string, do func() error) error {
		if path.Base(from) == manifest.SuccessName {
			return errors.Join(do(), os.RemoveAll(copies), os.Symlink(elsewhere, copies))
		}
		return do()
	}
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, err, failure.Foreign, "holds what rowtocol did not write: _quarantine")
	if got := namesBelow(t, store.Local(), elsewhere); got != "" {
		t.Errorf("got files %s elsewhere", got)
	}
	mustRelease(t, c)
}

// TestLinksInHolderDirs checks that links in directories of holders are not followed.
func TestLinksInHolderDirs(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	elsewhere := t.TempDir()
	pending := staged(t, d, pending)[0]
	err := errors.Join(
		os.Mkdir(d.workDir()+"/0123456789abcdef", 0o777),
		os.Rename(pending, elsewhere+"/pending-x"), os.Symlink(elsewhere+"/pending-x", pending),
		os.Mkdir(elsewhere+"/plan-1", 0o777), os.WriteFile(elsewhere+"/retired-1", nil, 0o666),
		os.Symlink(elsewhere, d.workDir()+"/0123456789abcdef/link"), os.Symlink(elsewhere, d.workDir()+"/fedcba9876543210"),
	)
	testenv.Must(t, err)
	before := namesBelow(t, store.Local(), elsewhere)
	c, _ := mustClaim(t, d)
	if f := c.found; len(f.pending)+len(f.retired)+len(f.taken) > 1 || !c.State().Finished(requestOf("P")) {
		t.Errorf("links were followed to %+v", f)
	}
	mustRelease(t, c)
	if after := namesBelow(t, store.Local(), elsewhere); after != before {
		t.Errorf("got files %s elsewhere, want %s", after, before)
	}
	wantOnlyOutput(t, store.Local(), d.path)
}

// withoutIDs is a store without file IDs, like HttpFS.
type withoutIDs struct{ store.Store }

func (w withoutIDs) Stat(ctx context.Context, p string) (store.Info, error) {
	info, err := w.Store.Stat(ctx, p)
	info.FileID = 0
	return info, err
}

// TestLostAnswerOfLock checks that a process recognizes its own lock if the answer was lost.
func TestLostAnswerOfLock(t *testing.T) {
	_, st := inMemory(t)
	faulty := storetest.NewFaulty(withoutIDs{st}, storetest.Fault{Op: storetest.Rename, N: 1, Err: store.ErrUnavailable, Late: true})
	patient := store.WithRetry(faulty, store.Patience{Limit: 1 << 40, Sleep: func(context.Context, time.Duration) error { return nil }})
	d := at(patient, "/parent/dest")
	c, _, err := d.claim(t.Context(), false)
	testenv.Must(t, err)
	if made := faulty.Calls(storetest.Mkdir); made != 3 {
		t.Errorf("got %d directories made, want 3", made)
	}
	mustRelease(t, c)
}

// TestWrongResults checks that results are refused that differ from the staged files, or that
// make a manifest which does not decode.
func TestWrongResults(t *testing.T) {
	for name, change := range map[string]func(results []*manifest.TaskResult){
		"another length": func(r []*manifest.TaskResult) { r[0].Parts[0].Files[0].Bytes++ },
		"a name twice":   func(r []*manifest.TaskResult) { r[1].Parts = append(r[1].Parts, r[1].Parts[0]) },
		"no such file": func(r []*manifest.TaskResult) {
			r[0].Parts[0].Files[0].Name = manifest.StagedPart(0, 0, manifest.NewID(), ".trv")
		},
	} {
		d, _ := inMemory(t)
		c, held, r := claimAndStage(t, d, "P")
		change(r.Results)
		if _, err := c.Publish(held, r.Plan, r.Work, nil); err == nil {
			t.Errorf("%s: the output was published", name)
		}
		mustRelease(t, c)
		if s := stateOf(t, d); s.Success != nil {
			t.Errorf("%s: there is an output", name)
		}
	}
}

// TestLookDuringPublish checks that no output is reported as damaged if another one is
// published while the state is read.
func TestLookDuringPublish(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	seen := &hookStore{Store: st}
	seen.read = func(p string) error {
		seen.read = nil
		publishOutput(t, d, st, "Q")
		return nil
	}
	if s := stateOf(t, at(seen, d.path)); !s.Finished(requestOf("Q")) || s.CheckReplaceable(requestOf("Q"), false) != nil {
		t.Errorf("%+v", s)
	}
}

// TestDiscard checks that Discard removes the work of one plan, and of no other.
func TestDiscard(t *testing.T) {
	d, _ := inMemory(t)
	c, held := mustClaim(t, d)
	p, q := planOf(t, "P"), planOf(t, "Q")
	stageInDir(t, d, p)
	stageInDir(t, d, q)
	for range 2 {
		if err := c.Discard(held, p.ID); err != nil {
			t.Error(err)
		}
	}
	if ids, err := d.StagedPlans(t.Context()); err != nil || !slices.Equal(ids, []string{q.ID}) {
		t.Errorf("got work of %q, %v", ids, err)
	}
	mustRelease(t, c)
}

// TestLostAnswers checks that calls can be repeated whose first answer was lost, on stores
// with and without file IDs.
func TestLostAnswers(t *testing.T) {
	testLostAnswers(t, func(st store.Store) store.Store { return st })
	testLostAnswers(t, func(st store.Store) store.Store { return withoutIDs{st} })
}

func testLostAnswers(t *testing.T, wrap func(store.Store) store.Store) {
	t.Helper()
	for _, op := range []storetest.Op{storetest.Mkdir, storetest.Rename, storetest.WriteFile, storetest.RemoveAll} {
		for n := 1; n < 40; n++ {
			d, st := inMemory(t)
			publishOutput(t, d, st, "P")
			faulty := storetest.NewFaulty(wrap(st), storetest.Fault{Op: op, N: n, Err: store.ErrUnavailable, Late: true})
			patient := store.WithRetry(faulty, store.Patience{Limit: 1 << 40, Sleep: func(context.Context, time.Duration) error { return nil }})
			publishOutput(t, at(patient, d.path), patient, "Q")
			wantOnlyOutput(t, st, d.path)
			if t.Failed() {
				t.Fatalf("after the answer of %s %d was lost", op, n)
			}
			if faulty.Calls(op) < n {
				break
			}
		}
	}
}

// TestManifestUnreadable checks the error if another manifest comes just before the rename of
// _SUCCESS and cannot be read.
func TestManifestUnreadable(t *testing.T) {
	d, st := withHooks(t)
	c, held, r := claimAndStage(t, d, "P")
	st.rename = func(_, to string, do func() error) error {
		if path.Base(to) != manifest.SuccessName {
			return do()
		}
		st.read = func(p string) error {
			if p == to {
				return store.ErrQuota
			}
			return nil
		}
		return errors.Join(st.Store.WriteFile(t.Context(), to, nil, true), do())
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); !errors.Is(err, store.ErrQuota) {
		t.Error(err)
	}
	st.read, st.rename = nil, nil
	mustRelease(t, c)
}

// TestStagingIsNotADirectory checks that a link or a file in place of a staging directory is
// refused, for tasks and for their commit.
func TestStagingIsNotADirectory(t *testing.T) {
	p := planOf(t, "Q")
	for text, put := range map[string]func(elsewhere, name string) error{
		"is a link":          os.Symlink,
		" a link":            func(elsewhere, name string) error { return os.Symlink(elsewhere+"/nowhere", name) },
		"is not a directory": func(_, name string) error { return os.WriteFile(name, nil, 0o666) },
	} {
		d, _ := onDisk(t)
		elsewhere := t.TempDir()
		testenv.Must(t, os.Mkdir(d.workDir(), 0o777), put(elsewhere, d.StagingPath(p.ID)))
		_, _, err := d.Staging(t.Context(), p.ID)
		failuretest.Want(t, err, failure.Foreign, text)
		_, err = d.StagedAt(t.Context(), p.ID)
		failuretest.Want(t, err, failure.Foreign, text)
		if err := os.Remove(d.StagingPath(p.ID)); err != nil {
			t.Error(err)
		}
		claimAndRelease(t, d)
		wantOnlyOutput(t, store.Local(), d.path)
		if _, err := os.Stat(elsewhere); err != nil {
			t.Error(err)
		}
	}
}
