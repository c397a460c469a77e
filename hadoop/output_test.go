package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// readRecording returns lines that Hadoop's client printed on a real cluster.
func readRecording(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "client", name+".txt"))
	testenv.Must(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestOutput(t *testing.T) {
	for name, want := range map[string]struct {
		id, state, why string
		percent        int
		running        bool
		maps           int64 // number of maps that were launched
		reason         string
	}{
		"success":  {"application_1795425022941_0003", succeeded, "", 100, true, 2, ""},
		"failed":   {"application_1795425022941_0004", failed, "Job failed as tasks failed. failedMaps:1", 100, true, 4, "java.io.IOException: pipe child exception"},
		"killed":   {"application_1795425022941_0005", killed, "was killed by user", 0, true, 0, "java.io.IOException: Job failed!"},
		"toolarge": {"application_1795425022941_0008", killed, "more than the supported max container capability", 100, true, 0, "java.io.IOException: Job failed!"},
		"queue":    {reason: "to unknown queue: nosuch"},
		"amlarge":  {reason: "InvalidResourceRequestException: Invalid resource request!"},
		"rmdown":   {reason: "java.net.ConnectException: Call From"},
	} {
		var o output
		for _, line := range readRecording(t, name) {
			o.addLine(line)
		}
		if o.app.ID != want.id || o.app.State != want.state || o.running != want.running || o.percent != want.percent || o.mapping != want.running {
			t.Errorf("%s: got %+v, %d%%, want %+v", name, o.app, o.percent, want)
		}
		if why := strings.Join(o.why, "\n"); !strings.Contains(why, want.why) || want.why == "" && why != "" {
			t.Errorf("%s: got reason %q, want %q", name, why, want.why)
		}
		if got := o.app.Counters["Job Counters"]["Launched map tasks"]; got != want.maps {
			t.Errorf("%s: got %d maps, want %d: %v", name, got, want.maps, o.app.Counters)
		}
		if reason := o.tail.reason(); !strings.Contains(reason, want.reason) {
			t.Errorf("%s: got last reason %q, want %q", name, reason, want.reason)
		}
		if want.running && (o.app.Job != jobID(want.id) || o.app.URL != "http://localhost:8088/proxy/"+want.id+"/") {
			t.Errorf("%s: %+v", name, o.app)
		}
		if len(o.lines) > lastLines {
			t.Errorf("%s: %d lines are kept", name, len(o.lines))
		}
	}
}

func TestCounters(t *testing.T) {
	var o output
	for _, line := range readRecording(t, "success") {
		o.addLine(line)
	}
	for group, value := range map[string]string{"File System Counters": "FILE: Number of bytes written=609692", "rowtocol": "rows=82", "Job Counters": "Data-local map tasks=2"} {
		name, number, _ := strings.Cut(value, "=")
		if got := fmt.Sprint(o.app.Counters[group][name]); got != number {
			t.Errorf("%s, %s: got %s, want %s", group, name, got, number)
		}
	}
	o.addLine("INFO Counters: 2000")
	o.addLine("\tMany")
	for i := range 2000 {
		o.addLine(fmt.Sprintf("\t\tc%d=%d", i, i))
	}
	if n := len(o.app.Counters["Many"]); n > maxCounters {
		t.Errorf("%d counters are kept", n)
	}
}

func TestReport(t *testing.T) {
	for name, want := range map[string]struct {
		state, final string
		percent      int
		why          string
		ended        bool
	}{
		"running":  {"RUNNING", "UNDEFINED", 5, "", false},
		"failed":   {"FINISHED", failed, 100, "Task failed task_1795425022941_0004_m_000001 Job failed as tasks failed.", true},
		"killed":   {killed, killed, 100, "Application application_1795425022941_0005 was killed by user", true},
		"toolarge": {"FINISHED", killed, 100, "The required MAP capability is more than the supported max", true},
	} {
		r := parseReport(readRecording(t, "status-"+name))
		if r == nil || r.state != want.state || r.final != want.final || r.percent != want.percent || r.ended() != want.ended ||
			!strings.HasPrefix(strings.Join(r.why, " "), want.why) || strings.Contains(strings.Join(r.why, " "), "Label") || keyOf(r.name) != "c0ffee" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, other := range [][]string{nil, readRecording(t, "status-unknown"), readRecording(t, "success")} {
		if r := parseReport(other); r != nil {
			t.Errorf("%.80q: got %+v, want none", other, r)
		}
	}
}

func TestList(t *testing.T) {
	reports := parseList(readRecording(t, "list"))
	if len(reports) != 3 {
		t.Fatalf("%d applications", len(reports))
	}
	r := latestByKey(reports)["c0ffee"]
	if r == nil || r.id != "application_1795425022941_0005" || r.state != "RUNNING" || r.percent != 5 || r.url != "http://localhost:45855" {
		t.Errorf("%+v", r)
	}
	if got := parseList([]string{"application_1_2\trowtocol c0ffee a\tb\tMR\tu\tq\tACCEPTED\tUNDEFINED\t0%\tN/A"}); len(got) != 1 || got[0].state != "ACCEPTED" || got[0].url != "" {
		t.Errorf("a tab in a name: %+v", got)
	}
}

func TestIDs(t *testing.T) {
	for id, want := range map[string]string{
		"application_1795425022941_0005": "application_1795425022941_0005", "job_1795425022941_0005": "application_1795425022941_0005",
		"": "", "application_1": "", "job_1_2; rm": "", "attempt_1_2_m_3_0": "",
	} {
		if got := applicationID(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
	for name, want := range map[string]string{jobName("ab-2", "hdfs://nn/a\x00b"): "ab-2", "rowtocol ab": "ab", "word count": "", "rowtocol a/b c": ""} {
		if got := keyOf(name); got != want {
			t.Errorf("key of %q: got %q, want %q", name, got, want)
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, name := range []string{"success", "failed", "status-toolarge", "list"} {
		b, err := os.ReadFile(filepath.Join("testdata", "client", name+".txt"))
		testenv.Must(f, err)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o output
		var lines []string
		w := &lineWriter{line: func(line string) {
			o.addLine(line)
			lines = append(lines, line)
		}}
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		w.end()
		if o.app.ID != "" && applicationID(o.app.ID) == "" && len(o.app.ID) < 30 {
			t.Errorf("got ID %q", o.app.ID)
		}
		if len(o.lines) > lastLines || len(o.why) > maxReason || o.counters > maxCounters {
			t.Errorf("too much is kept")
		}
		if r := parseReport(lines); r != nil && r.percent > 100 {
			t.Errorf("%+v", r)
		}
		latestByKey(parseList(lines))
	})
}

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "it printed nothing",
		" no space \n\n":               "no space",
		"\x1b[2Jgone\x00":              "?[2Jgone?",
		strings.Repeat("x", maxLine):   strings.Repeat("x", maxShown) + "…",
		"a.b.CException: \x07 is down": "a.b.CException: ? is down",
	} {
		var end tail
		for line := range strings.SplitSeq(text, "\n") {
			end.addLine(line)
		}
		if got := end.reason(); got != want {
			t.Errorf("%.40q: got %.100q, want %.100q", text, got, want)
		}
	}
}
