// Package metrics reports a run to Prometheus: in a file for the textfile collector of
// node-exporter, or through a push gateway. It gets a run as a report.Run. Only
// cmd/rowtocol uses the package.
//
// All metrics are gauges of the last run of a job, which the label job_name identifies. A run
// that fails replaces all of them except the time of the last success, so that "no success for
// a day" can be queried. That time is 0 if no run of the job has succeeded.
//
// Destination, command and version are labels of rowtocol_run_info alone: they may change from
// run to run, and alerts about a job must not end and begin anew when they do.
package metrics

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// lastSuccess is the only metric that a later run may keep.
const (
	lastSuccess     = "rowtocol_last_success_timestamp_seconds"
	lastSuccessHelp = "When the last successful run of the job ended; 0 if there was none. A run succeeds with exit 0, with nothing to do, or with allowed losses."
	runInfo         = "rowtocol_run_info"
	jobLabel        = "job_name"
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
	{"rowtocol_run_rows", "Rows that the last run committed, or that verify read.", func(r *report.Run) float64 { return float64(r.Rows) }},
	{"rowtocol_run_input_bytes", "Bytes of the inputs whose rows the last run committed.", func(r *report.Run) float64 { return float64(r.InputBytes) }},
	{"rowtocol_run_output_bytes", "Bytes of the files that the last run committed, or that verify read.", func(r *report.Run) float64 { return float64(r.Bytes) }},
	{"rowtocol_run_files", "Files that the last run committed, or that verify read.", func(r *report.Run) float64 { return float64(r.Files) }},
	{"rowtocol_run_lost_rows", "Rows of damaged inputs that the last run left out, as far as they could be counted.", func(r *report.Run) float64 { return float64(r.LostRows) }},
	{"rowtocol_run_losses", "Damaged ranges of inputs that the last run left out.", func(r *report.Run) float64 { return float64(r.Losses) }},
	{"rowtocol_run_skipped_files", "Files among the inputs that the last run skipped, although they may have been meant as inputs, such as files that are not Avro.", func(r *report.Run) float64 { return float64(r.Skipped) }},
	{"rowtocol_run_differences", "Damaged places and rows that differ, as the last run of verify found.", func(r *report.Run) float64 { return float64(r.Differences) }},
	{"rowtocol_run_peak_memory_bytes", "Peak resident memory of the last run.", func(r *report.Run) float64 { return float64(r.PeakMemory) }},
}

// labels returns the labels of a job's metrics in a file. A push gateway gets them as the name of
// the group of the metrics.
func labels(job string) []*dto.LabelPair { return []*dto.LabelPair{newLabel(jobLabel, job)} }

// jobName returns the name of a run's job, by default that of what the run makes.
func jobName(r *report.Run) string { return valid(cmp.Or(r.JobName, r.Table, r.Dest)) }

// valid returns a text as UTF-8, which label values must be.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func newLabel(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// families returns the metrics of a run with labels. They lack the time of the last success.
func families(r *report.Run, labels []*dto.LabelPair) (all []*dto.MetricFamily) {
	for _, g := range gauges {
		all = append(all, family(g.name, g.help, g.value(r), labels))
	}
	info := append(slices.Clip(labels), newLabel("dest", valid(r.Dest)), newLabel("command", r.Command), newLabel("version", r.Version))
	return append(all, family(runInfo, "Destination, command and version of the last run; always 1.", 1, info))
}

// family returns a metric with one value.
func family(name, help string, value float64, labels []*dto.LabelPair) *dto.MetricFamily {
	metric := &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: &value}}
	return &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{metric}}
}

// write writes metrics in Prometheus' text format, in the order of their names.
func write(w io.Writer, families []*dto.MetricFamily) error {
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func boolValue(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
