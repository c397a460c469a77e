package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// machine is a directory that holds the files at the absolute paths of the examples.
type machine struct {
	dir string
}

func newMachine(t *testing.T, job string) machine {
	t.Helper()
	m := machine{t.TempDir()}
	for _, sub := range []string{"/data/mail", "/data/mail.columns", "/data/plans", "/var/log/rowtocol", "/etc/rowtocol", "/var/lib/prometheus/node-exporter", "/temp"} {
		must(t, os.MkdirAll(m.dir+sub, 0o700))
	}
	m.write(t, "/etc/rowtocol/job.yaml", m.rebase(job))
	return m
}

// rebase returns a text in which the absolute paths of the examples lead into the machine.
func (m machine) rebase(text string) string {
	return regexp.MustCompile(`/(data|etc/rowtocol|var/log/rowtocol|var/lib/prometheus|temp)\b`).ReplaceAllString(text, m.dir+"/$1")
}

func (m machine) write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(m.dir+name, []byte(text), 0o600))
}

// addMail puts the sample mail into the inputs of a day.
func (m machine) addMail(t *testing.T, day string) {
	t.Helper()
	must(t, os.CopyFS(m.dir+"/data/mail/"+day, os.DirFS("../testdata/mail")))
}

// text returns the text of an example.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

// cronLine is a line of the crontab, as cron runs it on a machine.
type cronLine struct {
	machine
	command, path string
	environment   []string // variables of the crontab for the program
}

// cronLines returns the lines of the crontab, as cron runs them on the machine.
func (m machine) cronLines(t *testing.T) (lines []cronLine) {
	t.Helper()
	m.write(t, "/etc/rowtocol/nightly.sh", m.rebase(text(t, "nightly.sh")))
	crontab := text(t, "crontab")
	path := regexp.MustCompile(`(?m)^PATH=(.*)$`).FindStringSubmatch(crontab)
	environment := strings.Fields(m.rebase(strings.Join(regexp.MustCompile(`(?m)^ROWTOCOL_.*$`).FindAllString(crontab, -1), "\n")))
	for _, line := range regexp.MustCompile(`(?m)^\d.* etl  (.*)$`).FindAllStringSubmatch(crontab, -1) {
		if strings.Contains(strings.ReplaceAll(line[1], `\%`, ""), "%") {
			t.Errorf("cron ends this line at a percent sign: %s", line[1])
		}
		command := m.rebase(strings.ReplaceAll(line[1], `\%`, "%"))
		lines = append(lines, cronLine{m, command, filepath.Dir(binary) + ":" + path[1], environment})
	}
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2", len(lines))
	}
	return lines
}

// mailed runs a line with cron's environment and returns the mail, which is the line's
// output. Cron ignores the exit code.
func (c cronLine) mailed() string {
	cmd := exec.Command("/bin/sh", "-c", c.command)
	cmd.Env = append([]string{"HOME=" + c.dir, "LOGNAME=etl", "SHELL=/bin/sh", "PATH=" + c.path}, c.environment...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// days returns the days that the lines of the crontab convert.
func days() []string {
	return []string{time.Now().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().AddDate(0, 0, -3).Format(time.DateOnly)}
}

// TestCrontab checks that cron mails each failure, with its messages, and nothing else.
func TestCrontab(t *testing.T) {
	m := newMachine(t, "temp-dir: /temp\n")
	lines := m.cronLines(t)
	days := days()
	for i, line := range lines {
		m.wantMail(t, line, "convert", days[i], "exit code 3", "does not exist")
		m.addMail(t, days[i])
		for range 2 {
			if out := line.mailed(); out != "" {
				t.Errorf("a successful run mails %q, want nothing", out)
			}
		}
		if n := len(m.outputs(t, days[i], "_SUCCESS")); n != 1 {
			t.Errorf("%d outputs of %s, want 1", n, days[i])
		}
	}
	line := lines[0]
	late := m.dir + "/data/mail/" + days[0] + "/late.avro"
	must(t, os.WriteFile(late, []byte(text(t, "../testdata/mail/archive-1.avro")), 0o600))
	if out := line.mailed(); out != "" || len(m.outputs(t, days[0], "_SUCCESS")) != 2 {
		t.Errorf("after a late input %q is mailed, want nothing and a second output", out)
	}

	for query, want := range map[string]string{"true": "1600\n", "dt = date('" + days[1] + "')": "600\n"} {
		if out, err := program("count", "--where", query, m.dir+"/data/mail.columns").Output(); err != nil || string(out) != want {
			t.Errorf("all days have %s rows where %s, want %s (%v)", out, query, want, err)
		}
	}

	parts := m.outputs(t, days[0], "part-*")
	part := []byte(text(t, parts[0]))
	part[len(part)/2] ^= 1
	must(t, os.WriteFile(parts[0], part, 0o600))
	m.wantMail(t, line, "verify", days[0], "exit code 6", filepath.Base(parts[0]))

	m.write(t, "/data/mail.columns/dt="+days[0]+"/_SUCCESS", "not ours")
	m.wantMail(t, line, "convert", days[0], "exit code 9", "_SUCCESS")

	missing := line
	missing.path = "/usr/bin:/bin"
	m.wantMail(t, missing, "convert", days[0], "exit code 127", "rowtocol: not found")

	cluster := line
	cluster.command += " submit"
	m.wantMail(t, cluster, "submit", "hdfs://"+m.dir+"/data/mail/"+days[0], "exit code 1", "fs.defaultFS")

	m.write(t, "/etc/rowtocol/job.yaml", "nonsense: 1\n")
	m.wantMail(t, line, "convert", days[0], "exit code 1", "nonsense")
	if log := text(t, m.dir+"/var/log/rowtocol/nightly.log"); strings.Count(log, "does not exist") != 2*len(lines) || !strings.Contains(log, "nonsense") || strings.Contains(log, "\n\n") {
		t.Errorf("the log is %s", log)
	}
	if !strings.Contains(text(t, m.dir+"/var/log/rowtocol/nightly.log"), "\n{") {
		t.Error("the log lacks the messages that are JSON")
	}
	must(t, os.RemoveAll(m.dir+"/var/log/rowtocol"))
	m.wantMail(t, line, days[0]+" was not converted", "install -d -o etl -g etl "+m.dir+"/var/log/rowtocol")
	line.command += "; echo exit code $?"
	m.wantMail(t, line, "exit code 1\n")
}

// outputs returns the files that match a pattern in the outputs of a day.
func (m machine) outputs(t *testing.T, day, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(m.dir + "/data/mail.columns/dt=" + day + "/increment-*/" + pattern)
	must(t, err)
	return found
}

func (m machine) wantMail(t *testing.T, line cronLine, texts ...string) {
	t.Helper()
	out := line.mailed()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%q is not in the mail: %s", text, out)
		}
	}
	if strings.Contains(out, `ended with exit code`) && !regexp.MustCompile(`\nrowtocol \w+ ended with exit code .*\n  destination: .*\n  what to do: .*\nAll messages are in .*\n\z`).MatchString(out) {
		t.Errorf("the mail does not end with what happened, where, and what to do: %s", out)
	}
	if strings.Contains(out, "\n{") {
		t.Errorf("the mail has JSON: %s", out)
	}
}

// TestCrontabTwice checks that a second run on a machine waits for the first one.
func TestCrontabTwice(t *testing.T) {
	if missing := testenv.MissingTools("flock"); missing != "" {
		testenv.Skip(t, missing)
	}
	m := newMachine(t, "temp-dir: /temp\n")
	line, day := m.cronLines(t)[0], days()[0]
	m.addMail(t, day)
	other := exec.Command("flock", m.dir+"/var/log/rowtocol", "cat")
	free, err := other.StdinPipe()
	if err == nil {
		err = other.Start()
	}
	must(t, err)
	for { // until the other process has the lock
		if exec.Command("flock", "-n", m.dir+"/var/log/rowtocol", "true").Run() != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	mail := make(chan string)
	go func() { mail <- line.mailed() }()
	time.Sleep(300 * time.Millisecond)
	if len(m.outputs(t, day, "_SUCCESS")) > 0 {
		t.Error("the second run did not wait")
	}
	must(t, errors.Join(free.Close(), other.Wait()))
	if out := <-mail; out != "" {
		t.Errorf("%q is mailed, want nothing", out)
	}
	if len(m.outputs(t, day, "_SUCCESS")) != 1 {
		t.Error("the second run converted nothing")
	}

	shell := text(t, m.dir+"/etc/rowtocol/nightly.sh")
	m.write(t, "/etc/rowtocol/nightly.sh", strings.Replace(shell, "flock -w 72000", "flock -w 0", 1))
	out, err := exec.Command("flock", m.dir+"/var/log/rowtocol", "sh", "-c", line.command).CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 5 || !strings.Contains(string(out), day+" was not converted") {
		t.Errorf("a run that waited too long: %v, %s", err, out)
	}
}

// TestLogrotate checks that logrotate accepts its file and moves the log.
func TestLogrotate(t *testing.T) {
	logrotate, err := testenv.LookPath("logrotate")
	if err != nil {
		t.Skip(err)
	}
	m := newMachine(t, "")
	m.write(t, "/var/log/rowtocol/nightly.log", "a line\n")
	conf := regexp.MustCompile(`(?m)^\tsu etl etl\n|(?: etl etl)$`).ReplaceAllString(text(t, "logrotate.conf"), "")
	m.write(t, "/etc/rowtocol/logrotate.conf", m.rebase(conf))
	if out, err := exec.Command(logrotate, "--force", "--state", m.dir+"/state", m.dir+"/etc/rowtocol/logrotate.conf").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if log := text(t, m.dir+"/var/log/rowtocol/nightly.log"); log != "" {
		t.Errorf("the log is %q", log)
	}
}

// TestUnits checks that systemd accepts the units, and their memory limit.
func TestUnits(t *testing.T) {
	if missing := testenv.MissingTools("systemd-analyze"); missing != "" {
		t.Skip(missing)
	}
	dir := t.TempDir()
	names := []string{"rowtocol.service", "rowtocol.timer", "rowtocol-mail@.service"}
	for _, name := range names {
		unit := strings.ReplaceAll(text(t, name), "/usr/bin/rowtocol", binary)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(unit), 0o600))
	}
	for _, name := range []string{"rowtocol.service", "rowtocol.timer", "rowtocol-mail@rowtocol.service.service"} {
		cmd := exec.Command("systemd-analyze", "verify", "--man=no", "./"+name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	service := text(t, "rowtocol.service")
	memory := regexp.MustCompile(`(?m)^memory: (\d+)MiB$`).FindStringSubmatch(text(t, "job.yaml"))
	mib, err := strconv.Atoi(memory[1])
	if want := fmt.Sprintf("\nMemoryMax=%dM\n", mib+48); err != nil || !strings.Contains(service, want) {
		t.Errorf("the unit lacks%s", want)
	}
}

// podJob holds the fields of a Kubernetes Job that the test needs.
type podJob struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Completions      int
		PodFailurePolicy struct {
			Rules []struct {
				OnExitCodes struct{ Values []int } `yaml:"onExitCodes"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				Containers []struct {
					Args      []string
					Resources struct{ Limits map[string]string }
				}
			}
		}
	}
}

// TestKubernetes runs the jobs' commands as the kubelet does, all indexes at once, and
// checks that they convert a day.
func TestKubernetes(t *testing.T) {
	var jobs []podJob
	for dec := yaml.NewDecoder(strings.NewReader(text(t, "kubernetes.yaml"))); ; {
		var j podJob
		if err := dec.Decode(&j); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if len(jobs) != 4 || jobs[0].Kind != "ConfigMap" {
		t.Fatalf("%+v", jobs)
	}
	const day = "2026-01-04"
	m := newMachine(t, jobs[0].Data["job.yaml"]+"block-size: 1KiB\n")
	m.write(t, "/etc/rowtocol/job.yaml", strings.Replace(text(t, m.dir+"/etc/rowtocol/job.yaml"), "128MiB", "64KiB", 1))
	m.addMail(t, day)
	for _, j := range jobs[1:] {
		c := j.Spec.Template.Spec.Containers[0]
		if c.Resources.Limits["memory"] != "560Mi" || !strings.Contains(jobs[0].Data["job.yaml"], "memory: 512MiB\n") {
			t.Errorf("%s has a limit of %s, want 560Mi", j.Metadata.Name, c.Resources.Limits["memory"])
		}
		if rules := j.Spec.PodFailurePolicy.Rules; len(rules) != 2 || !slices.Equal(rules[1].OnExitCodes.Values, []int{4, 5, 129, 130, 143}) {
			t.Errorf("%s has the failure rules %+v", j.Metadata.Name, rules)
		}
		var pods []*exec.Cmd
		for index := range max(1, j.Spec.Completions) {
			var args []string
			for _, arg := range c.Args {
				args = append(args, m.rebase(strings.ReplaceAll(arg, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(index))))
			}
			pod := program(args...)
			pod.Stdout, pod.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
			must(t, pod.Start())
			pods = append(pods, pod)
		}
		for index, pod := range pods {
			if err := pod.Wait(); err != nil {
				t.Errorf("%s, index %d: %v\n%s%s", j.Metadata.Name, index, err, pod.Stdout, pod.Stderr)
			}
		}
	}
	dest := m.dir + "/data/mail.columns/dt=" + day
	success, err := manifest.DecodeSuccess([]byte(text(t, dest+"/_SUCCESS")))
	if err != nil || len(success.Parts) < 4 {
		t.Fatalf("%+v, %v", success, err)
	}
	if out, err := program("verify", "--require-complete", "--against", m.dir+"/data/mail/"+day, dest).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDAG checks that the DAG file is Python and imports only allowed modules.
func TestDAG(t *testing.T) {
	dag := text(t, "airflow_dag.py")
	allowed := map[string]bool{"re": true, "subprocess": true, "time": true, "datetime": true, "pathlib": true, "airflow": true, "rowtocol": true}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:import|from) (\w+)`).FindAllStringSubmatch(dag, -1) {
		if !allowed[m[1]] {
			t.Errorf("the DAG imports %s, want only %v", m[1], slices.Sorted(maps.Keys(allowed)))
		}
	}
	if missing := testenv.MissingTools("python3"); missing != "" {
		testenv.Skip(t, missing)
	}
	if out, err := exec.Command("python3", "-c", "import sys; compile(open('airflow_dag.py').read(), 'airflow_dag.py', 'exec')").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMailOfJSON checks that a failure of a run whose messages are all JSON is mailed with them.
func TestMailOfJSON(t *testing.T) {
	m := newMachine(t, "temp-dir: /temp\nlog-format: json\n")
	if out := m.cronLines(t)[0].mailed(); !strings.Contains(out, "\n{") || !strings.Contains(out, "does not exist") {
		t.Errorf("the mail is %s", out)
	}
}

// TestSetup follows the comments of examples on a machine that has only the mail, and checks
// that their commands then convert it.
func TestSetup(t *testing.T) {
	day, service := days()[0], text(t, "rowtocol.service")
	unit := []string{"test -d " + regexp.MustCompile(`(?m)^ReadWritePaths=(.*)$`).FindStringSubmatch(service)[1]}
	for _, line := range regexp.MustCompile(`(?m)^ExecStart=/usr/bin/(rowtocol .*)$`).FindAllStringSubmatch(service, -1) {
		unit = append(unit, line[1])
	}
	for example, command := range map[string]string{"crontab": "sh /etc/rowtocol/nightly.sh " + day, "rowtocol.service": strings.Join(unit, " && ")} {
		t.Run(example, func(t *testing.T) {
			m := machine{t.TempDir()}
			for _, dir := range []string{"/configs", "/data", "/etc/logrotate.d", "/var/log"} {
				must(t, os.MkdirAll(m.dir+dir, 0o700))
			}
			for _, name := range []string{"nightly.sh", "job.yaml", "logrotate.conf"} {
				m.write(t, "/configs/"+name, m.rebase(text(t, name)))
			}
			m.addMail(t, day)
			var script []string
			for _, found := range regexp.MustCompile(`(?m)^#\t(install .*)$`).FindAllStringSubmatch(text(t, example), -1) {
				script = append(script, strings.NewReplacer("-o etl -g etl ", "", "/etc/logrotate.d", m.dir+"/etc/logrotate.d").Replace(m.rebase(found[1])))
			}
			cmd := exec.Command("sh", "-c", strings.Join(append(script, m.rebase(command)), " && "))
			cmd.Dir = m.dir + "/configs"
			cmd.Env = append(testenv.ProgramEnviron(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if found, err := filepath.Glob(m.dir + "/data/mail.columns/*/_SUCCESS"); len(found) != 1 && len(m.outputs(t, day, "_SUCCESS")) != 1 {
				t.Errorf("the outputs are %v (%v)", found, err)
			}
		})
	}
}
