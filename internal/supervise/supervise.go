// Package supervise cleans up after tests that start daemons and write files, however the
// tests end. Only tests import it, on Linux.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// marker is set in the environment of the process that runs the tests.
	marker = "ROWTOCOL_SUPERVISED"
	// starter may hold the ID of a process whose end terminates the tests, too. When make is
	// terminated, not all processes between make and the tests get the signal.
	starter = "ROWTOCOL_STARTER"
)

// Tests calls run in a second process of the same program, with its own temporary folder,
// and returns the exit code of that process. In the second process it returns the results
// of run. When the second process has ended, even by a crash or a timeout, Tests kills the
// processes that it left and removes its folder. Tests stops the second process when the
// first one is interrupted or terminated, or when the process ROWTOCOL_STARTER ends.
// TestMain must call Tests before any setup.
func Tests(run func() (int, error)) (code int, err error) {
	if os.Getenv(marker) != "" {
		return run()
	}
	signals := make(chan os.Signal, 1)
	// Notify also works for signals that are ignored at the start, as in processes that
	// "go tool test2json" starts.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	// The reader of the messages may have been terminated, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := terminateAfter(os.Getenv(starter), signals); err != nil {
		return 0, fmt.Errorf("%s: %w", starter, err)
	}
	// Orphaned descendants become children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become the reaper: %w", err)
	}
	dir, err := os.MkdirTemp("", "rowtocol-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Env = append(os.Environ(), marker+"=1", "TMPDIR="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig takes effect when this thread ends
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case s := <-signals:
		fmt.Fprintf(os.Stderr, "tests: %v: stopping what they started\n", s)
		_ = cmd.Process.Signal(s) // it may have ended by the same signal
		err = <-ended
	}
	killRest()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// terminateAfter sends SIGTERM to a channel when the process with an ID has ended.
func terminateAfter(number string, to chan<- os.Signal) error {
	if number == "" {
		return nil
	}
	pid, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		to <- syscall.SIGTERM
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			if n, err := unix.Poll(ended, -1); n > 0 {
				to <- syscall.SIGTERM
				return
			} else if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return nil
}

// killRest kills the children of this process, including orphans that become its
// children, and returns when all are gone.
func killRest() {
	for {
		lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is valid
		for _, list := range lists {
			pids, _ := os.ReadFile(list) // a thread may have ended
			for _, pid := range strings.Fields(string(pids)) {
				var n int
				if _, err := fmt.Sscan(pid, &n); err == nil {
					_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
				}
			}
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}

// remove removes a folder with its content, and unmounts disks in it.
func remove(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(mounts), "\n")
	slices.Reverse(lines) // nested mounts come last in the file
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) > 1 {
			where := unescape.Replace(fields[1])
			if strings.HasPrefix(where, dir+"/") {
				if err := syscall.Unmount(where, 0); err != nil {
					return fmt.Errorf("unmount %s: %w", where, err)
				}
			}
		}
	}
	return os.RemoveAll(dir)
}

// unescape unescapes paths in /proc/self/mounts.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
