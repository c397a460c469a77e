package pipes

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// What ends a connection's context.
var (
	// ErrAborted is Java's ABORT: the task has failed or is killed.
	ErrAborted = errors.New("Java aborted the task")
	// ErrGone is a connection that Java closed, or that its death did.
	ErrGone = errors.New("the task's JVM is gone")
	// ErrClosed is a connection after Done or Close.
	ErrClosed = errors.New("the connection to the task's JVM is closed")
)

// The names of the variables that Java sets for its child, the newest first.
var (
	portVariables   = []string{"mapreduce_pipes_command_port", "mapreduce.pipes.command.port"}
	secretVariables = []string{"hadoop_pipes_shared_secret_location", "hadoop.pipes.shared.secret.location"}
)

func variable(names []string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// Started reports whether Hadoop started this process, by its environment.
func Started() bool { return variable(portVariables) != "" }

// Conn is the connection with the JVM of the task. Its methods may be called at any
// time by any goroutine.
type Conn struct {
	net    net.Conn
	d      *decoder
	secret []byte
	ctx    context.Context
	end    context.CancelCauseFunc
	heard  chan struct{} // closed when nothing more is read

	mu       sync.Mutex // of writing and what follows
	accepted bool
	done     bool
	counters int
	err      error
}

// Dial connects to the JVM that started this process. A child calls it before
// anything that can fail or last: Java waits for the connection, even of a child that
// has ended, until the task is out of time. The connection's context is ctx's.
func Dial(ctx context.Context) (*Conn, error) {
	port := variable(portVariables)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, fmt.Errorf("the task's JVM: %w", err)
	}
	secret, err := readSecret(variable(secretVariables))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the job's secret: %w", err)
	}
	c := &Conn{net: conn, d: decoderOf(conn), secret: secret, heard: make(chan struct{})}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c, nil
}

func decoderOf(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, chunk)} }

func readSecret(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	secret, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err == nil && len(secret) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return secret, err
}

// Accept authenticates both ends and returns the task. It is called once. After an
// error the connection can only be closed.
func (c *Conn) Accept(ctx context.Context) (*MapTask, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	task, err := accept(c.d, c.net, c.secret)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the task's JVM: %w", err)
	}
	c.mu.Lock()
	c.accepted = true
	c.mu.Unlock()
	go c.listen()
	return task, nil
}

// listen waits for the end that Java makes.
func (c *Conn) listen() {
	defer close(c.heard)
	for {
		m := c.d.next()
		err := c.d.err
		switch {
		case errors.Is(err, io.EOF):
			err = ErrGone
		case err != nil:
			err = fmt.Errorf("%w: %w", ErrGone, err)
		case m == abort:
			err = ErrAborted
		case m == closeInput:
			continue
		default:
			err = fmt.Errorf("the task's JVM: unexpected %s during a map task", m)
		}
		// A write that Java will not read any more has to return.
		_ = c.net.SetWriteDeadline(time.Unix(1, 0))
		c.mu.Lock()
		c.fail(err)
		c.mu.Unlock()
		return
	}
}

// fail ends the connection. c.mu is held.
func (c *Conn) fail(err error) {
	if c.err == nil {
		c.err = err
		c.end(err)
	}
}

// Context ends when the connection does, or the context given to Dial. Its cause is
// then ErrAborted, ErrGone or ErrClosed, perhaps wrapped. A child ends at once: Java
// has no way to know what became of it later.
func (c *Conn) Context() context.Context { return c.ctx }

// Counter names a counter of the job.
type Counter struct{ Group, Name string }

// Register makes the job's counters known, once and before the first Add, which
// takes their places in the arguments.
func (c *Conn) Register(counters ...Counter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counters > 0 {
		return errors.New("counters are registered already")
	}
	var p []byte
	for i, k := range counters {
		p = appendLong(appendLong(p, int64(registerCounter)), int64(i))
		p = appendText(appendText(p, k.Group), k.Name)
	}
	if err := c.write(p); err != nil {
		return err
	}
	c.counters = len(counters)
	return nil
}

// Add adds n to a counter.
func (c *Conn) Add(counter int, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counter < 0 || counter >= c.counters {
		return fmt.Errorf("counter %d is not registered", counter)
	}
	p := appendLong(nil, int64(incrementCounter))
	return c.write(appendLong(appendLong(p, int64(counter)), n))
}

// Progress tells how much of the task is done, from 0 to 1, and that it is alive: call
// it when something was done, so that Java ends a task that hangs.
func (c *Conn) Progress(fraction float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !(fraction >= 0) {
		fraction = 0
	}
	p := appendLong(nil, int64(progress))
	return c.write(binary.BigEndian.AppendUint32(p, math.Float32bits(min(fraction, 1))))
}

// maxStatus is what Java keeps of a status by default, in characters.
const maxStatus = 512

// Status shows a text with the task. Java keeps 512 characters of it.
func (c *Conn) Status(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r := []rune(text); len(r) > maxStatus {
		text = string(r[:maxStatus])
	}
	return c.write(appendText(appendLong(nil, int64(status)), text))
}

// write sends whole messages. c.mu is held.
func (c *Conn) write(p []byte) error {
	switch {
	case c.err != nil:
		return c.err
	case c.done:
		return ErrClosed
	case !c.accepted:
		return errors.New("the task is not accepted yet")
	}
	if _, err := c.net.Write(p); err != nil {
		c.fail(fmt.Errorf("%w: %w", ErrGone, err))
		return c.err
	}
	return nil
}

// doneWait is how long Java may take to hang up after DONE, which it does at once.
const doneWait = time.Minute

// Done tells Java that the task is done and waits until it has hung up.
func (c *Conn) Done() error {
	c.mu.Lock()
	err := c.write(appendLong(nil, int64(done)))
	c.done = err == nil || c.done
	c.mu.Unlock()
	if err != nil {
		return err
	}
	timer := time.NewTimer(doneWait)
	defer timer.Stop()
	select {
	case <-c.heard:
	case <-timer.C:
		return errors.New("the task's JVM did not hang up after DONE")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(c.err, ErrAborted) {
		return c.err
	}
	return nil
}

// Close closes the connection. Without Done, the task attempt has failed.
func (c *Conn) Close() error {
	err := c.net.Close()
	c.mu.Lock()
	c.fail(ErrClosed)
	accepted := c.accepted
	c.mu.Unlock()
	if accepted {
		<-c.heard
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
