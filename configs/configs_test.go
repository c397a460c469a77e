package configs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	var remove func()
	var err error
	if binary, remove, err = testenv.Program(); err != nil {
		panic(err)
	}
	code := m.Run()
	remove()
	os.Exit(code)
}

// program returns a run of the program, without the environment variables for tests.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = testenv.ProgramEnviron()
	return cmd
}

// commands are the commands that the examples run, or whose flags they set.
var commands = []string{"convert", "submit", "plan", "task", "commit", "clean", "inspect", "schema", "verify"}

// helpFlags returns the flags that the help of commands lists.
func helpFlags(t *testing.T, commands ...string) (flags map[string]bool) {
	t.Helper()
	flags = map[string]bool{}
	for _, command := range commands {
		out, err := program(command, "--help").Output()
		must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^\s+(?:-\w, |\s+)--([a-z0-9-]+)`).FindAllStringSubmatch(string(out), -1) {
			flags[m[1]] = true
		}
	}
	if len(flags) < 10 {
		t.Fatalf("only %d flags found in the help", len(flags))
	}
	return flags
}

// TestJobFile checks that job.yaml, with its commented keys, has exactly the flags of
// convert and submit, and that the program reads it.
func TestJobFile(t *testing.T) {
	flags, missing := helpFlags(t, commands...), helpFlags(t, "convert", "submit")
	text := text(t, "job.yaml")
	for _, variant := range []string{text, uncomment(text)} {
		var keys map[string]any
		must(t, yaml.Unmarshal([]byte(variant), &keys))
		for key := range keys {
			if !flags[key] {
				t.Errorf("%s is not a flag", key)
			}
			delete(missing, key)
		}
		for format := range formatKeys {
			checkJob(t, jobFileFor(t, keys, format))
		}
	}
	delete(missing, "config")
	delete(missing, "help")
	for flag := range missing {
		t.Errorf("--%s is not in job.yaml", flag)
	}
}

// checkJob runs convert with a job file whose input is missing, and wants exit 3: the
// program has read the file.
func checkJob(t *testing.T, text []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "job.yaml")
	must(t, os.WriteFile(name, text, 0o600))
	for _, args := range [][]string{nil, {filepath.Join(t.TempDir(), "none.avro"), t.TempDir() + "/out"}} {
		cmd := program(append([]string{"--config", name, "convert"}, args...)...)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("exit %d for a missing input, want 3: %v\n%s", code, err, out)
		}
	}
}

// formatKeys holds, for each format, the keys that some other format does not have.
var formatKeys = map[string][]string{
	"trevni":  {"codec", "checksum", "values", "meta"},
	"cfile":   {"compression", "encoding", "sorted-by", "many-files"},
	"parquet": {"compression", "encoding", "sorted-by", "times", "invalid-utf8", "bloom-filter", "page-version"},
	"hfile":   {"key", "column", "timestamp", "block-codec", "bloom"},
}

// reportKeys are the keys of reports to paths and hosts that this machine does not have.
var reportKeys = []string{"metrics-file", "push-gateway", "lineage"}

// jobFileFor returns the job file without the keys of other formats and of reports.
func jobFileFor(t *testing.T, keys map[string]any, format string) []byte {
	t.Helper()
	keys = maps.Clone(keys)
	keys["format"] = format
	dropped := slices.Clone(reportKeys)
	for _, names := range formatKeys {
		for _, name := range names {
			if !slices.Contains(formatKeys[format], name) {
				dropped = append(dropped, name)
			}
		}
	}
	if format == "hfile" {
		dropped = append(dropped, "index") // an HFile needs no index
		keys["key"] = "id"                 // required, and only a comment in the file
	}
	for _, name := range dropped {
		delete(keys, name)
	}
	text, err := yaml.Marshal(keys)
	must(t, err)
	return text
}

// TestSchema plans a conversion of the sample mail to the example of a reader's schema.
func TestSchema(t *testing.T) {
	out, err := program("convert", "--dry-run", "--schema", "mail.avsc", "../testdata/mail", t.TempDir()+"/out").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 inputs") || !strings.Contains(string(out), `"seen\", which the schema of the output lacks`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// uncomment activates the keys that are comments in the example.
func uncomment(text string) string {
	return regexp.MustCompile(`(?m)^(\s*)# (- \S+|\s*[a-z0-9-]+:( \S+)?|\s+- \S+)$`).ReplaceAllStringFunc(text, func(line string) string {
		return strings.Replace(line, "# ", "", 1)
	})
}

// TestExamplesUseRealFlags checks that the flags in the examples exist.
func TestExamplesUseRealFlags(t *testing.T) {
	flags := helpFlags(t, commands...)
	for _, name := range []string{"nightly.sh", "rowtocol.service", "README.md"} {
		text, err := os.ReadFile(name)
		must(t, err)
		used := regexp.MustCompile(`--([a-z][a-z0-9-]+)`).FindAllStringSubmatch(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no flag", name)
		}
		for _, m := range used {
			if !flags[m[1]] {
				t.Errorf("%s: --%s is not a flag", name, m[1])
			}
		}
	}
	options := regexp.MustCompile(`(?:options"?|NEW)(?: = |=|: )\{([^}]*)\}`).FindAllStringSubmatch(text(t, "airflow_dag.py"), -1)
	if len(options) == 0 {
		t.Error("the DAG uses no option")
	}
	for _, dictionary := range options {
		for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(dictionary[1], -1) {
			if !flags[strings.ReplaceAll(m[1], "_", "-")] {
				t.Errorf("the option %s of the DAG is not a flag", m[1])
			}
		}
	}
}

// TestHadoopSettings resolves the nameservice of the Hadoop settings.
func TestHadoopSettings(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "hadoop")
	conf, err := cluster.LoadConf()
	must(t, err)
	for scheme, want := range map[string]string{"hdfs": "nn1.example.com:8020 nn2.example.com:8020", "webhdfs": "nn1.example.com:9870 nn2.example.com:9870"} {
		origin, addresses, err := conf.NameNodes(scheme, "")
		if err != nil || origin != scheme+"://analytics" || strings.Join(addresses, " ") != want {
			t.Errorf("%s:/// is %s at %s, %v", scheme, origin, addresses, err)
		}
	}
	if d := conf.Duration("dfs.client.socket-timeout", 0); d != time.Minute {
		t.Errorf("dfs.client.socket-timeout is %v, want 1m", d)
	}
}

var must = testenv.Must
