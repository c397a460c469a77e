package hadoop

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

const helperVariable = "TEST_RUNS_COMMAND"

// TestEndWithParent checks that a command ends when the process that runs it is killed.
func TestEndWithParent(t *testing.T) {
	if file := os.Getenv(helperVariable); file != "" {
		err := (&commands{os.Environ()}).run(t.Context(), func(l string) { fmt.Println("pid", l) }, file)
		t.Fatal("the command ended", err)
	}
	exe, err := os.Executable()
	testenv.Must(t, err)
	parent := exec.Command(exe, "-test.run=^TestEndWithParent$", "-test.v")
	parent.Env = append(os.Environ(), helperVariable+"="+script(t, t.TempDir(), "x", "echo $$; exec sleep 60"))
	out, err := parent.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, parent.Start())
	pid := 0
	for s := bufio.NewScanner(out); pid == 0 && s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "pid "); ok {
			pid, _ = strconv.Atoi(text)
		}
	}
	_ = parent.Process.Kill()
	_ = parent.Wait() // it was killed
	if pid == 0 {
		t.Fatal("the command did not begin")
	}
	for range 100 {
		if syscall.Kill(pid, 0) != nil || isZombie(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("the command outlives its parent")
}

// TestCommandOfScripts checks that a command is stopped that a script has started.
func TestCommandOfScripts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := 0
	err := (&commands{os.Environ()}).run(ctx, func(l string) {
		pid, _ = strconv.Atoi(l)
		cancel()
	}, script(t, t.TempDir(), "x", "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait"))
	if err == nil || pid == 0 {
		t.Fatalf("%v, process %d", err, pid)
	}
	for range 100 {
		if syscall.Kill(pid, 0) != nil || isZombie(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("the process that the script started is still running")
}

// isZombie reports whether a process has ended, but its parent has not waited for it.
func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}
