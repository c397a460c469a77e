package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// Job is the program's job name on a push gateway.
const Job = "rowtocol"

// Gateway is a push gateway.
type Gateway struct {
	address string // address without the user
	origin  string // part of the address that messages may show
	user    *url.Userinfo
}

// NewGateway returns the gateway at an address, http://host:9091, which may have a user and
// a password. The error does not show the address.
func NewGateway(address string) (*Gateway, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of a push gateway is http://HOST:PORT or https://HOST:PORT, perhaps with a path")
	}
	g := &Gateway{user: u.User, origin: u.Scheme + "://" + u.Host}
	u.User = nil
	g.address = strings.TrimSuffix(u.String(), "/")
	return g, nil
}

// Push replaces the metrics of the previous run with the same destination and command. If the
// run did not succeed, the gateway keeps the time of the last success.
func (g *Gateway) Push(ctx context.Context, r *report.Run) error {
	registry := prometheus.NewRegistry()
	register(registry, r)
	if r.Succeeded() {
		addGauge(registry, lastSuccess, lastSuccessHelp, nil, unix(r.Ended))
	}
	p := push.New(g.address, Job).Gatherer(registry).Client(boundedClient{g.hasSecret()})
	for name, value := range labels(r) {
		p.Grouping(name, value)
	}
	if g.user != nil {
		password, _ := g.user.Password()
		p.BasicAuth(g.user.Username(), password)
	}
	return g.redact(p.AddContext(ctx))
}

// hasSecret reports whether the address has a user or a path, which must not be logged.
func (g *Gateway) hasSecret() bool { return g.user != nil || g.address != g.origin }

// redact removes the path of the address from an error. It also removes the server's
// answer if the address has secrets.
func (g *Gateway) redact(err error) error {
	if err == nil {
		return nil
	}
	// net/http quotes invalid parts of an answer.
	for _, quoting := range []string{"transport connection broken", "http2: "} {
		if g.hasSecret() && strings.Contains(err.Error(), quoting) {
			err = errors.New("its answer is not HTTP")
		}
	}
	return fmt.Errorf("push gateway %s: %s", g.origin, strings.ReplaceAll(err.Error(), g.address, g.origin))
}

// maxAnswer bounds the part of an answer that is read, in bytes.
const maxAnswer = 1 << 10

// boundedClient is an HTTP client that reads at most maxAnswer bytes of an answer, and none if the
// address is secret. It follows no redirects.
type boundedClient struct{ secret bool }

func (b boundedClient) Do(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	limit := int64(maxAnswer)
	//guard: drops an answer that may repeat secrets
	if b.secret {
		limit = 0
	}
	//guard: bounds the length of a server's message
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, limit), resp.Body}
	return resp, nil
}
