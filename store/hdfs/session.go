package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	// Only a few sessions are kept, and for a short time, because each session renews its
	// leases every second.
	maxIdle  = 4
	idleTime = 10 * time.Second
	// maxDials is to how many data nodes one read of the library may connect. It is far
	// more than a block has replicas.
	maxDials = 16
)

// session is a client of the library with all its connections. One operation or stream
// at a time uses it.
type session struct {
	store  *Store
	client *client.Client
	rpc    caller
	ctx    context.Context // ends when the session is killed
	cancel context.CancelFunc
	// closing makes all writes to data nodes succeed: see dataConn.Write.
	closing atomic.Bool
	uploads atomic.Bool // a file is being written
	// ticket gets the ticket for a name node at an address. It is nil without Kerberos.
	ticket func(address string) error
	// dials counts the data nodes that were dialed for one read or one upload.
	dials     atomic.Int32
	idle      *time.Timer // ends the session when it was idle for long
	checksums *checksums  // set while the library asks data nodes for checksums

	mu      sync.Mutex // guards the fields below
	conns   map[net.Conn]struct{}
	dialed  string // address of the last dialed name node
	failure error  // error of the first connection that failed
}

// connect returns a new session. The name nodes are tried in turn.
func (s *Store) connect(ctx context.Context) (*session, error) {
	options := s.options
	options.Addresses = s.nameNodes()
	se := &session{store: s, conns: make(map[net.Conn]struct{})}
	se.ctx, se.cancel = context.WithCancel(context.Background())
	options.User = s.login.User()
	if s.login.Secure() {
		kerberos, err := s.login.Kerberos(ctx)
		if err != nil {
			se.cancel()
			return nil, err
		}
		options.KerberosClient = kerberos
		// The library asks for the ticket, too, but would wait for a distribution center
		// even after its context ends. So the client gets the ticket before.
		se.ticket = func(address string) error {
			_, _, err := cluster.ServiceTicket(se.ctx, kerberos, s.service(address))
			return err
		}
	}
	options.NamenodeDialFunc = se.dialNameNode
	options.DatanodeDialFunc = se.dialDataNode
	stop := context.AfterFunc(ctx, se.kill)
	defer stop()
	var err error
	if se.client, err = client.NewClient(options); err != nil {
		se.kill()
		return nil, err
	}
	if se.rpc, err = callerOf(se.client); err != nil {
		se.close()
		return nil, err
	}
	return se, nil
}

// service returns the principal of the name node at an address.
func (s *Store) service(address string) string {
	host, _, _ := net.SplitHostPort(address)
	principal := s.options.KerberosServicePrincipleName
	if name, ok := strings.CutSuffix(principal, "/_HOST"); ok {
		return name + "/" + host
	}
	return principal
}

// nameNodes returns the addresses of the name nodes in the order in which to try them.
func (s *Store) nameNodes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.addresses[s.front:], s.addresses[:s.front])
}

// prefer makes new sessions try a name node first. It is called when the node answered.
func (s *Store) prefer(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.addresses, address); i >= 0 {
		s.front = i
	}
}

// avoid makes new sessions try another name node first.
func (s *Store) avoid(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addresses[s.front] == address {
		s.front = (s.front + 1) % len(s.addresses)
	}
}

func (se *session) dialNameNode(_ context.Context, network, address string) (net.Conn, error) {
	se.mu.Lock()
	se.dialed = address
	se.mu.Unlock()
	//guard: bounds the wait for a key distribution center
	if se.ticket != nil {
		if err := se.ticket(address); err != nil {
			return nil, err
		}
	}
	inner, err := se.dial(network, address, se.store.connectTimeout)
	se.store.names.Note(address, err)
	if err != nil {
		if se.alive() {
			se.store.avoid(address)
		}
		return nil, err
	}
	c := &nameConn{
		conn:    conn{Conn: inner, session: se, timeout: se.store.callTimeout, name: "name node " + address},
		address: address,
		frames:  frames{max: se.store.maxAnswer},
	}
	return c, se.keep(c)
}

func (se *session) dialDataNode(_ context.Context, network, address string) (net.Conn, error) {
	//guard: bounds how often a file's data nodes are dialed
	if se.dials.Add(1) > maxDials {
		return nil, fmt.Errorf("data node %s: the block ends early", address)
	}
	inner, err := se.dial(network, address, se.store.dataTimeout)
	if err != nil {
		return nil, err
	}
	c := newDataConn(conn{Conn: inner, session: se, timeout: se.store.dataTimeout, name: "data node " + address})
	return c, se.keep(c)
}

func (se *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: timeout}
	c, err := dialer.DialContext(se.ctx, network, address)
	if err != nil {
		se.failed(err)
	}
	return c, err
}

// keep registers a connection, which ends with the session.
func (se *session) keep(c net.Conn) error {
	se.mu.Lock()
	se.conns[c] = struct{}{}
	se.mu.Unlock()
	//guard: closes a connection that was made too late
	if err := se.ctx.Err(); err != nil {
		_ = c.Close() // unused
		return err
	}
	return nil
}

func (se *session) forget(c net.Conn) {
	se.mu.Lock()
	defer se.mu.Unlock()
	delete(se.conns, c)
}

// failed records the failure of a connection. The first one causes the others.
func (se *session) failed(err error) {
	se.mu.Lock()
	defer se.mu.Unlock()
	if se.failure == nil && se.ctx.Err() == nil {
		se.failure = err
	}
}

// cause returns the first failure of a connection.
func (se *session) cause() error {
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.failure
}

func (se *session) alive() bool { return se.ctx.Err() == nil }

// kill closes all connections at once, so that operations on them fail.
func (se *session) kill() {
	se.cancel()
	se.closeConns(func(net.Conn) bool { return true })
}

func (se *session) closeConns(which func(net.Conn) bool) {
	se.mu.Lock()
	var conns []net.Conn
	for c := range se.conns {
		if which(c) {
			conns = append(conns, c)
		}
	}
	se.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // no pending bytes are needed
	}
}

// close ends the session.
func (se *session) close() {
	se.kill()
	// The library may be waiting for a key server, which no context ends.
	go func() { _ = se.client.Close() }()
}

// endFile closes the library's writer of an abandoned file to end its goroutines. It
// does not complete the file, because no bytes reach a node.
func (se *session) endFile(f io.Closer) {
	se.closing.Store(true)
	se.kill()
	_ = f.Close() // cannot succeed
}

// acquire returns a session for exclusive use.
func (s *Store) acquire(ctx context.Context) (*session, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.mu.Lock()
		//guard: opens no connection after the store was closed
		if s.closed {
			s.mu.Unlock()
			return nil, errClosed
		}
		n := len(s.idle)
		if n == 0 {
			s.mu.Unlock()
			return s.connect(ctx)
		}
		se := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		se.idle.Stop()
		//guard: does not reuse a connection that failed
		if se.cause() != nil {
			se.close()
			continue
		}
		se.dials.Store(0)
		se.uploads.Store(false)
		return se, nil
	}
}

// release keeps a session for another operation, or closes the session if it failed.
func (s *Store) release(se *session) {
	se.closeConns(func(c net.Conn) bool { _, ok := c.(*dataConn); return ok })
	s.mu.Lock()
	keep := se.alive() && se.cause() == nil && !s.closed && len(s.idle) < maxIdle
	if keep {
		se.idle = time.AfterFunc(idleTime, func() { s.expire(se) })
		s.idle = append(s.idle, se)
	}
	s.mu.Unlock()
	if !keep {
		se.close()
	}
}

func (s *Store) expire(se *session) {
	s.mu.Lock()
	i := slices.Index(s.idle, se)
	if i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		se.close()
	}
}

// lease is a session in use. It is killed when its context ends.
type lease struct {
	*session
	stop func() bool
}

// end releases the session.
func (l *lease) end() {
	if !l.stop() {
		l.kill()
	}
	l.store.release(l.session)
}

// begin runs the first part of an operation, and keeps the session for the rest. If the first
// part is idempotent, it is tried at each name node.
func (s *Store) begin(ctx context.Context, idempotent bool, do func(se *session) error) (*lease, error) {
	for try := 1; ; try++ {
		l, err := s.beginOnce(ctx, do)
		if err == nil || !idempotent || try >= len(s.addresses) || !isUnavailable(err) || ctx.Err() != nil {
			return l, err
		}
	}
}

func (s *Store) beginOnce(ctx context.Context, do func(se *session) error) (*lease, error) {
	se, err := s.acquire(ctx)
	if err != nil {
		return nil, s.names.Judge(s.addresses, translate(ctx, nil, err))
	}
	l := &lease{session: se, stop: context.AfterFunc(ctx, se.kill)}
	if err := do(se); err != nil {
		err = s.names.Judge(s.addresses, translate(ctx, se, err))
		if isUnavailable(err) || errors.Is(err, errNeedsKerberos) {
			l.kill() // a new session may not have the problem
		}
		l.end()
		return nil, err
	}
	return l, nil
}

// runIdempotent runs an operation that may be repeated without harm.
func (s *Store) runIdempotent(ctx context.Context, do func(se *session) error) error {
	l, err := s.begin(ctx, true, do)
	if err == nil {
		l.end()
	}
	return err
}

// runOnce runs an operation that must not be done twice.
func (s *Store) runOnce(ctx context.Context, do func(se *session) error) error {
	l, err := s.begin(ctx, false, do)
	if err == nil {
		l.end()
	}
	return err
}

// call makes a call to the name node.
func (se *session) call(method string, args fields) (answer, error) {
	request, response, err := messagesOf(method, args)
	if err != nil {
		return answer{}, err
	}
	if err := se.rpc.Execute(method, request, response); err != nil {
		return answer{}, fmt.Errorf("%s: %w", method, err)
	}
	se.mu.Lock()
	dialed := se.dialed
	se.mu.Unlock()
	se.store.prefer(dialed)
	return answer{response.ProtoReflect()}, nil
}
