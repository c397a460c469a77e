package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// rowtocol and iceberg are the paths of the built programs.
var rowtocol, iceberg string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rowtocol-iceberg-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a scratch directory
	build := func(from, name string) string {
		program := filepath.Join(dir, name)
		cmd := exec.Command("go", "-C", from, "build", "-o", program, "./"+"cmd/"+name)
		if from == "." {
			cmd = exec.Command("go", "build", "-o", program, ".")
		}
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v\n%s", err, out))
		}
		return program
	}
	if rowtocol = os.Getenv("ROWTOCOL_PROGRAM"); rowtocol == "" {
		rowtocol = build("../..", "rowtocol")
	}
	iceberg = build(".", "rowtocol-iceberg")
	return m.Run()
}

// output is the result of a run of a program.
type output struct {
	t              *testing.T
	args           []string
	code           int
	stdout, stderr string
}

// place is a directory with inputs, a job file and what the programs make of them.
type place struct {
	t      *testing.T
	dir    string
	inputs int
	env    []string
}

const jobFile = `input: [in]
dest: out
format: parquet
table:
  name: t.rows
  catalog: sql
  uri: sqlite:///catalog.db
  warehouse: tables
`

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	p.write("job.yaml", jobFile)
	testenv.Must(t, os.Mkdir(p.path("in"), 0o777))
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	testenv.Must(p.t, os.WriteFile(p.path(name), []byte(text), 0o666))
}

// command returns a run of a program in the directory.
func (p *place) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Dir, cmd.Env = p.dir, append(testenv.ProgramEnviron(), p.env...)
	return cmd
}

func (p *place) run(program string, args ...string) output {
	p.t.Helper()
	cmd := p.command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.t.Fatal(err)
	}
	return output{p.t, args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// convert runs rowtocol convert with the job file.
func (p *place) convert(args ...string) {
	p.t.Helper()
	p.run(rowtocol, append([]string{"convert", "--config", "job.yaml"}, args...)...).want(0)
}

// sync runs rowtocol-iceberg sync with the job file.
func (p *place) sync(args ...string) output {
	p.t.Helper()
	return p.run(iceberg, append([]string{"sync", "--config", "job.yaml"}, args...)...)
}

// want checks the exit code, and that the output has the texts.
func (o output) want(code int, texts ...string) output {
	o.t.Helper()
	if o.code != code {
		o.t.Fatalf("%q: exit %d, want %d\nstdout: %s\nstderr: %s", o.args, o.code, code, o.stdout, o.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			o.t.Errorf("%q: %q is not in the output\nstdout: %s\nstderr: %s", o.args, text, o.stdout, o.stderr)
		}
	}
	return o
}

// result returns the result in the final JSON object.
func (o output) result() (r synced) {
	o.t.Helper()
	e := cli.Ending{Result: &r}
	if err := json.Unmarshal([]byte(o.stdout), &e); err != nil {
		o.t.Fatalf("%v in %s", err, o.stdout)
	}
	if e.Command != "sync" || e.Exit != o.code {
		o.t.Errorf("%+v", e)
	}
	return r
}
