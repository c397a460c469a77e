package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// interruptible is a conversion to local disk.
type interruptible struct {
	target
	*site
}

func newInterruptible(t *testing.T, f target, rows int64) *interruptible {
	t.Helper()
	c := &interruptible{f, newSite(t, nil, rows, append(f.flagsFor("2MiB", "4MiB"), "--workers=2")...)}
	if len(c.want) < 5 {
		t.Fatalf("%d files are too few for the test", len(c.want))
	}
	return c
}

func (c *interruptible) args(dest, temp string) []string {
	return c.site.args(dest, "--temp-dir", temp)
}

// wantComplete also fails the test unless the temporary directory is empty.
func (c *interruptible) wantComplete(t *testing.T, dest, temp string) {
	t.Helper()
	c.site.wantComplete(t, dest)
	wantEmpty(t, temp)
}

// places makes a directory with one for temporary files, and names a destination in it.
func places(t *testing.T) (dir, dest, temp string) {
	t.Helper()
	dir = t.TempDir()
	temp = filepath.Join(dir, "tmp")
	must(t, os.Mkdir(temp, 0o777))
	return dir, filepath.Join(dir, "out"), temp
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

// TestKilled kills conversions to each kind of output: files, directories of files, files
// of sorted rows, and indexes next to files.
func TestKilled(t *testing.T) {
	for _, f := range []target{trevniFiles, cFiles, hFiles, parquetFiles, indexed} {
		t.Run(f.name, func(t *testing.T) {
			n := kills(t)
			if f.name != trevniFiles.name {
				n = max(1, n/4)
			}
			_, dest, temp := places(t)
			c := newInterruptible(t, f, 30_000)
			c.killed(t, dest, n, "--temp-dir", temp)
			// A run that has nothing to do leaves the spills of a killed one to the next run.
			run(t, c.args(dest+"-last", temp)...).want(t, 0)
			wantEmpty(t, temp)
			if f.name == parquetFiles.name {
				wantMail(t, dest+"-0", c.input)
			}
		})
	}
}

// killed kills runs, and some reruns, until n kills hit a running one. The names of the
// destinations begin with dest.
func (s *site) killed(t *testing.T, dest string, n int, flags ...string) {
	t.Helper()
	runs := 0
	for struck := 0; struck < n; runs++ {
		dest := fmt.Sprintf("%s-%d", dest, runs)
		for range 1 + rand.IntN(2) {
			r := s.start(t, dest, flags...)
			for stop := time.Now().Add(rand.N(s.took)); time.Now().Before(stop); time.Sleep(time.Millisecond) {
				if s.Cluster == nil { // on local disk, where a check is fast
					s.checkVisible(t, dest)
				}
			}
			_ = r.cmd.Process.Kill() // it may have ended
			if r.code() == -1 {
				struck++
			} else {
				s.took = s.took * 3 / 4 // the machine was busier during the measurement
			}
			s.checkVisible(t, dest)
		}
		run(t, s.args(dest, flags...)...).want(t, 0)
		s.wantComplete(t, dest)
		if t.Failed() || runs > 20*n {
			t.Fatalf("stopping after %d runs and %d kills", runs+1, struck)
		}
	}
	t.Logf("%d runs, %d kills hit", runs, n)
}

// TestInterrupt sends the signals with which a scheduler stops a program.
func TestInterrupt(t *testing.T) {
	c := newInterruptible(t, trevniFiles, 40_000)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		_, dest, temp := places(t)
		r := launch(t, command(c.args(dest, temp)...))
		r.waitForFile(t, c.locate(t, dest), ".rowtocol/plan-*/part-*")
		must(t, r.cmd.Process.Signal(sig))
		r.want(t, code)
		c.checkVisible(t, dest)
		wantEmpty(t, temp)
		run(t, c.args(dest, temp)...).want(t, 0)
		c.wantComplete(t, dest, temp)
	}
}

// TestConcurrentRuns starts two runs at once.
func TestConcurrentRuns(t *testing.T) {
	c := newInterruptible(t, parquetFiles, 40_000)
	_, dest, temp := places(t)
	first, second := launch(t, command(c.args(dest, temp)...)), launch(t, command(c.args(dest, temp)...))
	a, b := first.code(), second.code()
	if a != 0 && b != 0 || a != 0 && a != 5 || b != 0 && b != 5 {
		t.Errorf("exits %d and %d, want 0 and 5 (or 0 if one started late)", a, b)
	}
	c.wantComplete(t, dest, temp)
}
