package hadooptest

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// reaper is a process that kills the processes in containers after this process has ended in any
// way. It finds them by their working directories, which are below the directories of the node
// managers. It does not find them by their parents, because each container is its own session and
// outlives its node manager.
type reaper struct {
	cmd *exec.Cmd
	end io.Closer // closing it, here or by the kernel, is the signal to kill
}

// newReaper starts a reaper of processes that work below dir.
func newReaper(dir string) (*reaper, error) {
	const script = `cat >/dev/null
while :; do
	killed=
	for process in /proc/[0-9]*; do
		case $(readlink "$process/cwd") in "$0"|"$0"/*) kill -9 "${process#/proc/}" && killed=1 ;; esac
	done 2>/dev/null
	[ "$killed" ] || exit 0
	sleep 0.05
done`
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command("sh", "-c", script, dir)
	cmd.Stdin, cmd.Dir = r, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C does not reach it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return &reaper{cmd: cmd, end: w}, nil
}

// kill kills the processes and returns when they are gone.
func (l *reaper) kill() {
	if l != nil && l.end != nil {
		_ = l.end.Close()
		_ = l.cmd.Wait() // its exit code does not matter
		l.end = nil
	}
}
