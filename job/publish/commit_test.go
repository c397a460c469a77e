package publish

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestLastStep checks the error and the _SUCCESS that is left if another manifest appears
// before the last rename, the storage refuses it, or the lock is gone.
func TestLastStep(t *testing.T) {
	other := planOf(t, "R")
	theirs, err := manifest.NewSuccess(other, manifest.NewID(), nil).Encode()
	testenv.Must(t, err)
	for name, tc := range map[string]struct {
		meanwhile func(st store.Store, d *Destination) error // called before the rename
		before    func(st store.Store, d *Destination) error // called after the write
		want      error
		left      string // content of _SUCCESS afterwards
	}{
		"refused": {
			meanwhile: func(store.Store, *Destination) error { return store.ErrQuota },
			want:      failure.Refused,
		},
		"foreign": {
			meanwhile: func(st store.Store, d *Destination) error {
				return st.WriteFile(t.Context(), d.pathOf(manifest.SuccessName), []byte("theirs"), true)
			},
			want: failure.Foreign, left: "theirs",
		},
		"another run's": {
			meanwhile: func(st store.Store, d *Destination) error {
				return st.WriteFile(t.Context(), d.pathOf(manifest.SuccessName), theirs, true)
			},
			want: failure.Locked, left: string(theirs),
		},
		"the lock gone": {
			before: func(st store.Store, d *Destination) error { return st.Remove(t.Context(), d.pathOf(manifest.LockName)) },
			want:   failure.Locked,
		},
	} {
		d, st := withHooks(t)
		c, held, r := claimAndStage(t, d, "P")
		st.rename = func(_, to string, do func() error) error {
			if tc.meanwhile != nil && path.Base(to) == manifest.SuccessName {
				if err := tc.meanwhile(st.Store, d); err != nil {
					return err
				}
			}
			return do()
		}
		st.write = func(p string, do func() error) error {
			err := do()
			if tc.before != nil && strings.HasPrefix(path.Base(p), "success") {
				err = errors.Join(err, tc.before(st.Store, d))
			}
			return err
		}
		_, err := c.Publish(held, r.Plan, r.Work, nil)
		if failure.KindOf(err) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
		text, err := st.Store.ReadFile(t.Context(), d.pathOf(manifest.SuccessName), maxLock)
		if string(text) != tc.left || (tc.left == "") != errors.Is(err, store.ErrNotExist) {
			t.Errorf("%s: got _SUCCESS %q (%v), want %q", name, text, err, tc.left)
		}
		abandon(c)
	}
}

// TestLostAnswerOfPendingManifest checks that the next holder publishes the output if the
// pending manifest was written although the call failed.
func TestLostAnswerOfPendingManifest(t *testing.T) {
	d, st := withHooks(t)
	c, held, r := claimAndStage(t, d, "P")
	st.write = func(p string, do func() error) error {
		err := do()
		if strings.HasPrefix(path.Base(p), pending) {
			return store.ErrUnavailable
		}
		return err
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	st.write = nil
	mustRelease(t, c)
	wantFinished(t, d, "P")
}

// TestWorkNotPutBack checks that work that could not be put back stays in the directory of the
// holder until the next holder puts it back.
func TestWorkNotPutBack(t *testing.T) {
	d, st := withHooks(t)
	c, held, r := claimAndStage(t, d, "P")
	before := namesBelow(t, st, r.Dir)
	st.rename = func(from, to string, do func() error) error {
		switch r.Dir {
		case to:
			return store.ErrUnavailable
		case from:
			return errors.Join(do(), st.WriteFile(t.Context(), path.Join(to, r.Results[0].Files()[0].Name), nil, false))
		}
		return do()
	}
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, failure.Foreign) {
		t.Error(err)
	}
	mustRelease(t, c)
	st.rename = nil
	claimAndRelease(t, d)
	if after := namesBelow(t, st, r.Dir); after != before || stateOf(t, d).pending {
		t.Errorf("got files %s, want %s", namesBelow(t, st, d.path), before)
	}
}

// TestFailedHolderKeepsPendingOutput checks that the next holder completes a pending output if
// a holder moved its directory and then could not read the destination.
func TestFailedHolderKeepsPendingOutput(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 2)
	st := &hookStore{Store: store.Local(), read: func(p string) error {
		if path.Base(p) == manifest.SuccessName {
			return fs.ErrPermission
		}
		return nil
	}}
	if _, _, err := at(st, d.path).Claim(t.Context()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%s cannot be read: got %v, want %v", manifest.SuccessName, err, fs.ErrPermission)
	}
	wantFinished(t, d, "Q")
}

// TestLostClaimHidesOtherError checks that a lost claim gives failure.Locked instead of any
// other error.
func TestLostClaimHidesOtherError(t *testing.T) {
	for name, lose := range map[string]func(c *Claim) error{
		"noticed":   func(c *Claim) error { c.cancel(failure.New(failure.Locked, "lost")); return nil },
		"unnoticed": func(c *Claim) error { return c.st.Remove(t.Context(), c.pathOf(manifest.LockName)) },
	} {
		d, _ := inMemory(t)
		c, _ := mustClaim(t, d)
		broken := errors.New("the work is broken")
		if err := c.LockedOr(t.Context(), broken); !errors.Is(err, broken) {
			t.Errorf("%s: with the lock: %v", name, err)
		}
		testenv.Must(t, lose(c))
		failuretest.Want(t, c.LockedOr(t.Context(), broken), failure.Locked, "")
		if err := c.LockedOr(t.Context(), nil); err != nil {
			t.Errorf("%s: without an error: %v", name, err)
		}
		abandon(c)
	}
}

// TestDirectoryInPlaceOfAFile checks that a directory in place of a file is rejected, even of
// an empty file.
func TestDirectoryInPlaceOfAFile(t *testing.T) {
	d, m := onDisk(t)
	file := m.Parts[0].Files[0].Name
	m.Bytes -= m.Parts[0].Files[0].Bytes
	m.Parts[0].Files[0].Bytes = 0
	doc, err := m.Encode()
	if err == nil {
		err = errors.Join(os.Truncate(d.pathOf(file), 0), os.WriteFile(d.pathOf(manifest.SuccessName), doc, 0o666))
	}
	testenv.Must(t, err)
	if !stateOf(t, d).Finished(requestOf("P")) {
		t.Error("an output with an empty file is not finished")
	}
	testenv.Must(t, os.Remove(d.pathOf(file)), os.Mkdir(d.pathOf(file), 0o777))
	if stateOf(t, d).Finished(requestOf("P")) {
		t.Error("a directory is accepted as a file")
	}
}

// TestFailureAfterSuccess checks that an output is reported if all renames fail after it was
// published. The next holder removes files that the output replaced or outdated.
func TestFailureAfterSuccess(t *testing.T) {
	for name, publishes := range map[string]func(t *testing.T, d *Destination, c *Claim) *work{
		"an output": func(t *testing.T, _ *Destination, c *Claim) *work { return stageWork(t, c, "Q") },
		"an increment": func(t *testing.T, _ *Destination, c *Claim) *work {
			return stageIncrement(t, c, "J")
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, st := inMemory(t)
			failing := &hookStore{Store: st}
			d := at(failing, "/parent/dest")
			publishOutput(t, d, failing, "P")
			publishIncrement(t, d, "I")
			stageInDir(t, d, planFor(t, d, "old", 2))
			stageInDir(t, d, incrementPlan(t, "J", stateOf(t, d).ID()))
			c, held := mustClaim(t, d)
			r := publishes(t, d, c)
			var published atomic.Bool
			failing.rename = func(_, to string, do func() error) error {
				if published.Load() {
					return store.ErrQuota
				}
				if to == d.pathOf(manifest.SuccessName) || isIncrement(store.Info{Name: path.Base(to), Dir: path.Dir(to) == d.path}) {
					published.Store(true)
				}
				return do()
			}
			m, err := c.Publish(held, r.Plan, r.Work, nil)
			if err != nil || m == nil || !published.Load() {
				t.Fatalf("%v, %v", m, err)
			}
			failing.rename = nil
			mustRelease(t, c)
			claimAndRelease(t, d)
			after := stateOf(t, d)
			if outputs := after.Outputs(); after.Leftovers || after.damage != "" || outputs[len(outputs)-1].Success.ID != m.ID || len(after.staged) > 0 {
				t.Errorf("%+v", after)
			}
		})
	}
}
