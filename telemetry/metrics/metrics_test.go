package metrics

import (
	"bytes"
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
		InputBytes: 1 << 40, Rows: 12_000_000, Bytes: 1<<39 + 1, LostRows: 3, Losses: 2, Files: 7, PeakMemory: 1 << 29,
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
		"rowtocol_build_info": 1, "rowtocol_last_success_timestamp_seconds": end + 300,
		"rowtocol_run_end_timestamp_seconds": end + 300, "rowtocol_run_duration_seconds": 300,
		"rowtocol_run_success": 1, "rowtocol_run_exit_code": 0, "rowtocol_run_with_losses": 0,
		"rowtocol_run_rows": 12_000_000, "rowtocol_run_input_bytes": 1 << 40, "rowtocol_run_output_bytes": 1<<39 + 1,
		"rowtocol_run_files": 7, "rowtocol_run_lost_rows": 3, "rowtocol_run_losses": 2, "rowtocol_run_peak_memory_bytes": 1 << 29,
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
		value, is := got[lastSuccess]
		if is != (want > 0) || value != want {
			t.Errorf("after %s: got last success %v, want %v", night.status, value, want)
		}
		if got["rowtocol_run_success"] != boolValue(night.success) || got["rowtocol_run_with_losses"] != boolValue(night.loss) || got["rowtocol_run_exit_code"] != float64(night.exit) {
			t.Errorf("after %s: got %v", night.status, got)
		}
	}
}

// TestKeptLabels checks that the time of the last success keeps its labels if the destination
// changes each day.
func TestKeptLabels(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mail.prom")
	first, second := newRun(1, 0, "done"), newRun(2, 4, "storage")
	first.Dest, second.Dest = "day=1", "day=2"
	for _, run := range []*report.Run{first, second, second} {
		testenv.Must(t, WriteFile(name, run))
	}
	text, _ := os.ReadFile(name)
	for _, want := range []string{lastSuccess + `{command="convert",dest="day=1"} `, `rowtocol_run_exit_code{command="convert",dest="day=2"} 4`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

func TestForeignFile(t *testing.T) {
	kept := func(sample string) string {
		return "rowtocol_build_info 1\n# TYPE " + lastSuccess + " gauge\n" + lastSuccess + sample + "\n"
	}
	large := "# HELP rowtocol_build_info x\n" + strings.Repeat("#\n", maxFile/2)
	for what, tt := range map[string]struct{ text, word string }{
		"empty":           {"", "has no rowtocol_build_info"},
		"another program": {"# TYPE up gauge\nup 1\n", "has no rowtocol_build_info"},
		"not metrics":     {"Obj\x01\x04\x16avro.schema", "did not hold metrics"},
		"truncated":       {"# TYPE rowtocol_build_info gauge\nrowtocol_build_info{command=\"con", "did not hold metrics"},
		"large":           {large, "bytes"},
		"another label":   {kept(`{command="y",dest="z",instance="x"} 5`), "a success time"},
		"other labels":    {kept(`{dest="z",instance="x"} 5`), "a success time"},
		"infinite time":   {kept(`{command="y",dest="z"} +Inf`), "a success time"},
		"not a number":    {kept(`{command="y",dest="z"} NaN`), "a success time"},
		"negative":        {kept(`{command="y",dest="z"} -5`), "a success time"},
		"without type":    {"rowtocol_build_info 1\n" + lastSuccess + "{command=\"y\",dest=\"z\"} 5\n", "a success time"},
		"duplicate":       {"rowtocol_build_info 1\n# TYPE a gauge\na 1\n# TYPE a gauge\na 2\n", "did not hold metrics"},
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "mail.prom")
			testenv.Must(t, os.WriteFile(name, []byte(tt.text), 0o600))
			err := WriteFile(name, newRun(1, 4, "storage"))
			if err == nil || !strings.Contains(err.Error(), tt.word) || !strings.Contains(err.Error(), "replaced") {
				t.Errorf("got error %v, want %q", err, tt.word)
			}
			got := parseFile(t, name)
			if _, is := got[lastSuccess]; is || got["rowtocol_run_exit_code"] != 4 {
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
	folder := filepath.Join(dir, "folder.prom")
	testenv.Must(t, os.Mkdir(folder, 0o700))
	for _, name := range []string{device, folder} {
		if err := WriteFile(name, newRun(1, 0, "done")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: got error %v", name, err)
		}
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
