package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// usage is what a process took.
type usage struct {
	CPU  time.Duration // user and system
	Wall time.Duration
	Peak int64 // resident bytes
}

// measureCommand as first argument makes this program run another one and
// print its usage.
const measureCommand = "measure-process"

// measure runs a command and returns what it took. The command is the child of
// a small process and not of this one, because Linux counts the memory of the
// process that starts another as the other's peak. files, if not 0, is the
// most files that the command may open.
func measure(env []string, files int, command ...string) (usage, error) {
	var u usage
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	cmd := exec.Command(self, append([]string{measureCommand, strconv.Itoa(files)}, command...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return u, fmt.Errorf("%q: %w", command, err)
	}
	return u, json.Unmarshal(out, &u)
}

// measured is the small process: it runs the command in args and prints its
// usage as JSON.
func measured(args []string) error {
	files, err := strconv.ParseUint(args[0], 10, 31)
	if err != nil {
		return err
	}
	if files > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}); err != nil {
			return err
		}
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	wall := time.Since(start)
	took := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return json.NewEncoder(os.Stdout).Encode(usage{
		CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Wall: wall,
		Peak: took.Maxrss << 10,
	})
}
