package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// call is an operation to request from a name node.
type call struct {
	method string
	op     string
	path   string
	query  map[string]string
	// once forbids a retry if the operation may have been done.
	once bool
	// kerberos authenticates with Kerberos instead of a token.
	kerberos bool
}

// maxAnswer is the most bytes of an answer that lists no directory.
const maxAnswer = 1 << 20

// callJSON calls an operation that a name node answers itself. The answer is JSON of at most
// max bytes.
func (s *Store) callJSON(ctx context.Context, c call, max int64, v any) error {
	resp, err := s.call(ctx, c)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		defer finish(resp)
		return statusError(resp)
	}
	return decode(resp, max, v)
}

// call sends an operation to the name node that answered last. If that node is not active or
// does not answer, call tries the others. It returns a failure as an error. The response may
// still be a redirect: see redirect. The caller ends the response, for example with finish.
func (s *Store) call(ctx context.Context, c call) (*http.Response, error) {
	first := int(s.active.Load())
	var failed error
	for i := range s.addresses {
		n := (first + i) % len(s.addresses)
		resp, err := s.callAuthenticated(ctx, s.addresses[n], c)
		s.names.Note(s.addresses[n], err)
		if err == nil {
			s.active.Store(int32(n))
			return resp, nil
		}
		if !c.mayCallAnother(ctx, err) {
			return nil, s.names.Judge(s.addresses, err)
		}
		// The error of a silent node says more than that of a standby.
		if failed == nil || isStandby(failed) {
			failed = err
		}
	}
	return nil, s.names.Judge(s.addresses, failed)
}

// mayCallAnother reports whether an error allows a call to another name node.
func (c call) mayCallAnother(ctx context.Context, err error) bool {
	var remote *cluster.RemoteError
	switch {
	case ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable):
		return false
	case errors.As(err, &remote):
		return isStandby(err) || remote.Name() == "RetriableException"
	}
	return !c.once || isDialError(err)
}

// isDialError reports whether no connection to the server was made. The server then did not
// get the request.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func isStandby(err error) bool {
	var remote *cluster.RemoteError
	return errors.As(err, &remote) && remote.Name() == "StandbyException"
}

// callAuthenticated is call for one name node. If the token is refused, it tries once more with
// another token.
func (s *Store) callAuthenticated(ctx context.Context, address string, c call) (*http.Response, error) {
	if c.kerberos {
		header, err := s.identity.negotiate(ctx, address)
		if err != nil {
			return nil, err
		}
		return s.request(ctx, address, c, "", "", header)
	}
	key, value, err := s.identity.parameter(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := s.request(ctx, address, c, key, value, nil)
	if err == nil || !isTokenRefusal(err) {
		return resp, err
	}
	if again := s.identity.replaceRefused(ctx, value); again != nil {
		if errors.Is(again, errNoTokenNeeded) {
			return nil, fmt.Errorf("%w (is hadoop.security.authentication=kerberos missing in the configuration?)", err)
		}
		return nil, fmt.Errorf("the delegation token was refused (%v), and there is no other: %w", err, again)
	}
	if key, value, err = s.identity.parameter(ctx); err != nil {
		return nil, err
	}
	return s.request(ctx, address, c, key, value, nil)
}

// request sends an operation. It returns a failure as an error. The caller ends the response.
func (s *Store) request(ctx context.Context, address string, c call, key, value string, header http.Header) (*http.Response, error) {
	query := url.Values{"op": {c.op}}
	if key != "" {
		query.Set(key, value)
	}
	for k, v := range c.query {
		query.Set(k, v)
	}
	// Some servers read + as a plus, not as a space.
	encoded := strings.ReplaceAll(query.Encode(), "+", "%20")
	resp, err := s.send(ctx, c.method, s.scheme+"://"+address+"/webhdfs/v1"+escape(c.path)+"?"+encoded, header, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		return nil, failure(resp)
	}
	return resp, nil
}

// escape escapes a path for a URL. It escapes every character to which a server or library
// could give a special meaning.
func escape(p string) string {
	var b strings.Builder
	for i := range len(p) {
		c := p[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// redirect returns the target of a redirect, or nil if resp is the answer itself.
func (s *Store) redirect(resp *http.Response) (*url.URL, error) {
	if resp.StatusCode == http.StatusOK {
		return nil, nil
	}
	defer finish(resp)
	if resp.StatusCode != http.StatusTemporaryRedirect {
		return nil, statusError(resp)
	}
	u, err := url.Parse(resp.Header.Get("Location"))
	// A request over TLS, which has the token, must stay on TLS.
	//guard: follows no redirect that leaves TLS
	if err != nil || u.Scheme != s.scheme {
		return nil, fmt.Errorf("%s redirects to an invalid location: %w", resp.Request.URL.Host, store.ErrUnavailable)
	}
	for _, key := range secretParameters {
		s.identity.login.Hide(u.Query().Get(key))
	}
	return u, nil
}

// secretParameters authenticate the user. Some are made by a name node for a data node.
var secretParameters = []string{"delegation", "token", "signature"}
