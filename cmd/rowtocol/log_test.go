package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// line is a line of the log in JSON.
type line map[string]any

// logLines returns the lines of the log. Each must have a time in UTC and the same run.
func (o output) logLines(t *testing.T) (lines []line) {
	t.Helper()
	for text := range strings.Lines(o.log()) {
		l := line{}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		at, _ := l["time"].(string)
		if _, err := time.Parse(time.RFC3339, at); err != nil || !strings.HasSuffix(at, "Z") {
			t.Errorf("time %q: %v", at, err)
		}
		if run, _ := l["run"].(string); !manifest.IsID(run) || len(lines) > 0 && run != lines[0]["run"] {
			t.Errorf("run %q: %s", run, text)
		}
		lines = append(lines, l)
	}
	return lines
}

// number returns an integer attribute of a line.
func (l line) number(name string) int64 {
	n, ok := l[name].(float64)
	if !ok {
		return -1
	}
	return int64(n)
}

// wantRun checks that the log begins with the first and ends with the last line of a
// command, and returns these lines.
func (o output) wantRun(t *testing.T, command, status string) (first, last line) {
	t.Helper()
	lines := o.logLines(t)
	if len(lines) < 2 {
		t.Fatalf("%s: %s", command, o.stderr)
	}
	first, last = lines[0], lines[len(lines)-1]
	if first["msg"] != command+" begins" || last["msg"] != command+" ended" || last.number("exit") != int64(o.code) || last["status"] != status {
		t.Errorf("%s, %s: %s", command, status, o.stderr)
	}
	if failed := status != "done" && status != "nothing"; failed != (o.log() != o.stderr) {
		t.Errorf("%s, %s: %s", command, status, o.stderr)
	}
	if last.number("peak_memory") < 1<<20 || last["version"] == "" || last["seconds"] == nil {
		t.Errorf("%s: %v", command, last)
	}
	return first, last
}

// TestLogOfConvert checks that log, JSON object and manifest agree about a conversion.
func TestLogOfConvert(t *testing.T) {
	dir := t.TempDir()
	size := len(writePairs(t, dir, "a.avro", 0, 3000)) + len(writePairs(t, dir, "b.avro", 0, 50))
	convert := []string{"convert", "--json", "--row-group-size", "16KiB", "a.avro", "b.avro", "out"}
	o := rowtocol(t, dir, []string{"TZ=Asia/Tokyo"}, convert...).want(t, 0)
	first, last := o.wantRun(t, "convert", "done")
	if len(o.logLines(t)) != 3 || first["dest"] != "out" || fmt.Sprint(first["from"]) != "[a.avro b.avro]" || first.number("arguments") != 2 {
		t.Errorf("%s", o.stderr)
	}
	var c converted
	frame := o.object(t, &c)
	s := manifestIn(t, dir+"/out")
	files, made := len(s.Files()), s.Made
	if frame.Run != last["run"] || made.Run != frame.Run || s.ID != last["output"] {
		t.Errorf("%+v, %+v, %v", frame, made, last)
	}
	if files < 2 || c.Rows != 3050 || c.Rows != s.Rows || c.Rows != last.number("rows") || c.Bytes != s.Bytes || c.Bytes != last.number("bytes") ||
		c.Files != files || last.number("files") != int64(files) || last.number("inputs") != 2 {
		t.Errorf("%+v, %+v, %v", c, s, last)
	}
	if want := int64(size); c.InputBytes != want || made.InputBytes != want || last.number("input_bytes") != want {
		t.Errorf("%d input bytes: %+v, %+v, %v", size, c.Figures, made, last)
	}
	if c.Tasks < 2 || made.Tasks != c.Tasks || last.number("tasks") != int64(c.Tasks) || last.number("bytes_per_second") != c.Rate || c.Rate <= 0 || made.PeakMemory < 1<<20 {
		t.Errorf("%+v, %+v, %v", c, made, last)
	}

	o = rowtocol(t, dir, nil, convert...).want(t, 0)
	if _, last := o.wantRun(t, "convert", "nothing"); last.number("input_bytes") != 0 || last.number("files") != 0 || last["run"] == first["run"] {
		t.Errorf("%v", last)
	}
}

// TestLogOfFailures checks the lines about failures, and the last lines of failed runs.
func TestLogOfFailures(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/damaged.avro", writePairs(t, dir, "a.avro", 0, 50))
	flip(t, dir+"/damaged.avro", -1, 0xff)
	o := rowtocol(t, dir, nil, "convert", "damaged.avro", "out").want(t, 3)
	o.wantRun(t, "convert", "input")
	failed := line{}
	for _, l := range o.logLines(t) {
		if l["level"] == "ERROR" {
			failed = l
		}
	}
	if failed.number("task") != 0 || len(fmt.Sprint(failed["plan"])) != 32 || failed.number("exit") != 3 {
		t.Errorf("%v", failed)
	}
	o = rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "a.avro", "damaged.avro", "out").want(t, 8)
	if _, last := o.wantRun(t, "convert", "losses"); last.number("losses") != 1 || last.number("rows") != 90 {
		t.Errorf("%v", last)
	}
	part := partOf(t, dir+"/out", 0)
	write(t, part, read(t, part)[:500])
	o = rowtocol(t, dir, nil, "verify", "out").want(t, 6)
	o.wantRun(t, "verify", "different")
	if o = rowtocol(t, dir, nil, "convert", "--block-size", "no", "a.avro", "new").want(t, 1); len(o.logLines(t)) != 1 {
		t.Errorf("a usage error takes more than one line: %s", o.stderr)
	}
}

// TestLogEndsForPeople checks that the last lines of a failed run say what happened, where, and
// what to do, for people, unless the user asks for JSON.
func TestLogEndsForPeople(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/damaged.avro", writePairs(t, dir, "a.avro", 0, 50))
	flip(t, dir+"/damaged.avro", -1, 0xff)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0).lacks(t, "ended with")
	for _, c := range []struct {
		args  string
		env   string
		code  int
		texts []string // in this order at the end; none if the user asks for JSON
	}{
		{"convert damaged.avro new", "", 3, []string{"rowtocol convert ended with exit code 3 (input): ", "damaged.avro", "offset", "  destination: new\n", "  what to do: look at the named file"}},
		{"convert -q damaged.avro new", "", 3, []string{"rowtocol convert ended with exit code 3 (input): ", "  what to do: "}},
		{"convert --log-format text damaged.avro new", "", 3, []string{"rowtocol convert ended with exit code 3 (input): ", "  what to do: "}},
		{"convert --json damaged.avro new", "", 3, []string{"rowtocol convert ended with exit code 3 (input): ", "  what to do: "}},
		{"convert --codec nope a.avro new", "", 1, []string{"(usage): trevni: unknown codec \"nope\"", "  destination: new\n", "  what to do: correct the command line"}},
		{"convert --on-damage skip damaged.avro lossy", "", 8, []string{"with exit code 8 (losses): ", "  what to do: decide whether the lost rows matter: _SUCCESS and --json"}},
		{"convert damaged.avro out", "", 9, []string{"with exit code 9 (conflict): ", "  what to do: name another DEST"}},
		{"cat --columns nope out", "", 1, []string{"rowtocol cat ended with exit code 1 (usage): ", "nope", "  what to do: "}},
		{"cat --nope out", "", 1, []string{"rowtocol cat ended with exit code 1 (usage): unknown flag: --nope", "  what to do: "}},
		{"convert --log-format json damaged.avro new", "", 3, nil},
		{"convert damaged.avro new", "ROWTOCOL_LOG_FORMAT=json", 3, nil},
		{"cat --nope --log-format=json out", "", 1, nil},
		{"cat --nope out", "ROWTOCOL_LOG_FORMAT=json", 1, nil},
	} {
		o := rowtocol(t, dir, []string{c.env}, strings.Fields(c.args)...).want(t, c.code)
		rest := strings.TrimPrefix(o.stderr, o.log())
		if (rest == "") != (c.texts == nil) || strings.Count(rest, "\n") > 3 {
			t.Errorf("%s: %s", c.args, o.stderr)
		}
		for _, text := range c.texts {
			_, after, found := strings.Cut(rest, text)
			if !found {
				t.Errorf("%s: want %q in %s", c.args, text, o.stderr)
			}
			rest = after
		}
	}
	o := rowtocol(t, dir, nil, "cat", "--json", "--columns", "nope", "out").want(t, 1, "  what to do: ")
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	if last := lines[len(lines)-1]; !json.Valid([]byte(last)) || !strings.Contains(last, `"exit":1`) {
		t.Errorf("the last line is not the JSON object: %s", o.stderr)
	}
}

// TestLogOfUsage checks that a run that a wrong value ends is reported like any other, with its
// destination: in the log, the metrics and the lineage.
func TestLogOfUsage(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 50)
	env := clusterConf(t, dir)
	reports := "metrics-file: m.prom\nlineage: runs.jsonl\n"
	for name, text := range map[string]string{"right": "", "key": "nonsense: 1\n", "value": "block-size: none\n"} {
		write(t, dir+"/"+name+".yaml", []byte(text+reports))
	}
	for _, c := range []struct{ args, text string }{
		{"convert --codec nope in out", "unknown codec"},
		{"convert --on-damage nope in out", "--on-damage"},
		{"convert --memory 1MiB in out", "--memory"},
		{"convert --exit-nothing 300 in out", "--exit-nothing"},
		{"convert --push-gateway nope in out", "--push-gateway"},
		{"convert --partitioned --overwrite in out", "--reprocess"},
		{"convert --config key.yaml in out", "nonsense"},
		{"convert --config value.yaml in out", "block-size"},
		{"submit hdfs:///in hdfs:///out", "HADOOP_HOME"},
		{"submit --workers 0 hdfs:///in hdfs:///out", "--workers"},
		{"commit --moved nope --plan plan.json", "--moved"},
		{"plan in out", "--output"},
		{"task --plan plan.json", "--task"},
		{"verify --max-input-block 0 out", "--max-input-block"},
	} {
		_ = os.Remove(dir + "/m.prom")
		_ = os.Remove(dir + "/runs.jsonl")
		args := strings.Fields(c.args)
		if !strings.Contains(c.args, "--config") {
			args = append(args, "--config", "right.yaml")
		}
		o := rowtocol(t, dir, env, args...).want(t, 1, c.text)
		_, last := o.wantRun(t, args[0], "usage")
		dest := args[len(strings.Fields(c.args))-1]
		if strings.Contains(c.args, "--plan ") {
			dest = "" // the plan is not read yet
		}
		if last["dest"] != dest {
			t.Errorf("%s: destination %v, want %q", c.args, last["dest"], dest)
		}
		if args[0] != "convert" && args[0] != "submit" {
			continue
		}
		text, events := string(read(t, dir+"/m.prom")), eventsIn(t, dir+"/runs.jsonl")
		if !strings.Contains(text, fmt.Sprintf("rowtocol_run_exit_code{job_name=%q} 1\n", dest)) {
			t.Errorf("%s: metrics %s", c.args, text)
		}
		if len(events) != 2 || events[1].EventType != "FAIL" || len(events[1].Outputs) != 1 || events[1].Outputs[0].Name != events[0].Outputs[0].Name {
			t.Errorf("%s: events %+v", c.args, events)
		}
	}
}

// TestLogOfSteps checks the figures that the three steps log, and that lines about tasks
// name the task.
func TestLogOfSteps(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 1000)
	o := rowtocol(t, dir, nil, "plan", "--overwrite=false", "in", "out", "-o", "other.json")
	o.want(t, 1)
	o = rowtocol(t, dir, nil, "plan", "in", "new", "-o", "other.json").want(t, 0)
	if _, last := o.wantRun(t, "plan", "done"); last.number("tasks") < 1 || last.number("inputs") < 1 || last.number("input_bytes") < 1 {
		t.Errorf("%v", last)
	}
	rows, bytes := int64(0), int64(0)
	for n := range p.Tasks {
		o := rowtocol(t, dir, nil, "task", "-v", "--plan", "plan.json", "--task", fmt.Sprint(n)).want(t, 0)
		_, last := o.wantRun(t, "task", "done")
		lines := o.logLines(t)
		if len(lines) != 3 || lines[1]["msg"] != "task done" || lines[1].number("rows") != last.number("rows") {
			t.Errorf("%s", o.stderr)
		}
		for _, l := range lines[1:] {
			if l["plan"] != p.Plan || l.number("task") != int64(n) {
				t.Errorf("%v", l)
			}
		}
		if strings.Count(o.stderr, `"task":`) != 2 {
			t.Errorf("want two lines with a task: %s", o.stderr)
		}
		rows, bytes = rows+last.number("rows"), bytes+last.number("bytes")
	}
	o = rowtocol(t, dir, nil, "commit", "-v", "--plan", "plan.json").want(t, 0)
	if _, last := o.wantRun(t, "commit", "done"); last.number("rows") != rows || last.number("bytes") != bytes || rows != 1000 || last["plan"] != p.Plan {
		t.Errorf("%d rows, %d bytes: %v", rows, bytes, last)
	}
	if n := strings.Count(o.stderr, `"msg":"published"`); n < p.Tasks {
		t.Errorf("%d published files for %d tasks: %s", n, p.Tasks, o.stderr)
	}
	o = rowtocol(t, dir, nil, "verify", "out", "--json").want(t, 0)
	var v verified
	frame := o.object(t, &v)
	if _, last := o.wantRun(t, "verify", "done"); last.number("rows") != rows || last.number("bytes") != bytes || v.Rows != rows || frame.Run != last["run"] || v.Rate <= 0 {
		t.Errorf("%v, %+v", last, v)
	}
}

func TestLogFlags(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3000)
	write(t, dir+"/quiet.yaml", []byte("quiet: true\n"))
	n := 0
	run := func(env, args string) output {
		t.Helper()
		n++
		return rowtocol(t, dir, []string{env}, append(strings.Fields(args), "--row-group-size", "1MiB", "a.avro", fmt.Sprint("out", n))...)
	}
	for _, c := range []struct {
		env, args     string
		lines, stdout bool // whether there is a log, and a summary
		detail        bool
	}{
		{"", "convert", true, true, false},
		{"", "convert -q", false, false, false},
		{"", "convert --quiet --log-level error", false, false, false},
		{"", "convert -v", true, true, true},
		{"", "convert --verbose --log-level debug", true, true, true},
		{"", "convert --log-level debug", true, true, true},
		{"", "convert --log-level warn", false, true, false},
		{"", "convert --config quiet.yaml", false, false, false},
		{"", "convert --config quiet.yaml -v", true, true, true},
		{"ROWTOCOL_VERBOSE=true", "convert --config quiet.yaml", true, true, true},
		{"ROWTOCOL_LOG_LEVEL=debug", "convert -q", false, false, false},
		{"ROWTOCOL_QUIET=true", "convert --log-level info", true, true, false},
		{"ROWTOCOL_VERBOSE=true", "convert --quiet=false --log-level info", true, true, false},
	} {
		o := run(c.env, c.args).want(t, 0)
		detail := strings.Contains(o.stderr, `"msg":"task done"`) && strings.Contains(o.stderr, `"msg":"published"`)
		if (o.stderr != "") != c.lines || (o.stdout != "") != c.stdout || detail != c.detail {
			t.Errorf("%s %s: %s%s", c.env, c.args, o.stdout, o.stderr)
		}
	}
	for _, c := range []struct{ env, args string }{
		{"", "convert -q -v"}, {"", "convert --progress-every 1ms"}, {"", "convert -q --log-level info"}, {"", "convert -v --log-level info"}, {"", "convert --log-level loud"},
		{"", "convert --log-format xml"}, {"ROWTOCOL_LOG_LEVEL=info", "convert --config quiet.yaml -q -v"},
	} {
		run(c.env, c.args).want(t, 1, "--")
	}
	run("", "convert -q --json").want(t, 0, `"rows": 3000`)
	if o := run("", "convert -q --on-damage no").want(t, 1); len(o.logLines(t)) != 1 {
		t.Errorf("quiet hides an error: %s", o.stderr)
	}
	o := run("", "convert --log-format text").want(t, 0)
	if lines := strings.Split(o.stderr, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "time=2") || !strings.Contains(lines[0], `Z level=INFO msg="convert begins" run=`) {
		t.Errorf("%s", o.stderr)
	}
}

// TestLogOfIncrements checks that the figures in the log are those of the new increment.
func TestLogOfIncrements(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 100)
	convert := []string{"convert", "--incremental", "--json", "-v", "in", "out"}
	rowtocol(t, dir, nil, convert...).want(t, 0)
	size := len(writePairs(t, dir, "in/b.avro", 0, 50))
	o := rowtocol(t, dir, nil, convert...).want(t, 0)
	_, last := o.wantRun(t, "convert", "done")
	var c converted
	o.object(t, &c)
	if last.number("rows") != 50 || last.number("inputs") != 1 || last.number("input_bytes") != int64(size) || c.Rows != 50 || c.Files != 1 || c.Tasks != 1 {
		t.Errorf("%v, %+v", last, c)
	}
	if strings.Count(o.stderr, `"msg":"published"`) != 1 {
		t.Errorf("%s", o.stderr)
	}
	_, last = rowtocol(t, dir, nil, convert...).want(t, 0).wantRun(t, "convert", "nothing")
	if last.number("rows") != 0 || last.number("inputs") != 0 {
		t.Errorf("%v", last)
	}
}
