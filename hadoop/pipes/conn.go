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

// Errors that end a connection and its context.
var (
	// ErrAborted means that Java sent ABORT. The attempt at the task has failed.
	ErrAborted = errors.New("the task's JVM aborted the task")
	// ErrGone means that the connection ended without a message, for example because the JVM
	// was killed.
	ErrGone = errors.New("the task's JVM is gone")
	// ErrClosed means that Done or Close was called.
	ErrClosed = errors.New("the connection to the task's JVM is closed")
)

// Names of the variables that Java sets for its child. Hadoop 3.4.3 and later use the names
// without dots.
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

// Started reports whether the environment shows that Hadoop started this process.
func Started() bool { return variable(portVariables) != "" }

// patience is how long Java may take to hang up after DONE. Usually it takes milliseconds.
const patience = time.Minute

// Conn is the connection to the task's JVM. Its methods are safe for concurrent use.
type Conn struct {
	net        net.Conn
	d          *decoder
	secret     []byte
	patience   time.Duration
	ctx        context.Context
	end        context.CancelCauseFunc
	listenDone chan struct{} // closed when listen has ended

	writing  sync.Mutex // locked while a message is written, so that messages do not mix
	counters int        // number of registered counters; guarded by writing

	mu    sync.Mutex // guards stage and err; locked only for a moment
	stage stage
	err   error // what ended the connection
}

type stage int

const (
	dialed stage = iota
	accepted
	finished // DONE is sent
)

// Dial connects to the JVM that started this process. A child should call Dial before any
// work that can fail or take long, because Java waits for the connection until the task's
// timeout, even if the child has ended. The connection's context is derived from ctx.
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
	c := &Conn{net: conn, d: newDecoder(conn), secret: secret, patience: patience, listenDone: make(chan struct{})}
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

// Accept authenticates both ends and returns the task. It must be called once. After an
// error the connection is unusable. If Java ended the connection, the error wraps
// ErrAborted or ErrGone.
func (c *Conn) Accept(ctx context.Context) (*MapTask, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	task, err := accept(c.d, c.net, c.secret)
	//guard: reports the end of ctx instead of a JVM that is gone
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

// Context returns a context that ends with the connection, or with the context given to
// Dial. Its cause wraps ErrAborted, ErrGone or ErrClosed, or is the error of an invalid
// message. A child whose JVM is gone must end at once: Hadoop no longer tracks it, and
// another attempt may be running.
func (c *Conn) Context() context.Context { return c.ctx }

// Done tells Java that the task is done, and waits until Java confirms this by hanging up.
// The caller finishes all work before, because Hadoop kills the task's processes a moment
// later. An error means that the attempt has failed, or may have failed.
func (c *Conn) Done() error {
	c.writing.Lock()
	err := c.checkWritable()
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
	<-c.listenDone
	if err := c.failure(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Close closes the connection. If Done did not succeed, the attempt has failed, and Java sends
// the child SIGTERM at once. So the caller reports a failure before.
func (c *Conn) Close() error {
	_ = c.fail(ErrClosed)
	c.mu.Lock()
	listening := c.stage != dialed
	c.mu.Unlock()
	err := c.net.Close()
	if listening {
		<-c.listenDone
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// listen waits until Java ends the connection.
func (c *Conn) listen() {
	defer close(c.listenDone)
	for {
		m := c.d.next()
		err := c.d.Err()
		switch {
		case err == io.EOF && c.inStage(finished):
			err = ErrClosed
		case err != nil:
			err = connError(err)
		case m == abort:
			err = ErrAborted
		case m == closeInput: // the end of the records that Java reads; there are none
			continue
		default:
			err = fmt.Errorf("the task's JVM: unexpected %s during a map task", m)
		}
		_ = c.fail(err)
		// This unblocks a write of data that Java no longer reads.
		_ = c.net.SetWriteDeadline(time.Unix(1, 0))
		return
	}
}

// fail ends the connection with err, unless the connection has ended, and returns the error
// that ended it.
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

// failure returns the error that ended the connection, if it has ended.
func (c *Conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) inStage(s stage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stage == s
}

// advance enters a stage, unless the connection has ended.
func (c *Conn) advance(to stage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.stage = to
	}
	return c.err
}

// checkWritable returns an error if messages cannot be sent now.
func (c *Conn) checkWritable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	//guard: rejects writes before the handshake
	case c.stage == dialed:
		return errors.New("no task is accepted yet")
	//guard: rejects writes after DONE
	case c.stage == finished:
		return ErrClosed
	}
	return nil
}

// send writes whole messages. The caller holds c.writing.
func (c *Conn) send(p []byte) error {
	if _, err := c.net.Write(p); err != nil {
		return c.fail(connError(err))
	}
	return nil
}

// sendIfReady sends whole messages if checkWritable allows it. The caller holds c.writing.
func (c *Conn) sendIfReady(p []byte) error {
	if err := c.checkWritable(); err != nil {
		return err
	}
	return c.send(p)
}

// Counter names a counter of the job. Hadoop cuts groups to 128 characters and names
// to 64. By default it fails a task that has more than 120 counters, including about
// 30 of Hadoop's own.
type Counter struct{ Group, Name string }

// Register registers counters with Java. It must be called once, before the first call of Add.
// Add takes the index of a counter in the arguments.
func (c *Conn) Register(counters ...Counter) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: rejects a second registration
	if c.counters > 0 {
		return errors.New("counters are registered already")
	}
	var p []byte
	for i, k := range counters {
		p = wire.AppendVInt(wire.AppendVInt(p, int64(registerCounter)), int64(i))
		p = wire.AppendText(wire.AppendText(p, k.Group), k.Name)
	}
	if err := c.sendIfReady(p); err != nil {
		return err
	}
	c.counters = len(counters)
	return nil
}

// Add adds n to a counter. Unlike Progress and Status, it does not show that the task is
// alive.
func (c *Conn) Add(counter int, n int64) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: rejects a counter that is not registered
	if counter < 0 || counter >= c.counters {
		return fmt.Errorf("counter %d is not one of the %d registered", counter, c.counters)
	}
	p := wire.AppendVInt(nil, int64(incrementCounter))
	return c.sendIfReady(wire.AppendVInt(wire.AppendVInt(p, int64(counter)), n))
}

// Progress reports how much of the task is done, from 0 to 1, and that the task is alive. Call
// it only after progress, so that Hadoop ends a task that hangs. Java counts the calls as "Map
// input records".
func (c *Conn) Progress(fraction float32) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	//guard: replaces NaN and negative progress
	if !(fraction >= 0) {
		fraction = 0
	}
	p := wire.AppendVInt(nil, int64(progress))
	return c.sendIfReady(binary.BigEndian.AppendUint32(p, math.Float32bits(min(fraction, 1))))
}

// maxStatus is the default of mapreduce.task.max.status.length: the length of a status that Java
// keeps, in units of UTF-16. Java writes a longer status into its log.
const maxStatus = 512

// Status sets the text that Hadoop shows with the task, and reports that the task is alive. The
// text should be one line: Hadoop keeps the first 512 characters.
func (c *Conn) Status(text string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.sendIfReady(wire.AppendText(wire.AppendVInt(nil, int64(status)), truncate(text, maxStatus)))
}

// truncate returns at most limit units of UTF-16 of a text, without splitting a character.
func truncate(text string, limit int) string {
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
