package configs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// night is what a job of the crontab finds in a night.
type night int

const (
	none    night = iota // the job does not run
	fresh                // mail to convert
	old                  // mail that is converted already
	torn                 // mail to convert, and a file whose start is lost
	missing              // no mail, so that the job fails
	altered              // a column file that was altered, and verify instead of the job
)

// TestAlerts runs both lines of the crontab for some nights, and gives their metrics to
// Prometheus with the example's rules. In the last night each job must have exactly the wanted
// alerts.
func TestAlerts(t *testing.T) {
	if missing := testenv.MissingTools("promtool"); missing != "" {
		testenv.Skip(t, missing)
	}
	rules, err := filepath.Abs("prometheus-rules.yml")
	must(t, err)
	tests := map[string]any{"rule_files": []string{rules}, "evaluation_interval": "1h"}
	var all []any
	for _, tt := range []struct {
		what       string
		mail, late []night
		alerts     map[string]string // jobs by alerts, separated by spaces
	}{
		{"both work", []night{fresh, fresh}, []night{fresh, fresh}, nil},
		{"nothing to do", []night{fresh, old, old}, []night{fresh, old, old}, nil},
		{"one fails once", []night{fresh, missing}, []night{fresh, old}, map[string]string{"ConversionFailed": "mail"}},
		{"one fails twice", []night{fresh, missing, missing}, []night{fresh, old, old}, map[string]string{"ConversionFailed": "mail", "ConversionLate": "mail mail-verify"}},
		{"the other fails once", []night{fresh, fresh}, []night{fresh, missing}, map[string]string{"ConversionFailed": "mail-late"}},
		{"one works again", []night{missing, fresh}, []night{fresh, old}, nil},
		{"one has never succeeded", []night{missing, missing}, []night{fresh, old}, map[string]string{"ConversionFailed": "mail", "ConversionLate": "mail"}},
		{"one is late", []night{fresh, none, none}, []night{fresh, old, old}, map[string]string{"ConversionLate": "mail mail-verify"}},
		{"one has a torn file", []night{fresh, torn}, []night{fresh, old}, map[string]string{"InputsSkipped": "mail", "ConversionFailed": "mail-verify"}},
		{"verify finds damage", []night{fresh, altered}, []night{fresh, old}, map[string]string{"ConversionFailed": "mail-verify", "OutputDiffers": "mail-verify"}},
		{"one has never run", []night{none, none}, []night{fresh, old}, map[string]string{"ConversionMissing": "mail"}},
	} {
		m := newMachine(t, "temp-dir: /temp\n")
		lines, series := m.cronLines(t), newSeries(len(tt.mail))
		for n := range tt.mail {
			for i, found := range []night{tt.mail[n], tt.late[n]} {
				m.spend(t, lines[i], days()[i], found)
			}
			series.collect(t, m, n)
		}
		all = append(all, map[string]any{"name": tt.what, "interval": "1h", "input_series": series.document(), "alert_rule_test": m.wantAlerts(tt.alerts, len(tt.mail))})
	}
	tests["tests"] = all
	doc, err := yaml.Marshal(tests)
	must(t, err)
	file := t.TempDir() + "/tests.yml"
	must(t, os.WriteFile(file, doc, 0o600))
	if out, err := exec.Command("promtool", "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// spend runs a line of the crontab in a night.
func (m machine) spend(t *testing.T, line cronLine, day string, found night) {
	t.Helper()
	switch found {
	case none:
		return
	case missing:
		must(t, os.RemoveAll(m.dir+"/data/mail/"+day))
	case fresh, torn:
		must(t, os.RemoveAll(m.dir+"/data/mail/"+day), os.RemoveAll(m.dir+"/data/mail.columns/dt="+day))
		m.addMail(t, day)
		if found == torn {
			must(t, os.WriteFile(m.dir+"/data/mail/"+day+"/torn.avro", []byte("no magic"), 0o600))
		}
	case altered:
		m.verifyAltered(t, line, day)
		return
	}
	if out := line.mailed(); (out != "") != (found == missing || found == torn) {
		t.Errorf("day %s: mail %q", day, out)
	}
}

// verifyAltered alters a column file, and verifies the output with the environment of a line.
func (m machine) verifyAltered(t *testing.T, line cronLine, day string) {
	t.Helper()
	part := m.outputs(t, day, "part-*")[0]
	content := []byte(text(t, part))
	content[len(content)/2] ^= 1
	must(t, os.WriteFile(part, content, 0o600))
	cmd := exec.Command(binary, "verify", m.dir+"/data/mail.columns/dt="+day)
	cmd.Env = append(append(testenv.ProgramEnviron(), line.environment...), "ROWTOCOL_JOB_NAME=mail")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 6 {
		t.Errorf("verify: %v\n%s", cmd.ProcessState, out)
	}
}

// seriesOf holds the values of series, one for each hour.
type seriesOf struct {
	hours  int
	values map[string][]string
	times  map[float64]int // hours of the tests by the ends of runs
}

// firstHour is the hour of a night at which the jobs run.
const firstHour = 2

func newSeries(nights int) *seriesOf {
	return &seriesOf{24 * nights, map[string][]string{}, map[float64]int{0: 0}}
}

// collect reads all files of metrics after a night, as node-exporter does. Their values are
// those of all hours until the next night.
func (s *seriesOf) collect(t *testing.T, m machine, n int) {
	t.Helper()
	files, err := filepath.Glob(m.dir + "/var/lib/prometheus/node-exporter/*.prom")
	must(t, err)
	for _, name := range files {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, name)))
		must(t, err)
		ended := families["rowtocol_run_end_timestamp_seconds"].GetMetric()[0].GetGauge().GetValue()
		if _, known := s.times[ended]; !known {
			s.times[ended] = 24*n + firstHour
		}
		for metric, family := range families {
			labels := []string{}
			for _, l := range family.GetMetric()[0].GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := family.GetMetric()[0].GetGauge().GetValue()
			if strings.HasSuffix(metric, "_timestamp_seconds") {
				hour, known := s.times[value]
				if !known {
					t.Fatalf("%s is %v, which is not the end of a run", metric, value)
				}
				value = float64(3600 * hour)
			}
			s.add(metric+"{"+strings.Join(labels, ",")+"}", 24*n+firstHour, value)
		}
	}
}

// add sets the value of a series from an hour on to the next night.
func (s *seriesOf) add(name string, hour int, value float64) {
	if s.values[name] == nil {
		s.values[name] = slices.Repeat([]string{"_"}, s.hours)
	}
	for h := hour; h < min(hour+24, s.hours); h++ {
		s.values[name][h] = strconv.FormatFloat(value, 'f', -1, 64)
	}
}

func (s *seriesOf) document() (all []map[string]string) {
	for name, values := range s.values {
		all = append(all, map[string]string{"series": name, "values": strings.Join(values, " ")})
	}
	return all
}

// wantAlerts returns what Prometheus must find in the last night: for each alert the jobs that
// have it, if any.
func (m machine) wantAlerts(jobs map[string]string, nights int) (all []map[string]any) {
	hour := fmt.Sprintf("%dh", 24*(nights-1)+firstHour+1)
	for alert, summary := range map[string]string{
		"ConversionFailed":     "JOB failed: COMMAND, DEST DIR",
		"ConversionLate":       "JOB has not succeeded for 26 hours, or never",
		"ConversionMissing":    "JOB has never run, or its metrics are not collected",
		"ConversionWithLosses": "",
		"InputsSkipped":        "JOB skipped files that are not Avro: its log names them",
		"OutputDiffers":        "JOB found damage, or rows that differ",
	} {
		expected := []any{}
		for _, job := range strings.Fields(jobs[alert]) {
			day, command := days()[0], "convert"
			switch job {
			case "mail-late":
				day = days()[1]
			case "mail-verify":
				command = "verify"
			}
			summary := strings.NewReplacer("JOB", job, "COMMAND", command, "DIR", m.dir+"/data/mail.columns/dt="+day).Replace(summary)
			expected = append(expected, map[string]any{"exp_labels": map[string]string{"job_name": job}, "exp_annotations": map[string]string{"summary": summary}})
		}
		all = append(all, map[string]any{"eval_time": hour, "alertname": alert, "exp_alerts": expected})
	}
	return all
}
