package hadooptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Daemon is a process of a cluster. Its methods are safe for concurrent use.
type Daemon struct {
	// Name is the name of the daemon and of its log.
	Name string

	path string
	args []string
	env  []string
	dir  string // working directory; "" means the directory of this process
	log  string
	http string // host:port of its web server, or ""

	mu        sync.Mutex
	process   *os.Process // nil if it was never started
	gone      chan struct{}
	suspended bool
}

// PID returns the process that was started last, running or not.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == nil {
		return 0
	}
	return d.process.Pid
}

// Start starts the daemon, for the first time or after it was killed. It returns once the process
// exists. The daemon needs seconds more until it serves. Start fails if the daemon is running.
func (d *Daemon) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running() {
		return fmt.Errorf("%s is running", d.Name)
	}
	out, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(d.path, d.args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = d.env, d.dir, out, out
	cmd.SysProcAttr = dieWithParent()
	if err := spawn(cmd); err != nil {
		return err
	}
	gone := make(chan struct{})
	d.process, d.gone, d.suspended = cmd.Process, gone, false
	go func() {
		_ = cmd.Wait() // its log has the reason
		close(gone)
	}()
	return nil
}

// Kill ends the daemon with SIGKILL and waits until it is gone.
func (d *Daemon) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running() {
		_ = d.process.Kill() // it may just have ended
		<-d.gone
	}
}

// Suspend stops the daemon with SIGSTOP: it does not answer but keeps its connections.
// Suspend returns when every thread has stopped, because on a busy machine some run, and
// answer, for a while after the signal.
func (d *Daemon) Suspend() error {
	if err := d.signal(syscall.SIGSTOP, true); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); !d.stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s runs 30 s after SIGSTOP", d.Name)
		}
	}
	return nil
}

// stopped reports whether no thread of the daemon runs. It reads the state after the command's name
// in each thread's stat file (proc_pid_stat(5)).
func (d *Daemon) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", d.process.Pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has just ended
		}
		if i := bytes.LastIndexByte(stat, ')'); err != nil || !bytes.HasPrefix(stat[i+1:], []byte(" T")) {
			return false
		}
	}
	return true
}

// Resume resumes a suspended daemon.
func (d *Daemon) Resume() error { return d.signal(syscall.SIGCONT, false) }

func (d *Daemon) signal(s syscall.Signal, suspended bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running() {
		return fmt.Errorf("%s is not running", d.Name)
	}
	d.suspended = suspended
	return d.process.Signal(s)
}

// running reports whether the process runs. The caller holds d.mu.
func (d *Daemon) running() bool {
	if d.process == nil {
		return false
	}
	select {
	case <-d.gone:
		return false
	default:
		return true
	}
}

// state returns whether the process exists, and whether it can answer.
func (d *Daemon) state() (running, answers bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.running()
	return r, r && !d.suspended
}

// failure returns an error with the end of the daemon's log if it ended.
func (d *Daemon) failure() error {
	if running, _ := d.state(); running {
		return nil
	}
	return fmt.Errorf("%s ended: %s", d.Name, d.logTail())
}

// logTail returns the end of the log.
func (d *Daemon) logTail() string {
	b, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return tail(b)
}

// tail returns the last lines of a program's output, cut to a readable width.
func tail(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = lines[max(0, len(lines)-30):]
	for i, l := range lines {
		lines[i] = l[:min(len(l), 300)]
	}
	return strings.Join(lines, "\n")
}

var spawns = sync.OnceValue(func() chan func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

// spawn starts a command from a thread that lives as long as this process, because the system treats
// the end of the starting thread as the end of the parent.
func spawn(cmd *exec.Cmd) error {
	err := errors.New("not started")
	done := make(chan struct{})
	spawns() <- func() {
		defer close(done)
		err = cmd.Start()
	}
	<-done
	return err
}

// dieWithParent makes a process end with its parent. The process also gets its own group, so that
// Ctrl-C does not reach it and this process chooses the order of stopping.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
