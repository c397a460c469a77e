package configs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rowtocol-configs-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "rowtocol")
	code := 1
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/rowtocol").CombinedOutput(); err == nil {
		code = m.Run()
	} else {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	}
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// program is a run of the program, which knows nothing of variables for tests.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = testenv.OfProgram()
	return cmd
}

// help returns the flags that the program's help names.
func help(t *testing.T) (flags map[string]bool) {
	t.Helper()
	flags = map[string]bool{}
	for _, command := range []string{"convert", "plan", "task", "commit", "inspect", "schema", "verify"} {
		out, err := program(command, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\s+(?:-\w, |\s+)--([a-z-]+)`).FindAllStringSubmatch(string(out), -1) {
			flags[m[1]] = true
		}
	}
	if len(flags) < 10 {
		t.Fatalf("only %d flags found in the help", len(flags))
	}
	return flags
}

// TestJobFile holds job.yaml, its commented keys included, to the flags that
// exist, and lets the program read it.
func TestJobFile(t *testing.T) {
	flags := help(t)
	text, err := os.ReadFile("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{string(text), uncomment(string(text))} {
		var keys map[string]any
		if err := yaml.Unmarshal([]byte(variant), &keys); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if !flags[key] {
				t.Errorf("%s is no flag", key)
			}
		}
		name := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(name, []byte(variant), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := program("--config", name, "convert", filepath.Join(t.TempDir(), "none.avro"), t.TempDir()+"/out")
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("exit %d instead of 3, for input that is missing: %v\n%s", code, err, out)
		}
	}
}

// TestSchema plans the sample mail under the example of a reader's schema.
func TestSchema(t *testing.T) {
	out, err := program("convert", "--dry-run", "--strict", "--schema", "mail.avsc", "../testdata/mail", t.TempDir()+"/out").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 inputs") {
		t.Errorf("%v\n%s", err, out)
	}
}

// uncomment activates the keys that the example leaves out.
func uncomment(text string) string {
	return regexp.MustCompile(`(?m)^(\s*)# (- \S+|\s*[a-z-]+:( \S+)?|\s+- \S+)$`).ReplaceAllStringFunc(text, func(line string) string {
		return strings.Replace(line, "# ", "", 1)
	})
}

// TestExamplesUseRealFlags looks for flags in the scheduler examples.
func TestExamplesUseRealFlags(t *testing.T) {
	flags := help(t)
	for _, name := range []string{"crontab", "airflow_dag.py", "README.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no flag", name)
		}
		for _, m := range used {
			if !flags[m[1]] {
				t.Errorf("%s: --%s is no flag", name, m[1])
			}
		}
	}
}

// TestCrontab runs the commands as cron does: what they print is mailed, so that they
// print where something has to be looked at, and nothing else.
func TestCrontab(t *testing.T) {
	text, err := os.ReadFile("crontab")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^\d.* etl  (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(commands) != 2 {
		t.Fatalf("%d commands", len(commands))
	}
	dir := t.TempDir()
	for _, sub := range []string{"/data", "/log", "/temp"} {
		if err := os.Mkdir(dir+sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	mailed := func(line string) string {
		line = strings.NewReplacer(`\%`, "%", "/data/", dir+"/data/", "/var/log/", dir+"/log/", "$(date -d yesterday +\\%F)", yesterday).Replace(line)
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Env = []string{"PATH=" + filepath.Dir(binary) + ":/usr/bin:/bin", "TMPDIR=" + dir + "/temp"}
		out, _ := cmd.CombinedOutput() // cron looks at no exit code
		return string(out)
	}
	for _, c := range commands {
		if out := mailed(c[1]); !strings.Contains(out, "convert "+yesterday+": exit 3") && !strings.Contains(out, `"exit":3`) {
			t.Errorf("nothing is there to convert, and %s mails %q", c[1], out)
		}
	}
	if err := errors.Join(os.Mkdir(dir+"/data/mail", 0o700), os.CopyFS(dir+"/data/mail/"+yesterday, os.DirFS("../testdata/mail")), os.Mkdir(dir+"/data/mail.columns", 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range commands {
			if out := mailed(c[1]); out != "" {
				t.Errorf("all is well, and %s mails %q", c[1], out)
			}
		}
	}
}

// TestHadoopSettings resolves the nameservice of the Hadoop settings.
func TestHadoopSettings(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "hadoop")
	conf, err := cluster.LoadConf()
	if err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[string]string{"hdfs": "nn1.example.com:8020 nn2.example.com:8020", "webhdfs": "nn1.example.com:9870 nn2.example.com:9870"} {
		origin, addresses, err := conf.NameNodes(scheme, "")
		if err != nil || origin != scheme+"://analytics" || strings.Join(addresses, " ") != want {
			t.Errorf("%s:/// is %s at %s, %v", scheme, origin, addresses, err)
		}
	}
	if d := conf.Duration("dfs.client.socket-timeout", 0); d != time.Minute {
		t.Errorf("data nodes may be silent for %v", d)
	}
}
