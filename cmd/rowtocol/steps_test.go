package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
)

// smallTasks are flags that make several tasks of a thousand pairs.
var smallTasks = []string{"--row-group-size", "6KiB", "--block-size", "512"}

// plannedSteps makes a plan of the inputs in dir/in for dir/out, in dir/plan.json.
func plannedSteps(t *testing.T, dir string, rows int) planned {
	t.Helper()
	writePairs(t, dir, "in/a.avro", 0, rows)
	var p planned
	args := slices.Concat([]string{"plan", "--json", "in", "out", "-o", "plan.json"}, smallTasks)
	rowtocol(t, dir, nil, args...).want(t, 0).object(t, &p)
	return p
}

// partBytes returns the bytes of an output's parts by their names without the output's ID.
func partBytes(t *testing.T, dest string) map[string]string {
	t.Helper()
	s := manifestIn(t, dest)
	parts := map[string]string{}
	for _, f := range s.Files() {
		parts[strings.ReplaceAll(f.Name, s.ID, "ID")] = string(read(t, filepath.Join(dest, f.Name)))
	}
	return parts
}

// TestSteps checks that the three steps make the same bytes as convert, with tasks in any
// order, run several times.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 3000)
	if p.Tasks < 4 || p.Inputs != 1 || p.Plan == "" || p.File != "plan.json" {
		t.Fatalf("%+v", p)
	}
	wantAbsent(t, dir+"/out")
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 4, fmt.Sprintf("%d of %d tasks", p.Tasks, p.Tasks))

	elsewhere := t.TempDir()
	plan := dir + "/plan.json"
	var done tasksDone
	rowtocol(t, elsewhere, nil, "task", "--json", "--plan", plan, "--task", "2", "--task", "0,2").want(t, 0).object(t, &done)
	if done.Plan != p.Plan || !slices.Equal(done.Tasks, []int{2, 0}) || done.Done != 0 || done.Files != 2 || done.Rows == 0 || done.Bytes == 0 {
		t.Errorf("%+v", done)
	}
	before := fileSums(t, dir)
	o := rowtocol(t, elsewhere, nil, "task", "--json", "--exit-nothing", "99", "--plan", plan, "--task", "0").want(t, 99)
	if r := o.object(t, &done); r.Status != "nothing" || done.Done != 1 || done.Rows == 0 {
		t.Errorf("%+v %+v", r, done)
	}
	rowtocol(t, elsewhere, nil, "commit", "--plan", plan).want(t, 4, fmt.Sprintf("%d of %d tasks", p.Tasks-2, p.Tasks))
	wantUnchanged(t, dir, before)
	for n := range p.Tasks {
		rowtocol(t, elsewhere, nil, "task", "--plan", plan, "--task", fmt.Sprint(p.Tasks-1-n)).want(t, 0, "1 task of plan "+p.Plan)
	}

	var c converted
	rowtocol(t, elsewhere, nil, "commit", "--json", "--plan", plan).want(t, 0).object(t, &c)
	if c.Rows != 3000 || c.Plan != p.Plan || c.Nothing || len(c.Parts) == 0 || c.Dest != dir+"/out" {
		t.Errorf("%+v", c)
	}
	if entries, err := os.ReadDir(dir + "/out"); err != nil || len(entries) != len(c.Parts)+1 {
		t.Errorf("%d parts in the result, but the files %v, %v", len(c.Parts), entries, err)
	}
	o = rowtocol(t, dir, nil, "commit", "--json", "--exit-nothing", "99", "--plan", plan).want(t, 99)
	if r := o.object(t, &c); r.Status != "nothing" || !c.Nothing || c.Rows != 3000 {
		t.Errorf("%+v %+v", r, c)
	}
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "3000 rows of 1 input are equal")

	rowtocol(t, dir, nil, slices.Concat([]string{"convert", "in", "whole"}, smallTasks)...).want(t, 0)
	if steps, whole := partBytes(t, dir+"/out"), partBytes(t, dir+"/whole"); !maps.Equal(steps, whole) {
		t.Errorf("the steps made %v, convert %v", slices.Sorted(maps.Keys(steps)), slices.Sorted(maps.Keys(whole)))
	}
	rowtocol(t, dir, nil, slices.Concat([]string{"convert", "in", "out"}, smallTasks)...).want(t, 0, "nothing to do")
}

// alterPlan returns a changed plan, with an ID that fits the change if newID is set.
func alterPlan(t *testing.T, doc []byte, newID bool, change func(*manifest.Plan)) []byte {
	t.Helper()
	p, err := manifest.DecodePlan(doc)
	must(t, err)
	change(p)
	if newID {
		if p.ID, err = p.Sum(); err != nil {
			t.Fatal(err)
		}
	}
	if doc, err = p.Encode(); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestPlanBehindLink checks that no plan is written into its destination through a link.
func TestPlanBehindLink(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	must(t, errors.Join(os.Mkdir(dir+"/out", 0o700), os.Symlink("out", dir+"/link")))
	rowtocol(t, dir, nil, "plan", "a.avro", "out", "-o", "link/plan.json").want(t, 1, "in the destination")
	rowtocol(t, dir, nil, "plan", "a.avro", "link", "-o", "out/plan.json").want(t, 1, "in the destination")
}

func TestStepsRefused(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 1000)
	doc := read(t, dir+"/plan.json")
	write(t, dir+"/altered.json", alterPlan(t, doc, false, func(p *manifest.Plan) { p.Dest += "2" }))
	write(t, dir+"/short.json", alterPlan(t, doc, true, func(p *manifest.Plan) { p.Tasks = p.Tasks[1:] }))
	write(t, dir+"/older.json", manifesttest.Seal(bytes.Replace(doc, []byte(`"version": 2`), []byte(`"version": 1`), 1)))
	write(t, dir+"/writers.json", alterPlan(t, doc, true, func(p *manifest.Plan) { p.Revision++ }))
	write(t, dir+"/changed.json", bytes.Replace(doc, []byte(`"mod_time": "2`), []byte(`"mod_time": "1`), 1))
	write(t, dir+"/newer.json", manifesttest.Seal(bytes.Replace(doc, []byte(`"dest": `), []byte(`"shuffle": true, "dest": `), 1)))
	write(t, dir+"/cut.json", doc[:len(doc)/2])
	write(t, dir+"/options.json", alterPlan(t, doc, true, func(p *manifest.Plan) {
		p.Request.Options.FormatOptions = json.RawMessage(`{"codec":"null","colour":"blue"}`)
	}))
	beyond := fmt.Sprint(p.Tasks)
	cases := []struct {
		args string
		code int
		text string
	}{
		{"plan in out", 1, "--output"},
		{"plan in -o other.json", 1, "usage"},
		{"plan in out -o", 1, "-o"},
		{"plan --codec lzo in out -o other.json", 1, "lzo"},
		{"plan --exit-nothing 99 in out -o other.json", 1, "--exit-nothing"},
		{"plan --overwrite in out -o other.json", 1, "--overwrite"},
		{"plan none in out -o other.json", 3, "none"},
		{"plan in plan.json -o other.json", 1, "plan.json is a file"},
		{"plan in out -o none/other.json", 7, "none"},
		{"plan in out -o in", 9, "in"},
		{"plan in out -o in/a.avro", 9, "is not a plan"},
		{"plan in out -o out/plan.json", 1, "in the destination"},
		{"plan in out -o out", 1, "in the destination"},
		{"plan in out/ -o ./out", 1, "in the destination"},
		{"task --task 0", 1, "--plan"},
		{"task --plan plan.json", 1, "--task"},
		{"task --plan plan.json 0", 1, "usage"},
		{"task --plan plan.json --task first", 1, "first"},
		{"task --plan plan.json --task -1", 1, "no task -1"},
		{"task --plan plan.json --task " + beyond, 1, "no task " + beyond},
		{"task --plan plan.json --task 0 --exit-nothing 256", 1, "--exit-nothing"},
		{"task --plan none.json --task 0", 3, "none.json"},
		{"task --plan in --task 0", 1, "--plan: in"},
		{"task --plan altered.json --task 0", 9, "altered.json"},
		{"task --plan short.json --task 0", 9, "short.json"},
		{"task --plan older.json --task 0", 9, "version"},
		{"task --plan writers.json --task 0", 9, "of revision 3 of the writers, and this program has 2; make the plan again"},
		{"task --plan newer.json --task 0", 9, "newer.json: plan: a newer program made it"},
		{"task --plan changed.json --task 0", 9, "changed.json: plan: the document is damaged"},
		{"task --plan cut.json --task 0", 9, "cut.json: plan: the document is damaged"},
		{"task --plan in/a.avro --task 0", 9, "in/a.avro"},
		{"task --plan options.json --task 0", 1, "colour"},
		{"commit", 1, "--plan"},
		{"commit plan.json", 1, "usage"},
		{"commit --plan plan.json --exit-nothing -1", 1, "--exit-nothing"},
		{"commit --plan plan.json --memory 1", 1, "--memory"},
		{"commit --plan none.json", 3, "none.json"},
		{"commit --plan altered.json", 9, "altered.json"},
		{"commit --plan older.json", 9, "version"},
		{"commit --plan writers.json", 9, "make the plan again"},
		{"commit --plan changed.json", 9, "changed.json: plan: the document is damaged"},
		{"commit --plan newer.json", 9, "shuffle"},
	}
	before := fileSums(t, dir)
	for _, c := range cases {
		o := rowtocol(t, dir, nil, strings.Fields(c.args)...).want(t, c.code, c.text)
		if len(o.warnings()) != 1 {
			t.Errorf("%s: more than one line: %s", c.args, o.stderr)
		}
		o = rowtocol(t, dir, nil, append([]string{"--json"}, strings.Fields(c.args)...)...).want(t, c.code)
		if r := o.object(t, nil); r.Error == nil || r.Error.Message == "" || r.Status != statusOfCode(c.code) || r.Command != strings.Fields(c.args)[0] {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
	wantUnchanged(t, dir, before)
	wantAbsent(t, dir+"/out")
}

// TestCommitChecksTasks checks that commit verifies the work of tasks before it publishes it.
func TestCommitChecksTasks(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 1000)
	for n := range p.Tasks {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", fmt.Sprint(n)).want(t, 0)
	}
	parts := globAtLeast(t, dir+"/out/.rowtocol/plan-*/part-00001-*", 1)
	sound := flip(t, parts[0], len(read(t, parts[0]))/2, 1)
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 9, "task 1", filepath.Base(parts[0]))

	write(t, parts[0], sound)
	input := read(t, dir+"/in/a.avro")
	writePairs(t, dir, "in/a.avro", 1, 1000)
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 3, "a.avro")

	write(t, dir+"/in/a.avro", input)
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 0, "1000 rows")
}

// TestPlanOfAnEarlierOutput checks that a plan replaces no output that is later than the plan.
func TestPlanOfAnEarlierOutput(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "first.avro", 0, 10)
	writePairs(t, dir, "second.avro", 0, 20)
	writePairs(t, dir, "third.avro", 0, 30)
	plan := func(input, name string) {
		t.Helper()
		rowtocol(t, dir, nil, "plan", input, "out", "-o", name).want(t, 0)
		rowtocol(t, dir, nil, "task", "--plan", name, "--task", "0").want(t, 0)
	}
	plan("second.avro", "early.json")
	rowtocol(t, dir, nil, "convert", "first.avro", "out").want(t, 0)
	for _, flag := range []string{"--overwrite", "--overwrite=false"} {
		rowtocol(t, dir, nil, "commit", "--plan", "early.json", flag).want(t, 9, "make the plan again")
	}
	plan("second.avro", "second.json")
	plan("third.avro", "third.json")
	rowtocol(t, dir, nil, "commit", "--plan", "second.json").want(t, 9, "first.avro is not named", "second.avro was added", "--overwrite")
	rowtocol(t, dir, nil, "commit", "--plan", "second.json", "--overwrite").want(t, 0, "20 rows")
	rowtocol(t, dir, nil, "commit", "--plan", "third.json", "--overwrite").want(t, 9, "make the plan again")
	rowtocol(t, dir, nil, "verify", "out", "--against", "second.avro").want(t, 0, "20 rows of 1 input are equal")
}

// TestPlanOfAnOutputThatIsThere checks that plan tells what its commit will do.
func TestPlanOfAnOutputThatIsThere(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	writePairs(t, dir, "b.avro", 0, 20)
	plan := func(input, text string, finished, overwrite bool) {
		t.Helper()
		for _, flag := range []string{"--json=false", "--json"} {
			must(t, os.RemoveAll(dir+"/plan.json"))
			o := rowtocol(t, dir, nil, "plan", flag, input, "out", "-o", "plan.json").want(t, 0, text)
			if text == "" && len(o.warnings()) > 0 {
				t.Errorf("a plan of a new output warns: %s", o.stderr)
			}
			if _, err := manifest.DecodePlan(read(t, dir+"/plan.json")); err != nil {
				t.Error(err)
			}
			var p planned
			if flag != "--json" {
				continue
			}
			if o.object(t, &p); p.Finished != finished || p.NeedsOverwrite != overwrite || p.Tasks != 1 {
				t.Errorf("%s: %+v", input, p)
			}
		}
	}
	plan("a.avro", "", false, false)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	plan("a.avro", "its commit will do nothing", true, false)
	plan("b.avro", "commit will need --overwrite: ", false, true)
	must(t, os.Remove(partOf(t, dir+"/out", 0)))
	plan("a.avro", "is missing; --overwrite", false, true)
}

// TestRowGroupsOfFewRows checks that row groups of hardly more than headers are refused, and that
// a dry run counts the headers of all row groups.
func TestRowGroupsOfFewRows(t *testing.T) {
	dir := t.TempDir()
	set := datagen.Flat(79, 0)
	must(t, set.WriteFile(dir+"/wide.avro", datagen.Options{Rows: 2000, Seed: 1}))
	args := func(size string, command ...string) []string {
		return append(command, "--format", "cfile", "--row-group-size", size, "wide.avro", "out")
	}
	for _, command := range [][]string{{"plan", "-o", "plan.json"}, {"convert"}, {"convert", "--dry-run"}} {
		rowtocol(t, dir, nil, args("64KiB", command...)...).want(t, 1, "do not depend on its rows (79 columns), more than half of --row-group-size, which is 65536 bytes", "use --row-group-size 1MiB")
	}
	rowtocol(t, dir, nil, "convert", "--format", "hfile", "--key", "c0001", "--bloom", "hudi", "--row-group-size", "800KiB", "wide.avro", "out").want(t, 1,
		"more than half of --row-group-size")
	for _, name := range []string{"out", "plan.json"} {
		wantAbsent(t, dir+"/"+name)
	}
	const warning = "more than a quarter of --row-group-size"
	var dry dryRun
	rowtocol(t, dir, nil, args("120KiB", "convert", "--json", "--dry-run")...).want(t, 0, warning).object(t, &dry)
	rowtocol(t, dir, nil, args("120KiB", "convert", "--dry-run")...).want(t, 0, fmt.Sprintf("about %d row groups of ", dry.RowGroups))
	var p planned
	rowtocol(t, dir, nil, args("120KiB", "plan", "--json", "-o", "plan.json")...).want(t, 0, warning).object(t, &p)
	var c converted
	rowtocol(t, dir, nil, args("120KiB", "convert", "--json")...).want(t, 0, warning).object(t, &c)
	if n := len(c.Parts); n < 10 || dry.RowGroups < n*9/10 || dry.RowGroups > n*11/10 || p.RowGroups != dry.RowGroups {
		t.Errorf("the plan expects %d row groups and the dry run %d, but there are %d", p.RowGroups, dry.RowGroups, n)
	}
}

// TestDryRun checks that a dry run prints the number and sizes of row groups.
func TestDryRun(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 3000)
	args := slices.Concat([]string{"convert", "in", "out"}, smallTasks)
	var p manifest.Plan
	rowtocol(t, dir, nil, append(args, "--dry-run", "--json")...).want(t, 0).object(t, &p)
	rowtocol(t, dir, nil, append(args, "--dry-run")...).want(t, 0, fmt.Sprintf("about %d row groups of ", len(p.Tasks)), "KiB to ", "task 0, a row group of about ")
	wantAbsent(t, dir+"/out")
	var c converted
	rowtocol(t, dir, nil, append(args, "--json")...).want(t, 0).object(t, &c)
	if c.Plan != p.ID || len(c.Parts) != len(p.Tasks) {
		t.Errorf("the dry run has plan %s of %d tasks, but plan %s made %d parts", p.ID, len(p.Tasks), c.Plan, len(c.Parts))
	}
}

// TestRestart checks that a rerun with another --memory resumes, and with --restart does not.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 100_000)
	args := []string{"convert", "--codec", "bzip2", "--row-group-size", "32KiB", "--block-size", "2KiB", "in"}
	rowtocol(t, dir, nil, append(args, "whole")...).want(t, 0)
	for _, restart := range []bool{false, true} {
		dest := fmt.Sprint("out-", restart)
		interrupt(t, dir, append(args, "--workers", "1", dest), dir+"/"+dest+"/.rowtocol/plan-*/task-*.json")
		var c converted
		rowtocol(t, dir, nil, append(args, "--json", "--memory", "100MiB", fmt.Sprint("--restart=", restart), dest)...).want(t, 0).object(t, &c)
		if (c.Resumed == 0) != restart || c.Rows != 100_000 {
			t.Errorf("restart %v: %d tasks resumed, %d rows", restart, c.Resumed, c.Rows)
		}
		if !maps.Equal(partBytes(t, dir+"/"+dest), partBytes(t, dir+"/whole")) {
			t.Errorf("restart %v: the bytes differ from those of a whole run", restart)
		}
	}
}

// interrupt runs the program until a file matches the pattern, and stops it with SIGTERM.
func interrupt(t *testing.T, dir string, args []string, pattern string) {
	t.Helper()
	cmd := command(t, args...)
	cmd.Dir = dir
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the exit code is checked below
	}()
	for {
		if names, err := filepath.Glob(pattern); err != nil || len(names) > 0 {
			break
		}
		select {
		case <-ended:
			t.Fatalf("the run ended before %s appeared: exit %d", pattern, cmd.ProcessState.ExitCode())
		case <-time.After(time.Millisecond):
		}
	}
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Fatalf("exit %d, want 143", code)
	}
}

// TestConflicts checks that a destination with other contents is refused and not changed.
func TestConflicts(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	writePairs(t, dir, "b.avro", 0, 20)
	write(t, dir+"/long.avsc", []byte(pairSchema))
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	write(t, dir+"/spark/_SUCCESS", nil)
	write(t, dir+"/dir/_SUCCESS/x", nil)
	before := fileSums(t, dir)
	cases := []struct{ args, text string }{
		{"b.avro out", "b.avro was added"},
		{"a.avro b.avro out", "b.avro was added"},
		{"--codec null a.avro out", "--codec was "},
		{"--schema long.avsc a.avro out", "a schema is given"},
		{"a.avro spark", "_SUCCESS"},
		{"--overwrite a.avro spark", "move it away"},
		{"--overwrite a.avro dir", "_SUCCESS"},
	}
	for _, c := range cases {
		rowtocol(t, dir, nil, append([]string{"convert"}, strings.Fields(c.args)...)...).want(t, 9, c.text)
	}
	rowtocol(t, dir, nil, "plan", "a.avro", "spark", "-o", "plan.json").want(t, 9, "move it away")
	rowtocol(t, dir, nil, "convert", "--dry-run", "a.avro", "spark").want(t, 9, "move it away")
	wantUnchanged(t, dir, before)
	rowtocol(t, dir, nil, "plan", "b.avro", "out", "-o", "plan.json").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--overwrite", "b.avro", "out").want(t, 0, "20 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "b.avro").want(t, 0, "20 rows of 1 input are equal")
	rowtocol(t, dir, nil, "convert", "--memory", "64MiB", "--workers", "1", "b.avro", "out").want(t, 0, "nothing to do")
}

// TestUnfinishedOutputs checks that a directory without _SUCCESS is exit 4 if a run may be
// working on it, and otherwise exit 3.
func TestUnfinishedOutputs(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	part := partOf(t, dir+"/out", 0)
	success := read(t, dir+"/out/_SUCCESS")
	must(t, os.Remove(part))
	for _, command := range []string{"cat", "inspect"} {
		rowtocol(t, dir, nil, command, "out").want(t, 3, filepath.Base(part), "_SUCCESS lists it")
	}
	rowtocol(t, dir, nil, "verify", "out").want(t, 6, filepath.Base(part))
	must(t, os.Remove(dir+"/out/_SUCCESS"))
	for _, test := range []struct {
		name string
		code int
		says string
	}{
		{"_lock", 4, "works on it, or was killed (rowtocol status says which)"},
		{".rowtocol/x/pending-y", 4, "the next run completes it"},
		{".rowtocol/plan-x/plan.json", 3, "it has no _SUCCESS (rowtocol status says why)"},
	} {
		write(t, dir+"/out/"+test.name, success)
		for _, command := range []string{"cat", "inspect", "verify"} {
			rowtocol(t, dir, nil, command, "out").want(t, test.code, "not a finished output", test.says)
		}
		must(t, os.RemoveAll(dir+"/out/"+strings.Split(test.name, "/")[0]))
	}
}
