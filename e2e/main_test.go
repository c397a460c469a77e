package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/memlimit"
	"github.com/rowtocol/rowtocol/internal/supervise"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

var program string // the built program

func TestMain(m *testing.M) {
	memlimit.Main()
	run := func() (int, error) { return testMain(m) }
	if len(os.Args) > 1 && os.Args[1] == readBackCommand {
		run = func() (int, error) { return 0, readBack(os.Args[2], os.Args[3:]) }
	}
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func testMain(m *testing.M) (int, error) {
	if flag.Parse(); flag.Lookup("test.list").Value.String() != "" {
		return m.Run(), nil // which only prints names
	}
	if _, err := testenv.Required(); err != nil {
		return 1, err
	}
	return supervise.Tests(func() (int, error) { return runTests(m) })
}

// runTests sets up what all tests need, and runs them.
func runTests(m *testing.M) (int, error) {
	var remove func()
	var err error
	if program, remove, err = testenv.Program(); err != nil {
		return 1, err
	}
	defer remove()
	if corpusOutputs.dir, err = os.MkdirTemp("", "rowtocol-e2e-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(corpusOutputs.dir) }() // scratch
	began := time.Now()
	if java, err = findJava(); err != nil {
		return 1, err
	}
	defer java.stop()
	defer theHFileJudge.stop()
	defer restCatalog.stop()
	defer icebergJudge.stop()
	// Without these, tests skip, or fail at once if they are required.
	if why := hadooptest.Missing(); why != "" && required() {
		return 1, errors.New("ROWTOCOL_E2E=required, but there is no Hadoop: " + why)
	}
	if _, err := kuduHome(); err != nil && required() {
		return 1, fmt.Errorf("ROWTOCOL_E2E=required, but there is no Kudu: %w", err)
	}
	if _, err := hfileHome(); err != nil && required() {
		return 1, fmt.Errorf("ROWTOCOL_E2E=required, but there is no HBase: %w", err)
	}
	fmt.Printf("set-up: Java's classes, Hadoop's, Kudu's and HBase's tools: %v\n", time.Since(began).Round(10*time.Millisecond))
	defer hadooptest.StopShared()
	return m.Run(), nil
}

func required() bool {
	required, _ := testenv.Required() // testMain checks the error
	return required
}

// result is the result of a run of the program.
type result struct {
	args           []string
	code           int
	stdout, stderr string
	elapsed        time.Duration
}

// command prepares a run of the program that no setting of the caller's environment
// affects.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = testenv.ProgramEnviron()
	return cmd
}

// run runs the program to its end.
func run(t testing.TB, args ...string) result {
	t.Helper()
	return finish(t, command(args...))
}

// finish runs a prepared program to its end.
func finish(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	args := cmd.Args[1:]
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("rowtocol %s: %v", strings.Join(args, " "), err)
	}
	return result{
		args: args, code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(),
		elapsed: time.Since(start),
	}
}

// want fails the test unless the run ended with this exit code.
func (r result) want(t testing.TB, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("rowtocol %s: exit %d, want %d\n%s%s", strings.Join(r.args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

// complaints returns the lines of standard error that are not about progress.
func (r result) complaints() []string {
	lines := strings.Split(strings.TrimSpace(testenv.Log(r.stderr)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.Contains(line, `"level":"INFO"`) })
}

// wantComplaint fails the test unless there is one complaint, and it contains all names.
func (r result) wantComplaint(t *testing.T, names ...string) {
	t.Helper()
	lines := r.complaints()
	if len(lines) != 1 {
		t.Errorf("rowtocol %s: want one complaint on standard error, got\n%s", strings.Join(r.args, " "), r.stderr)
	}
	text := strings.Join(lines, "\n")
	for _, n := range names {
		if !strings.Contains(text, n) {
			t.Errorf("standard error does not name %s:\n%s", n, text)
		}
	}
}

// report is the JSON object that --json prints.
type report struct {
	Exit   int
	Status string
	Error  *struct {
		Kind, Message, File, Path, Reason string
		Offset                            *int64
	}
	Result struct {
		Rows    int64
		Read    int64 `json:"bytes_read"`
		Nothing bool
		Parts   []struct {
			Rows  int64
			Files []struct{ Name string }
		}
		Columns  json.RawMessage
		Complete *bool
		Against  struct {
			ByGoavro int64 `json:"by_goavro"`
			ByHamba  int64 `json:"by_hamba"`
		}
	}
}

func (r result) report(t testing.TB) report {
	t.Helper()
	var p report
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatalf("rowtocol %s: %v in\n%s%s", strings.Join(r.args, " "), err, r.stdout, r.stderr)
	}
	return p
}

// parts returns the files of a destination in row order, as its report lists
// them.
func (p report) parts(dest string) []string {
	var files []string
	for _, part := range p.Result.Parts {
		for _, f := range part.Files {
			files = append(files, filepath.Join(dest, f.Name))
		}
	}
	return files
}

var must = testenv.Must

// inParallel calls f for 0 to n-1 on as many goroutines as there are processors.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// tree returns the paths of all files under a directory, which may be missing,
// with their contents. The content of a link is its target.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifest.InputsName { // it exists only for recent inputs
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type() == fs.ModeSymlink {
			files[name], err = os.Readlink(path)
			return err
		}
		b, err := os.ReadFile(path)
		files[name] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// wantEmpty fails the test if a directory exists and holds anything.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left over: %s", filepath.Join(dir, e.Name()))
	}
}
