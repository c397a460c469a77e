package hadooptest

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// reaper is a process that kills what runs in containers when this process has
// ended, however it did. The parents of those processes are no guide: each
// container is a session of its own, which outlives its node manager. They all
// work in directories of the node managers.
type reaper struct {
	cmd *exec.Cmd
	end io.Closer // whose closing, by us or by the kernel, is the signal
}

// newReaper starts a leash for processes that work below dir.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no Ctrl-C is for it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return &reaper{cmd: cmd, end: w}, nil
}

// pull kills the processes and returns when they are gone.
func (l *reaper) kill() {
	if l != nil && l.end != nil {
		_ = l.end.Close()
		_ = l.cmd.Wait() // it says nothing
		l.end = nil
	}
}
