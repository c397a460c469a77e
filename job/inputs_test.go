package job

import (
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
)

// TestMovedNothing checks that a move of a tree is refused if the tree has no input of the
// output.
func TestMovedNothing(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	mustAdd(t, incrementalRequest(t, dir))
	for from, want := range map[string]error{"/in": nil, "/im": failure.Usage} {
		r := incrementalRequest(t, dir)
		r.Destination.Moved = []manifest.Move{{From: dir + from, To: dir + "/new"}}
		testenv.Must(t, os.MkdirAll(dir+"/new", 0o777))
		if _, err := Convert(t.Context(), r); want == nil && err != nil {
			t.Errorf("%s: %v", from, err)
		} else if want != nil {
			failuretest.Want(t, err, want, "knows no input below "+dir+from)
		}
	}
}

// TestCopyMeanwhile checks that an input is refused if another run has committed a copy of it.
func TestCopyMeanwhile(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", 1, 2)
	mustAdd(t, incrementalRequest(t, dir))
	writeInput(t, dir+"/in/b.avro", 2, 2)
	r := incrementalRequest(t, dir)
	r.Output.Copies = plan.SkipCopies
	p := newPlan(t, r)
	mustRun(t, p, r.Options, allTasks(p)...)
	other := incrementalRequest(t, dir)
	other.Inputs = []string{dir + "/other"}
	writeInput(t, dir+"/other/c.avro", 2, 2)
	mustAdd(t, other)
	_, err := Commit(t.Context(), p, r.Options)
	failuretest.Want(t, err, failure.Foreign, "b.avro has the same content as "+dir+"/other/c.avro")
}
