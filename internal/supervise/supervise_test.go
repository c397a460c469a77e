package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

const helper = "ROWTOCOL_SUPERVISE_HELPER"

func TestMain(m *testing.M) {
	if how := os.Getenv(helper); how != "" {
		code, err := Tests(func() (int, error) { return help(how) })
		if err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// help leaves a file, a mounted disk if that is allowed, and a process in its own session
// that starts another one. It prints the IDs of both processes, and ends or waits.
func help(how string) (int, error) {
	if _, err := os.CreateTemp("", ""); err != nil {
		return 0, err
	}
	disk, err := os.MkdirTemp("", "a disk")
	if err != nil {
		return 0, err
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil && !errors.Is(err, syscall.EPERM) {
		return 0, err
	}
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $$ $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return 0, err
	}
	fmt.Print(line)
	switch how {
	case "wait":
		_ = cmd.Wait() // until this process is ended
	case "crash":
		panic("crash")
	}
	return 3, nil
}

func TestTests(t *testing.T) {
	for _, tt := range []struct {
		name, how string
		stop      func(tests, starter *os.Process) error
		code      int
	}{
		{"fails", "fail", nil, 3},
		{"crashes", "crash", nil, 2},
		{"is interrupted", "wait", func(tests, _ *os.Process) error { return tests.Signal(os.Interrupt) }, 128 + 2},
		{"is terminated", "wait", func(tests, _ *os.Process) error { return tests.Signal(syscall.SIGTERM) }, 128 + 15},
		{"starter ends", "wait", func(_, starter *os.Process) error { return starter.Kill() }, 128 + 15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := exec.Command("sleep", "1000")
			testenv.Must(t, begin.Start())
			defer func() {
				_ = begin.Process.Kill() // it may have ended
				_ = begin.Wait()
			}()
			temp := filepath.Join(t.TempDir(), "with a space")
			testenv.Must(t, os.Mkdir(temp, 0o700))
			program, err := os.Executable()
			testenv.Must(t, err)
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), helper+"="+tt.how, "TMPDIR="+temp, starter+"="+strconv.Itoa(begin.Process.Pid))
			stdout, err := cmd.StdoutPipe()
			testenv.Must(t, err)
			if tt.stop != nil {
				cmd.Stderr = brokenPipe(t)
			}
			testenv.Must(t, cmd.Start())
			var processes [2]int
			if _, err := fmt.Fscanln(stdout, &processes[0], &processes[1]); err != nil {
				t.Error(err)
			}
			if tt.stop != nil {
				if err := tt.stop(cmd.Process, begin.Process); err != nil {
					t.Error(err)
				}
			}
			_ = cmd.Wait() // the exit code is compared
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("got exit code %d, want %d", code, tt.code)
			}
			for _, pid := range processes {
				if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
					t.Errorf("process %d is still running: %v", pid, err)
				}
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
				t.Errorf("temporary files left: %v, %v", left, err)
			}
		})
	}
}

// brokenPipe returns the writing end of a pipe that has no reader.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	testenv.Must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	testenv.Must(t, r.Close())
	return w
}
