package webhdfs

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	maxFailure = 64 << 10 // most bytes of an answer that says what failed
	maxDrain   = 64 << 10 // most bytes that are read so that a connection can be reused
	drainTime  = time.Second
	// idle is shorter than the time after which servers close idle connections, so that a
	// request seldom uses a connection that is being closed.
	idle = 10 * time.Second
)

// newTransport returns a transport without redirects, cookies, compression and proxies: proxies
// do not reach clusters. It trusts the certificate authorities of the system, and those of
// SSL_CERT_FILE and SSL_CERT_DIR.
func newTransport(connect time.Duration) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   connect,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idle,
		MaxIdleConnsPerHost:   8,
		DisableCompression:    true,
		Protocols:             protocols,
		ReadBufferSize:        256 << 10,
		WriteBufferSize:       256 << 10,
	}
}

var errSilent = errors.New("silent for too long")

// watch ends a request whose server is silent or too slow for too long. At any time it is the
// turn of the server or of the client. Only the turns of the server are timed.
type watch struct {
	parent context.Context
	ctx    context.Context // context of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu    sync.Mutex // guards the fields below
	pace  *cluster.Pace
	since time.Time // when the server's turn began; zero in the client's turn
}

func newWatch(parent context.Context, limit time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(limit, func() { cancel(errSilent) })
	return &watch{parent: parent, ctx: ctx, cancel: cancel, timer: timer, pace: cluster.NewPace(limit), since: time.Now()}
}

// serverTurn begins the server's turn. The server must move bytes in its remaining time.
func (w *watch) serverTurn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		w.since = time.Now()
	}
	w.timer.Reset(w.pace.Left())
}

// clientTurn begins the client's turn. The server moved some bytes in its turn.
func (w *watch) clientTurn(moved int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	if !w.since.IsZero() {
		w.pace.Count(time.Since(w.since), int64(moved))
		w.since = time.Time{}
	}
}

// shorten limits the server's remaining time.
func (w *watch) shorten(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace = cluster.NewPace(min(limit, w.pace.Left()))
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain returns the error of a request as an error of package store. If the caller's context
// has ended, it returns the error of that context.
func (w *watch) explain(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil || err == io.EOF:
		return err
	//guard: reports why the program was stopped
	case w.parent.Err() != nil:
		return w.parent.Err()
	case context.Cause(w.ctx) == errSilent:
		w.clientTurn(0)
		return w.pace.Err()
	//guard: does not retry an untrusted certificate
	case errors.As(err, &certificate):
		return fmt.Errorf("its certificate is not trusted (SSL_CERT_FILE names trusted ones): %w: %w", err, fs.ErrPermission)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// responseBody is the body of a response, which also ends its watch.
type responseBody struct {
	io.ReadCloser
	watch *watch
}

func (a *responseBody) Read(p []byte) (int, error) {
	a.watch.serverTurn()
	n, err := a.ReadCloser.Read(p)
	a.watch.clientTurn(n)
	return n, a.watch.explain(err)
}

func (a *responseBody) Close() error {
	a.watch.end()
	return a.ReadCloser.Close()
}

// requestBody is the body of a request. Reading from it is the client's turn.
type requestBody struct {
	io.ReadCloser
	watch *watch
	sent  int // bytes of the last read, which are sent to the server
}

func (q *requestBody) Read(p []byte) (_ int, err error) {
	q.watch.clientTurn(q.sent)
	q.sent, err = q.ReadCloser.Read(p)
	// After the last byte, the server has a new time limit for storing the file.
	if err != nil {
		q.watch.pace.Restart()
	}
	q.watch.serverTurn()
	return q.sent, err
}

// content is the file that a request carries.
type content struct {
	body io.ReadCloser
	size int64 // -1 if not known
}

// send sends a request and returns the start of the answer, which may be a failure. The errors
// of send do not show the location, because it may have a token.
func (s *Store) send(ctx context.Context, method, location string, header http.Header, up *content) (*http.Response, error) {
	limit := s.silence
	if up != nil {
		limit = s.uploadSilence
	}
	w := newWatch(ctx, limit)
	req, err := http.NewRequestWithContext(w.ctx, method, location, nil)
	if err != nil {
		w.end()
		return nil, fmt.Errorf("%w: an invalid location", store.ErrUnavailable)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	if up != nil {
		req.Header.Set("Content-Type", "application/octet-stream")
		if up.size != 0 {
			req.Header.Set("Expect", "100-continue")
			req.Body, req.ContentLength = &requestBody{ReadCloser: up.body, watch: w}, up.size
		}
	}
	resp, err := s.transport.RoundTrip(req)
	//guard: reports a server that closes the connection without an answer
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the end of a connection, before any answer
	}
	if err != nil {
		err = w.explain(err)
		w.end()
		return nil, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	w.clientTurn(0)
	w.pace.Restart() // the content of the answer has a new time limit
	resp.Body = &responseBody{resp.Body, w}
	return resp, nil
}

// finish ends the reading of an answer so that its connection can be reused.
func finish(resp *http.Response) {
	//guard: ends the wait for the rest of an answer
	if a, ok := resp.Body.(*responseBody); ok {
		a.watch.shorten(drainTime)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	_ = resp.Body.Close() // only read
}

// failure returns the error in an answer, and ends the answer.
func failure(resp *http.Response) error {
	defer finish(resp)
	body, err := readUpTo(resp.Body, maxFailure)
	if err != nil {
		return err
	}
	var remote struct {
		RemoteException struct{ Exception, JavaClassName, Message string }
	}
	if json.Unmarshal(body, &remote) == nil {
		if e := remote.RemoteException; e.Exception != "" || e.JavaClassName != "" {
			class := e.JavaClassName
			if class == "" || e.Exception == "RemoteException" {
				class = e.Exception
			}
			return cluster.Remote(class, e.Message)
		}
	}
	return statusError(resp)
}

// statusError returns the error of an answer that does not come from WebHDFS, but from a
// proxy, a login filter or another program.
func statusError(resp *http.Response) error {
	host := resp.Request.URL.Host
	code := resp.StatusCode
	status := fmt.Sprintf("%s answered %d %s", host, code, http.StatusText(code))
	switch {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w", status, errUnauthorized)
	case code == http.StatusForbidden:
		return fmt.Errorf("%s: %w", status, fs.ErrPermission)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return fmt.Errorf("%s: %w", status, store.ErrUnavailable)
	}
	return fmt.Errorf("%s, which is not WebHDFS: %w", status, syscall.ENOSYS)
}

// errUnauthorized is the answer to a request without a user or proof of identity.
var errUnauthorized = fmt.Errorf("not authenticated: %w", fs.ErrPermission)

// decode reads an answer of at most max bytes into v, and ends it.
func decode(resp *http.Response, max int64, v any) error {
	defer finish(resp)
	data, err := readUpTo(resp.Body, max+1)
	if err != nil {
		return err
	}
	//guard: reports an answer beyond the limit
	if int64(len(data)) > max {
		return fmt.Errorf("%s answered with more than %d bytes: %w", resp.Request.URL.Host, max, store.ErrUnavailable)
	}
	if len(data) == 0 {
		return errEmpty
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s answered with something other than WebHDFS's JSON: %w: %w", resp.Request.URL.Host, store.ErrUnavailable, err)
	}
	return nil
}

// readUpTo reads a body, and returns at most its first max bytes.
func readUpTo(body io.Reader, max int64) ([]byte, error) {
	//guard: bounds the length of an answer
	body = io.LimitReader(body, max)
	return io.ReadAll(body)
}

// errEmpty means that an answer lacks its usual content.
var errEmpty = fmt.Errorf("an empty answer: %w", store.ErrUnavailable)
