package publish

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestPlanRefusesNewerOutputs checks that a plan is refused after another output came.
func TestPlanRefusesNewerOutputs(t *testing.T) {
	for name, after := range map[string]func(t *testing.T, d *Destination, st store.Store) (named string){
		"an increment": func(t *testing.T, d *Destination, _ store.Store) string {
			return path.Base(dirOf(d, publishIncrement(t, d, "I")))
		},
		"an output": func(t *testing.T, d *Destination, st store.Store) string {
			return "output " + publishOutput(t, d, st, "Q").ID
		},
		"two outputs": func(t *testing.T, d *Destination, st store.Store) string {
			publishOutput(t, d, st, "Q")
			return "output " + publishOutput(t, d, st, "R").ID
		},
		"an orphan": func(t *testing.T, d *Destination, st store.Store) string {
			m := publishOutput(t, d, st, "Q")
			testenv.Must(t, st.Remove(t.Context(), d.pathOf(manifest.SuccessName)))
			return m.Parts[0].Files[0].Name
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			publishOutput(t, d, st, "P")
			publishIncrement(t, d, "H")
			p := planFor(t, d, "R", 2)
			testenv.Must(t, stateOf(t, d).CheckPlan(p, true))
			named := after(t, d, st)
			s := stateOf(t, d)
			failuretest.Want(t, s.CheckPlan(p, true), failure.Foreign, "got another output after plan "+p.ID, named)
			if len(s.NewSincePlan(p)) == 0 || len(s.NewSincePlan(planFor(t, d, "R", 2))) > 0 {
				t.Errorf("got unseen outputs %+v", s.NewSincePlan(p))
			}
		})
	}
}

// TestPlanReplacesDamage checks that a plan replaces the damage that it named: an output
// without a part, and one without its manifest.
func TestPlanReplacesDamage(t *testing.T) {
	for name, lose := range map[string]func(m *manifest.Success) string{
		"a part":   func(m *manifest.Success) string { return m.Parts[0].Files[0].Name },
		"_SUCCESS": func(*manifest.Success) string { return manifest.SuccessName },
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			m := publishOutput(t, d, st, "P")
			publishIncrement(t, d, "H")
			testenv.Must(t, st.Remove(t.Context(), d.pathOf(lose(m))))
			if err := stateOf(t, d).CheckPlan(planFor(t, d, "R", 2), true); err != nil {
				t.Error(err)
			}
			publishOutput(t, d, st, "R")
			wantOnlyOutput(t, st, d.path)
		})
	}
}

// TestPlanMakesItsOutputAgain checks that a plan may replace its own output, which lost a
// file.
func TestPlanMakesItsOutputAgain(t *testing.T) {
	d, st := inMemory(t)
	p := planFor(t, d, "P", 2)
	m := publishOutput(t, d, st, "P")
	testenv.Must(t, st.Remove(t.Context(), d.pathOf(m.Parts[0].Files[0].Name)))
	if err := stateOf(t, d).CheckPlan(p, true); err != nil {
		t.Error(err)
	}
	p.ID = "of another plan"
	failuretest.Want(t, stateOf(t, d).CheckPlan(p, true), failure.Foreign, "got another output")
}

// TestPlanDoesNotSeePendingOutput checks that a plan is refused if its destination had a
// pending output, because the process that publishes that output may live and report it.
func TestPlanDoesNotSeePendingOutput(t *testing.T) {
	d, _ := onDisk(t)
	killPublish(t, d, "Q", 1)
	p := planFor(t, d, "R", 2)
	c, _ := mustClaim(t, d)
	if !c.State().Finished(requestOf("Q")) {
		t.Error("the pending output was not completed")
	}
	failuretest.Want(t, c.State().CheckPlan(p, true), failure.Foreign, "got another output")
	mustRelease(t, c)
}

// moveAside moves a file or directory away, and returns a function that moves it back.
func moveAside(t *testing.T, name string) (back func()) {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(name))
	testenv.Must(t, os.Rename(name, to))
	return func() {
		testenv.Must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		testenv.Must(t, os.Rename(to, name))
	}
}

// wantGivenUp requires that the next holder keeps an output and its increment, and removes the
// work of the pending output, which can never be committed.
func wantGivenUp(t *testing.T, d *Destination, m *manifest.Success) {
	t.Helper()
	c, _ := mustClaim(t, d)
	s := c.State()
	mustRelease(t, c)
	if s.ID() != m.ID || len(s.Increments) != 1 || len(c.CompletedIDs()) != 0 || stateOf(t, d).Leftovers || len(mustStatus(t, d).Unfinished) != 0 {
		t.Errorf("got output %s with the increments %+v, completed %q", s.ID(), s.Increments, c.CompletedIDs())
	}
}

// TestIncrementRestoredDuringRun checks that a holder, and the next one, keep an increment
// that was restored after the lock was taken.
func TestIncrementRestoredDuringRun(t *testing.T) {
	d, m := onDisk(t)
	back := moveAside(t, dirOf(d, publishIncrement(t, d, "I")))
	c, held, r := claimAndStage(t, d, "Q")
	back()
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, err, failure.Foreign, "got another output", "increment-00000002-")
	mustRelease(t, c)
	wantGivenUp(t, d, m)
}

// TestPendingOutputRestored checks that a restored pending output does not replace an
// increment that came after it was begun.
func TestPendingOutputRestored(t *testing.T) {
	d, m := onDisk(t)
	killPublish(t, d, "Q", 2)
	back := moveAside(t, pendingHolderDir(t, d))
	publishIncrement(t, d, "I")
	back()
	wantGivenUp(t, d, m)
}

// TestPendingIncrementRestored checks that a restored pending increment is not published if
// its input was converted again.
func TestPendingIncrementRestored(t *testing.T) {
	d := at(store.Local(), filepath.Join(t.TempDir(), "dest"))
	if publishUntilKilled(t, d, stageIncrement, "I", 2) != nil {
		t.Fatal("the run was not killed")
	}
	back := moveAside(t, pendingHolderDir(t, d))
	again := publishIncrement(t, d, "I")
	back()
	c, _ := mustClaim(t, d)
	if s := c.State(); len(s.Increments) != 1 || s.Increments[0].Success.ID != again.ID || s.CheckIncrement() != nil {
		t.Errorf("got increments %+v: %v", s.Increments, s.CheckIncrement())
	}
	mustRelease(t, c)
}

// TestRestoredIncrementOfSameInput checks that no increment may be added after an increment
// was restored whose input another one has, until one of the two is gone.
func TestRestoredIncrementOfSameInput(t *testing.T) {
	d, _ := onDisk(t)
	first := publishIncrement(t, d, "I")
	back := moveAside(t, dirOf(d, first))
	publishIncrement(t, d, "I")
	publishIncrement(t, d, "K")
	back()
	s, _ := stateAndIncrements(t, d)
	failuretest.Want(t, s.CheckIncrement(), failure.Foreign, "the rows of I are in ", dirOf(d, first))
	if mustStatus(t, d).Damage == "" || s.Finished(requestOf("P")) {
		t.Error("status shows no damage")
	}
	if err := s.CheckReplaceable(requestOf("P"), true); err != nil {
		t.Error(err)
	}
	moveAside(t, dirOf(d, first))
	if s, _ := stateAndIncrements(t, d); s.CheckIncrement() != nil {
		t.Error(s.CheckIncrement())
	}
}
