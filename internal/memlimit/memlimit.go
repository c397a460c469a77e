// Package memlimit runs a program with no more memory than a limit, as a cgroup
// without swap holds it to, and tells what it took. It belongs to the tests and
// the measurements.
package memlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Usage is what a run took.
type Usage struct {
	Exit   int // exit code; -1 if a signal ended the program
	Killed bool
	Peak   int64 // resident bytes, as the kernel counted them
	CPU    time.Duration
	Wall   time.Duration
}

// command as first argument makes a program that calls Main run another one.
const command = "run-with-memory-limit"

// Main runs the program that Run asked for, and then ends the process, if Run
// started it. Programs and test binaries that use Run call it first.
func Main() {
	if len(os.Args) < 4 || os.Args[1] != command {
		return
	}
	if err := child(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "memlimit:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Run runs a command in a new cgroup of so many bytes, without swap; 0, and a
// machine on which none can be made, set no limit: see Limits. The command is the
// child of a small process and not of this one, because Linux counts the memory of
// the process that starts another as the other's.
func Run(cmd *exec.Cmd, limit int64) (Usage, error) {
	var u Usage
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	g := new(group)
	if limit > 0 && Limits() == nil {
		if g, err = newGroup(limit); err != nil {
			return u, err
		}
		defer g.remove()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return u, err
	}
	defer func() { _ = r.Close() }() // only read
	cmd.Args = append([]string{self, command, g.procs, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = self, []*os.File{w}
	err = cmd.Run()
	_ = w.Close() // it was the child's
	if err != nil {
		return u, fmt.Errorf("%q: %w", cmd.Args[3:], err)
	}
	err = json.NewDecoder(r).Decode(&u)
	u.Killed = u.Exit == -1 && g.killed()
	return u, err
}

// child is the small process: it runs a program in a group and tells on
// descriptor 3 what it took.
func child(procs string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if procs != "" {
		// A shell joins the group, and becomes the program.
		join := []string{"-c", `echo $$ > "$0" && exec "$@"`, procs}
		cmd = exec.Command("/bin/sh", append(join, args...)...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	took := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return json.NewEncoder(os.NewFile(3, "usage")).Encode(Usage{
		Exit: cmd.ProcessState.ExitCode(),
		Peak: took.Maxrss << 10,
		CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Wall: time.Since(began),
	})
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
