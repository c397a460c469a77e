// Package memlimit runs a program in a cgroup with a memory limit and without swap, and
// measures its usage. Only tests and measurements import it.
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

// Usage is the resource usage of a run.
type Usage struct {
	Exit   int   // exit code; -1 if a signal ended the program
	Killed bool  // the program was killed because it was out of memory
	Peak   int64 // resident bytes, as the kernel counted them
	CPU    time.Duration
	Wall   time.Duration
}

// command is the first argument of a process that Run starts. Main then runs another program.
const command = "run-with-memory-limit"

// Main checks whether Run started this process. If so, it runs the requested program and
// exits. Programs and test binaries that use Run must call it first.
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

// Run runs a command in a new cgroup of limit bytes, without swap. There is no limit if it
// is 0, or if this machine cannot make cgroups: see Supported. Run starts the command from a
// small process, because Linux counts the memory of the parent as that of the child.
func Run(cmd *exec.Cmd, limit int64) (Usage, error) {
	var u Usage
	self, err := os.Executable()
	if err != nil {
		return u, err
	}
	g := new(group)
	if limit > 0 && Supported() == nil {
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
	_ = w.Close() // only the child wrote to it
	if err != nil {
		return u, fmt.Errorf("%q: %w", cmd.Args[3:], err)
	}
	err = json.NewDecoder(r).Decode(&u)
	u.Killed = u.Exit == -1 && g.killed()
	return u, err
}

// child is the small process: it runs a program in a group, and writes the usage to
// descriptor 3.
func child(procs string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if procs != "" {
		// A shell joins the group and executes the program.
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

func formatInt(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
