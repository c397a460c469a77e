package job

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/store"
)

// TestCommitOfNoTasks checks that a plan without inputs can be committed.
func TestCommitOfNoTasks(t *testing.T) {
	s := newPlanned(t, false)
	testenv.Must(t, s.st.Mkdir(t.Context(), "/none"))
	s.r.Inputs, s.r.AllowEmpty = []string{"/none"}, true
	s.plan, s.want = newPlan(t, s.r), nil
	s.commit(t)
}

// TestCommitTooEarly checks that a commit names the tasks that are not done, and changes
// nothing.
func TestCommitTooEarly(t *testing.T) {
	s := newPlanned(t, false)
	_, err := Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Storage, "9 of 9 tasks", "0, 1, 2, 3, 4, 5, 6, 7, 8")
	if _, err := s.st.Stat(t.Context(), "/out"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("a commit without any work made the destination: %v", err)
	}
	mustRun(t, s.plan, s.r.Options, 1, 2, 3, 5, 6, 7, 8)
	before := fileNames(t, s.st, "/out")
	_, err = Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Storage, "2 of 9 tasks of plan "+s.plan.ID+" are not done: 0, 4")
	if after := fileNames(t, s.st, "/out"); !slices.Equal(after, before) {
		t.Errorf("the destination has %q, want %q", after, before)
	}
	if done := s.run(t); done != 7 {
		t.Errorf("%d tasks were done, want 7", done)
	}
	s.commit(t)
}

// TestManyMissingTasks checks that the error of a commit lists only some of many missing
// tasks.
func TestManyMissingTasks(t *testing.T) {
	s := newPlanned(t, false)
	s.r.Output.RowGroupSize /= 4
	s.plan = newPlan(t, s.r)
	n := len(s.plan.Tasks)
	_, err := Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Storage, fmt.Sprintf("0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and %d more", n-10))
}

// TestAlteredWork checks that a commit refuses altered work, and that the task can be run
// again.
func TestAlteredWork(t *testing.T) {
	s := newPlanned(t, false)
	other := newPlanned(t, false)
	other.plan = newPlan(t, other.other())
	other.run(t)
	foreign, err := other.st.ReadFile(t.Context(), other.staging()+"/task-00002.json", maxFile)
	testenv.Must(t, err)
	s.run(t)
	file := s.result(t, 2).Files()[0].Name
	for name, tc := range map[string]struct {
		file   string
		change func(b []byte) []byte
		text   string
	}{
		"a bit":        {file, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, "CRC-32C"},
		"cut off":      {file, func(b []byte) []byte { return b[:5] }, "is not the file of"},
		"no result":    {"task-00002.json", func([]byte) []byte { return []byte("{") }, "task 2"},
		"another plan": {"task-00002.json", func([]byte) []byte { return foreign }, "it is of task 2 of plan"},
		"another task": {"task-00002.json", func(b []byte) []byte {
			return manifesttest.Seal([]byte(strings.Replace(string(b), `"task": 2`, `"task": 3`, 1)))
		}, "task 3"},
		"outside":        {"task-00002.json", func(b []byte) []byte { return manifesttest.Seal([]byte(strings.Replace(string(b), file, "../x", 1))) }, "../x"},
		"a changed byte": {"task-00002.json", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "the document is damaged"},
		"another length": {"task-00002.json", func(b []byte) []byte {
			return manifesttest.Seal([]byte(strings.Replace(string(b), `"bytes": `, `"bytes": 1`, 1)))
		}, "bytes with CRC-32C"},
	} {
		t.Run(name, func(t *testing.T) {
			file := path.Join(s.staging(), tc.file)
			b, err := s.st.ReadFile(t.Context(), file, maxFile)
			testenv.Must(t, err)
			whole := slices.Clone(b)
			testenv.Must(t, s.st.WriteFile(t.Context(), file, tc.change(b), false))
			_, err = Commit(t.Context(), s.plan, s.r.Options)
			failuretest.Want(t, err, failure.Foreign, "the work of task 2 is invalid", tc.text)
			testenv.Must(t, s.st.WriteFile(t.Context(), file, whole, false))
		})
	}
	testenv.Must(t, s.st.Remove(t.Context(), path.Join(s.staging(), file)))
	_, err = Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Storage, "not done: 2")
	if done := s.run(t); done != 8 {
		t.Errorf("%d tasks were done, want 8", done)
	}
	s.commit(t)
}

// TestLinkInWork checks that a commit refuses a link in place of a part.
func TestLinkInWork(t *testing.T) {
	r, want := newJob(t)
	p := newPlan(t, r)
	mustRun(t, p, r.Options, allTasks(p)...)
	parts, err := filepath.Glob(filepath.Join(r.Dest, manifest.WorkName, "plan-*", "part-00003-*"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "part")
	testenv.Must(t, os.Rename(parts[0], elsewhere))
	testenv.Must(t, os.Symlink(elsewhere, parts[0]))
	_, err = Commit(t.Context(), p, r.Options)
	failuretest.Want(t, err, failure.Foreign, "is a link")
	testenv.Must(t, os.Remove(parts[0]))
	if done := mustRun(t, p, r.Options, allTasks(p)...); done != 8 {
		t.Errorf("%d tasks were done, want 8", done)
	}
	mustCommit(t, p, r.Options)
	wantContents(t, store.Local(), r.Dest, want)
}

// TestCommitNeedsOverwrite checks that a commit replaces the output that its plan replaces
// only with --overwrite.
func TestCommitNeedsOverwrite(t *testing.T) {
	s := newPlanned(t, true)
	s.run(t)
	o := s.r.Options
	o.Overwrite = false
	_, err := Commit(t.Context(), s.plan, o)
	failuretest.Want(t, err, failure.Foreign, "another request", "--overwrite")
	s.commit(t)
}

// TestCommitOfChangedInputs checks that a commit refuses changed inputs and keeps the work.
func TestCommitOfChangedInputs(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	s.writeInput(t, 2)
	_, err := Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Input, "a.avro changed")
	s.writeInput(t, 1)
	s.commit(t)
}

// TestLossesOfSeparateTasks checks that Commit adds up the losses of the tasks.
func TestLossesOfSeparateTasks(t *testing.T) {
	s := newPlanned(t, false)
	b := avroFile(t, 1, 60)
	damageBlock(t, b, 1, len(b)/10)
	damageBlock(t, b, 1, len(b)*9/10)
	testenv.Must(t, s.st.WriteFile(t.Context(), "/a.avro", b, false))
	s.r.Output.OnDamage, s.r.Output.MaxLostRows = "quarantine", 199
	s.plan = newPlan(t, s.r)
	for i := range s.plan.Tasks {
		mustRun(t, s.plan, s.r.Options, i)
	}
	_, err := Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Input, "200 rows were lost to damage, more than the 199 allowed")

	s.r.Output.MaxLostRows = 200
	s.plan = newPlan(t, s.r)
	for i := range s.plan.Tasks {
		mustRun(t, s.plan, s.r.Options, i)
	}
	for i := range 2 {
		out, err := Commit(t.Context(), s.plan, s.r.Options)
		failuretest.Want(t, err, failure.Losses, "2 damaged ranges", "200 rows")
		if out == nil || out.Nothing != (i == 1) || len(out.Manifest.Losses) != 2 || out.Manifest.Rows != 5800 {
			t.Fatalf("outcome %+v", out)
		}
		for _, l := range out.Manifest.Losses {
			kept, err := s.st.ReadFile(t.Context(), path.Join("/out", l.Quarantine.Name), maxFile)
			if err != nil || string(kept) != string(b[l.Start:l.End]) {
				t.Errorf("%+v: %d bytes, %v", l, len(kept), err)
			}
		}
	}
}

// TestTasksAfterCommit checks that a task can run again after its plan is published, and that
// a commit can be repeated after a late task.
func TestTasksAfterCommit(t *testing.T) {
	s := newPlanned(t, false)
	mustRun(t, s.plan, s.r.Options, allTasks(s.plan)...)
	s.commit(t)
	if done := mustRun(t, s.plan, s.r.Options, 0, 1); done != 2 {
		t.Errorf("%d tasks of a published plan are done, want 2", done)
	}
	if _, err := s.st.Stat(t.Context(), s.staging()); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("a task of a published plan left files: %v", err)
	}
	err := errors.Join(s.st.Mkdir(t.Context(), "/out/"+manifest.WorkName), s.st.Mkdir(t.Context(), s.staging()))
	testenv.Must(t, err)
	if out := mustCommit(t, s.plan, s.r.Options); !out.Nothing {
		t.Errorf("%+v", out)
	}
	if _, err := s.st.Stat(t.Context(), "/out/"+manifest.WorkName); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the work of a late task stays after another commit: %v", err)
	}
}

// TestLostOutput checks that the tasks of a published output that lost a file can run again.
// Their work can be committed with --overwrite.
func TestLostOutput(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	s.commit(t)
	m := mustCommit(t, s.plan, s.r.Options).Manifest
	testenv.Must(t, s.st.Remove(t.Context(), path.Join("/out", m.Files()[0].Name)))
	if done := s.run(t); done != 0 {
		t.Errorf("%d tasks of an output that lost a file were done, want 0", done)
	}
	_, err := Commit(t.Context(), s.plan, s.r.Options)
	failuretest.Want(t, err, failure.Foreign, "--overwrite makes it anew")
	s.r.Overwrite = true
	s.commit(t)
}
