package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// orphanLock changes the lock of a destination into that of an ended process, so that the
// next run takes it over without waiting for signs of life. It reports whether there was
// a lock.
func orphanLock(ctx context.Context, at store.Location) (bool, error) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		return false, err
	}
	file := path.Join(at.Path, manifest.LockName)
	text, err := at.Store.ReadFile(ctx, file, 1<<20)
	if errors.Is(err, store.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var lock map[string]any
	if err := json.Unmarshal(text, &lock); err != nil {
		return false, err
	}
	lock["pid"] = ended.Process.Pid
	if text, err = json.Marshal(lock); err != nil {
		return false, err
	}
	return true, at.Store.WriteFile(ctx, file, text, false)
}

// waitForFile waits until a destination of a run has a file that matches a pattern.
func (r *running) waitForFile(t *testing.T, at store.Location, pattern string) {
	t.Helper()
	r.waitFor(t, pattern, func() bool { return len(glob(t.Context(), at, pattern)) > 0 })
}

// suspendAt suspends a run once its destination has a file that matches a pattern. It
// reports whether it saw one before the run ended.
func (r *running) suspendAt(t *testing.T, at store.Location, pattern string) bool {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		if len(glob(t.Context(), at, pattern)) > 0 {
			must(t, r.cmd.Process.Signal(syscall.SIGSTOP))
			for !hasStopped(r.cmd.Process.Pid) { // which may take long on a busy machine
				time.Sleep(time.Millisecond)
			}
			return true
		}
		select {
		case <-r.ended:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatalf("%s did not appear", pattern)
	return false
}

// hasStopped reports whether all threads of a process are stopped, or it has ended.
func hasStopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state follows the name in brackets.
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "Z") {
			return false
		}
	}
	return true
}

// stops are moments of a run that replaces an output, recognized by files of its
// destination.
var stops = []string{
	".rowtocol/plan-*/plan.json",
	".rowtocol/plan-*/task-*",
	".rowtocol/*/pending-*",
	".rowtocol/*/plan-*",    // the work of the tasks, which the holder took
	".rowtocol/*/retired-*", // the replaced _SUCCESS
	".rowtocol/*/old-*",     // a replaced file
	".rowtocol/trash-*",
}

// overtaken is a destination. A run to it is suspended, and resumed after another run has
// made its own output there.
type overtaken struct {
	at              store.Location
	dest            string
	before, stopped []string // conversions; if before is nil, the destination does not exist
	other           []string
	complete        func(t *testing.T) // checks that there is only the other's output
}

// success returns the _SUCCESS of the destination, nil if there is none.
func (o overtaken) success(t *testing.T) []byte {
	t.Helper()
	text, err := o.at.Store.ReadFile(t.Context(), path.Join(o.at.Path, manifest.SuccessName), 64<<20)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	must(t, err)
	return text
}

// run suspends the first run at one of the stops.
func (o overtaken) run(t *testing.T, stop string) {
	var r *running
	var before []byte
	for tries := 0; r == nil; tries++ {
		if o.before == nil {
			must(t, os.RemoveAll(o.dest))
		} else {
			run(t, o.before...).want(t, 0)
		}
		before = o.success(t)
		r = launch(t, command(o.stopped...))
		if !r.suspendAt(t, o.at, stop) {
			if r = nil; tries == 100 {
				t.Fatalf("%s was never seen", stop)
			}
		}
	}
	// The run may have continued meanwhile, as far as publishing its output.
	after := o.success(t)
	published := after != nil && !bytes.Equal(after, before)
	locked, err := orphanLock(t.Context(), o.at)
	must(t, err)
	run(t, o.other...).want(t, 0)
	o.complete(t)
	if err := r.cmd.Process.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		must(t, err)
	}
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 5 && (locked && !published || code != 0) {
		t.Errorf("the resumed run ended with %d, want 5\n%s", code, tail(r.stderr.String()))
	}
	o.complete(t)
	run(t, "verify", o.dest).want(t, 0)
}

// TestOvertaken suspends a run on local disk at each of the stops, while another run makes
// another output.
func TestOvertaken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	c, stopped := newInterruptible(t, trevniFiles, 30_000), mail(t, 12_000)
	for _, stop := range stops {
		t.Run(stop, func(t *testing.T) {
			_, dest, temp := places(t)
			overtaken{
				at: c.locate(t, dest), dest: dest,
				before:   c.convert("--overwrite", c.rowGroups("16KiB", "1MiB"), "../testdata/mail", dest), // it takes time to remove many files
				stopped:  c.convert("--overwrite", "--temp-dir", temp, c.rowGroups("256KiB", "3MiB"), stopped, dest),
				other:    append(c.args(dest, temp), "--overwrite"),
				complete: func(t *testing.T) { c.site.wantComplete(t, dest) },
			}.run(t, stop)
			wantEmpty(t, temp)
		})
	}
}

// TestStoppedHolder does the same with two runs of one conversion, suspended between the
// first file and the last.
func TestStoppedHolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	f := trevniFiles
	f.flags = append(slices.Clip(f.flags), "--row-group-size=256KiB")
	c := newInterruptible(t, f, 40_000)
	for _, stop := range []string{".rowtocol/plan-*/plan.json", ".rowtocol/plan-*/task-*", "part-*"} {
		t.Run(stop, func(t *testing.T) {
			_, dest, temp := places(t)
			overtaken{
				at: c.locate(t, dest), dest: dest, stopped: c.args(dest, temp), other: c.args(dest, temp),
				complete: func(t *testing.T) { c.site.wantComplete(t, dest) },
			}.run(t, stop)
			wantEmpty(t, temp)
		})
	}
}

// TestFaultsOvertaken does the same on HDFS, at half of the stops with each client.
func TestFaultsOvertaken(t *testing.T) {
	for client, f := range clientTargets {
		s := newSite(t, hadooptest.Shared(t), 12_000, f.flagsFor("2MiB", "4MiB")...)
		uri := s.clients()[client]
		for i, stop := range stops {
			if !soak.Full() && (client == "hdfs") == (i%2 == 0) {
				continue
			}
			t.Run(client+" "+stop, func(t *testing.T) {
				dest := fmt.Sprintf("%s/overtaken-%s-%d", uri, client, i)
				overtaken{
					at: s.locate(t, dest), dest: dest,
					before:   []string{"convert", "--overwrite", otherInput, dest},
					stopped:  f.convert("--overwrite", "--row-group-size=64KiB", "../testdata/mail", dest),
					other:    s.args(dest, "--overwrite"),
					complete: func(t *testing.T) { s.wantComplete(t, dest) },
				}.run(t, stop)
			})
		}
	}
}
