package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestAirflow runs the example's DAGs on Airflow 2 and 3. They are 300 MB, so only a soak
// runs it.
func TestAirflow(t *testing.T) {
	if !soak.Full() {
		t.Skip("NO AIRFLOW: it is for make soak")
	}
	for _, version := range []string{"2", "3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			python, err := installedPython("airflow-"+version, "airflow/requirements-"+version+".txt")
			if err != nil {
				testenv.Skip(t, "there is no Airflow "+version+": "+err.Error())
			}
			t.Run("intervals", func(t *testing.T) { airflowIntervals(newAirflow(t, python)) })
			t.Run("rerun", func(t *testing.T) { airflowRerun(newAirflow(t, python)) })
			t.Run("exit codes", func(t *testing.T) { airflowExitCodes(newAirflow(t, python)) })
			t.Run("stopped", func(t *testing.T) { airflowStopped(newAirflow(t, python)) })
			t.Run("mapped", func(t *testing.T) { airflowMapped(newAirflow(t, python)) })
			t.Run("operator", func(t *testing.T) { airflowOperator(newAirflow(t, python)) })
			t.Run("retried", func(t *testing.T) { airflowRetried(newAirflow(t, python)) })
			t.Run("page", func(t *testing.T) { airflowPage(newAirflow(t, python), version) })
			t.Run("concurrent", func(t *testing.T) { airflowConcurrent(newAirflow(t, python)) })
		})
	}
}

// airflow is an Airflow with its own home and directories for the DAGs' data.
type airflow struct {
	*testing.T
	python, home, dir string
}

func newAirflow(t *testing.T, python string) *airflow {
	a := &airflow{t, python, t.TempDir(), t.TempDir()}
	for _, sub := range []string{"/dags", "/temp", "/data/mail", "/data/mail.columns", "/data/plans"} {
		must(t, os.MkdirAll(a.dir+sub, 0o700))
	}
	at, err := filepath.Abs(program)
	must(t, err)
	file, err := wheel()
	must(t, err)
	must(t, runInstaller(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--target", a.dir+"/site", file))
	started := "#!/bin/sh\nenv >>" + a.dir + "/environments\nexec " + at + ` "$@"`
	must(t, os.WriteFile(a.dir+"/site/bin/rowtocol", []byte(started), 0o700))
	for name, from := range map[string]string{"mail.py": "../configs/airflow_dag.py", "operator.py": "airflow/operator_dag.py"} {
		dag, err := os.ReadFile(from)
		must(t, err)
		a.writeDAG(name, string(dag))
	}
	a.writeJob("")
	a.migrate()
	return a
}

// writeDAG writes a file of DAGs that use the directories of a.
func (a *airflow) writeDAG(name, text string) {
	a.Helper()
	text = strings.NewReplacer("hdfs:///data/", "hdfs:///data/", "/data/", a.dir+"/data/", "/etc/rowtocol/job.yaml", a.dir+"/job.yaml",
		"minutes=5", "seconds=1", "MAPPED = 100 ", "MAPPED = 3 ").Replace(text)
	must(a, os.WriteFile(a.dir+"/dags/"+name, []byte(text), 0o600))
}

// writeJob writes the job file.
func (a *airflow) writeJob(more string) {
	a.Helper()
	text := fmt.Sprintf("temp-dir: %s/temp\nmemory: 256MiB\n%s", a.dir, more)
	must(a, os.WriteFile(a.dir+"/job.yaml", []byte(text), 0o600))
}

// sibling returns another Airflow with the same data.
func (a *airflow) sibling() *airflow {
	b := *a
	b.home = a.TempDir()
	b.migrate()
	return &b
}

func (a *airflow) migrate() {
	a.Helper()
	if out, err := a.command("-m", "airflow", "db", "migrate").CombinedOutput(); err != nil {
		a.Fatalf("db migrate: %v\n%s", err, out)
	}
}

func (a *airflow) command(args ...string) *exec.Cmd {
	cmd := exec.Command(a.python, args...)
	cmd.Env = append(testenv.ProgramEnviron(), "PATH="+a.dir+"/site/bin:"+os.Getenv("PATH"), "PYTHONPATH="+a.dir+"/site", "AIRFLOW_HOME="+a.home,
		"AIRFLOW__CORE__LOAD_EXAMPLES=False", "AIRFLOW__CORE__DAGS_FOLDER="+a.dir+"/dags", "PYTHONWARNINGS=ignore")
	return cmd
}

// script runs airflow.py.
func (a *airflow) script(v any, args ...string) {
	a.Helper()
	var stderr bytes.Buffer
	cmd := a.command(append([]string{"-P", "airflow/airflow.py"}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if lines := bytes.Split(bytes.TrimSpace(out), []byte("\n")); err == nil {
		err = json.Unmarshal(lines[len(lines)-1], v)
	}
	if err != nil {
		a.Fatalf("airflow.py %s: %v\n%s%s", args, err, out, stderr.Bytes())
	}
}

// start starts a DAG's run of 02:10 on a day. Airflow prints the logs of its tasks.
func (a *airflow) start(dag, day string, output *bytes.Buffer) *exec.Cmd {
	a.Helper()
	cmd := a.command("-m", "airflow", "dags", "test", dag, day+"T02:10:00+00:00")
	cmd.Stdout, cmd.Stderr = output, output
	must(a, cmd.Start())
	return cmd
}

// run starts a run, waits for its end and returns the tasks and their logs.
func (a *airflow) run(dag, day string, success bool) (tasks map[string]airflowTask, log string) {
	a.Helper()
	var output bytes.Buffer
	if err := a.start(dag, day, &output).Wait(); (err == nil) != success {
		a.Fatalf("%s of %s: %v\n%s", dag, day, err, output.Bytes())
	}
	a.script(&tasks, "last", a.home, dag)
	return tasks, output.String()
}

type airflowTask struct {
	State string
	Tries int
	XCom  any
}

// wantStates checks the states of tasks, given as "NAME STATE".
func (a *airflow) wantStates(tasks map[string]airflowTask, want ...string) {
	a.Helper()
	var got []string
	for name, task := range tasks {
		got = append(got, name+" "+task.State)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		a.Fatalf("the tasks are %q, want %q", got, want)
	}
}

// wantFigures checks the figures that a task returned.
func (a *airflow) wantFigures(task airflowTask, rows, losses float64) {
	a.Helper()
	f, _ := task.XCom.(map[string]any)
	if bytes, _ := f["bytes"].(float64); f["rows"] != rows || f["losses"] != losses || bytes <= 0 {
		a.Errorf("the XCom is %v, want %v rows and %v losses", task.XCom, rows, losses)
	}
}

// writeMail writes a mail file of a day.
func (a *airflow) writeMail(day, name string, rows int) {
	a.Helper()
	dir := a.dir + "/data/mail/" + day
	must(a, os.MkdirAll(dir, 0o700))
	writeMail(a.T, dir+"/"+name, int64(rows))
}

// dest returns the destination of a day.
func (a *airflow) dest(day string) string { return a.dir + "/data/mail.columns/dt=" + day }

// wantDestinations checks that only the given days have destinations, with the given
// numbers of rows from the day's inputs.
func (a *airflow) wantDestinations(rows map[string]int) {
	a.Helper()
	for day, n := range rows {
		dest := a.dest(day)
		if out := run(a.T, "count", dest).want(a.T, 0).stdout; !slices.Contains(strings.Fields(out), fmt.Sprint(n)) {
			a.Errorf("%s has %s rows, want %d", day, out, n)
		}
		run(a.T, "verify", dest, "--against", a.dir+"/data/mail/"+day, "--require-complete").want(a.T, 0)
		for _, name := range []string{"_lock", ".rowtocol"} {
			if _, err := os.Lstat(filepath.Join(dest, name)); err == nil {
				a.Errorf("%s has %s", dest, name)
			}
		}
	}
	entries, err := os.ReadDir(a.dir + "/data/mail.columns")
	must(a, err)
	for _, e := range entries {
		if _, ok := rows[strings.TrimPrefix(e.Name(), "dt=")]; !ok {
			a.Errorf("%s was converted", e.Name())
		}
	}
	wantEmpty(a.T, a.dir+"/temp")
	wantEmpty(a.T, a.dir+"/data/plans")
}

// files returns the sizes and times of the files of all destinations.
func (a *airflow) files() map[string]string {
	a.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(a.dir+"/data/mail.columns", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files[path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	must(a, err)
	return files
}

// airflowIntervals checks that a scheduled run has the data interval of the day before.
// The import of a DAG needs no network.
func airflowIntervals(a *airflow) {
	var intervals map[string][]string
	a.script(&intervals, "intervals", a.dir+"/dags/mail.py", "2026-01-04")
	want := []string{"2026-01-04T02:10:00+00:00", "2026-01-05T02:10:00+00:00", "2026-01-05T02:10:00+00:00"}
	for _, dag := range []string{"mail_columns", "mail_columns_mapped", "mail_columns_cluster", "mail_columns_deferred", "mail_table"} {
		if !slices.Equal(intervals[dag], want) {
			a.Errorf("%s: %v, want %v", dag, intervals[dag], want)
		}
	}
}

// airflowRerun checks that a run converts the day before, and late inputs of earlier days.
// The same run again changes nothing and verifies.
func airflowRerun(a *airflow) {
	for day := range 6 {
		a.writeMail(fmt.Sprintf("2026-01-%02d", day+1), "mail.avro", 100+day)
	}
	verified := []string{"verify success", "verify_1_before success", "verify_2_before success"}
	tasks, _ := a.run("mail_columns", "2026-01-05", true)
	a.wantStates(tasks, append([]string{"convert success", "convert_1_before success", "convert_2_before success"}, verified...)...)
	rows := map[string]int{"2026-01-04": 103, "2026-01-03": 102, "2026-01-02": 101}
	a.wantDestinations(rows)
	a.wantFigures(tasks["convert"], 103, 0)
	a.wantFigures(tasks["convert_2_before"], 101, 0)

	environments, err := os.ReadFile(a.dir + "/environments")
	for _, variable := range []string{"DAG_ID=mail_columns", "TASK_ID=convert_1_before", "TRY_NUMBER=1", "_DATE=2026-01-05T02:10:00+00:00"} {
		if err != nil || !strings.Contains(string(environments), variable) {
			a.Errorf("rowtocol does not know %s, %v", variable, err)
		}
	}

	before := a.files()
	tasks, _ = a.run("mail_columns", "2026-01-05", true)
	a.wantStates(tasks, append([]string{"convert skipped", "convert_1_before skipped", "convert_2_before skipped"}, verified...)...)
	if after := a.files(); !maps.Equal(before, after) {
		a.Errorf("the same run again changed %v to %v", before, after)
	}

	a.writeMail("2026-01-03", "late.avro", 7)
	tasks, _ = a.run("mail_columns", "2026-01-06", true)
	a.wantStates(tasks, append([]string{"convert success", "convert_1_before skipped", "convert_2_before success"}, verified...)...)
	rows["2026-01-05"], rows["2026-01-03"] = 104, 109
	a.wantDestinations(rows)
	after := a.files()
	for name, was := range before {
		numbered := strings.HasPrefix(filepath.Base(name), "_increments-") // the name has the last number
		if after[name] != was && !numbered {
			a.Errorf("%s was changed for a late input", name)
		}
	}

	tasks, _ = a.run("mail_columns", "2026-01-02", true)
	a.wantStates(tasks, "convert success", "convert_1_before skipped", "convert_2_before skipped", "verify success", "verify_1_before skipped", "verify_2_before skipped")
	rows["2026-01-01"] = 100
	a.wantDestinations(rows)
}

// airflowExitCodes checks which exit codes are retried. Losses are a reported success.
func airflowExitCodes(a *airflow) {
	exits := a.TempDir() + "/exits"
	must(a, os.WriteFile(exits, []byte("#!/bin/sh\nfor code; do :; done\n[ $code = 99 ] && echo '{\"status\":\"nothing\"}'\nexit $code\n"), 0o700))
	var codes map[string]string
	a.script(&codes, "codes", exits)
	want := map[string]string{"0": "success", "8": "success", "99": "AirflowSkipException"}
	for _, code := range []string{"4", "5", "130", "143"} {
		want[code] = "AirflowException" // is retried
	}
	for _, code := range []string{"1", "2", "3", "6", "7", "9", "10", "137"} {
		want[code] = "AirflowFailException" // is not
	}
	if !maps.Equal(codes, want) {
		a.Errorf("exit codes are %v, want %v", codes, want)
	}

	tasks, log := a.run("mail_columns", "2026-01-02", false)
	a.wantStates(tasks, "convert failed", "convert_1_before skipped", "convert_2_before skipped", "verify upstream_failed", "verify_1_before skipped", "verify_2_before skipped")
	if tasks["convert"].Tries != 1 || !strings.Contains(log, "exit code 3: ") {
		a.Errorf("%+v\n%s", tasks["convert"], log)
	}

	a.writeJob("on-damage: skip\n")
	a.writeMail("2026-01-01", "mail.avro", 2000)
	name := a.dir + "/data/mail/2026-01-01/mail.avro"
	data, err := os.ReadFile(name)
	if err == nil {
		data[len(data)-20] ^= 0xff // in the last block, or its sync marker
		err = os.WriteFile(name, data, 0o600)
	}
	must(a, err)
	tasks, log = a.run("mail_columns", "2026-01-02", false)
	if tasks["convert"].State != "success" || tasks["verify"].State != "failed" || !strings.Contains(log, "ROWS WERE LOST") {
		a.Errorf("%+v\n%s", tasks, log)
	}
	f, _ := tasks["convert"].XCom.(map[string]any)
	if rows, _ := f["rows"].(float64); f["losses"] != 1.0 || rows <= 0 || rows >= 2000 {
		a.Errorf("%+v", f)
	}
}

// airflowStopped checks that a signal reaches rowtocol, and that the next try resumes.
func airflowStopped(a *airflow) {
	a.writeJob("workers: 1\ncodec: bzip2\n")
	const rows = 150_000
	a.writeMail("2026-01-01", "mail.avro", rows)
	var output bytes.Buffer
	cmd := a.start("mail_columns", "2026-01-02", &output)
	dest := a.dest("2026-01-01")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Stat(dest + "/_lock"); err == nil {
			break
		}
		select {
		case err := <-ended:
			a.Fatalf("the run ended before it was stopped: %v\n%s", err, output.Bytes())
		case <-time.After(10 * time.Millisecond):
		}
	}
	must(a, cmd.Process.Signal(syscall.SIGTERM))
	// Airflow 3 continues with the task's next try. Airflow 2 ends "dags test" with the
	// task, and leaves the next try to a scheduler.
	if err := <-ended; err != nil {
		if _, err := os.Stat(dest + "/_SUCCESS"); err == nil {
			a.Error("the signal came too late")
		}
		if _, err := os.Stat(dest + "/_lock"); err == nil {
			a.Error("rowtocol left its lock")
		}
		wantEmpty(a.T, a.dir+"/temp")
		var tasks map[string]airflowTask
		if a.script(&tasks, "last", a.home, "mail_columns"); tasks["convert"].State != "up_for_retry" {
			a.Errorf("%+v", tasks)
		}
		a.run("mail_columns", "2026-01-02", true)
	} else if !strings.Contains(output.String(), "stopped by SIGTERM") {
		a.Errorf("rowtocol got no signal\n%s", output.Bytes())
	}
	a.wantDestinations(map[string]int{"2026-01-01": rows})
}

// airflowMapped checks that the mapped DAG makes the same output by a plan's tasks.
func airflowMapped(a *airflow) {
	a.writeJob("row-group-size: 64KiB\nblock-size: 1KiB\n")
	a.writeMail("2026-01-04", "mail.avro", 3000)
	a.writeMail("2026-01-03", "mail.avro", 10)
	tasks, _ := a.run("mail_columns_mapped", "2026-01-05", true)
	a.wantStates(tasks, "plan success", "task.0 success", "task.1 success", "task.2 success", "commit success", "verify success", "clean success")
	a.wantDestinations(map[string]int{"2026-01-04": 3000})
	a.wantFigures(tasks["commit"], 3000, 0)
	rows := 0.0
	for _, name := range []string{"task.0", "task.1", "task.2"} {
		f, _ := tasks[name].XCom.(map[string]any)
		n, _ := f["rows"].(float64)
		rows += n
	}
	if rows != 3000 {
		a.Errorf("the tasks say %v rows", rows)
	}

	before := a.files()
	tasks, _ = a.run("mail_columns_mapped", "2026-01-05", true)
	a.wantStates(tasks, "plan success", "task skipped", "commit skipped", "verify success", "clean success")
	if after := a.files(); !maps.Equal(before, after) {
		a.Errorf("the same run again changed %v to %v", before, after)
	}

	a.writeMail("2026-01-04", "late.avro", 5)
	old := a.dir + "/data/plans/2026-01-01-old.json"
	long := time.Now().AddDate(0, 0, -8)
	must(a, errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, long, long)))
	tasks, _ = a.run("mail_columns_mapped", "2026-01-05", true)
	a.wantStates(tasks, "plan success", "task.0 success", "commit success", "verify success", "clean success")
	a.wantDestinations(map[string]int{"2026-01-04": 3005})
}

// airflowConcurrent runs one DAG twice at once, and both DAGs at once. One run waits or is retried.
func airflowConcurrent(a *airflow) {
	a.writeMail("2026-01-01", "mail.avro", 20_000)
	b := a.sibling()
	for round, dags := range [][2]string{{"mail_columns", "mail_columns"}, {"mail_columns_mapped", "mail_columns_mapped"}, {"mail_columns", "mail_columns_mapped"}} {
		must(a, os.RemoveAll(a.dest("2026-01-01")))
		var wg sync.WaitGroup
		var outputs [2]bytes.Buffer
		var failed [2]error
		for i, airflow := range []*airflow{a, b} {
			cmd := airflow.start(dags[i], "2026-01-02", &outputs[i])
			wg.Go(func() { failed[i] = cmd.Wait() })
		}
		wg.Wait()
		for i := range failed {
			if failed[i] != nil {
				a.Fatalf("round %d, %s: %v\n%s", round, dags[i], failed[i], outputs[i].Bytes())
			}
		}
		a.wantDestinations(map[string]int{"2026-01-01": 20_000})
	}
}

// airflowOperator checks the operator alone: its templates, its XCom, and how a task ends that is
// skipped, or fails for good.
func airflowOperator(a *airflow) {
	a.writeMail("2026-01-04", "a.avro", 10)
	a.writeMail("2026-01-04", "b.avro", 20)
	must(a, os.WriteFile(a.dir+"/data/fields.yaml", []byte("format: cfile\n"), 0o600))
	tasks, log := a.run("operator", "2026-01-04", false)
	// again has the options of fields without a template.
	a.wantStates(tasks, "fields success", "again skipped", "unwrapped skipped", "verify success", "different failed")
	dest := a.dir + "/data/operator-2026-01-04"
	if out := run(a.T, "inspect", dest).want(a.T, 0).stdout; !strings.Contains(out, "cfile") {
		a.Errorf("the template of the job file was not filled in\n%s", out)
	}
	a.wantFigures(tasks["fields"], 30, 0)
	a.wantFigures(tasks["again"], 30, 0)
	if f, _ := tasks["verify"].XCom.(map[string]any); f["rows"] != 30.0 || f["complete"] != true {
		a.Errorf("the XCom of verify is %v", f)
	}
	if tasks["unwrapped"].XCom != nil {
		a.Errorf("a task that pushes nothing has the XCom %v", tasks["unwrapped"].XCom)
	}
	if tasks["different"].Tries != 1 || !strings.Contains(log, "exit code 9: ") {
		a.Errorf("%+v\n%s", tasks["different"], log)
	}
	if !strings.Contains(log, `convert ended dest="`+dest+`"`) {
		a.Errorf("the log does not have the messages of rowtocol\n%s", log)
	}
}

// airflowRetried checks that a task is retried whose program says so, and that a task that takes
// too long leaves nothing.
func airflowRetried(a *airflow) {
	script := "#!/bin/sh\nmkdir " + a.dir + "/data/tried && exit 5\necho '{\"result\": {\"rows\": 7}}'\n"
	must(a, os.WriteFile(a.dir+"/data/busy", []byte(script), 0o700))
	var output bytes.Buffer
	err := a.start("operator_busy", "2026-01-04", &output).Wait()
	var tasks map[string]airflowTask
	a.script(&tasks, "last", a.home, "operator_busy")
	busy := tasks["busy"]
	if f, _ := busy.XCom.(map[string]any); err == nil && (busy.State != "success" || busy.Tries != 2 || f["rows"] != 7.0) {
		a.Errorf("%+v\n%s", busy, output.Bytes())
	}
	if err != nil && busy.State != "up_for_retry" { // Airflow 2 leaves the next try to a scheduler
		a.Errorf("%+v\n%s", busy, output.Bytes())
	}

	a.writeMail("2026-01-04", "large.avro", 500_000)
	tasks, _ = a.run("operator_slow", "2026-01-04", false)
	a.wantStates(tasks, "slow failed")
	environments, err := os.ReadFile(a.dir + "/environments")
	if err != nil || !strings.Contains(string(environments), "TASK_ID=slow") {
		a.Errorf("rowtocol did not run, %v", err)
	}
	for _, name := range []string{"_SUCCESS", "_lock"} {
		if _, err := os.Stat(a.dir + "/data/slow/" + name); err == nil {
			a.Errorf("a conversion that took too long left %s", name)
		}
	}
	wantEmpty(a.T, a.dir+"/temp")
}

// airflowPage runs the DAGs that docs/scheduling.md shows.
func airflowPage(a *airflow, version string) {
	text := readPage(a.T, "scheduling.md").blocks("python")
	if version == "2" {
		text = strings.Replace(text, "airflow.providers.standard.operators.bash", "airflow.operators.bash", 1)
	}
	a.writeDAG("page.py", text)
	a.writeMail("2026-01-04", "mail.avro", 10)
	a.writeMail("2026-01-05", "mail.avro", 20)
	for _, state := range []string{"success", "skipped"} {
		for dag, want := range map[string]struct {
			day    string
			states []string
		}{
			"mail":      {"2026-01-04", []string{"convert " + state, "verify success"}},
			"mail_bash": {"2026-01-05", []string{"convert " + state}},
		} {
			tasks, _ := a.run(dag, want.day, true)
			a.wantStates(tasks, want.states...)
		}
	}
	a.wantDestinations(map[string]int{"2026-01-04": 10, "2026-01-05": 20})
}
