package e2e

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// interruptible is a conversion that lasts long enough to be disturbed, and
// what it makes when it is not.
type interruptible struct {
	target
	input string
	want  map[string]string
	took  time.Duration
	flags []string
}

func newInterruptible(t *testing.T, f target, rows int64) *interruptible {
	t.Helper()
	dir := t.TempDir()
	c := &interruptible{
		target: f, input: filepath.Join(dir, "mail.avro"), flags: append([]string{f.rowGroups("2MiB", "4MiB"), "--workers=2"}, f.flags...),
	}
	writeMail(t, c.input, rows)
	dest := filepath.Join(dir, "reference")
	r := run(t, c.args(dest, dir)...).want(t, 0)
	c.took, c.want = r.elapsed, plain(t, tree(t, dest))
	if len(c.want) < 5 {
		t.Fatalf("only %d files: not worth a kill", len(c.want))
	}
	return c
}

func (c *interruptible) args(dest, temp string) []string {
	return append([]string{"convert", "--temp-dir", temp, c.input, dest}, c.flags...)
}

// check fails the test if a name that a reader would see has incomplete bytes.
func (c *interruptible) check(t *testing.T, dest string) {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dest, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it comes later, or was moved
		}
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if name, _ := filepath.Rel(dest, path); !d.IsDir() && name != "_lock" && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
		return nil
	})
	must(t, err)
	committed := false
	visible := map[string]bool{}
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(dest, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, known := c.want[plainName(name)]
		if !known {
			t.Errorf("%s is a name of no output", name)
		} else if string(plainContent(t, name, got)) != want {
			t.Errorf("%s shows %d bytes of %d", name, len(got), len(want))
		}
		visible[plainName(name)] = true
		committed = committed || name == "_SUCCESS"
	}
	for name := range c.want {
		if committed && !visible[name] {
			t.Errorf("_SUCCESS is there, %s is not", name)
		}
	}
}

// complete fails the test unless the destination is what an undisturbed run
// makes, with nothing beside it, and the temporary directory is empty.
func (c *interruptible) complete(t *testing.T, dest, temp string) {
	t.Helper()
	got := plain(t, tree(t, dest))
	for name, want := range c.want {
		if got[name] != want {
			t.Errorf("%s: %d bytes, not the %d of an undisturbed run", name, len(got[name]), len(want))
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("left behind: %s", filepath.Join(dest, name))
	}
	wantEmpty(t, temp)
	if _, err := os.Stat(filepath.Join(dest, ".rowtocol")); err == nil {
		t.Error("left behind: .rowtocol")
	}
}

// start starts a run and returns a function that waits for its exit code; -1
// is a signal.
func start(t *testing.T, args ...string) (*exec.Cmd, func() int) {
	t.Helper()
	cmd := command(args...)
	must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its exit code says it
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, if the test passed
		<-done
	})
	return cmd, func() int {
		<-done
		return cmd.ProcessState.ExitCode()
	}
}

func kills(t *testing.T) int {
	t.Helper()
	s := os.Getenv("ROWTOCOL_SOAK")
	if s == "" {
		return 2
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("ROWTOCOL_SOAK is %q, not a number of kills", s)
	}
	return n
}

// TestKilled kills conversions to each kind of output: single files, directories of
// files, files of sorted rows, and indexes next to files.
func TestKilled(t *testing.T) {
	for _, f := range []target{trevniFiles, cFiles, hFiles, indexed} {
		t.Run(f.name, func(t *testing.T) {
			n := kills(t)
			if f.name != trevniFiles.name {
				n = max(1, n/4)
			}
			newInterruptible(t, f, 30_000).killed(t, n)
		})
	}
}

// killed kills runs n times, and some of the reruns.
func (c *interruptible) killed(t *testing.T, n int) {
	struck := 0
	for range n {
		dir := t.TempDir()
		dest, temp := filepath.Join(dir, "out"), filepath.Join(dir, "tmp")
		must(t, os.Mkdir(temp, 0o777))
		// Sometimes the rerun is killed, too.
		for range 1 + rand.IntN(2) {
			cmd, wait := start(t, c.args(dest, temp)...)
			for stop := time.Now().Add(rand.N(c.took)); time.Now().Before(stop); time.Sleep(time.Millisecond) {
				c.check(t, dest)
			}
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			if wait() == -1 {
				struck++
			}
			c.check(t, dest)
		}
		run(t, c.args(dest, temp)...).want(t, 0)
		c.complete(t, dest, temp)
		if t.Failed() {
			t.Fatal("stopping after a failed run")
		}
	}
	t.Logf("%d runs, %d kills hit", n, struck)
}

// TestInterrupt sends the signals that a scheduler sends first.
func TestInterrupt(t *testing.T) {
	c := newInterruptible(t, trevniFiles, 40_000)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		dest, temp := filepath.Join(dir, "out"), filepath.Join(dir, "tmp")
		must(t, os.Mkdir(temp, 0o777))
		cmd, wait := start(t, c.args(dest, temp)...)
		waitFor(t, filepath.Join(dest, ".rowtocol", "plan-*", "part-*"))
		must(t, cmd.Process.Signal(sig))
		if got := wait(); got != code {
			t.Errorf("%v: exit %d, want %d", sig, got, code)
		}
		c.check(t, dest)
		wantEmpty(t, temp)
		run(t, c.args(dest, temp)...).want(t, 0)
		c.complete(t, dest, temp)
	}
}

// waitFor waits until a file of this pattern exists.
func waitFor(t *testing.T, pattern string) {
	t.Helper()
	for stop := time.Now().Add(30 * time.Second); time.Now().Before(stop); time.Sleep(time.Millisecond) {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return
		}
	}
	t.Fatalf("%s did not appear", pattern)
}

// TestTogether starts two runs at once.
func TestTogether(t *testing.T) {
	c := newInterruptible(t, trevniFiles, 40_000)
	dir := t.TempDir()
	dest, temp := filepath.Join(dir, "out"), filepath.Join(dir, "tmp")
	must(t, os.Mkdir(temp, 0o777))
	_, first := start(t, c.args(dest, temp)...)
	_, second := start(t, c.args(dest, temp)...)
	a, b := first(), second()
	if a != 0 && b != 0 || a != 0 && a != 5 || b != 0 && b != 5 {
		t.Errorf("exits %d and %d, want 0 and 5 (or 0, for one that came late)", a, b)
	}
	c.complete(t, dest, temp)
}

// TestStoppedHolder wakes a job after another has taken its lock over and finished.
func TestStoppedHolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		testenv.Skip(t, "it needs Linux")
	}
	f := trevniFiles
	f.flags = append(slices.Clip(f.flags), "--row-group-size=256KiB") // there is time to stop between the first file and the last
	c := newInterruptible(t, f, 40_000)
	for _, stopAt := range []string{".rowtocol/plan-*/plan.json", ".rowtocol/plan-*/task-*", "part-*"} {
		t.Run(stopAt, func(t *testing.T) {
			dir := t.TempDir()
			dest, temp := filepath.Join(dir, "out"), filepath.Join(dir, "tmp")
			must(t, os.Mkdir(temp, 0o777))
			cmd, wait := c.startAndStop(t, dest, temp, stopAt)
			_, err := orphan(t.Context(), store.Location{Store: store.Local(), Path: dest})
			must(t, err)
			run(t, c.args(dest, temp)...).want(t, 0)
			c.check(t, dest)
			must(t, cmd.Process.Signal(syscall.SIGCONT))
			if code := wait(); code != 5 {
				t.Errorf("the woken job ended with %d, want 5", code)
			}
			c.complete(t, dest, temp)
		})
	}
}

// startAndStop starts a conversion and freezes it once there is a file of a pattern, before
// all of its output is in place. A job that was too quick is started again.
func (c *interruptible) startAndStop(t *testing.T, dest, temp, pattern string) (cmd *exec.Cmd, wait func() int) {
	t.Helper()
	for range 20 {
		cmd, wait = start(t, c.args(dest, temp)...)
		waitFor(t, filepath.Join(dest, pattern))
		stopped := cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(10 * time.Millisecond) // a stop is not immediate
		if _, err := os.Stat(filepath.Join(dest, manifest.SuccessName)); err != nil {
			must(t, stopped)
			return cmd, wait
		}
		_ = cmd.Process.Signal(syscall.SIGCONT) // it may have ended
		wait()
		must(t, os.RemoveAll(dest))
	}
	t.Fatalf("no conversion could be frozen at %s", pattern)
	return nil, nil
}
