package hadoop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
)

const (
	maxLine = 8 << 10 // limit of a line of output, in bytes; the rest of the line is dropped
	// maxAnswerLines and maxAnswerBytes bound the part of an answer that is kept.
	maxAnswerLines = 20_000
	maxAnswerBytes = 16 << 20
	// silenceLimit is how long a command that should answer at once may print nothing.
	// Within this time, Java reports a failed connection.
	silenceLimit = 3 * time.Minute
	// stopGrace is how long a command may take to stop after SIGTERM.
	stopGrace = 2 * time.Second
)

// errGone is the error for an application that the cluster does not know.
var errGone = errors.New("the cluster does not know it (any more)")

// runner runs commands.
type runner interface {
	// run runs a command until it ends. It stops the command when ctx ends. It calls
	// line with each line that the command prints on either stream, cut at maxLine
	// bytes; calls do not overlap.
	run(ctx context.Context, line func(text string), name string, args ...string) error
}

// client is Hadoop's client on this machine.
type client struct {
	runner       runner
	mapred, yarn string // paths of the commands
	// patience is how long to wait for a cluster that does not answer.
	patience time.Duration
	log      *slog.Logger
}

// findClient finds the commands of Hadoop's client.
func findClient() (mapred, yarn string, err error) {
	if mapred, err = findCommand("mapred", "HADOOP_HOME", "HADOOP_MAPRED_HOME"); err != nil {
		return "", "", err
	}
	yarn, err = findCommand("yarn", "HADOOP_HOME", "HADOOP_YARN_HOME")
	return mapred, yarn, err
}

func findCommand(name string, homes ...string) (string, error) {
	for _, home := range homes {
		dir := os.Getenv(home)
		if dir == "" {
			continue
		}
		if file, err := exec.LookPath(filepath.Join(dir, "bin", name)); err == nil {
			return file, nil
		}
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return "", failure.New(failure.Usage, "cannot find Hadoop's client on this machine: no %s in the folder bin of %s, nor on the PATH", name, strings.Join(homes, " or "))
	}
	return file, nil
}

// run runs a command of the client. If the cluster does not answer within the client's
// patience, run stops the command and returns failure.Storage.
func (c *client) run(ctx context.Context, line func(text string), name string, args ...string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var silentSince time.Time // zero if the cluster answers
	command := filepath.Base(name)
	err := c.runner.run(ctx, func(text string) {
		c.log.Debug("hadoop", "command", command, "line", text)
		retry := retryLine.FindString(text)
		switch {
		case retry == "":
			silentSince = time.Time{}
		case silentSince.IsZero():
			silentSince = time.Now()
			c.log.Warn("the cluster does not answer, trying again", "command", command, "reason", retry)
		//guard: bounds the wait for a cluster that is gone
		case time.Since(silentSince) > c.patience:
			stop(failure.New(failure.Storage, "the cluster did not answer Hadoop's client (%s) for %v: %s", command, c.patience, retry))
		}
		line(text)
	}, name, args...)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// ask runs a command of yarn and returns the lines that it printed.
func (c *client) ask(ctx context.Context, args ...string) (lines []string, end tail, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	//guard: bounds the wait for a command that hangs
	timer := time.AfterFunc(silenceLimit, func() { stop(fmt.Errorf("it printed nothing for %v and was stopped", silenceLimit)) })
	defer timer.Stop()
	size := 0
	err = c.run(ctx, func(text string) {
		timer.Reset(silenceLimit)
		end.addLine(text)
		size += len(text)
		//guard: bounds the output that is kept
		if len(lines) < maxAnswerLines && size <= maxAnswerBytes {
			lines = append(lines, text)
		}
	}, c.yarn, args...)
	return lines, end, err
}

// submit runs the job that the properties in a file describe, to its end.
func (c *client) submit(ctx context.Context, file string, line func(text string)) error {
	return c.run(ctx, line, c.mapred, "pipes", "-conf", file)
}

// status requests the report of an application. If the cluster does not know the application, the
// error is errGone.
func (c *client) status(ctx context.Context, id string) (*report, error) {
	lines, end, err := c.ask(ctx, "application", "-status", id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r := parseReport(lines); r != nil {
		return r, nil
	}
	for _, line := range end.lines {
		if strings.Contains(line, "doesn't exist in RM") || strings.Contains(line, "ApplicationNotFoundException") {
			return nil, fmt.Errorf("%s: %w", id, errGone)
		}
	}
	if err == nil {
		err = errors.New("no report")
	}
	return nil, failure.As(failure.Storage, fmt.Errorf("yarn application -status %s: %w: %s", id, err, end.reason()))
}

// find lists the applications that have any of the tags, including those that ended.
func (c *client) find(ctx context.Context, tags ...string) ([]*report, error) {
	lines, end, err := c.ask(ctx, "application", "-list", "-appStates", "ALL", "-appTags", strings.Join(tags, ","))
	if err != nil {
		return nil, failure.As(failure.Storage, fmt.Errorf("yarn application -list: %w: %s", err, end.reason()))
	}
	return parseList(lines), nil
}

// kill kills an application, and returns when the cluster has killed it.
func (c *client) kill(ctx context.Context, id string) error {
	_, end, err := c.ask(ctx, "application", "-kill", id)
	if err != nil {
		return failure.As(failure.Storage, fmt.Errorf("yarn application -kill %s: %w: %s", id, err, end.reason()))
	}
	return nil
}

// commands runs commands as processes.
type commands struct{ environ []string }

// environment returns the variables for Hadoop's client: those of this process without the
// settings of rowtocol, and with a log that output can parse.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROWTOCOL_") {
			env = append(env, v)
		}
	}
	return append(env, "HADOOP_ROOT_LOGGER=INFO,console")
}

// run implements runner. The process ends with this one if the system supports it.
func (c *commands) run(ctx context.Context, line func(text string), name string, args ...string) error {
	// Linux ends the process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = c.environ
	cmd.SysProcAttr = endWithParent()
	// The command is often a script, so the processes that it started get the signal as well.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	out := &lineWriter{line: line}
	cmd.Stdout, cmd.Stderr = out, out // one pipe, and one goroutine that writes
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nothing is left
	}
	out.end()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded; processes it left running hold its output open
	}
	return err
}

// lineWriter splits text into lines.
type lineWriter struct {
	line func(text string)
	part []byte // part of a line, at most maxLine bytes
}

var _ io.Writer = (*lineWriter)(nil)

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, ok := bytes.Cut(p, []byte{'\n'})
		//guard: bounds the length of a line
		part = part[:min(len(part), maxLine-len(w.part))]
		w.part = append(w.part, part...)
		if !ok {
			return n, nil
		}
		w.flush()
		p = rest
	}
}

// end flushes a last line that has no newline.
func (w *lineWriter) end() {
	if len(w.part) > 0 {
		w.flush()
	}
}

func (w *lineWriter) flush() {
	w.line(strings.ToValidUTF8(strings.TrimSuffix(string(w.part), "\r"), "\uFFFD"))
	w.part = w.part[:0]
}
