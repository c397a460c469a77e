package job

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// TestSubmitDetached checks that a detached Submit does not wait for the tasks. Their plan can
// be committed by its ID, before and after its work was moved.
func TestSubmitDetached(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		s, e := newSubmission(t, overwrite)
		e.after = func(error) error { return errors.Join(task.ErrDetached) }
		e.order = func(n []int) []int { return n[1:] }
		out, err := Submit(t.Context(), s.r, e)
		if !errors.Is(err, task.ErrDetached) || out == nil || out.Plan.ID != s.plan.ID || len(out.Published) > 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		o := s.r.Options
		o.Overwrite = false
		_, err = CommitStaged(t.Context(), "/out", s.plan.ID, o)
		failuretest.Want(t, err, failure.Storage, "1 of 9 tasks")
		s.run(t)
		client := s.disk.Client()
		client.StopAt(30)
		dead := s.optionsOn(client)
		if _, err := CommitStaged(t.Context(), "/out", s.plan.ID, dead); err == nil || !client.Stopped() {
			t.Fatalf("the commit ended with %v", err)
		}
		for i := range 2 {
			out, err := CommitStaged(t.Context(), "/out", s.plan.ID, o)
			if err != nil || out.Manifest.Plan != s.plan.ID || i == 1 && !out.Nothing {
				t.Fatalf("%+v, %v", out, err)
			}
			s.checkComplete(t)
		}
		mustConvert(t, func() Request { r := s.other(); r.Overwrite = true; return r }())
		_, err = CommitStaged(t.Context(), "/out", s.plan.ID, o)
		failuretest.Want(t, err, failure.Foreign, "neither the output of plan "+s.plan.ID)
	}
}

// TestCommitStagedMoved checks that an input is refused if another run committed it under its
// earlier name.
func TestCommitStagedMoved(t *testing.T) {
	s, e := newSubmission(t, false)
	s.r.Inputs, s.r.Incremental = []string{"/in"}, true
	for _, tree := range []string{"/old", "/in"} {
		testenv.Must(t, s.st.Mkdir(t.Context(), tree), s.st.WriteFile(t.Context(), tree+"/a.avro", avroFile(t, 1, 6), false))
	}
	before := s.r
	before.Inputs = []string{"/old"}
	mustConvert(t, before)
	for _, tree := range []string{"/old", "/in"} {
		testenv.Must(t, s.st.WriteFile(t.Context(), tree+"/b.avro", avroFile(t, 2, 6), false))
	}
	s.r.Destination.Moved = []manifest.Move{{From: "/old", To: "/in"}}
	e.after = func(error) error { return task.ErrDetached }
	out, err := Submit(t.Context(), s.r, e)
	if !errors.Is(err, task.ErrDetached) || len(out.Plan.Request.Inputs) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	mustConvert(t, before)
	_, err = CommitStaged(t.Context(), "/out", out.Plan.ID, s.r.Options)
	failuretest.Want(t, err, failure.Foreign, "/in/b.avro was committed in ")
}

// TestCommitStagedAnew checks that CommitStaged replaces the same output if the plan was made
// for that, and refuses a plan for another destination.
func TestCommitStagedAnew(t *testing.T) {
	s, e := newSubmission(t, false)
	before := mustConvert(t, s.r)
	s.r.Overwrite, s.r.Restart = true, true
	e.after = func(error) error { return task.ErrDetached }
	out, err := Submit(t.Context(), s.r, e)
	if !errors.Is(err, task.ErrDetached) {
		t.Fatal(err)
	}
	done, err := CommitStaged(t.Context(), "/out", out.Plan.ID, s.r.Options)
	if err != nil || done.Nothing || done.Manifest.ID == before.Manifest.ID {
		t.Errorf("%+v, %v", done, err)
	}
	s.checkComplete(t)
	again := mustConvert(t, func() Request { r := s.r; r.Restart = false; return r }())
	if !again.Nothing {
		t.Errorf("%+v", again)
	}
	if out, err = Submit(t.Context(), s.r, e); !errors.Is(err, task.ErrDetached) {
		t.Fatal(err)
	}
	elsewhere := s.r.Options
	elsewhere.Resolve = func(location string) (store.Location, error) {
		bare, other := strings.CutPrefix(location, "hdfs://other")
		at, err := s.r.Resolve(bare)
		if other {
			at.Origin = "hdfs://other"
		}
		return at, err
	}
	_, err = CommitStaged(t.Context(), "hdfs://other/out", out.Plan.ID, elsewhere)
	failuretest.Want(t, err, failure.Foreign, "for /out")
	testenv.Must(t, s.st.Rename(t.Context(), "/out", "/moved"))
	infos, err := s.st.List(t.Context(), "/moved/"+manifest.WorkName)
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	_, err = CommitStaged(t.Context(), "/moved", strings.TrimPrefix(infos[0].Name, "plan-"), s.r.Options)
	failuretest.Want(t, err, failure.Foreign, "for /out")
}
