package publish

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// incrementPlan returns the plan of an increment of an output.
func incrementPlan(t *testing.T, name, base string) *manifest.Plan {
	t.Helper()
	p := planOf(t, name)
	p.Increment, p.Base = true, base
	p.ID = newPlanID(t, p)
	return p
}

// stageIncrement stages the work of an increment of the present output.
func stageIncrement(t *testing.T, c *Claim, name string) *work {
	t.Helper()
	return stagePlan(t, c.Destination, incrementPlan(t, name, c.State().ID()))
}

// publishIncrement adds an increment to the destination.
func publishIncrement(t *testing.T, d *Destination, name string) *manifest.Success {
	t.Helper()
	c, _ := mustClaim(t, d)
	r := stageIncrement(t, c, name)
	s := mustPublish(t, c, r)
	mustRelease(t, c)
	return s
}

// stateAndIncrements returns the state of the destination and the names of its increments.
func stateAndIncrements(t *testing.T, d *Destination) (*State, string) {
	t.Helper()
	s, err := d.ReadState(t.Context())
	testenv.Must(t, err)
	var increments []string
	for _, r := range s.Increments {
		increments = append(increments, r.Success.Request.Inputs[0].Path)
	}
	return s, strings.Join(increments, " ")
}

func dirOf(d *Destination, s *manifest.Success) string {
	return d.pathOf(manifest.IncrementName(s.Sequence, s.ID))
}

// namesOfIncrement are the names that wantNames requires in the directory of an increment.
const namesOfIncrement = "_increments-N increment-N-ID increment-N-ID/_SUCCESS increment-N-ID/_index increment-N-ID/_index/ID increment-N-ID/_index/ID/id increment-N-ID/_quarantine increment-N-ID/_quarantine/ID " +
	"increment-N-ID/_quarantine/ID/00000-a.avro@0-2 increment-N-ID/part-00000-0-ID.trv increment-N-ID/part-00001-0-ID.trv increment-N-ID/part-00001-0-ID.trv/a increment-N-ID/part-00001-0-ID.trv/retired-b"

func wantIncrement(t *testing.T, st store.Store, d *Destination, sequence string) {
	t.Helper()
	if got := strings.NewReplacer("increment-"+sequence, "increment-N", "_increments-"+sequence, "_increments-N").Replace(namesBelow(t, st, d.path)); got != namesOfIncrement {
		t.Errorf("got files %s, want %s", got, namesOfIncrement)
	}
}

func TestIncrements(t *testing.T) {
	d, st := inMemory(t)
	first := publishIncrement(t, d, "I")
	if first.Sequence != 1 || !first.Increment || first.Base != "" {
		t.Errorf("%+v", first)
	}
	wantIncrement(t, st, d, "00000001")
	publishIncrement(t, d, "J")
	s, increments := stateAndIncrements(t, d)
	if increments != "I J" || s.Success != nil || s.Leftovers || s.CheckIncrement() != nil {
		t.Errorf("got increments %q, leftovers %v: %v", increments, s.Leftovers, s.CheckIncrement())
	}
	failuretest.Want(t, s.CheckReplaceable(requestOf("I"), false), failure.Foreign, "increments (2)")
	if s.Finished(requestOf("I")) || s.CheckReplaceable(requestOf("I"), true) != nil {
		t.Errorf("increments count as the output, or cannot be replaced")
	}
	out := publishOutput(t, d, st, "P")
	wantOnlyOutput(t, st, d.path)
	publishIncrement(t, d, "K")
	if s, increments = stateAndIncrements(t, d); increments != "K" || s.ID() != out.ID || s.Increments[0].Success.Base != out.ID || s.Increments[0].Success.Sequence != 4 {
		t.Errorf("got output %s with increments %q: %+v", s.ID(), increments, s.Increments)
	}
	failuretest.Want(t, s.CheckReplaceable(requestOf("P"), false), failure.Foreign, "increments (1)")
	if s.Finished(requestOf("P")) || len(s.Outputs()) != 2 || s.Outputs()[0].Name != "" {
		t.Errorf("an output with an increment is finished, or is not the first of %+v", s.Outputs())
	}
}

// TestSoundIncrementsAreReadOnce checks that a sound increment is read once if the state of
// the destination is read several times.
func TestSoundIncrementsAreReadOnce(t *testing.T) {
	d, st := inMemory(t)
	for _, name := range []string{"I", "J", "K"} {
		publishIncrement(t, d, name)
	}
	read := 0
	again := at(&hookStore{Store: st, read: func(p string) error {
		if strings.Contains(p, "increment-") {
			read++
		}
		return nil
	}}, d.path)
	again.movers = 1
	for range 5 {
		if _, increments := stateAndIncrements(t, again); increments != "I J K" {
			t.Errorf("got increments %s", increments)
		}
	}
	if read != 3 {
		t.Errorf("got %d manifests read, want 3", read)
	}
}

// TestForeignFilesInIncrements checks that foreign files in increments and in place of them
// are refused and kept.
func TestForeignFilesInIncrements(t *testing.T) {
	other := manifest.IncrementName(9, manifest.NewID())
	for name, tc := range map[string]struct {
		put   string // name of a file
		alter func(*manifest.Success)
		named string
	}{
		"no manifest":          {put: other + "/x", named: other},
		"another name":         {put: "increment-x", named: "increment-x"},
		"a file":               {put: "INCREMENT/x", named: "/x"},
		"a part":               {put: "INCREMENT/part-00000-0-0123456789abcdef.trv", named: "part-00000-0-0123456789abcdef.trv"},
		"a lock":               {put: "INCREMENT/_lock", named: "_lock"},
		"a work directory":     {put: "INCREMENT/.rowtocol/plan-x/x", named: ".rowtocol"},
		"an increment":         {put: "INCREMENT/" + other + "/x", named: other},
		"an output's manifest": {alter: func(s *manifest.Success) { s.Increment = false }, named: "not an increment"},
		"a copy":               {alter: func(s *manifest.Success) { s.Sequence++ }, named: "not an increment"},
		"another's manifest": {alter: func(s *manifest.Success) {
			*s = manifest.Success{Version: s.Version, ID: manifest.NewID(), Sequence: s.Sequence, Increment: true}
		}, named: "not an increment"},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			s := publishIncrement(t, d, "I")
			file, text := path.Join(dirOf(d, s), manifest.SuccessName), []byte(nil)
			if tc.alter != nil {
				tc.alter(s)
				var err error
				if text, err = s.Encode(); err != nil {
					t.Fatal(err)
				}
			} else {
				file = d.pathOf(strings.Replace(tc.put, "INCREMENT", path.Base(dirOf(d, s)), 1))
			}
			mkdirAll(t, st, path.Dir(file))
			testenv.Must(t, st.WriteFile(t.Context(), file, text, false))
			before := namesBelow(t, st, d.path)
			c, _ := mustClaim(t, at(st, d.path))
			failuretest.Want(t, c.State().CheckIncrement(), failure.Foreign, tc.named)
			failuretest.Want(t, c.State().CheckReplaceable(requestOf("P"), true), failure.Foreign, tc.named)
			mustRelease(t, c)
			if after := namesBelow(t, st, d.path); after != before {
				t.Errorf("got files %s, want %s", after, before)
			}
		})
	}
}

// mkdirAll makes a directory and those above it.
func mkdirAll(t *testing.T, st store.Store, dir string) {
	t.Helper()
	if _, err := st.Stat(t.Context(), dir); err == nil {
		return
	}
	mkdirAll(t, st, path.Dir(dir))
	testenv.Must(t, st.Mkdir(t.Context(), dir))
}

// TestIncrementIsRolledForward checks that the next holder completes an increment whose run
// was killed before any of its renames.
func TestIncrementIsRolledForward(t *testing.T) {
	for n, ended := 1, false; !ended; n++ {
		for _, cut := range []bool{false, true} {
			d, st := inMemory(t)
			s := publishUntilKilled(t, d, stageIncrement, "I", n)
			ended = s != nil
			if _, increments := stateAndIncrements(t, d); increments != "" && !ended {
				t.Errorf("after %d renames: got increments %q", n-1, increments)
			}
			// An interrupted rename left an empty directory.
			if cut && !ended {
				for _, r := range pendingOutputs(t, at(st, d.path)) {
					testenv.Must(t, st.Mkdir(t.Context(), dirOf(d, r)))
				}
			}
			next, _ := mustClaim(t, at(st, d.path))
			if increments := next.State().Increments; len(increments) != 1 || s != nil && increments[0].Success.ID != s.ID || next.State().CheckIncrement() != nil {
				t.Errorf("killed before rename %d: the next holder got increments %+v", n, increments)
			}
			mustRelease(t, next)
			wantIncrement(t, st, d, "00000001")
		}
	}
}

// pendingOutputs returns the outputs that are being published.
func pendingOutputs(t *testing.T, d *Destination) (all []*manifest.Success) {
	t.Helper()
	var found contents
	testenv.Must(t, d.collect(t.Context(), d.workDir(), &found))
	for _, p := range found.pending {
		all = append(all, p.Success)
	}
	return all
}

// TestIncrementIsGivenUp checks that an increment is given up if its base is gone, or if it
// lost a file.
func TestIncrementIsGivenUp(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, st store.Store, d *Destination){
		"base": func(t *testing.T, st store.Store, d *Destination) {
			testenv.Must(t, st.Remove(t.Context(), d.pathOf(manifest.SuccessName)))
		},
		"file": func(t *testing.T, st store.Store, d *Destination) { corruptQuarantine(t, st, d.workDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			publishOutput(t, d, st, "P")
			if publishUntilKilled(t, d, stageIncrement, "I", 1) != nil {
				t.Fatal("the run was not killed")
			}
			spoil(t, st, d)
			next, _ := mustClaim(t, at(st, d.path))
			if s := next.State(); len(s.Increments) != 0 || s.pending || len(next.found.pending) != 0 {
				t.Errorf("got increments %+v and pending outputs %+v", s.Increments, next.found.pending)
			}
			mustRelease(t, next)
		})
	}
}

// corruptQuarantine overwrites the copies of damaged input below a directory.
func corruptQuarantine(t *testing.T, st store.Store, dir string) {
	t.Helper()
	infos, err := st.List(t.Context(), dir)
	for _, info := range infos {
		if info.Dir {
			corruptQuarantine(t, st, info.Path)
		} else if strings.HasPrefix(info.Name, "quarantine-") && err == nil {
			err = st.WriteFile(t.Context(), info.Path, []byte("?"), false)
		}
	}
	testenv.Must(t, err)
}

// TestIncrementIsRefused checks that an increment is refused if it would not count, or not be
// as its manifest says.
func TestIncrementIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		base  string
		spoil func(t *testing.T, d *Destination, st *hookStore, r *work)
		text  string
	}{
		"another base": {"0123456789abcdef", func(*testing.T, *Destination, *hookStore, *work) {}, "another output"},
		"a foreign file": {"", func(t *testing.T, d *Destination, st *hookStore, _ *work) {
			testenv.Must(t, st.WriteFile(t.Context(), d.pathOf("others"), nil, true))
		}, "did not write: others"},
		"a file of another length": {"", func(t *testing.T, _ *Destination, st *hookStore, _ *work) {
			st.rename = func(_, to string, do func() error) error {
				err := do()
				if strings.HasSuffix(to, "@0-2") && err == nil {
					err = st.WriteFile(t.Context(), to, []byte("?"), false)
				}
				return err
			}
		}, "has 1 bytes"},
		"a foreign file in the increment": {"", func(t *testing.T, _ *Destination, st *hookStore, _ *work) {
			st.rename = func(_, to string, do func() error) error {
				err := do()
				if strings.HasPrefix(path.Base(path.Dir(to)), "increment-") && err == nil {
					_ = st.WriteFile(t.Context(), path.Join(path.Dir(to), "x"), nil, true)
				}
				return err
			}
		}, "did not write: x"},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := withHooks(t)
			c, held := mustClaim(t, d)
			r := stagePlan(t, d, incrementPlan(t, "I", tc.base))
			tc.spoil(t, d, st, r)
			if _, err := c.Publish(held, r.Plan, r.Work, nil); err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("publish: got %v, want %q", err, tc.text)
			}
			if s, increments := stateAndIncrements(t, at(st.Store, d.path)); increments != "" || len(s.uncounted) > 0 {
				t.Errorf("got increments %q and uncounted %q", increments, s.uncounted)
			}
			st.rename = nil
			mustRelease(t, c)
		})
	}
}

// TestIncrementChangedDuringRun checks that an output is refused if a file is put into an
// increment that was read before.
func TestIncrementChangedDuringRun(t *testing.T) {
	d, st := inMemory(t)
	s := publishIncrement(t, d, "I")
	c, held, r := claimAndStage(t, d, "P")
	testenv.Must(t, st.WriteFile(t.Context(), path.Join(dirOf(d, s), "x"), nil, true))
	_, err := c.Publish(held, r.Plan, r.Work, nil)
	failuretest.Want(t, err, failure.Foreign, path.Base(dirOf(d, s))+"/x")
	mustRelease(t, c)
}

// TestUncountedIncrementsAreRemoved checks that increments of another output are removed, and
// empty directories with the name of an increment.
func TestUncountedIncrementsAreRemoved(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	i := publishIncrement(t, d, "I")
	aside := path.Join("/parent", path.Base(dirOf(d, i)))
	testenv.Must(t, st.Rename(t.Context(), dirOf(d, i), aside))
	publishOutput(t, d, st, "Q")
	publishOutput(t, d, st, "P")
	testenv.Must(t, st.Rename(t.Context(), aside, dirOf(d, i)))
	testenv.Must(t, st.Mkdir(t.Context(), d.pathOf(manifest.IncrementName(8, manifest.NewID()))))
	s, increments := stateAndIncrements(t, d)
	if increments != "" || len(s.uncounted) != 2 || !s.Leftovers {
		t.Errorf("got uncounted %q and increments %q", s.uncounted, increments)
	}
	added := publishIncrement(t, d, "J")
	if added.Sequence != 9 {
		t.Errorf("got number %d, want 9", added.Sequence)
	}
	if _, increments := stateAndIncrements(t, d); increments != "J" {
		t.Errorf("got increments %s, want J", increments)
	}
	if infos, err := st.List(t.Context(), d.path); err != nil || slices.ContainsFunc(infos, func(i store.Info) bool { return isIncrement(i) && i.Path != dirOf(d, added) }) {
		t.Errorf("got files %v: %v", infos, err)
	}
}

// TestPlanOfAnIncrement checks that the plan of an increment is refused after one of its
// inputs or another output came.
func TestPlanOfAnIncrement(t *testing.T) {
	d, st := inMemory(t)
	out := publishOutput(t, d, st, "P")
	p, known := incrementPlan(t, "I", out.ID), incrementPlan(t, "P", out.ID)
	s, _ := stateAndIncrements(t, d)
	if err := s.CheckPlan(p, false); err != nil || s.Committed(p) != nil {
		t.Errorf("%v, %v", err, s.Committed(p))
	}
	failuretest.Want(t, s.CheckPlan(known, false), failure.Foreign, "input P was committed")
	failuretest.Want(t, s.CheckPlan(incrementPlan(t, "I", ""), false), failure.Foreign, "got another output")
	added := publishIncrement(t, d, "I")
	s, _ = stateAndIncrements(t, d)
	if m := s.Committed(p); m == nil || m.ID != added.ID {
		t.Errorf("got increment %+v, want %s", m, added.ID)
	}
	failuretest.Want(t, s.CheckPlan(p, false), failure.Foreign, "input I was committed", path.Base(dirOf(d, added)))

	testenv.Must(t, st.Remove(t.Context(), path.Join(dirOf(d, added), added.Parts[0].Files[0].Name)))
	s, _ = stateAndIncrements(t, at(st, d.path))
	failuretest.Want(t, s.CheckIncrement(), failure.Foreign, "is missing", "--overwrite without --incremental")
	if s.Committed(p) != nil {
		t.Error("an increment that lost a file counts as committed")
	}
	if !slices.ContainsFunc(s.Increments, func(r Committed) bool { return r.Success.ID == added.ID }) {
		t.Error("the increment that lost a file is missing")
	}
}
