package pipes

import (
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

	"github.com/rowtocol/rowtocol/internal/wire"
)

// What ends a connection, and its context.
var (
	// ErrAborted is Java's ABORT: the task attempt has failed.
	ErrAborted = errors.New("the task's JVM aborted the task")
	// ErrGone is a connection that ended without a word, as when the JVM is killed.
	ErrGone = errors.New("the task's JVM is gone")
	// ErrClosed is a connection after Done or Close.
	ErrClosed = errors.New("the connection to the task's JVM is closed")
)

// The names of the variables that Java sets for its child. Those without dots are
// Hadoop's since 3.4.3.
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

// patience is how long Java may take to hang up after DONE. It takes milliseconds.
const patience = time.Minute

// Conn is the connection with the task's JVM. Its methods may be called at any time
// by any goroutine.
type Conn struct {
	net      net.Conn
	d        *decoder
	secret   []byte
	patience time.Duration
	ctx      context.Context
	end      context.CancelCauseFunc
	heard    chan struct{} // closed when nothing more is read

	writing  sync.Mutex // held while a message is written, so that it stays whole
	counters int        // that are registered; writing is held

	mu    sync.Mutex // of stage and err; held for moments only
	stage stage
	err   error // what ended the connection
}

type stage int

const (
	dialed stage = iota
	accepted
	finished // DONE is said
)

// Dial connects to the JVM that started this process. A child calls it before
// anything that can fail or last: Java waits for the connection, even of a child that
// has ended, until the task is out of time. The connection's context is one of ctx.
func Dial(ctx context.Context) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", variable(portVariables)))
	if err != nil {
		return nil, fmt.Errorf("the task's JVM: %w", err)
	}
	secret, err := readSecret(variable(secretVariables))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the job's secret: %w", err)
	}
	c := &Conn{net: conn, d: newDecoder(conn), secret: secret, patience: patience, heard: make(chan struct{})}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c, nil
}

func readSecret(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	secret, err := io.ReadAll(io.LimitReader(f, maxSecret))
	//guard: rejects an empty secret
	if err == nil && len(secret) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return secret, err
}

// Accept authenticates both ends and returns the task. It is called once. After an
// error the connection is of no use; the error is or wraps ErrAborted or ErrGone if
// Java ended it.
func (c *Conn) Accept(ctx context.Context) (*MapTask, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	task, err := accept(c.d, c.net, c.secret)
	//guard: tells an interrupt from a JVM that is gone
	if !stop() {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = c.advance(accepted)
	}
	if err != nil {
		return nil, fmt.Errorf("the task that Hadoop gave: %w", c.fail(err))
	}
	go c.listen()
	return task, nil
}

// Context ends when the connection does, or the context given to Dial. Its cause is
// then ErrAborted, ErrGone or ErrClosed, perhaps wrapped, or what is wrong with what
// Java said. A child whose JVM is gone ends at once: nobody knows of it any more, and
// another attempt may be under way.
func (c *Conn) Context() context.Context { return c.ctx }

// Done tells Java that the task is done, and waits until Java has heard it. Nothing
// may be left to do: Hadoop kills what the task's processes are still at, a moment
// later. An error means that the attempt has failed, or may have.
func (c *Conn) Done() error {
	c.writing.Lock()
	err := c.usable()
	if err == nil {
		err = c.advance(finished)
	}
	if err == nil {
		err = c.send(wire.AppendVInt(nil, int64(done)))
	}
	c.writing.Unlock()
	if err != nil {
		return err
	}
	//guard: bounds the wait for a JVM that hangs
	_ = c.net.SetReadDeadline(time.Now().Add(c.patience))
	<-c.heard
	if err := c.failure(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Close closes the connection. Without Done the attempt has failed, and Java sends the
// child SIGTERM at once: what is to be said of the failure is said before.
func (c *Conn) Close() error {
	_ = c.fail(ErrClosed)
	c.mu.Lock()
	listening := c.stage != dialed
	c.mu.Unlock()
	err := c.net.Close()
	if listening {
		<-c.heard
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// listen waits for the end that Java makes.
func (c *Conn) listen() {
	defer close(c.heard)
	for {
		m := c.d.next()
		err := c.d.Err()
		switch {
		case err == io.EOF && c.said(finished):
			err = ErrClosed
		case err != nil:
			err = gone(err)
		case m == abort:
			err = ErrAborted
		case m == closeInput: // the end of Java's records, of which there are none
			continue
		default:
			err = fmt.Errorf("the task's JVM: unexpected %s during a map task", m)
		}
		_ = c.fail(err)
		// A write that Java does not read any more has to return.
		_ = c.net.SetWriteDeadline(time.Unix(1, 0))
		return
	}
}

// fail ends the connection, unless it has ended, and returns why it did.
func (c *Conn) fail(err error) error {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	err = c.err
	c.mu.Unlock()
	c.end(err)
	return err
}

// failure returns what ended the connection, if anything did.
func (c *Conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) said(s stage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stage == s
}

// advance goes on to a stage, unless the connection has ended.
func (c *Conn) advance(to stage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.stage = to
	}
	return c.err
}

// usable returns why nothing can be said now, if that is so.
func (c *Conn) usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	//guard: refuses to write before the handshake
	case c.stage == dialed:
		return errors.New("no task is accepted yet")
	//guard: refuses to write after DONE
	case c.stage == finished:
		return ErrClosed
	}
	return nil
}

// send writes whole messages. c.writing is held.
func (c *Conn) send(p []byte) error {
	if _, err := c.net.Write(p); err != nil {
		return c.fail(gone(err))
	}
	return nil
}

// tell sends whole messages if it is the time for them. c.writing is held.
func (c *Conn) tell(p []byte) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.send(p)
}

// Counter names a counter of the job. Hadoop cuts groups to 128 characters and names
// to 64, and by default fails a task that has more than 120 counters with its own,
// which are about 30.
type Counter struct{ Group, Name string }

// Register makes counters known to Java. It is called once and before the first Add,
// whose numbers are places in the arguments.
func (c *Conn) Register(counters ...Counter) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: refuses to register counters twice
	if c.counters > 0 {
		return errors.New("counters are registered already")
	}
	var p []byte
	for i, k := range counters {
		p = wire.AppendVInt(wire.AppendVInt(p, int64(registerCounter)), int64(i))
		p = wire.AppendText(wire.AppendText(p, k.Group), k.Name)
	}
	if err := c.tell(p); err != nil {
		return err
	}
	c.counters = len(counters)
	return nil
}

// Add adds n to a counter. It does not tell that the task is alive, as Progress and
// Status do.
func (c *Conn) Add(counter int, n int64) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: refuses a counter that is not registered
	if counter < 0 || counter >= c.counters {
		return fmt.Errorf("counter %d is not one of the %d registered", counter, c.counters)
	}
	p := wire.AppendVInt(nil, int64(incrementCounter))
	return c.tell(wire.AppendVInt(wire.AppendVInt(p, int64(counter)), n))
}

// Progress tells how much of the task is done, from 0 to 1, and that it is alive: it is
// called when something was done, so that Hadoop ends a task that hangs. Java counts
// the calls as Map input records.
func (c *Conn) Progress(fraction float32) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: refuses NaN and negative progress
	if !(fraction >= 0) {
		fraction = 0
	}
	p := wire.AppendVInt(nil, int64(progress))
	return c.tell(binary.BigEndian.AppendUint32(p, math.Float32bits(min(fraction, 1))))
}

// maxStatus is what Java keeps of a status, in units of UTF-16: by default
// mapreduce.task.max.status.length is 512. Of more it writes all into its log.
const maxStatus = 512

// Status shows a text with the task, and tells that it is alive. It is for one line:
// Hadoop keeps the first 512 characters.
func (c *Conn) Status(text string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.tell(wire.AppendText(wire.AppendVInt(nil, int64(status)), cut(text, maxStatus)))
}

// cut returns at most limit units of UTF-16 of a text, and no half of a character.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for i, r := range text {
		if limit--; r > math.MaxUint16 {
			limit--
		}
		//guard: shortens a status
		if limit < 0 {
			return text[:i]
		}
	}
	return text
}
