package publish

import (
	"context"
	"io/fs"
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

// TestOrphans checks that increments and parts stay after their _SUCCESS was deleted, because
// their inputs may be gone, until an output replaces everything.
func TestOrphans(t *testing.T) {
	lose := func(t *testing.T, d *Destination, st store.Store) {
		t.Helper()
		testenv.Must(t, st.Remove(t.Context(), d.pathOf(manifest.SuccessName)))
	}
	for name, make := range map[string]func(*testing.T, *Destination, store.Store) (orphan string){
		"increments": func(t *testing.T, d *Destination, st store.Store) string {
			publishOutput(t, d, st, "P")
			publishIncrement(t, d, "I")
			lose(t, d, st)
			for _, part := range []string{"part-00000-0-", "part-00001-0-"} {
				infos, _ := st.List(t.Context(), d.path)
				for _, i := range infos {
					if strings.HasPrefix(i.Name, part) && st.RemoveAll(t.Context(), i.Path) != nil {
						t.Fatal(i.Path)
					}
				}
			}
			return "increment-00000002-"
		},
		"an increment with an older output restored": func(t *testing.T, d *Destination, st store.Store) string {
			publishOutput(t, d, st, "P")
			older := path.Join("/parent", "older")
			testenv.Must(t, st.Rename(t.Context(), d.path, older))
			infos, err := st.List(t.Context(), older)
			testenv.Must(t, err)
			publishOutput(t, d, st, "P")
			publishOutput(t, d, st, "Q")
			added := publishIncrement(t, d, "I")
			testenv.Must(t, st.Rename(t.Context(), dirOf(d, added), path.Join("/parent", path.Base(dirOf(d, added)))))
			testenv.Must(t, st.RemoveAll(t.Context(), d.path))
			testenv.Must(t, st.Mkdir(t.Context(), d.path))
			for _, i := range infos {
				testenv.Must(t, st.Rename(t.Context(), i.Path, d.pathOf(i.Name)))
			}
			testenv.Must(t, st.Rename(t.Context(), path.Join("/parent", path.Base(dirOf(d, added))), dirOf(d, added)))
			return "increment-00000003-"
		},
		"parts": func(t *testing.T, d *Destination, st store.Store) string {
			publishOutput(t, d, st, "P")
			lose(t, d, st)
			return "part-0000"
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			orphan := make(t, d, st)
			before := namesBelow(t, st, d.path)
			s, _ := stateAndIncrements(t, d)
			failuretest.Want(t, s.CheckIncrement(), failure.Foreign, orphan, "belongs to is missing")
			failuretest.Want(t, s.CheckReplaceable(requestOf("P"), false), failure.Foreign, orphan, "--overwrite")
			failuretest.Want(t, s.CheckPlan(incrementPlan(t, "J", ""), false), failure.Foreign, orphan, "--overwrite")
			failuretest.Want(t, s.CheckInputsKnown(), failure.Foreign, orphan)
			if st := mustStatus(t, d); !strings.Contains(st.Damage, orphan) || len(st.Debris) > 0 {
				t.Errorf("got status with damage %q and debris %+v", st.Damage, st.Debris)
			}
			c, _ := mustClaim(t, d)
			failuretest.Want(t, c.State().CheckIncrement(), failure.Foreign, orphan)
			mustRelease(t, c)
			if err := d.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := d.Clean(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if now := namesBelow(t, st, d.path); now != before {
				t.Errorf("got files %s, want %s", now, before)
			}
			publishOutput(t, d, st, "R")
			wantOnlyOutput(t, st, d.path)
			if s, increments := stateAndIncrements(t, d); increments != "" || s.CheckIncrement() != nil || s.CheckInputsKnown() != nil {
				t.Errorf("got increments %q, %v", increments, s.CheckIncrement())
			}
		})
	}
}

// TestNoOrphansWhileReplaced checks that increments are not reported as orphans at any step of
// replacing their output, even if the process is killed there.
func TestNoOrphansWhileReplaced(t *testing.T) {
	for kill := 1; ; kill++ {
		d, inner := inMemory(t)
		publishOutput(t, d, inner, "P")
		publishIncrement(t, d, "I")
		var calls atomic.Int64
		st := &hookStore{Store: inner}
		st.rename = func(_, to string, do func() error) error {
			s, err := at(inner, d.path).ReadState(t.Context())
			if err == nil && s.CheckIncrement() != nil {
				err = s.CheckIncrement()
			}
			if err != nil {
				t.Errorf("before %s: %v", to, err)
			}
			if calls.Add(1) >= int64(kill) {
				return fs.ErrPermission
			}
			return do()
		}
		c, held, err := at(st, d.path).Claim(t.Context())
		if err != nil {
			continue
		}
		r := stageWork(t, c, "Q")
		_, err = c.Publish(held, r.Plan, r.Work, nil)
		_ = c.Release(t.Context())
		s, _ := stateAndIncrements(t, d)
		if s.CheckIncrement() != nil {
			t.Errorf("after %d renames: %v", kill, s.CheckIncrement())
		}
		if err == nil {
			return
		}
		c, _ = mustClaim(t, d)
		if err := c.State().CheckIncrement(); err != nil {
			t.Errorf("after the next holder completed the output: %v", err)
		}
		mustRelease(t, c)
	}
}

// TestNoOrphansAfterGivingUp checks that no orphans are left of a first output that lost a
// file and was given up, even if the process that gives it up is killed at any step.
func TestNoOrphansAfterGivingUp(t *testing.T) {
	for kill := 1; ; kill++ {
		d, inner := inMemory(t)
		failing := func(at int) func(string, string, func() error) error {
			var calls atomic.Int64
			return func(_, _ string, do func() error) error {
				if calls.Add(1) >= int64(at) {
					return fs.ErrPermission
				}
				return do()
			}
		}
		c, _, r := claimAndStage(t, d, "P")
		mustPublish(t, c, r)
		testenv.Must(t, inner.Remove(t.Context(), d.pathOf(manifest.SuccessName)))
		infos, err := inner.List(t.Context(), d.path)
		testenv.Must(t, err)
		for _, i := range infos {
			if strings.HasPrefix(i.Name, "part-00000") && inner.Remove(t.Context(), i.Path) != nil {
				t.Fatal(i.Path)
			}
		}
		abandon(c)
		st := &hookStore{Store: inner}
		st.rename = failing(kill)
		second, _, failed := at(st, d.path).Claim(t.Context())
		if failed == nil {
			_ = second.Release(t.Context())
		}
		third, _ := mustClaim(t, d)
		if err := third.State().CheckIncrement(); err != nil {
			t.Errorf("after %d renames: %v", kill, err)
		}
		mustRelease(t, third)
		if failed == nil {
			return
		}
	}
}

// blindStore is a store that does not find the work directory a few times, as if its
// directories moved during takeovers.
type blindStore struct {
	store.Store
	times int
}

func (b *blindStore) List(ctx context.Context, p string) ([]store.Info, error) {
	if path.Base(p) == manifest.WorkName && b.times > 0 {
		b.times--
		return nil, store.ErrNotExist
	}
	return b.Store.List(ctx, p)
}

// TestNoOrphansDuringTakeover checks that increments are not reported as orphans while another
// process takes over the replacement of their output.
func TestNoOrphansDuringTakeover(t *testing.T) {
	d, inner := inMemory(t)
	publishOutput(t, d, inner, "P")
	publishIncrement(t, d, "I")
	st := &hookStore{Store: inner}
	c, held := mustClaim(t, at(st, d.path))
	r := stageWork(t, c, "Q")
	st.rename = func(_, to string, do func() error) error {
		if strings.HasPrefix(path.Base(to), "part-") {
			return fs.ErrPermission
		}
		return do()
	}
	if _, err := c.Publish(held, r.Plan, r.Work, nil); err == nil {
		t.Fatal("the output was published")
	}
	s, err := at(&blindStore{inner, 6}, d.path).ReadState(t.Context())
	if err != nil || s.CheckIncrement() != nil {
		t.Errorf("%v, %v", err, s.CheckIncrement())
	}
	st.rename = nil
	mustRelease(t, c)
}
