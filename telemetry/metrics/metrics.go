// Package metrics reports a run to Prometheus: in a file for the textfile collector of
// node-exporter, or through a push gateway. It gets a run as a report.Run. Only
// cmd/rowtocol uses the package.
//
// All metrics are gauges of the last run of a job, which the labels dest and command
// identify. A run that fails replaces all of them except the time of the last success, so
// that "no success for a day" can be queried.
package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// lastSuccess is the only metric that a later run may keep.
const (
	lastSuccess     = "rowtocol_last_success_timestamp_seconds"
	lastSuccessHelp = "When the last successful run ended. A run succeeds with exit 0, with nothing to do, or with allowed losses."
)

// gauge is a metric of a run.
type gauge struct {
	name, help string
	value      func(*report.Run) float64
}

var gauges = []gauge{
	{"rowtocol_run_end_timestamp_seconds", "When the last run ended.", func(r *report.Run) float64 { return unix(r.Ended) }},
	{"rowtocol_run_duration_seconds", "How long the last run took.", func(r *report.Run) float64 { return r.Duration().Seconds() }},
	{"rowtocol_run_success", "Whether the last run succeeded: exit 0, nothing to do, or allowed losses.", func(r *report.Run) float64 { return boolValue(r.Succeeded()) }},
	{"rowtocol_run_exit_code", "Exit code of the last run.", func(r *report.Run) float64 { return float64(r.Exit) }},
	{"rowtocol_run_with_losses", "Whether the last run ended with exit 8: the output lacks rows of damaged inputs, as allowed.", func(r *report.Run) float64 { return boolValue(r.Status == "losses") }},
	{"rowtocol_run_rows", "Rows that the last run committed.", func(r *report.Run) float64 { return float64(r.Rows) }},
	{"rowtocol_run_input_bytes", "Bytes of the inputs whose rows the last run committed.", func(r *report.Run) float64 { return float64(r.InputBytes) }},
	{"rowtocol_run_output_bytes", "Bytes of the files that the last run committed.", func(r *report.Run) float64 { return float64(r.Bytes) }},
	{"rowtocol_run_files", "Files that the last run committed.", func(r *report.Run) float64 { return float64(r.Files) }},
	{"rowtocol_run_lost_rows", "Rows of damaged inputs that the last run left out, as far as they could be counted.", func(r *report.Run) float64 { return float64(r.LostRows) }},
	{"rowtocol_run_losses", "Damaged ranges of inputs that the last run left out.", func(r *report.Run) float64 { return float64(r.Losses) }},
	{"rowtocol_run_peak_memory_bytes", "Peak resident memory of the last run.", func(r *report.Run) float64 { return float64(r.PeakMemory) }},
}

// labels returns the labels of a run's metrics in a file. At a push gateway, they name the group
// of the metrics.
func labels(r *report.Run) prometheus.Labels {
	return prometheus.Labels{"dest": strings.ToValidUTF8(r.Dest, "\uFFFD"), "command": r.Command}
}

// register adds the metrics of a run, except the time of the last success.
func register(to prometheus.Registerer, r *report.Run) {
	for _, g := range gauges {
		addGauge(to, g.name, g.help, nil, g.value(r))
	}
	addGauge(to, "rowtocol_build_info", "The version of rowtocol that ran last; always 1.", prometheus.Labels{"version": r.Version}, 1)
}

func addGauge(to prometheus.Registerer, name, help string, with prometheus.Labels, value float64) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: with})
	g.Set(value)
	to.MustRegister(g)
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
