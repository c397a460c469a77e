package main

import (
	"os"
	"strings"
	"testing"
)

// TestVerifyMetrics checks what metrics tell of runs of verify, which have a job and a file of
// their own although they read the job file of convert.
func TestVerifyMetrics(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 20)
	writePairs(t, dir, "other.avro", 5, 20)
	write(t, dir+"/job.yaml", []byte("input: in\ndest: out\nmetrics-file: mail.prom\njob-name: mail\n"))
	rowtocol(t, dir, nil, "convert", "--config", "job.yaml").want(t, 0)
	before := read(t, dir+"/mail.prom")
	verify := func(code int, args ...string) map[string]float64 {
		t.Helper()
		rowtocol(t, dir, nil, append([]string{"verify", "--config", "job.yaml", "out"}, args...)...).want(t, code)
		if string(read(t, dir+"/mail.prom")) != string(before) {
			t.Error("the metrics of convert changed")
		}
		if text := string(read(t, dir+"/mail-verify.prom")); !strings.Contains(text, `rowtocol_run_success{job_name="mail-verify"}`) {
			t.Errorf("metrics of another job: %s", text)
		}
		return metricsIn(t, dir+"/mail-verify.prom")
	}
	sound := verify(0, "--against", "in")
	if sound["run_success"] != 1 || sound["run_rows"] != 20 || sound["run_files"] != 1 || sound["run_output_bytes"] == 0 || sound["run_differences"] != 0 || sound["last_success_timestamp_seconds"] == 0 {
		t.Errorf("sound: %v", sound)
	}
	writePairs(t, dir, "in/.b.avro", 20, 10)
	incomplete := verify(0, "--against", "in")
	if incomplete["run_success"] != 1 || incomplete["run_differences"] != 0 {
		t.Errorf("incomplete: %v", incomplete)
	}
	other := verify(6, "--against", "other.avro")
	if other["run_success"] != 0 || other["run_exit_code"] != 6 || other["run_differences"] != 20 {
		t.Errorf("other rows: %v", other)
	}
	part := globOne(t, dir+"/out/part-*")
	flip(t, part, len(read(t, part))/2, 1)
	damaged := verify(6)
	if damaged["run_success"] != 0 || damaged["run_differences"] < 1 || damaged["last_success_timestamp_seconds"] != incomplete["last_success_timestamp_seconds"] {
		t.Errorf("damaged: %v, before it %v", damaged, incomplete)
	}

	must(t, os.Mkdir(dir+"/prom", 0o777))
	rowtocol(t, dir, nil, "verify", "--metrics-file", "prom", "out/").want(t, 6)
	rowtocol(t, dir, nil, "verify", "--metrics-file", "prom", "--job-name", "weekly", "out").want(t, 6)
	rowtocol(t, dir, nil, "verify", "--metrics-file", "out/verify.prom", "out").want(t, 1, "--metrics-file")
	names := globAtLeast(t, dir+"/prom/*", 2)
	if len(names) != 2 || !strings.HasSuffix(names[1], "/rowtocol-weekly.prom") || !strings.Contains(string(read(t, names[0])), `job_name="out/-verify"`) {
		t.Errorf("%v", names)
	}
}
