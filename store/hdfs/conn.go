package hdfs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rowtocol/rowtocol/store/cluster"
)

// conn is a connection that sets its own deadlines, because the library sets none for name
// nodes, and resets the deadlines for data nodes. The first failure closes the connection, so
// that writers learn of a failed read.
type conn struct {
	net.Conn
	session *session
	timeout time.Duration
	name    string // kind of node and address, for errors
}

func (c *conn) fail(err error) error {
	//guard: reports a block that ends early
	if err == io.EOF {
		// The library reads an EOF as the end of a block, and asks the same node again.
		err = io.ErrUnexpectedEOF
	}
	err = fmt.Errorf("%s: %w", c.name, err)
	c.session.failed(err)
	_ = c.Conn.Close() // it failed already
	return err
}

// SetDeadline does nothing.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// dataConn is a connection to a data node. Each write has at most one packet and must
// end within the timeout; reads must keep pace.
type dataConn struct {
	conn
	pace *cluster.Pace
	// buffered saves half of the system calls: a packet has three short parts.
	buffered *bufio.Reader
	written  bool // something was written
	// requested is whether the request was written. Its token is then known.
	requested bool
	sasl      *negotiation // nil if there is none
	received  bool         // something was read
	answered  bool         // the answer to the request was inspected
	unread    []byte       // rest of an inspected message, which the library reads next
}

const (
	packetHead = 4 << 10 // bytes; holds the short parts of a packet
	// maxMessage is the most bytes of an inspected message. Usual messages have hundreds.
	maxMessage = 64 << 10
)

func newDataConn(c conn) *dataConn {
	d := &dataConn{conn: c, pace: cluster.NewPace(c.timeout)}
	d.buffered = bufio.NewReaderSize(readerFunc(d.receive), packetHead)
	return d
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (c *dataConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		inspect := c.inspector()
		if inspect == nil {
			return c.buffered.Read(p)
		}
		if err := c.readMessage(inspect); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// inspector returns the function that inspects the next message, or nil if no function
// inspects it.
func (c *dataConn) inspector() func(message []byte) error {
	first := !c.answered
	switch {
	case c.sasl != nil && c.sasl.step < 2:
		return c.sasl.inspect
	case c.sasl != nil && c.sasl.level == "auth-conf":
		return nil // encrypted
	case first && c.session.checksums != nil:
		c.answered = true
		return c.session.checksums.add
	case first || c.session.uploads.Load(): // then acknowledgements follow
		c.answered = true
		return func([]byte) error { return nil }
	}
	return nil
}

// readMessage reads a message and the length before it, and inspects the message. It keeps
// message and length for the library.
func (c *dataConn) readMessage(inspect func(message []byte) error) error {
	size, err := binary.ReadUvarint(c.buffered)
	if err != nil {
		return err
	}
	//guard: bounds the length of a message
	if size > maxMessage {
		return c.fail(fmt.Errorf("a message of %d bytes", size))
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(c.buffered, message); err != nil {
		return err
	}
	if err := inspect(message); err != nil {
		return c.fail(err)
	}
	c.unread = append(binary.AppendUvarint(nil, size), message...)
	return nil
}

func (c *dataConn) receive(p []byte) (int, error) {
	began := time.Now()
	//guard: bounds the wait for a data node that sends nothing, or drips
	if err := c.Conn.SetReadDeadline(began.Add(c.pace.Left())); err != nil {
		return 0, c.fail(err)
	}
	n, err := c.Conn.Read(p)
	moved := int64(n)
	//guard: bounds the wait for a block whose acknowledgements never end
	if c.session.uploads.Load() {
		moved = 0 // in an upload, only the bytes that the node accepts are counted
	}
	c.pace.Count(time.Since(began), moved)
	if errors.Is(err, os.ErrDeadlineExceeded) && c.received {
		return n, c.fail(c.pace.Err())
	}
	if err != nil {
		return n, c.fail(c.explain(err))
	}
	c.received = true
	return n, nil
}

// explain adds the likely cause to the error of a data node that does not answer
// although the name node does.
func (c *dataConn) explain(err error) error {
	const privileged = 1024 // nodes on lower ports do not negotiate
	address, ok := c.RemoteAddr().(*net.TCPAddr)
	if c.received || c.sasl != nil || !ok || address.Port < privileged || !c.session.store.login.Secure() {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // see fail
	}
	return fmt.Errorf("%w (is dfs.data.transfer.protection missing in the configuration?)", err)
}

func (c *dataConn) Write(p []byte) (int, error) {
	c.observeWrite(p)
	n, err := c.send(p)
	if err == nil {
		c.pace.Count(0, int64(n))
		return n, nil
	}
	err = c.fail(err)
	if c.session.closing.Load() {
		// If a write fails while the library closes a file, it leaks a goroutine.
		// Without these bytes no acknowledgement comes, so the failure shows at the
		// end.
		return len(p), nil
	}
	return n, err
}

func (c *dataConn) send(p []byte) (int, error) {
	//guard: bounds the wait for a data node that does not read
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *dataConn) Close() error {
	c.session.forget(c)
	return c.Conn.Close()
}

// nameConn is a connection to a name node. A complete answer must arrive within the timeout
// after the call.
type nameConn struct {
	conn
	address string // address that was dialed
	frames  frames
}

func (c *nameConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	//guard: bounds the length of a name node's answer
	if err == nil {
		err = c.frames.check(p[:n])
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no whole answer for %v: %w", c.timeout, err)
	}
	if err != nil {
		return n, c.fail(err)
	}
	return n, nil
}

func (c *nameConn) Write(p []byte) (int, error) {
	//guard: bounds the wait for a silent name node
	if err := c.Conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, c.fail(err)
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		return n, c.fail(err)
	}
	return n, nil
}

func (c *nameConn) fail(err error) error {
	if c.session.alive() {
		c.session.store.avoid(c.address)
	}
	return c.conn.fail(err)
}

// Close implements net.Conn.
func (c *nameConn) Close() error {
	c.session.forget(c)
	return c.Conn.Close()
}

// frames checks the length before each answer of a name node, because the library allocates
// memory for any length.
type frames struct {
	max    uint32
	length [4]byte
	have   int    // how many bytes of the length were read
	left   uint32 // how many bytes of the answer are left
}

func (f *frames) check(b []byte) error {
	for len(b) > 0 {
		if f.left > 0 {
			n := min(int(f.left), len(b))
			f.left -= uint32(n)
			b = b[n:]
			continue
		}
		f.length[f.have] = b[0]
		f.have++
		b = b[1:]
		if f.have == len(f.length) {
			f.have = 0
			f.left = binary.BigEndian.Uint32(f.length[:])
			//guard: bounds the length of a name node's answer
			if f.left > f.max {
				return fmt.Errorf("an answer of %d bytes, at most %d are accepted", f.left, f.max)
			}
		}
	}
	return nil
}
