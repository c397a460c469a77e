package webhdfs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// renewLater is the time until a token whose expiry is unknown is renewed. It is far less than
// the life of any token.
const renewLater = time.Minute

// identity authenticates the user to name nodes.
type identity struct {
	store  *Store
	login  *cluster.Login
	scheme string // webhdfs or swebhdfs
	file   string // file of delegation tokens; may be empty

	turn chan struct{} // a lock of the fields below
	// token is the delegation token in use. It is empty if there is none yet.
	token   string
	fetched bool          // the token was fetched here, and is renewed here
	renewAt time.Time     // when to renew the token
	life    time.Duration // life of the token when it was new
}

func newIdentity(s *Store, login *cluster.Login, scheme, file string) *identity {
	return &identity{store: s, login: login, scheme: scheme, file: file, turn: make(chan struct{}, 1)}
}

// lock waits until no other goroutine is changing the token.
func (i *identity) lock(ctx context.Context) error {
	select {
	case i.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *identity) unlock() { <-i.turn }

// parameter returns the query parameter that identifies the user.
func (i *identity) parameter(ctx context.Context) (key, value string, err error) {
	if !i.login.Secure() {
		return "user.name", i.login.User(), nil
	}
	if err := i.lock(ctx); err != nil {
		return "", "", err
	}
	defer i.unlock()
	switch {
	case i.token == "":
		err = i.obtain(ctx, "")
	case i.fetched && time.Now().After(i.renewAt):
		err = i.renew(ctx)
	}
	return "delegation", i.token, err
}

// errNoTokenNeeded means that no token identifies the user.
var errNoTokenNeeded = errors.New("no delegation token is needed")

// replaceRefused replaces a token that was refused, unless another goroutine has done so.
func (i *identity) replaceRefused(ctx context.Context, token string) error {
	if !i.login.Secure() {
		return errNoTokenNeeded
	}
	if err := i.lock(ctx); err != nil {
		return err
	}
	defer i.unlock()
	if i.token != token {
		return nil
	}
	return i.obtain(ctx, token)
}

// isTokenRefusal reports whether a server refused the token or the user.
func isTokenRefusal(err error) bool {
	var remote *cluster.RemoteError
	if errors.As(err, &remote) {
		return strings.Contains(remote.Class, "InvalidToken") || strings.Contains(remote.Message, "InvalidToken") ||
			remote.Name() == "AuthenticationException"
	}
	return errors.Is(err, errUnauthorized)
}

// obtain gets a token other than the refused token. It reads the file, which may have a newer
// token by now. If the file has none, it gets a token from the name node.
func (i *identity) obtain(ctx context.Context, refused string) error {
	if i.file != "" {
		token, err := i.tokenFromFile(ctx)
		if err != nil {
			return err
		}
		if token != "" && token != refused {
			i.token, i.fetched = token, false
			return nil
		}
	}
	return i.fetch(ctx)
}

// tokenFromFile returns the token in the file that fits the name nodes best, or "".
func (i *identity) tokenFromFile(ctx context.Context) (string, error) {
	tokens, err := i.login.DelegationTokens(i.file)
	if err != nil {
		return "", err
	}
	best, bestRank := "", 0
	for _, t := range tokens {
		if rank := i.rank(ctx, t); rank > bestRank {
			best, bestRank = t.URLString(), rank
		}
	}
	return best, nil
}

// rank returns how well a token fits the name nodes. 0 means that it does not fit.
func (i *identity) rank(ctx context.Context, t cluster.Token) int {
	kind := map[string]int{
		strings.ToUpper(i.scheme) + " delegation": 3,
		"HDFS_DELEGATION_TOKEN":                   2,
		"WEBHDFS delegation":                      1,
		"SWEBHDFS delegation":                     1,
	}[t.Kind]
	if kind == 0 {
		return 0
	}
	_, name, logical := strings.Cut(t.Service, ":")
	if logical && strings.HasPrefix(t.Service, "ha-") {
		_, addresses, err := i.store.conf.NameNodes(i.scheme, name)
		if err == nil && shareAddress(addresses, i.store.addresses) {
			return kind
		}
		return 0
	}
	host, port, err := net.SplitHostPort(t.Service)
	if err != nil {
		return 0
	}
	rank := 0
	// Two name nodes may be on one host; the port distinguishes them.
	for _, address := range slices.Concat(i.store.addresses, i.store.rpc) {
		ourHost, ourPort, _ := net.SplitHostPort(address)
		if !sameHost(ctx, host, ourHost) {
			continue
		}
		if port == ourPort {
			return kind + 3
		}
		rank = kind
	}
	return rank
}

func shareAddress(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if strings.EqualFold(x, y) {
				return true
			}
		}
	}
	return false
}

// sameHost reports whether a token's host is host. The token mostly has an IP address.
func sameHost(ctx context.Context, tokens, host string) bool {
	if strings.EqualFold(tokens, host) {
		return true
	}
	for _, ip := range resolve(ctx, host) {
		if ip == tokens {
			return true
		}
	}
	return false
}

// resolve returns the IP addresses of a host, if it can.
func resolve(ctx context.Context, host string) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil
	}
	return ips
}

// fetch gets a new token and renews it at once, because only a renewal returns when the token
// expires.
func (i *identity) fetch(ctx context.Context) error {
	var answer struct {
		Token *struct {
			URLString string `json:"urlString"`
		}
	}
	ask := call{method: http.MethodGet, op: "GETDELEGATIONTOKEN", path: "/", kerberos: true,
		query: map[string]string{"renewer": i.login.User()}}
	if err := i.store.callJSON(ctx, ask, maxAnswer, &answer); err != nil {
		return fmt.Errorf("get a delegation token: %w", err)
	}
	if answer.Token == nil || answer.Token.URLString == "" {
		return fmt.Errorf("the name node gives no delegation token, so it may not be secure: %w", store.ErrUnavailable)
	}
	i.token, i.fetched, i.life = answer.Token.URLString, true, 0
	i.login.Hide(i.token)
	i.renewAt = time.Now().Add(renewLater)
	if left, err := i.extend(ctx); err == nil && left > 0 {
		i.life, i.renewAt = left, time.Now().Add(left/2)
	}
	return ctx.Err()
}

// renew renews the token. If a renewal no longer gives the token its full life, it fetches a
// new one. If neither works, the old token stays in use for as long as it is accepted.
func (i *identity) renew(ctx context.Context) error {
	left, err := i.extend(ctx)
	switch {
	case err == nil && left > 0 && left >= i.life*3/4:
		i.life = max(i.life, left)
		i.renewAt = time.Now().Add(left / 2)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err := i.fetch(ctx); err != nil {
		i.renewAt = time.Now().Add(min(renewLater, max(left/4, time.Second)))
	}
	return ctx.Err()
}

// extend renews the token and returns how long it stays valid.
func (i *identity) extend(ctx context.Context) (time.Duration, error) {
	var answer struct{ Long int64 }
	ask := call{method: http.MethodPut, op: "RENEWDELEGATIONTOKEN", path: "/", kerberos: true,
		query: map[string]string{"token": i.token}}
	if err := i.store.callJSON(ctx, ask, maxAnswer, &answer); err != nil {
		return 0, err
	}
	return time.Until(time.UnixMilli(answer.Long)), nil
}

// close cancels the token, so that the name node can forget it.
func (i *identity) close(ctx context.Context) error {
	if err := i.lock(ctx); err != nil {
		return err
	}
	defer i.unlock()
	if !i.fetched {
		return nil
	}
	cancel := call{method: http.MethodPut, op: "CANCELDELEGATIONTOKEN", path: "/", kerberos: true,
		query: map[string]string{"token": i.token}}
	i.token, i.fetched = "", false
	resp, err := i.store.call(ctx, cancel)
	if err != nil {
		return fmt.Errorf("cancel a delegation token: %w", err)
	}
	finish(resp)
	return nil
}

// negotiate returns the header that proves the user's identity to a server (SPNEGO).
func (i *identity) negotiate(ctx context.Context, address string) (http.Header, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	kerberos, err := i.login.Kerberos(ctx)
	if err != nil {
		return nil, err
	}
	ticket, key, err := cluster.ServiceTicket(ctx, kerberos, "HTTP/"+host)
	if err != nil {
		return nil, ticketError(ctx, host, err)
	}
	init, err := spnego.NewNegTokenInitKRB5(kerberos, ticket, key)
	if err != nil {
		return nil, err
	}
	token, err := (&spnego.SPNEGOToken{Init: true, NegTokenInit: init}).Marshal()
	if err != nil {
		return nil, err
	}
	proof := base64.StdEncoding.EncodeToString(token)
	i.login.Hide(proof)
	return http.Header{"Authorization": {"Negotiate " + proof}}, nil
}

// ticketError returns why there is no ticket for a server.
func ticketError(ctx context.Context, host string, err error) error {
	answer := cluster.KDCError(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case answer != nil:
		err = answer
	default:
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("get a Kerberos ticket for HTTP/%s: %w", host, err)
}
