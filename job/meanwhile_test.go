package job

import (
	"hash/crc32"
	"path"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestWorkThatChangesMeanwhile checks that a commit succeeds if a task runs again after its
// work was checked.
func TestWorkThatChangesMeanwhile(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	first := s.result(t, 5).Files()[0].Name
	out, err := Commit(t.Context(), s.plan, s.optionsOn(s.beforeTaking(func() {
		testenv.Must(t, s.st.Remove(t.Context(), s.staging()+"/task-00005.json"))
		mustRun(t, s.plan, s.r.Options, 5)
		if again := s.result(t, 5).Files()[0].Name; again == first {
			t.Errorf("the work of the task is still %s", again)
		}
	})))
	if err != nil || out.Nothing {
		t.Fatalf("%+v, %v", out, err)
	}
	s.checkComplete(t)
}

// TestLateResult checks that a commit publishes the work that it checked, even if an attempt
// that made other bytes replaces a result before the commit takes the work.
func TestLateResult(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	out, err := Commit(t.Context(), s.plan, s.optionsOn(s.beforeTaking(func() {
		late := *s.result(t, 0)
		part := &late.Parts[0]
		name := manifest.StagedPart(0, 0, manifest.NewID(), ".split")
		testenv.Must(t, s.st.Mkdir(t.Context(), path.Join(s.staging(), name)))
		for i := range part.Files {
			f := &part.Files[i]
			f.Name = manifest.InPart(name, path.Base(f.Name))
			f.Bytes, f.CRC32C, f.StoreChecksum = 5, crc32.Checksum([]byte("other"), crc32.MakeTable(crc32.Castagnoli)), ""
			testenv.Must(t, s.st.WriteFile(t.Context(), path.Join(s.staging(), f.Name), []byte("other"), false))
		}
		doc, err := late.Encode()
		if err == nil {
			err = s.st.WriteFile(t.Context(), s.staging()+"/task-00000.json", doc, false)
		}
		testenv.Must(t, err)
	})))
	if err != nil || out.Nothing {
		t.Fatalf("%+v, %v", out, err)
	}
	s.checkComplete(t)
}

// TestOlderPlan checks that a plan does not replace a later output, which removes the plan's
// work.
func TestOlderPlan(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newPlanned(t, overwrite)
		s.run(t)
		other := s.other()
		other.Output.RowGroupSize *= 2
		other.Overwrite = true
		mustConvert(t, other)
		want := contents(t, s.st, "/out")
		for _, allowed := range []bool{false, true} {
			s.r.Overwrite = allowed
			_, err := Commit(t.Context(), s.plan, s.r.Options)
			failuretest.Want(t, err, failure.Foreign, "got another output after plan "+s.plan.ID, "make the plan again")
		}
		wantContents(t, s.st, "/out", want)
		if left := fileNames(t, s.st, s.staging()); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
}

// TestConversionsMeanwhile checks that other conversions keep the work of tasks.
func TestConversionsMeanwhile(t *testing.T) {
	third := func(s *planned) Request {
		r := s.other()
		r.Output.RowGroupSize *= 2
		return r
	}
	for name, tc := range map[string]struct {
		overwrite bool // whether the destination has an output before
		convert   func(t *testing.T, s *planned)
	}{
		"refused": {true, func(t *testing.T, s *planned) {
			r := third(s)
			r.Overwrite = false
			_, err := Convert(t.Context(), r)
			failuretest.Want(t, err, failure.Foreign)
		}},
		"nothing to do": {true, func(t *testing.T, s *planned) {
			if out := mustConvert(t, s.other()); !out.Nothing {
				t.Error("the conversion was done again")
			}
		}},
		"killed":             {false, func(t *testing.T, s *planned) { s.kill(t, s.other(), 40) }},
		"killed, overwrites": {true, func(t *testing.T, s *planned) { s.kill(t, third(s), 40) }},
		"fails": {false, func(t *testing.T, s *planned) {
			r := s.other()
			r.Resolve = storetest.ResolveTo(storetest.NewFaulty(s.st, storetest.Fault{Op: storetest.Commit, Err: syscall.EDQUOT}))
			_, err := Convert(t.Context(), r)
			failuretest.Want(t, err, failure.Refused)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlanned(t, tc.overwrite)
			tc.convert(t, s)
			mustRun(t, s.plan, s.r.Options, 0, 2, 4, 6, 8)
			tc.convert(t, s)
			if done := s.run(t); done != 5 {
				t.Errorf("%d tasks were done, want 5", done)
			}
			tc.convert(t, s)
			s.commit(t)
		})
	}
}

// TestOverwriteOfPending checks that Overwrite replaces a pending output that a killed run
// began to publish, but not an output that another process publishes meanwhile.
func TestOverwriteOfPending(t *testing.T) {
	for _, alive := range []bool{true, false} {
		s := newPlanned(t, true)
		pending := s.other()
		pending.Output.RowGroupSize *= 2
		for at := 60; ; at++ {
			if _, state, err := Survey(t.Context(), pending); err != nil || at > 500 {
				t.Fatalf("call %d: %v", at, err)
			} else if state.Pending() {
				break
			}
			restart := pending
			restart.Restart = true
			s.kill(t, restart, at)
		}
		r := s.r
		if alive {
			r.Resolve = storetest.ResolveTo(callBefore(s.st, "/out/"+manifest.WorkName, func() { mustConvert(t, pending) }))
		}
		_, err := Convert(t.Context(), r)
		if !alive {
			if err != nil || !mustConvert(t, s.r).Nothing {
				t.Errorf("the pending output is not replaced: %v", err)
			}
			continue
		}
		failuretest.Want(t, err, failure.Locked, "published to the destination meanwhile")
		if out := mustConvert(t, pending); !out.Nothing {
			t.Error("the published output is gone")
		}
	}
}

// TestSameConversionMeanwhile checks that a commit does nothing after the same conversion.
func TestSameConversionMeanwhile(t *testing.T) {
	s := newPlanned(t, true)
	mustRun(t, s.plan, s.r.Options, 0, 1)
	mustConvert(t, s.r)
	if out := mustCommit(t, s.plan, s.r.Options); !out.Nothing {
		t.Errorf("outcome %+v", out)
	}
	wantContents(t, s.st, "/out", s.want)
}

// TestOutputBeforeCommit checks that a commit is refused if it finds a new output after it got
// the lock. It removes the work of its plan, which is outdated.
func TestOutputBeforeCommit(t *testing.T) {
	s := newPlanned(t, true)
	s.run(t)
	third := s.other()
	third.Output.RowGroupSize *= 2
	_, err := Commit(t.Context(), s.plan, s.optionsOn(callBefore(s.st, "/out/"+manifest.WorkName, func() { mustConvert(t, third) })))
	failuretest.Want(t, err, failure.Foreign, "got another output after plan")
	if done := s.run(t); done != 0 {
		t.Errorf("%d tasks of an outdated plan are done, want 0", done)
	}

	s = newPlanned(t, true)
	s.run(t)
	out, err := Commit(t.Context(), s.plan, s.optionsOn(callBefore(s.st, "/out/"+manifest.WorkName, func() { mustCommit(t, s.plan, s.r.Options) })))
	if err != nil || !out.Nothing || out.Manifest == nil {
		t.Errorf("%+v, %v", out, err)
	}
	s.checkComplete(t)
}

// TestOvertakenCommit checks that a commit fails if it loses the lock to another commit of the
// plan, which publishes the output.
func TestOvertakenCommit(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s := newPlanned(t, overwrite)
		s.run(t)
		_, err := Commit(t.Context(), s.plan, s.optionsOn(s.beforeTaking(func() {
			if out := mustCommit(t, s.plan, s.r.Options); !out.Nothing {
				t.Errorf("the pending manifest was not carried out: %+v", out)
			}
		})))
		failuretest.Want(t, err, failure.Locked, "the lock was taken over")
		s.checkComplete(t)
	}
}
