package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/cli"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rowtocol/rowtocol/telemetry/lineage"
)

// metricsIn returns the gauges in a file, by their names without "rowtocol_".
func metricsIn(t *testing.T, name string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(read(t, name)))
	must(t, err)
	return gaugesOf(families)
}

func gaugesOf(families map[string]*dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for name, f := range families {
		all[strings.TrimPrefix(name, "rowtocol_")] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return all
}

// event holds the fields of a run event that tests need.
type event struct {
	EventType string
	Run       struct {
		RunID  string
		Facets struct{ ErrorMessage struct{ Message string } }
	}
	Job    struct{ Name string }
	Inputs []struct {
		Namespace, Name string
		InputFacets     struct {
			InputStatistics struct{ Size, FileCount int64 }
		}
	}
	Outputs []struct {
		Namespace, Name string
		Facets          struct{ Schema struct{ Fields []any } }
		OutputFacets    struct {
			OutputStatistics *struct{ RowCount, Size, FileCount int64 }
		}
	}
}

func eventsIn(t *testing.T, name string) (all []event) {
	t.Helper()
	for line := range bytes.Lines(read(t, name)) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// figures are the figures of a run in one of the reports.
type figures struct{ rows, bytes, files, inputBytes, losses int64 }

// TestReportsAgree checks that log, JSON object, metrics, lineage and manifest have the same
// figures for all kinds of runs.
func TestReportsAgree(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 100)
	writePairs(t, dir, "in/b.avro", 100, 50)
	damaged := writePairs(t, dir, "damaged.avro", 0, 30)
	copy(damaged[len(damaged)-16:], "damaged sync mark")
	write(t, filepath.Join(dir, "damaged.avro"), damaged)
	for _, tt := range []struct {
		name      string
		args      []string
		code      int
		committed bool
	}{
		{"a conversion", []string{"in", "out"}, 0, true},
		{"nothing to do", []string{"in", "out"}, 0, false},
		{"losses", []string{"--on-damage", "skip", "damaged.avro", "lossy"}, 8, true},
		{"losses again", []string{"--on-damage", "skip", "damaged.avro", "lossy"}, 8, false},
		{"a failure", []string{"damaged.avro", "failed"}, 3, false},
		{"a conflict", []string{"damaged.avro", "out"}, 9, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(dir + "/runs.jsonl")
			args := append([]string{"convert", "--json", "--job-name", "nightly", "--metrics-file", "m.prom", "--lineage", "runs.jsonl"}, tt.args...)
			o := rowtocol(t, dir, nil, args...).want(t, tt.code)
			var c converted
			frame := o.object(t, &c)

			dest := filepath.Join(dir, tt.args[len(tt.args)-1])
			var want figures
			if tt.committed {
				s := manifestIn(t, dest)
				want = figures{s.Rows, s.Bytes, int64(len(s.Files())), s.Made.InputBytes, int64(len(s.Losses))}
				if want.rows == 0 || want.inputBytes == 0 || s.Made.Run != frame.Run {
					t.Fatalf("%+v of run %s", want, s.Made.Run)
				}
				if got := (figures{c.Rows, c.Bytes, int64(c.Files), c.InputBytes, int64(len(c.Losses))}); got != want {
					t.Errorf("--json has %+v, the manifest %+v", got, want)
				}
			}
			ok := tt.code == 0 || tt.code == 8
			checkMetrics(t, metricsIn(t, dir+"/m.prom"), want, tt.code, ok)
			checkEvents(t, eventsIn(t, dir+"/runs.jsonl"), want, frame, dest, ok)
			checkLog(t, o.stderr, want, frame)
		})
	}
}

// TestReportsOfAFailure checks that all reports have what a run committed before it failed.
func TestReportsOfAFailure(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "all/a.avro", 0, 60_000)
	writePairs(t, dir, "parts/k=1/a.avro", 0, 100)
	damaged := writePairs(t, dir, "parts/k=2/a.avro", 0, 30)
	copy(damaged[len(damaged)-16:], "damaged sync mark")
	write(t, dir+"/parts/k=2/a.avro", damaged)
	watched := []string{"--json", "--job-name", "nightly", "--metrics-file", "m.prom", "--lineage", "runs.jsonl"}
	incremental := []string{"convert", "--incremental", "--workers", "1", "--block-size", "4KiB", "--row-group-size", "64KiB", "all", "out"}
	stopped := command(t, incremental...)
	stopped.Dir = dir
	must(t, stopped.Start())
	for tries := 0; len(taskFiles(t, dir)) == 0 && tries < 5000; tries++ {
		time.Sleep(time.Millisecond)
	}
	_ = stopped.Process.Kill()
	_ = stopped.Wait()
	if done := incrementNames(t, dir); len(done) > 0 {
		t.Fatalf("%v was published before the run could be stopped", done)
	}
	write(t, dir+"/all/b.avro", damaged)
	rowtocol(t, dir, nil, append([]string{"convert", "parts/k=1", "before"}, watched...)...).want(t, 0)
	for dest, args := range map[string][]string{"out": incremental, "tree": {"convert", "--partitioned", "parts", "tree"}} {
		_ = os.Remove(dir + "/runs.jsonl")
		o := rowtocol(t, dir, nil, append(args, watched...)...).want(t, 3)
		var c converted
		frame := o.object(t, &c)
		at := dir + "/tree/k=1"
		if dest == "out" {
			at = dir + "/out/" + incrementNames(t, dir)[0]
		}
		s := manifestIn(t, at)
		want := figures{rows: s.Rows, bytes: s.Bytes, files: int64(len(s.Files())), inputBytes: s.Made.InputBytes}
		if c.Rows != want.rows || c.Bytes != want.bytes || c.InputBytes != want.inputBytes || s.Made.Run != frame.Run {
			t.Errorf("--json has %+v, the manifest %+v", c, want)
		}
		checkMetrics(t, metricsIn(t, dir+"/m.prom"), want, 3, false)
		checkEvents(t, eventsIn(t, dir+"/runs.jsonl"), want, frame, filepath.Join(dir, dest), false)
		checkLog(t, o.stderr, want, frame)
	}
}

// taskFiles returns the result files of tasks for dir/out.
func taskFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(dir + "/out/.rowtocol/plan-*/task-*.json")
	must(t, err)
	return files
}

func checkMetrics(t *testing.T, m map[string]float64, want figures, code int, ok bool) {
	t.Helper()
	got := figures{int64(m["run_rows"]), int64(m["run_output_bytes"]), int64(m["run_files"]), int64(m["run_input_bytes"]), int64(m["run_losses"])}
	if got != want || m["run_exit_code"] != float64(code) || (m["run_success"] == 1) != ok || (m["run_with_losses"] == 1) != (code == 8) {
		t.Errorf("the metrics have %v, the manifest %+v", m, want)
	}
	if fresh := m["last_success_timestamp_seconds"] == m["run_end_timestamp_seconds"]; fresh != ok || m["last_success_timestamp_seconds"] == 0 {
		t.Errorf("the last success is %v, the end of the run %v", m["last_success_timestamp_seconds"], m["run_end_timestamp_seconds"])
	}
	if m["run_peak_memory_bytes"] < 1<<20 || m["run_duration_seconds"] <= 0 || m["run_info"] != 1 {
		t.Errorf("%v", m)
	}
}

func checkEvents(t *testing.T, events []event, want figures, frame cli.Ending, dest string, ok bool) {
	t.Helper()
	if len(events) != 2 || events[0].EventType != "START" {
		t.Fatalf("%+v", events)
	}
	end := events[1]
	kind := map[bool]string{true: "COMPLETE", false: "FAIL"}[ok]
	if end.EventType != kind || end.Run.RunID != lineage.RunID(frame.Run) || end.Run.RunID != events[0].Run.RunID || end.Outputs[0].Name != dest {
		t.Errorf("%+v", end)
	}
	if (end.Run.Facets.ErrorMessage.Message == "") != (frame.Error == nil) {
		t.Errorf("%+v, %+v", end.Run.Facets, frame.Error)
	}
	var got figures
	if s := end.Outputs[0].OutputFacets.OutputStatistics; s != nil {
		got = figures{rows: s.RowCount, bytes: s.Size, files: s.FileCount}
	} else if ok {
		t.Error("no figures")
	}
	for _, in := range end.Inputs {
		got.inputBytes += in.InputFacets.InputStatistics.Size
	}
	want.losses = 0 // lineage has no field for them
	if got != want || (len(end.Outputs[0].Facets.Schema.Fields) == 2) != (want.rows > 0) {
		t.Errorf("lineage has %+v, the manifest %+v", got, want)
	}
}

// checkLog checks the figures of the last line about the run.
func checkLog(t *testing.T, log string, want figures, frame cli.Ending) {
	t.Helper()
	var line struct {
		Msg, Run           string
		Rows, Bytes, Files int64
		InputBytes         int64 `json:"input_bytes"`
		Losses             int64
	}
	for text := range strings.Lines(log) {
		if strings.Contains(text, `"convert ended"`) {
			must(t, json.Unmarshal([]byte(text), &line))
		}
	}
	if got := (figures{line.Rows, line.Bytes, line.Files, line.InputBytes, line.Losses}); got != want || line.Run != frame.Run {
		t.Errorf("the log of run %q has %+v, the manifest %+v: %s", line.Run, got, want, log)
	}
}

// TestWatchedSteps commits a plan before and after its tasks are done.
func TestWatchedSteps(t *testing.T) {
	dir := t.TempDir()
	p := plannedSteps(t, dir, 1000)
	write(t, dir+"/job.yaml", []byte("metrics-file: m.prom\nlineage: runs.jsonl\n"))
	rowtocol(t, dir, nil, "task", "--config", "job.yaml", "--plan", "plan.json", "--task", "0").want(t, 0)
	wantAbsent(t, dir+"/m.prom")
	rowtocol(t, dir, nil, "commit", "--config", "job.yaml", "--plan", "plan.json").want(t, 4)
	if m := metricsIn(t, dir+"/m.prom"); m["run_exit_code"] != 4 || m["last_success_timestamp_seconds"] != 0 {
		t.Errorf("%v", m)
	}
	for n := range p.Tasks {
		rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", strconv.Itoa(n)).want(t, 0)
	}
	rowtocol(t, dir, nil, "commit", "--config", "job.yaml", "--plan", "plan.json").want(t, 0)
	m := metricsIn(t, dir+"/m.prom")
	if m["run_rows"] != 1000 || m["last_success_timestamp_seconds"] == 0 {
		t.Errorf("%v", m)
	}
	events := eventsIn(t, dir+"/runs.jsonl")
	if len(events) != 4 || events[1].EventType != "FAIL" || events[3].EventType != "COMPLETE" {
		t.Fatalf("%+v", events)
	}
	end := events[3]
	if len(end.Inputs) != 1 || end.Inputs[0].Name != dir+"/in" || end.Inputs[0].InputFacets.InputStatistics.FileCount != 1 || end.Outputs[0].OutputFacets.OutputStatistics.RowCount != 1000 {
		t.Errorf("%+v", end)
	}
}

// TestJobName gives two jobs one directory for metrics: the second has nothing to do, and does
// not hide the failure of the first. The metrics have the names of the jobs, and so has the
// lineage.
func TestJobName(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	must(t, os.Mkdir(dir+"/metrics", 0o700))
	env := []string{"ROWTOCOL_METRICS_FILE=metrics", "ROWTOCOL_LINEAGE=runs.jsonl"}
	rowtocol(t, dir, env, "convert", "in", "done").want(t, 0)
	rowtocol(t, dir, env, "convert", "--job-name", "daily", "none", "day=2").want(t, 3)
	rowtocol(t, dir, env, "convert", "--job-name", "late", "in", "done").want(t, 0)
	failed, done := metricsIn(t, dir+"/metrics/rowtocol-daily.prom"), metricsIn(t, dir+"/metrics/rowtocol-late.prom")
	if at, is := failed["last_success_timestamp_seconds"]; !is || at != 0 || failed["run_exit_code"] != 3 || done["run_success"] != 1 {
		t.Errorf("%v, %v", failed, done)
	}
	text := string(read(t, dir+"/metrics/rowtocol-daily.prom"))
	if !strings.Contains(text, `rowtocol_run_success{job_name="daily"} 0`) || !strings.Contains(text, `rowtocol_run_info{job_name="daily",dest="day=2",command="convert"`) {
		t.Errorf("%s", text)
	}
	if m := metricsIn(t, dir+"/metrics/rowtocol-done.prom"); m["run_success"] != 1 {
		t.Errorf("%v", m)
	}
	var names []string
	for _, e := range eventsIn(t, dir+"/runs.jsonl") {
		names = append(names, e.Job.Name)
	}
	if want := "convert " + dir + "/done"; !slices.Equal(names, []string{want, want, "daily", "daily", "late", "late"}) {
		t.Errorf("%q", names)
	}
	rowtocol(t, dir, env, "convert", "--job-name", "other", "--metrics-file", "metrics/rowtocol-late.prom", "in", "done").want(t, 0, `job \"late\"`, "a file of its own")
}

// TestWatchedPlaces checks that datasets on the default file system have its authority.
func TestWatchedPlaces(t *testing.T) {
	dir := t.TempDir()
	env := clusterConf(t, dir)
	rowtocol(t, dir, env, "convert", "--store-retry", "1ms", "--lineage", "runs.jsonl", "hdfs:///in/*.avro", "hdfs:///out").want(t, 4)
	for _, e := range eventsIn(t, dir+"/runs.jsonl") {
		if len(e.Inputs) != 1 || e.Inputs[0].Namespace != "hdfs://127.0.0.1:1" || e.Inputs[0].Name != "/in" || e.Outputs[0].Namespace != "hdfs://127.0.0.1:1" || e.Outputs[0].Name != "/out" {
			t.Errorf("%+v", e)
		}
	}
}

// TestWatchedEarly reports runs that end before their work begins.
func TestWatchedEarly(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	watched := []string{"--metrics-file", "m.prom", "--lineage", "runs.jsonl"}
	rowtocol(t, dir, nil, append([]string{"convert", "in", "out"}, watched...)...).want(t, 0)
	success := metricsIn(t, dir+"/m.prom")["last_success_timestamp_seconds"]
	for _, args := range [][]string{
		{"in", "out", "--exit-nothing", "300"}, {"in", "out", "--memory", "1MiB"}, {"in"}, {"in", "out", "--codec", "none"}, {"none", "out"},
	} {
		_ = os.Remove(dir + "/runs.jsonl")
		o := rowtocol(t, dir, nil, append(append([]string{"convert"}, watched...), args...)...)
		m := metricsIn(t, dir+"/m.prom")
		if o.code == 0 || m["run_exit_code"] != float64(o.code) || m["run_success"] != 0 || m["last_success_timestamp_seconds"] != success {
			t.Errorf("%v: exit %d: %v", args, o.code, m)
		}
		events := eventsIn(t, dir+"/runs.jsonl")
		if len(events) != 2 || events[0].EventType != "START" || events[1].EventType != "FAIL" || events[1].Run.Facets.ErrorMessage.Message == "" {
			t.Errorf("%v: %+v", args, events)
		}
	}
	before := fileSums(t, dir)
	rowtocol(t, dir, nil, append([]string{"convert", "--dry-run", "in", "other"}, watched...)...).want(t, 0)
	wantUnchanged(t, dir, before)
}

// TestFailedReports checks that failed reports change neither a run nor its exit code.
func TestFailedReports(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	avro := read(t, dir+"/in/a.avro")
	closed := httptest.NewServer(nil)
	closed.Close()
	gateway := strings.Replace(closed.URL, "://", "://anna:s3cret@", 1)
	o := rowtocol(t, dir, nil, "convert", "--metrics-file", "none/m.prom", "--lineage", "none/runs.jsonl", "--push-gateway", gateway, "in", "out")
	o.want(t, 0, "metrics: ", "lineage: ", "refused", closed.URL)
	if strings.Contains(o.stderr, "s3cret") {
		t.Errorf("the password is in %s", o.stderr)
	}
	rowtocol(t, dir, nil, "convert", "--metrics-file", "in/a.avro", "in").want(t, 1, "does not end in") // checked before other flags
	if !bytes.Equal(avro, read(t, dir+"/in/a.avro")) {
		t.Error("an input was changed")
	}
	rowtocol(t, dir, nil, "convert", "--metrics-file", "none/m.prom", "--lineage", "none/runs.jsonl", "in/none.avro", "out").want(t, 3, "metrics: ", "lineage: ")
	must(t, os.Symlink("out/runs.jsonl", dir+"/link"))
	write(t, dir+"/out/runs.jsonl", nil)
	rowtocol(t, dir, nil, "convert", "--lineage", "link", "in", "out").want(t, 1, "--lineage", "is a destination")
	for _, args := range [][]string{
		{"--metrics-file", "in/a.avro"}, {"--metrics-file", "new/m.prom"}, {"--lineage", "new/runs.jsonl"}, {"--lineage", "hdfs://nn/runs.jsonl"},
		{"--metrics-file", "new/m.prom", "--lineage", "new/runs.jsonl"}, {"--push-gateway", "anna:s3cret@host"}, {"--push-gateway", "http://anna@host?s3cret"},
	} {
		rowtocol(t, dir, nil, append(append([]string{"convert"}, args...), "in", "new")...).want(t, 1, "--").lacks(t, "s3cret", "  was given")
		wantAbsent(t, dir+"/new")
	}
}

// pushGateway is a push gateway that keeps the gauges it receives.
type pushGateway struct {
	mu     sync.Mutex
	path   string
	gauges []map[string]float64
}

func (p *pushGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	families := map[string]*dto.MetricFamily{}
	for dec := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header)); ; {
		f := new(dto.MetricFamily)
		if dec.Decode(f) != nil {
			break
		}
		families[f.GetName()] = f
	}
	p.path, p.gauges = r.Method+" "+r.URL.Path, append(p.gauges, gaugesOf(families))
	w.WriteHeader(http.StatusAccepted)
}

func TestPushGateway(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	gateway := new(pushGateway)
	server := httptest.NewServer(gateway)
	defer server.Close()
	env := []string{"ROWTOCOL_PUSH_GATEWAY=" + server.URL}
	rowtocol(t, dir, env, "convert", "in", "out").want(t, 0)
	rowtocol(t, dir, env, "convert", "--codec", "bzip2", "in", "out").want(t, 9)
	if len(gateway.gauges) != 2 || gateway.path != "POST /metrics/job/rowtocol/job_name@base64/b3V0" {
		t.Fatalf("%s %v", gateway.path, gateway.gauges)
	}
	first, second := gateway.gauges[0], gateway.gauges[1]
	if first["run_rows"] != 10 || first["last_success_timestamp_seconds"] != first["run_end_timestamp_seconds"] {
		t.Errorf("%v", first)
	}
	if _, sent := second["last_success_timestamp_seconds"]; sent || second["run_exit_code"] != 9 {
		t.Errorf("%v", second)
	}
}

// TestWatchedSignal stops a run whose push gateway does not answer.
func TestWatchedSignal(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 400_000)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that it notices when the client has gone
		<-r.Context().Done()
	}))
	defer silent.Close()
	cmd := startRowtocol(t, dir, "convert", "--codec", "bzip2", "--workers", "1",
		"--metrics-file", "m.prom", "--lineage", "runs.jsonl", "--push-gateway", silent.URL, "a.avro", "out")
	waitFor(t, dir+"/tmp/*")
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	stopped := time.Now()
	waitCmd(t, cmd).want(t, 143)
	if took := time.Since(stopped); took > 8*time.Second {
		t.Errorf("the run ended only after %v", took)
	}
	if m := metricsIn(t, dir+"/m.prom"); m["run_exit_code"] != 143 || m["run_success"] != 0 || m["last_success_timestamp_seconds"] != 0 {
		t.Errorf("%v", m)
	}
	events := eventsIn(t, dir+"/runs.jsonl")
	if len(events) != 2 || events[1].EventType != "ABORT" {
		t.Errorf("%+v", events)
	}
}
