package metrics

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 11, 22, 2, 10, 0, 0, time.UTC)

// newRun returns a run that took some minutes.
func newRun(minutes int, exit int, status string) *report.Run {
	return &report.Run{
		ID: "0123456789abcdef", Command: "convert", Version: "v1.2.3", Dest: "/data/mail \"new\"\\\n.columns",
		Began: began, Ended: began.Add(time.Duration(minutes) * time.Minute), Exit: exit, Status: status,
		InputBytes: 1 << 40, Rows: 12_000_000, Bytes: 1<<39 + 1, LostRows: 3, Losses: 2, Skipped: 5, Files: 7, Differences: 4, PeakMemory: 1 << 29,
	}
}

// parseValues parses a text with Prometheus' own parser, and returns its metrics.
func parseValues(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	if problems, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	all := map[string]float64{}
	for name, f := range families {
		if len(f.GetMetric()) != 1 {
			t.Errorf("got %s %d times", name, len(f.GetMetric()))
		}
		all[name] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return all
}

func parseFile(t *testing.T, name string) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(name)
	testenv.Must(t, err)
	return parseValues(t, text)
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	testenv.Must(t, WriteFile(name, newRun(5, 0, "done")))
	end := float64(began.Unix())
	got := parseFile(t, name)
	for metric, want := range map[string]float64{
		"rowtocol_run_info": 1, "rowtocol_last_success_timestamp_seconds": end + 300,
		"rowtocol_run_end_timestamp_seconds": end + 300, "rowtocol_run_duration_seconds": 300,
		"rowtocol_run_success": 1, "rowtocol_run_exit_code": 0, "rowtocol_run_with_losses": 0,
		"rowtocol_run_rows": 12_000_000, "rowtocol_run_input_bytes": 1 << 40, "rowtocol_run_output_bytes": 1<<39 + 1,
		"rowtocol_run_files": 7, "rowtocol_run_lost_rows": 3, "rowtocol_run_losses": 2, "rowtocol_run_skipped_files": 5, "rowtocol_run_differences": 4, "rowtocol_run_peak_memory_bytes": 1 << 29,
	} {
		if got[metric] != want {
			t.Errorf("%s: got %v, want %v", metric, got[metric], want)
		}
		delete(got, metric)
	}
	if len(got) > 0 {
		t.Errorf("got further metrics %v", got)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 1 {
		t.Errorf("got files %v, want one", left)
	}
}

// TestLastSuccess checks that failures of a job do not change the time of the last success.
func TestLastSuccess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	var want float64
	for minutes, night := range []struct {
		exit          int
		status        string
		success, loss bool
	}{
		{4, "storage", false, false}, {0, "done", true, false}, {3, "input", false, false}, {143, "interrupted", false, false},
		{99, "nothing", true, false}, {1, "usage", false, false}, {8, "losses", true, true}, {2, "defect", false, false},
	} {
		run := newRun(minutes+1, night.exit, night.status)
		if night.status == "usage" {
			run.Dest = "" // the destination is not known yet
		}
		testenv.Must(t, WriteFile(name, run))
		if night.success {
			want = float64(run.Ended.Unix())
		}
		got := parseFile(t, name)
		if value, is := got[lastSuccess]; !is || value != want {
			t.Errorf("after %s: got last success %v, want %v", night.status, value, want)
		}
		if got["rowtocol_run_success"] != boolValue(night.success) || got["rowtocol_run_with_losses"] != boolValue(night.loss) || got["rowtocol_run_exit_code"] != float64(night.exit) {
			t.Errorf("after %s: got %v", night.status, got)
		}
	}
}

// TestJobName checks that all metrics of a job have the same labels, with any destination
// and command, and also if a run fails before it knows its destination.
func TestJobName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	for day, run := range []*report.Run{newRun(1, 0, "done"), newRun(2, 4, "storage"), newRun(3, 1, "usage")} {
		run.Dest, run.JobName, run.Command = fmt.Sprint("day=", day), "mail", []string{"convert", "submit", "convert"}[day]
		if run.Status == "usage" {
			run.Dest, run.JobName = "", ""
		}
		testenv.Must(t, WriteFile(name, run))
		text, _ := os.ReadFile(name)
		info := fmt.Sprintf(`%s{job_name="mail",dest="%s",command="%s",version="v1.2.3"} 1`, runInfo, run.Dest, run.Command)
		if n := strings.Count(string(text), `{job_name="mail"} `); n != len(gauges)+1 || !strings.Contains(string(text), info) {
			t.Errorf("%d metrics of the job, want %s in\n%s", n, info, text)
		}
		if got := parseValues(t, text)[lastSuccess]; got != float64(began.Unix()+60) {
			t.Errorf("got last success %v", got)
		}
	}
}

// TestAnotherJob checks that a job whose file another job wrote says so, and has no success of
// the other job.
func TestAnotherJob(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	testenv.Must(t, WriteFile(name, newRun(1, 0, "done")))
	late := newRun(2, 4, "storage")
	late.JobName = "late"
	if err := WriteFile(name, late); err == nil || !strings.Contains(err.Error(), `of "late" replace`) {
		t.Errorf("got error %v", err)
	}
	if got := parseFile(t, name); got[lastSuccess] != 0 || got["rowtocol_run_exit_code"] != 4 {
		t.Errorf("got %v", got)
	}
	testenv.Must(t, WriteFile(name, late))
}

// TestDirectory checks that each job has a file of its own in a directory.
func TestDirectory(t *testing.T) {
	dir, names := t.TempDir(), map[string]bool{}
	for _, job := range []string{"mail", "/data/mail", "/data_mail", "/data/mail/", "../mail", "a\xffb", strings.Repeat("long/", 99) + "1", strings.Repeat("long/", 99) + "2", ""} {
		run := newRun(1, 4, "storage")
		run.Dest, run.JobName = job, ""
		name := FileFor(dir+"/new/", jobName(run))
		if names[name] || filepath.Dir(name) != dir+"/new" || len(filepath.Base(name)) > 128 {
			t.Errorf("%q: got file %s", job, name)
		}
		names[name] = true
		testenv.Must(t, WriteFile(dir, run))
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(names)-1 {
		t.Errorf("got files %v, %v; want one for each job with a name", files, err)
	}
	if got := parseFile(t, dir+"/rowtocol-mail.prom"); got["rowtocol_run_exit_code"] != 4 {
		t.Errorf("got %v", got)
	}
}

func TestApart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "metrics.prom")
	testenv.Must(t, os.Mkdir(dir, 0o777))
	for name, want := range map[string]string{
		"a/mail.prom": "a/mail-x.prom", "a/mail": "a/mail", "a.prom/": "a.prom/", dir: dir, dir + "/m.prom": dir + "/m-x.prom",
	} {
		if got := Apart(name, "-x"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestForeignFile(t *testing.T) {
	kept := func(sample string) string {
		return "rowtocol_run_info 1\n# TYPE " + lastSuccess + " gauge\n" + lastSuccess + sample + "\n"
	}
	large := "# HELP rowtocol_run_info x\n" + strings.Repeat("#\n", maxFile/2)
	for what, tt := range map[string]struct{ text, word string }{
		"empty":           {"", "has no rowtocol_run_info"},
		"another program": {"# TYPE up gauge\nup 1\n", "has no rowtocol_run_info"},
		"not metrics":     {"Obj\x01\x04\x16avro.schema", "did not hold metrics"},
		"truncated":       {"# TYPE rowtocol_run_info gauge\nrowtocol_run_info{job_name=\"con", "did not hold metrics"},
		"large":           {large, "bytes"},
		"another label":   {kept(`{job_name="z",instance="x"} 5`), "a success time"},
		"other labels":    {kept(`{dest="z"} 5`), "a success time"},
		"infinite time":   {kept(`{job_name="z"} +Inf`), "a success time"},
		"no time":         {"rowtocol_run_info 1\n", "a success time"},
		"two times":       {kept(`{job_name="z"} 5` + "\n" + lastSuccess + `{job_name="y"} 5`), "a success time"},
		"not a number":    {kept(`{job_name="z"} NaN`), "a success time"},
		"negative":        {kept(`{job_name="z"} -5`), "a success time"},
		"without type":    {"rowtocol_run_info 1\n" + lastSuccess + "{job_name=\"z\"} 5\n", "a success time"},
		"duplicate":       {"rowtocol_run_info 1\n# TYPE a gauge\na 1\n# TYPE a gauge\na 2\n", "did not hold metrics"},
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "mail.prom")
			testenv.Must(t, os.WriteFile(name, []byte(tt.text), 0o600))
			err := WriteFile(name, newRun(1, 4, "storage"))
			if err == nil || !strings.Contains(err.Error(), tt.word) || !strings.Contains(err.Error(), "replaced") {
				t.Errorf("got error %v, want %q", err, tt.word)
			}
			got := parseFile(t, name)
			if at, is := got[lastSuccess]; !is || at != 0 || got["rowtocol_run_exit_code"] != 4 {
				t.Errorf("%v", got)
			}
			if err := WriteFile(name, newRun(1, 4, "storage")); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

// TestLink checks what WriteFile does with links to a file of metrics, to another file, and to
// no file.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	read, link := filepath.Join(dir, "collected.prom"), filepath.Join(dir, "mail.prom")
	testenv.Must(t, WriteFile(read, newRun(5, 0, "done")))
	for to, word := range map[string]string{"collected.prom": "", "notes.txt": ".prom", "none.prom": "nowhere"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600))
		_ = os.Remove(link)
		testenv.Must(t, os.Symlink(to, link))
		err := WriteFile(link, newRun(6, 4, "storage"))
		if (err == nil) != (word == "") || err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got error %v", to, err)
		}
		if is, err := os.Readlink(link); err != nil || is != to {
			t.Errorf("link to %s became %s: %v", to, is, err)
		}
	}
	if got := parseFile(t, read); got["rowtocol_run_exit_code"] != 4 || got[lastSuccess] == 0 {
		t.Errorf("%v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	device := filepath.Join(dir, "device.prom")
	testenv.Must(t, os.Symlink(os.DevNull, device))
	if err := WriteFile(device, newRun(1, 0, "done")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got error %v", err)
	}
	if info, err := os.Lstat(device); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	data := filepath.Join(dir, "a.avro")
	testenv.Must(t, os.WriteFile(data, []byte("Obj"), 0o600))
	err := WriteFile(data, newRun(1, 0, "done"))
	if text, _ := os.ReadFile(data); err == nil || string(text) != "Obj" {
		t.Errorf("got error %v, file %q", err, text)
	}
	if err := WriteFile(filepath.Join(dir, "none", "mail.prom"), newRun(1, 0, "done")); err == nil {
		t.Error("no error without the directory")
	}
}

// TestInvalidDest checks that metrics can be written if the destination is not UTF-8.
func TestInvalidDest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	run := newRun(1, 1, "usage")
	run.Dest = "a\xffb"
	testenv.Must(t, WriteFile(name, run))
	parseFile(t, name)
}
