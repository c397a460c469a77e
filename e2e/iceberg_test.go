package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// icebergPrograms builds rowtocol-iceberg, and scan, which reads with iceberg-go, and returns
// their directory.
var icebergPrograms = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(corpusOutputs.dir, "iceberg")
	build := exec.Command("go", "build", "-C", "../cmd/rowtocol-iceberg", "-o", dir+"/", ".", "./internal/cmd/scan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build rowtocol-iceberg: %w\n%s", err, out)
	}
	return dir, nil
})

// tableJudge makes inputs and reads tables: see python/icebergtables.py.
type tableJudge struct{ jvm }

// icebergJudge is the judge of tables on this machine.
var icebergJudge = newTableJudge()

// newTableJudge returns a judge with more variables in its environment. It starts on first use.
func newTableJudge(variables ...string) *tableJudge {
	return &tableJudge{jvm{command: func() (*exec.Cmd, error) {
		program, err := pythonEnvironment()
		if err != nil {
			return nil, err
		}
		programs, err := icebergPrograms()
		if err != nil {
			return nil, err
		}
		home, err := sparkInstallation()
		cmd := exec.Command(program, "python/icebergtables.py", "serve", programs+"/scan")
		cmd.Env = slices.Concat(testenv.ProgramEnviron(), sparkVariables(home, programs), variables)
		return cmd, err
	}}}
}

// ask has the judge make or check something. It returns what is wrong.
func (j *tableJudge) ask(t *testing.T, call string, arguments map[string]any) (wrong string) {
	t.Helper()
	arguments["call"] = call
	request, err := json.Marshal(arguments)
	must(t, err)
	lines, err := j.jvm.ask(string(request) + "\n")
	must(t, err)
	must(t, json.Unmarshal([]byte(strings.Join(lines, "")), &wrong)) // null is nothing
	return wrong
}

// restCatalog is a REST catalog of Iceberg's own code: see iceberg/src/RestCatalog.java.
var restCatalog = &jvm{command: func() (*exec.Cmd, error) {
	target, err := filepath.Abs("iceberg/target")
	if err != nil {
		return nil, err
	}
	unlock, err := maven.Lock(target)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := maven.Build("iceberg", target, []string{"classes"}); err != nil {
		return nil, err
	}
	classpath, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(corpusOutputs.dir, "rest")
	return exec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-cp", filepath.Join(target, "classes")+":"+strings.TrimSpace(string(classpath)), "RestCatalog", dir), os.MkdirAll(dir, 0o777)
}}

// restURI returns the URI of the REST catalog, which starts on first use.
func restURI(t *testing.T) string {
	t.Helper()
	lines, err := restCatalog.ask("\n")
	if err != nil {
		testenv.Skip(t, "there is no REST catalog: "+err.Error())
	}
	return "http://127.0.0.1:" + lines[0]
}

// needIceberg skips the test without the judges of tables.
func needIceberg(t *testing.T) {
	t.Helper()
	needSpark(t)
	if _, err := pythonEnvironment(); err != nil {
		testenv.Skip(t, "there is no PyIceberg: "+err.Error())
	}
	_, err := icebergPrograms()
	must(t, err)
}

// table is a table of a destination in a catalog.
type table struct {
	Type      string `json:"type"`
	URI       string `json:"uri"`
	Warehouse string `json:"warehouse"`
	Name      string `json:"name"`
}

// lake has Avro files, a destination and tables of it.
type lake struct {
	in, dest string // directories
	judge    *tableJudge
	flags    []string // of convert
	tables   []table
	inputs   []string
	rows     int // that were made, each with an ID of its own
}

// restNamespaces counts the tables in the REST catalog, each in a namespace of its own.
var restNamespaces atomic.Int64

// newLake returns a lake with tables in catalogs of these kinds, in a directory which may be
// on HDFS.
func newLake(t *testing.T, dir string, flags []string, kinds ...string) *lake {
	t.Helper()
	needIceberg(t)
	local := t.TempDir()
	if dir == "" {
		dir = local
	}
	l := &lake{
		in: local + "/in", dest: dir + "/dest", judge: icebergJudge,
		flags: append([]string{"--format=parquet", "--times=iceberg", "--keep-replaced=24h"}, flags...),
	}
	for _, kind := range kinds {
		of := table{Type: kind, Warehouse: dir + "/" + kind, Name: "ns.t"}
		switch kind {
		case "rest":
			of.URI, of.Warehouse, of.Name = restURI(t), "", fmt.Sprintf("ns%d.t", restNamespaces.Add(1))
		case "sql":
			of.URI = "sqlite:///" + local + "/catalog.db"
		}
		l.tables = append(l.tables, of)
	}
	return l
}

// make writes n new rows, of a version of their schema, into an input.
func (l *lake) make(t *testing.T, name string, n, version int) {
	t.Helper()
	file := filepath.Join(l.in, name)
	if wrong := l.judge.ask(t, "make", map[string]any{"path": file, "first": l.rows, "last": l.rows + n, "version": version}); wrong != "" {
		t.Fatal(wrong)
	}
	l.inputs = append(l.inputs, file)
	l.rows += n
}

// removeInputs removes all inputs.
func (l *lake) removeInputs(t *testing.T) {
	t.Helper()
	must(t, os.RemoveAll(l.in))
	l.inputs = nil
}

// convert converts the inputs.
func (l *lake) convert(t *testing.T, flags ...string) {
	t.Helper()
	args := append([]string{"convert"}, append(l.flags, flags...)...)
	run(t, append(args, l.in, l.dest)...).want(t, 0)
}

// syncCommand prepares a sync of a table.
func (l *lake) syncCommand(of table, flags ...string) *exec.Cmd {
	programs, _ := icebergPrograms() // newLake has checked
	args := []string{"sync", "--json", "--catalog=" + of.Type, "--uri=" + of.URI, "--warehouse=" + of.Warehouse, "--table=" + of.Name}
	cmd := exec.Command(programs+"/rowtocol-iceberg", append(append(args, flags...), l.dest)...)
	cmd.Env = testenv.ProgramEnviron()
	return cmd
}

// sync syncs all tables.
func (l *lake) sync(t *testing.T, flags ...string) {
	t.Helper()
	for _, of := range l.tables {
		finish(t, l.syncCommand(of, flags...)).want(t, 0)
	}
}

// check has engines read the rows of each table, which must be those of the inputs. Under
// conditions, they must read fewer files.
func (l *lake) check(t *testing.T, engines []string, conditions map[string]any) {
	t.Helper()
	for _, of := range l.tables {
		arguments := map[string]any{"table": of, "files": l.inputs, "engines": engines}
		maps.Copy(arguments, conditions)
		if wrong := l.judge.ask(t, "check", arguments); wrong != "" {
			t.Fatalf("%s: %s", of.Type, wrong)
		}
	}
}
