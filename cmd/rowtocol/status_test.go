package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// statusIn runs status, checks that it changes nothing, and parses its result.
func statusIn(t *testing.T, dir string, args ...string) statusOf {
	t.Helper()
	before := fileSums(t, dir)
	var s statusOf
	rowtocol(t, dir, nil, append([]string{"status", "--json"}, args...)...).want(t, 0).object(t, &s)
	wantUnchanged(t, dir, before)
	return s
}

// holdLock makes this process the holder of a destination, with a sign of life every second.
func holdLock(t *testing.T, dest string) (release func()) {
	t.Helper()
	d := publish.At(store.Location{Store: store.Local(), Path: dest}, publish.Options{Times: publish.Times{Heartbeat: time.Second}})
	c, _, err := d.Claim(t.Context())
	must(t, err)
	return func() {
		if err := c.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// leaveKilledRun leaves dir/out as after a killed convert of in: some tasks are done, and its
// holder ran on another machine, so that it is not known to be dead.
func leaveKilledRun(t *testing.T, dir string, rows int) (holder string) {
	t.Helper()
	plannedSteps(t, dir, rows)
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0,2").want(t, 0)
	holder = "00112233445566aa"
	text := fmt.Sprintf(`{"holder":"%s","host":"far","pid":7,"scope":"another machine","since":"2026-01-02T03:04:05Z"}`, holder)
	err := errors.Join(os.Mkdir(filepath.Join(dir, "out/.rowtocol", holder), 0o700), os.WriteFile(dir+"/out/_lock", []byte(text), 0o600))
	must(t, err)
	return holder
}

// TestStatusOfJob shows the job that runs the tasks of unfinished work, in the words of Hadoop's
// client.
func TestStatusOfJob(t *testing.T) {
	dir := t.TempDir()
	leaveKilledRun(t, dir, 4000)
	plans, err := filepath.Glob(dir + "/out/.rowtocol/plan-*")
	must(t, err)
	const id = "application_1795425022941_0003"
	started := task.Started{Run: "c0ffee", Job: id, URL: "http://rm/proxy/" + id, At: time.Unix(1795425022, 0).UTC()}
	must(t, started.Write(t.Context(), store.Local(), plans[0]))
	env := clusterConf(t, dir)
	rowtocol(t, dir, env, "status", "out").want(t, 0, "job "+id+" of run c0ffee, started 2026-11-23", "its state is not known: cannot find Hadoop's client", "http://rm/proxy/")
	for _, name := range []string{"mapred", "yarn"} {
		script := "#!/bin/sh\nprintf 'Application Report :\\n\\tApplication-Id : %s\\n\\tState : %s\\n\\tProgress : 40%%\\n\\tFinal-State : %s\\n' \"$3\" $STATE $FINAL\n"
		write(t, dir+"/hadoop/bin/"+name, []byte(script))
		must(t, os.Chmod(dir+"/hadoop/bin/"+name, 0o700))
	}
	for _, c := range []struct{ state, final, text string }{
		{"RUNNING", "UNDEFINED", ": RUNNING, 40 %"},
		{"ACCEPTED", "UNDEFINED", ": ACCEPTED, 40 %"},
		{"KILLED", "KILLED", ": KILLED"},
	} {
		env := append(slices.Clone(env), "HADOOP_HOME="+dir+"/hadoop", "STATE="+c.state, "FINAL="+c.final)
		rowtocol(t, dir, env, "status", "out").want(t, 0, "job "+id, c.text)
		var s statusOf
		rowtocol(t, dir, env, "status", "--json", "out").want(t, 0).object(t, &s)
		if j := s.Unfinished[0].Job; j == nil || j.Job != id || !strings.HasPrefix(c.state, j.State) {
			t.Errorf("%+v", j)
		}
	}
	started.Job = "--help"
	must(t, started.Write(t.Context(), store.Local(), plans[0]))
	rowtocol(t, dir, append(env, "HADOOP_HOME="+dir+"/hadoop"), "status", "out").want(t, 0, "not the ID of an application")
}

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", nil)
	rowtocol(t, dir, nil, "status", "none").want(t, 3, "does not exist")
	rowtocol(t, dir, nil, "status", "file").want(t, 1, "is a file")
	rowtocol(t, dir, nil, "status").want(t, 1, "usage")
	write(t, dir+"/others/x", nil)
	rowtocol(t, dir, nil, "status", "others").want(t, 0, "holds nothing of rowtocol's", "not rowtocol's:\n  x")

	writePairs(t, dir, "in/a.avro", 0, 1000)
	args := append([]string{"convert", "in", "out"}, smallTasks...)
	rowtocol(t, dir, nil, args...).want(t, 0)
	writePairs(t, dir, "in/b.avro", 1000, 10)
	rowtocol(t, dir, nil, append(args, "--incremental")...).want(t, 0)
	s := statusIn(t, dir, "out")
	if o := s.Output; o == nil || o.Rows != 1000 || o.Inputs != 1 || o.Parts < 2 || o.Version == "" || o.At.IsZero() || !manifest.IsID(o.ID) || o.Bytes == 0 || o.Sequence != 1 {
		t.Errorf("output %+v", o)
	}
	if len(s.Increments) != 1 || s.Increments[0].Rows != 10 || s.Increments[0].Inputs != 1 || s.Increments[0].Sequence != 2 || s.Increments[0].Name == "" {
		t.Errorf("increments %+v", s.Increments)
	}
	if s.Totals.Rows != 1010 || s.Totals.Inputs != 2 || s.Totals.Outputs != 2 || s.Lock != nil {
		t.Errorf("%+v", s)
	}
	o := rowtocol(t, dir, nil, "status", "out").want(t, 0, "not locked", "output  ", "increment 2  ", "all          1010  ")
	for _, line := range strings.Split(o.stdout, "\n") {
		if strings.HasSuffix(line, " ") {
			t.Errorf("%q", line)
		}
	}

	release := holdLock(t, dir+"/out")
	s = statusIn(t, dir, "out")
	release()
	if l := s.Lock; l == nil || l.PID != os.Getpid() || l.Dead || !manifest.IsID(l.Holder) || l.Since.IsZero() || l.Seen.IsZero() {
		t.Errorf("lock %+v", l)
	}
	part := partOf(t, dir+"/out", 0)
	must(t, os.Truncate(part, 3))
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "damaged: "+filepath.Base(part)+" has 3 bytes")
}

// TestStatusUnfinished checks that status shows how far the unfinished work of any run is.
func TestStatusUnfinished(t *testing.T) {
	dir := t.TempDir()
	holder := leaveKilledRun(t, dir, 3000)
	s := statusIn(t, dir, "out")
	if l := s.Lock; l == nil || l.Holder != holder || l.Host != "far" || l.Dead {
		t.Errorf("lock %+v", l)
	}
	if len(s.Unfinished) != 1 || s.Output != nil || len(s.Increments) > 0 {
		t.Fatalf("%+v", s)
	}
	w := s.Unfinished[0]
	if w.OfTasks == nil || *w.OfTasks < 4 || w.Tasks != 2 || w.Rows == 0 || w.Rows >= 3000 || w.Input == 0 || w.OfInput == nil || w.Input >= *w.OfInput || w.Held || w.Changed.IsZero() {
		t.Errorf("%+v", w)
	}
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "process 7 on \"far\"", "holder "+holder, "since 2026-01-02 03:04:05", fmt.Sprintf("2 of %d tasks done", *w.OfTasks))

	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "1").want(t, 0)
	if s = statusIn(t, dir, "out"); len(s.Unfinished) != 1 || s.Unfinished[0].Tasks != 3 || s.Unfinished[0].PlanID != w.PlanID {
		t.Errorf("%+v", s.Unfinished)
	}
	must(t, os.Remove(dir+"/out/_lock"))
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "not locked", "the same convert or submit resumes it, and rowtocol commit publishes it")
}

// TestStatusOfEmptyWork checks that an empty work directory does not count as damaged.
func TestStatusOfEmptyWork(t *testing.T) {
	dir := t.TempDir()
	work := dir + "/out/" + manifest.WorkName + "/plan-0123456789abcdef0123456789abcdef"
	must(t, os.MkdirAll(work, 0o777))
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "nothing is in it: its run has just made it, or was killed then")
	write(t, work+"/part-00000-0-0123456789abcdef.trv", []byte("x"))
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "its plan cannot be read")
}

// TestStatusForesees checks that convert does what status with inputs has said.
func TestStatusForesees(t *testing.T) {
	dir := t.TempDir()
	leaveKilledRun(t, dir, 3000)
	must(t, os.Remove(dir+"/out/_lock"))
	args := append([]string{"--input", "in", "out"}, smallTasks...)
	r := statusIn(t, dir, args...).Request
	if r == nil || r.Does != job.Resume || !strings.Contains(r.Resumes, ".rowtocol/plan-") || len(r.Differences) > 0 {
		t.Fatalf("%+v", r)
	}
	r = statusIn(t, dir, append(args, "--row-group-size", "7KiB")...).Request
	if r.Does != job.PlanAnew || r.Inputs != 1 || !slices.Equal(slices.Collect(maps.Values(r.Unfinished))[0], []string{"--row-group-size was 6KiB and is 7KiB"}) {
		t.Errorf("%+v", r)
	}
	if r = statusIn(t, dir, append(args, "--restart")...).Request; r.Does != job.PlanAnew {
		t.Errorf("%+v", r)
	}
	convert := slices.Concat([]string{"convert", "in", "out"}, smallTasks)
	rowtocol(t, dir, nil, convert...).want(t, 0, "2 tasks were done before")
	if r = statusIn(t, dir, args...).Request; r.Does != job.DoNothing {
		t.Errorf("%+v", r)
	}
	writePairs(t, dir, "in/b.avro", 1, 2)
	r = statusIn(t, dir, args...).Request
	if r.Does != job.Refuse || len(r.Differences) != 1 || !strings.Contains(r.Refusal, "b.avro was added; --overwrite replaces the output") {
		t.Errorf("%+v", r)
	}
	rowtocol(t, dir, nil, convert...).want(t, 9, r.Refusal)
	rowtocol(t, dir, nil, append([]string{"status"}, args...)...).want(t, 0, "convert would be refused: ", "the request differs from that of the output:", "b.avro was added")
	if r = statusIn(t, dir, append(args, "--overwrite")...).Request; r.Does != job.PlanAnew || r.Inputs != 2 {
		t.Errorf("%+v", r)
	}
	write(t, dir+"/job.yaml", []byte("input: [in]\nincremental: true\nrow-group-size: 6KiB\nblock-size: 512\n"))
	if r = statusIn(t, dir, "--config", "job.yaml", "out").Request; r == nil || r.Does != job.AddIncrement || r.Inputs != 1 {
		t.Errorf("%+v", r)
	}
	rowtocol(t, dir, nil, append(convert, "--incremental")...).want(t, 0, "2 rows")
	rowtocol(t, dir, nil, "status", "--config", "job.yaml", "out").want(t, 0, "convert would do nothing")
	rowtocol(t, dir, nil, "status", "--input", "none", "out").want(t, 3, "increment 2", "convert would fail", "none")
}

// TestStatusTree checks that status shows a line for each partition of a tree.
func TestStatusTree(t *testing.T) {
	dir := makeTree(t, "mail/dt=1", "mail/dt=2/h=1", "mail/dt=2/h=2")
	writePairs(t, dir, "late.avro", 50, 5)
	rowtocol(t, dir, nil, "convert", "--incremental", "late.avro", "mail/dt=1").want(t, 0)
	write(t, dir+"/mail/dt=3/x", nil)
	write(t, dir+"/mail/dt=4/_SUCCESS", []byte("{}"))
	write(t, dir+"/mail/beside", nil)
	s := statusIn(t, dir, "mail")
	var names []string
	for _, p := range s.Partitions {
		names = append(names, fmt.Sprint(p.Dest, " ", p.Totals.Rows, " ", len(p.Foreign)))
	}
	if got := strings.Join(names, ", "); got != "mail/dt=1 15 0, mail/dt=2/h=1 10 0, mail/dt=2/h=2 10 0, mail/dt=3 0 1, mail/dt=4 0 1" || s.Totals.Rows != 35 || s.Totals.Outputs != 4 || !slices.Equal(s.Foreign, []string{"beside"}) {
		t.Errorf("%s; %+v", got, s)
	}
	rowtocol(t, dir, nil, "status", "mail").want(t, 0, "5 partitions", "dt=2/h=1", "all", "35", "nothing of rowtocol's, files that are not rowtocol's", "beside")
	rowtocol(t, dir, nil, "status", "--input", "late.avro", "mail").want(t, 1, "--input")
	write(t, dir+"/job.yaml", []byte("input: late.avro\ndest: mail\n"))
	rowtocol(t, dir, nil, "status", "--config", "job.yaml", "mail").want(t, 0, "5 partitions")
	must(t, syscall.Mkfifo(dir+"/mail/dt=3/pipe", 0o600))
	rowtocol(t, dir, nil, "status", "mail").want(t, 0, "5 partitions")
}

// TestStatusOfOutputsBelow checks that status counts the directories below that hold outputs, beside
// a tree and without one.
func TestStatusOfOutputsBelow(t *testing.T) {
	dir := makeTree(t, "mail/monday", "mail/old/january")
	writePairs(t, dir, "late.avro", 50, 5)
	rowtocol(t, dir, nil, "convert", "--incremental", "late.avro", "mail/tuesday").want(t, 0)
	write(t, dir+"/mail/notes", nil)
	below := "2 outputs below, such as monday: name one of them"
	rowtocol(t, dir, nil, "status", "mail").want(t, 0, "holds nothing of rowtocol's\n", below, "not rowtocol's:\n  notes\n  old\n").lacks(t, "  monday", "  tuesday")
	must(t, os.Rename(dir+"/mail/old", dir+"/mail/month=old"))
	rowtocol(t, dir, nil, "status", "mail").want(t, 0, "mail: 1 partition\n", below, "not rowtocol's:\n  notes\n").lacks(t, "  monday", "  tuesday")
	if s := statusIn(t, dir, "mail"); !slices.Equal(s.Below, []string{"monday", "tuesday"}) || !slices.Equal(s.Foreign, []string{"monday", "notes", "tuesday"}) {
		t.Errorf("%q below, %q foreign", s.Below, s.Foreign)
	}
}

// copyIncrements copies the only increment of an output until it has a number of increments.
func copyIncrements(t *testing.T, dest string, increments int) {
	t.Helper()
	found := globOne(t, dest+"/increment-*")
	first := manifestIn(t, found)
	for i := range increments - 1 {
		m, id := *first, manifest.NewID()
		m.Sequence += int64(i) + 1
		doc, err := m.Encode()
		must(t, err)
		dir := filepath.Join(dest, manifest.IncrementName(m.Sequence, id))
		write(t, dir+"/_SUCCESS", manifesttest.Seal([]byte(strings.ReplaceAll(string(doc), first.ID, id))))
		for _, f := range m.Files() {
			must(t, os.Link(filepath.Join(found, f.Name), filepath.Join(dir, strings.ReplaceAll(f.Name, first.ID, id))))
		}
	}
}

// TestStatusOfManyIncrements limits the time of status for a year of daily increments.
func TestStatusOfManyIncrements(t *testing.T) {
	dir := t.TempDir()
	makeOutput(t, dir, "out", 0)
	writePairs(t, dir, "late.avro", 50, 5)
	rowtocol(t, dir, nil, "convert", "--incremental", "late.avro", "out").want(t, 0)
	copyIncrements(t, dir+"/out", 365)
	cmd := command(t, "status", dir+"/out")
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%s", exit.Stderr)
	}
	if lines := strings.Count(string(text), "\nincrement "); err != nil || lines != 365 || !strings.Contains(string(text), "all            1835") {
		t.Errorf("%d increments, %v", lines, err)
	}
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > time.Second {
		t.Errorf("status took %v of CPU time", took)
	}
}

// TestStatusWithForeignNames checks that leftovers next to foreign files are not reported as
// removable, because clean does not remove them.
func TestStatusWithForeignNames(t *testing.T) {
	dir := t.TempDir()
	makeOutput(t, dir, "out", 0)
	part := strings.Replace(filepath.Base(partOf(t, dir+"/out", 0)), "part-00000-0-", "part-00007-0-", 1)
	write(t, dir+"/out/"+part, []byte("of an output that was replaced"))
	write(t, dir+"/out/notes", nil)
	before := fileSums(t, dir)
	rowtocol(t, dir, nil, "status", "out").want(t, 0, part, "which are kept as long as there are files that are not rowtocol's", "not rowtocol's:\n  notes").lacks(t, "removes")
	if s := statusIn(t, dir, "out"); len(s.Debris) != 0 || len(s.LeftAlone) != 1 || s.LeftAlone[0].Name != part {
		t.Errorf("%+v", s)
	}
	for _, args := range [][]string{{"clean", "--dry-run", "out"}, {"clean", "out"}} {
		rowtocol(t, dir, nil, args...).want(t, 9, "nothing ", "notes").lacks(t, part)
	}
	wantUnchanged(t, dir, before)
}

// TestStatusOfTasksThatBegan checks that tasks without results count as begun when their
// directory was made.
func TestStatusOfTasksThatBegan(t *testing.T) {
	dir := t.TempDir()
	makeOutput(t, dir, "out", 0)
	must(t, os.MkdirAll(dir+"/out/.rowtocol/plan-0123456789abcdef0123456789abcdef", 0o700))
	if s := statusIn(t, dir, "out"); len(s.Unfinished) != 1 || time.Since(s.Unfinished[0].Changed) > time.Hour {
		t.Errorf("%+v", s.Unfinished)
	}
}
