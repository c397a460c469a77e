package job

import (
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
)

// TestMovedNothing refuses a move of a tree that holds no input of the output.
func TestMovedNothing(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	mustAdd(t, added(t, dir))
	for from, want := range map[string]error{"/in": nil, "/im": failure.Usage} {
		r := added(t, dir)
		r.Destination.Moved = []manifest.Move{{From: dir + from, To: dir + "/new"}}
		if err := os.MkdirAll(dir+"/new", 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Convert(t.Context(), r); want == nil && err != nil {
			t.Errorf("%s: %v", from, err)
		} else if want != nil {
			failuretest.Want(t, err, want, "knows no input below "+dir+from)
		}
	}
}

// TestCopyMeanwhile refuses an input of which another run committed a copy.
func TestCopyMeanwhile(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	mustAdd(t, added(t, dir))
	writeInput(t, dir+"/in/b.avro", 2, 2)
	r := added(t, dir)
	r.Output.Copies = plan.SkipCopies
	p := newPlan(t, r)
	mustRun(t, p, r.Options, all(p)...)
	other := added(t, dir)
	other.Inputs = []string{dir + "/other"}
	writeInput(t, dir+"/other/c.avro", 2, 2)
	mustAdd(t, other)
	_, err := Commit(t.Context(), p, r.Options)
	failuretest.Want(t, err, failure.Foreign, "b.avro has the same content as "+dir+"/other/c.avro")
}

// TestLateResult replaces a result, with that of a task which read other bytes, after a
// commit checked the inputs and before it takes the work.
func TestLateResult(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	res := s.result(t, 0)
	late := *res
	late.Reads = []manifest.Read{{CRC32C: res.Reads[0].CRC32C + 1, ModTime: time.Unix(1, 0).UTC()}}
	doc, err := late.Encode()
	if err != nil {
		t.Fatal(err)
	}
	replaced := false
	st := &hooked{Store: s.st, rename: func(to string) error {
		if replaced || path.Base(to) != "plan-"+s.plan.ID || strings.HasPrefix(to, s.staging()) {
			return nil
		}
		replaced = true
		return s.st.WriteFile(t.Context(), path.Join(s.staging(), manifest.TaskName(0)), doc, false)
	}}
	_, err = Commit(t.Context(), s.plan, s.on(st))
	failuretest.Want(t, err, failure.Input, "changed during the job")
	if !replaced {
		t.Error("the work was not taken")
	}
}
