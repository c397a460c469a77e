package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const (
	rowSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}%s]}`
	moreField = `,{"name":"more","type":["null","string"],"default":null}`
)

// input adds an input of 10 rows. With a field, each row has it as null.
func (p *place) input(field string) {
	p.t.Helper()
	var data []byte
	for i := range 10 {
		data = binary.AppendVarint(data, int64(10*p.inputs+i))
		if field != "" {
			data = append(data, 0)
		}
	}
	file := avrotest.Make(p.t, fmt.Sprintf(rowSchema, field), "null", avrotest.Block{Rows: 10, Data: data})
	testenv.Must(p.t, os.WriteFile(p.path(fmt.Sprintf("in/%03d.avro", p.inputs)), file, 0o666))
	p.inputs++
}

// TestSync syncs a first output, increments, an overwrite and an evolved overwrite, and each twice.
func TestSync(t *testing.T) {
	p := newPlace(t)
	steps := []struct {
		name        string
		change      func()
		args        []string
		want        synced
		nothingSays string
	}{
		{"first", func() { p.input("") }, nil, synced{Created: true, Outputs: 1, Files: 1, Rows: 10, Added: 1, Tries: 1}, "10 rows"},
		{"increment", func() { p.input("") }, []string{"--incremental"}, synced{Outputs: 2, Files: 2, Rows: 20, Added: 1, Tries: 1}, "20 rows"},
		{"overwrite", func() { p.input("") }, []string{"--overwrite"}, synced{Outputs: 1, Files: 1, Rows: 30, Added: 1, Removed: 2, Expired: 2, Tries: 1}, "30 rows"},
		{"evolved", func() {
			p.input(moreField)
			p.write("new.avsc", fmt.Sprintf(rowSchema, moreField))
		}, []string{"--overwrite", "--schema", "new.avsc"}, synced{Outputs: 1, Files: 1, Rows: 40, Added: 1, Removed: 1, Expired: 1, Schema: []string{"new column more string"}, Tries: 1}, "40 rows"},
	}
	for _, s := range steps {
		s.change()
		p.convert(s.args...)
		o := p.sync("--json").want(0)
		got := o.result()
		if got.Snapshot == 0 || got.Bytes == 0 || got.Figures == nil || got.Dest != "out" || got.Table != "t.rows" {
			t.Errorf("%s: %+v", s.name, got)
		}
		got.Figures, got.Dest, got.Table, got.Snapshot, got.Bytes = nil, "", "", 0, 0
		if s.want.Schema == nil {
			s.want.Schema = []string{}
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", s.want) {
			t.Errorf("%s: got %+v, want %+v", s.name, got, s.want)
		}
		for _, line := range []string{`"msg":"sync begins"`, `"msg":"committed"`, `"msg":"sync ended"`, `"status":"done"`} {
			if !strings.Contains(o.stderr, line) {
				t.Errorf("%s: no %s in %s", s.name, line, o.stderr)
			}
		}
		p.sync("--exit-nothing", "99").want(99, "nothing to do: t.rows already holds the "+s.nothingSays+" of out", `"status":"nothing"`)
	}
	if r := p.sync("--json").want(0).result(); !r.Nothing || r.Rows != 40 {
		t.Errorf("%+v", r)
	}
}

// TestSyncReports checks what metrics and lineage tell of a sync.
func TestSyncReports(t *testing.T) {
	p := newPlace(t)
	p.input("")
	p.convert()
	p.sync("--metrics-file", "sync.prom", "--lineage", "sync.jsonl").want(0, "t.rows: 10 rows in 1 file", "(added: 1, removed: 0)")
	text, err := os.ReadFile(p.path("sync.prom"))
	if err != nil || !strings.Contains(string(text), `rowtocol_run_rows{job_name="t.rows"} 10`) {
		t.Errorf("%s, %v", text, err)
	}
	text, err = os.ReadFile(p.path("sync.jsonl"))
	testenv.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var e struct {
		EventType       string
		Inputs, Outputs []struct{ Namespace, Name string }
	}
	testenv.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &e))
	o := p.sync("--catalog", "nessi", "--metrics-file", "sync.prom").want(1, `"msg":"sync begins"`, `"msg":"sync ended"`, `"status":"usage"`)
	if text, err = os.ReadFile(p.path("sync.prom")); err != nil || !strings.Contains(string(text), `rowtocol_run_exit_code{job_name="t.rows"} 1`) {
		t.Errorf("%s, %v: %s", text, err, o.stderr)
	}
	if len(lines) != 2 || e.EventType != "COMPLETE" || e.Inputs[0].Name != p.path("out") || e.Outputs[0].Name != "t.rows" || e.Outputs[0].Namespace != "sqlite:///catalog.db" {
		t.Errorf("%s", text)
	}
}

// TestJobName checks that the metrics of both programs differ if they read one name of a job.
func TestJobName(t *testing.T) {
	for _, tt := range []struct {
		name, job string
		env, args []string
		want      string // the name of the job in the metrics of sync
	}{
		{"none", "", nil, nil, "t.rows"},
		{"job file", "job-name: mail\n", nil, nil, "mail-sync"},
		{"environment", "", []string{"ROWTOCOL_JOB_NAME=night"}, nil, "night-sync"},
		{"command line", "job-name: mail\n", nil, []string{"--job-name", "table"}, "table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.write("job.yaml", tt.job+"metrics-file: prom/\n"+jobFile)
			testenv.Must(t, os.Mkdir(p.path("prom"), 0o777))
			p.env = tt.env
			p.input("")
			p.convert()
			p.sync(tt.args...).want(0)
			text, err := os.ReadFile(p.path("prom/rowtocol-" + tt.want + ".prom"))
			if err != nil || !strings.Contains(string(text), `rowtocol_run_success{job_name="`+tt.want+`"} 1`) {
				t.Errorf("%v: %s", err, text)
			}
			if files, err := os.ReadDir(p.path("prom")); err != nil || len(files) != 2 {
				t.Errorf("%v, %v", files, err)
			}
		})
	}
}

// TestMetricsFile checks that sync does not replace the file of metrics that convert writes.
func TestMetricsFile(t *testing.T) {
	p := newPlace(t)
	p.write("job.yaml", "metrics-file: mail.prom\n"+jobFile)
	p.input("")
	p.convert()
	p.sync().want(0)
	for name, job := range map[string]string{"mail.prom": "out", "mail-sync.prom": "t.rows"} {
		text, err := os.ReadFile(p.path(name))
		if err != nil || !strings.Contains(string(text), `rowtocol_run_success{job_name="`+job+`"} 1`) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// TestSyncRefuses checks the exit codes of what sync refuses, and what it says.
func TestSyncRefuses(t *testing.T) {
	p := newPlace(t)
	p.input("")
	p.convert()
	p.sync().want(0)
	p.run(rowtocol, "convert", "--format", "parquet", "in", "copy").want(0)
	p.run(rowtocol, "convert", "in", "trevni").want(0)
	rest := []string{"sync", "out", "--catalog", "rest", "--table", "t.rows", "--uri", "http://127.0.0.1:1", "--store-retry", "1s"}
	for _, c := range []struct {
		code  int
		args  []string
		texts []string
	}{
		{1, []string{"sync"}, []string{"sync needs a destination"}},
		{1, []string{"sync", "out"}, []string{"sync needs --table"}},
		{1, []string{"sync", "out", "--table", "t.rows"}, []string{"sync needs --catalog"}},
		{1, []string{"sync", "out", "--table", "t.rows", "--catalog", "nessi"}, []string{"--catalog", "is not one of sql, rest"}},
		{1, []string{"sync", "out", "--table", "rows", "--catalog", "hadoop", "--warehouse", "tables"}, []string{"namespace.name"}},
		{1, []string{"sync", "a", "b"}, []string{"cannot run with 2 arguments"}},
		{1, []string{"sync", "--config", "job.yaml", "--dest", "a", "b"}, []string{"--dest and DEST are given"}},
		{1, []string{"sync", "--config", "job.yaml", "--keep-snapshots", "-1"}, []string{"--keep-snapshots must be 0 or more"}},
		{1, []string{"sync", "--config", "job.yaml", "--catalog-property", "token=hidden"}, []string{"token is a secret"}},
		{1, []string{"sync", "--config", "job.yaml", "--catalog-property", "hidden"}, []string{"write KEY=VALUE"}},
		{3, []string{"sync", "--config", "job.yaml", "none"}, []string{"none"}},
		{1, []string{"sync", "out", "--catalog", "rest", "--table", "t.rows"}, []string{"needs a URI"}},
		{1, []string{"sync", "out", "--catalog", "hive", "--table", "t.rows", "--warehouse", "tables"}, []string{"needs a URI"}},
		{1, []string{"sync", "out", "--catalog", "sql", "--table", "t.rows", "--uri", "sqlite:///c.db"}, []string{"needs a warehouse"}},
		{1, []string{"sync", "out", "--catalog", "hadoop", "--table", "t.rows", "--warehouse", "s3://bucket/tables"}, []string{"s3"}},
		{4, rest, []string{"127.0.0.1:1"}},
		{7, []string{"sync", "--config", "job.yaml", "--uri", "sqlite:///none/catalog.db"}, []string{"the directory none does not exist"}},
		{9, []string{"sync", "--config", "job.yaml", "copy"}, []string{"table t.rows holds", "not file://", "what to do: name the DEST that the table holds, or another --table"}},
	} {
		o := p.run(iceberg, c.args...).want(c.code, c.texts...)
		if strings.Contains(o.stdout+o.stderr, "hidden") && c.args[len(c.args)-1] != "none" {
			t.Errorf("%q shows a secret: %s", c.args, o.stderr)
		}
	}
	if code := p.run(iceberg, "sync", "--config", "job.yaml", "--table", "t.other", "trevni").code; code != 3 && code != 1 {
		t.Errorf("an output of another format: exit %d", code)
	}
}

// TestSharedJobFile checks that a job file and an environment are for both programs, and that both
// refuse unknown names.
func TestSharedJobFile(t *testing.T) {
	p := newPlace(t)
	p.input("")
	p.env = []string{"ROWTOCOL_KEEP_SNAPSHOTS=7", "ROWTOCOL_COMPRESSION=zstd", "ROWTOCOL_CATALOG_PROPERTY=scope=all,token=x"}
	p.convert()
	p.sync("--json").want(0)
	p.env = []string{"ROWTOCOL_KEEP_SNAPSHOT=7"}
	for _, program := range []string{rowtocol, iceberg} {
		p.run(program, map[string]string{rowtocol: "convert", iceberg: "sync"}[program], "--config", "job.yaml").want(1, "did you mean ROWTOCOL_KEEP_SNAPSHOTS?")
	}
	p.env = nil
	p.write("job.yaml", jobFile+"  keep-snapshot: 7\n")
	p.sync().want(1, `\"table.keep-snapshot\" is not a flag of rowtocol; did you mean table.keep-snapshots?`)
	p.run(rowtocol, "convert", "--config", "job.yaml").want(1, "did you mean table.keep-snapshots?")
	p.write("job.yaml", jobFile+"  keep-snapshots: some\n")
	p.sync().want(1, `job.yaml:9: table.keep-snapshots: \"some\" is not a whole number`)
}

// TestKilledSync kills syncs at random times. Another sync then completes the work, and the table
// has each file once: sync refuses a table with other files than those that it names.
func TestKilledSync(t *testing.T) {
	p := newPlace(t)
	rng := rand.New(rand.NewPCG(3, 9))
	for i := range 6 {
		p.input("")
		p.convert("--incremental")
		killed := p.command(iceberg, "sync", "--config", "job.yaml")
		testenv.Must(t, killed.Start())
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		_ = killed.Process.Kill() // it may have ended
		_ = killed.Wait()
		if r := p.sync("--json").want(0).result(); r.Rows != int64(10*(i+1)) || r.Files != i+1 {
			t.Errorf("%d: %+v", i, r)
		}
		if r := p.sync("--json").want(0).result(); !r.Nothing {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// TestStoppedSync checks that a signal or a limit of time ends a sync that waits for a server.
func TestStoppedSync(t *testing.T) {
	p := newPlace(t)
	p.input("")
	p.convert()
	address := hangingServer(t)
	p.sync("--catalog", "rest", "--uri", address, "--max-runtime", "1s").want(4, "stopped after --max-runtime 1s")
}

// hangingServer returns the address of a server that never answers.
func hangingServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// TestProgram checks the commands that all programs have.
func TestProgram(t *testing.T) {
	p := newPlace(t)
	p.run(iceberg, "version").want(0, "rowtocol-iceberg ")
	p.run(iceberg, "help", "exit-codes").want(0, "The exit code of rowtocol-iceberg says", "retry: no; name the DEST that the table holds")
	p.run(iceberg, "snyc").want(1, "did you mean sync?")
	p.run(iceberg, "man", ".").want(0)
	text, err := os.ReadFile(p.path("rowtocol-iceberg-sync.1"))
	if err != nil || !strings.Contains(string(text), `\-\-keep\-snapshots`) {
		t.Errorf("%s, %v", text, err)
	}
	for line := range strings.Lines(p.run(iceberg, "sync", "--help").want(0).stdout) {
		if len(line) > 81 && !strings.Contains(line, p.dir) {
			t.Errorf("a line is too long: %s", line)
		}
	}
	known := strings.Join(cli.Settings(), " ") + " "
	for _, c := range icebergProgram.Root().Commands() {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if cli.Configurable(f) && !strings.Contains(" "+known, " "+f.Name+" ") {
				t.Errorf("--%s is no setting", f.Name)
			}
		})
	}
}
