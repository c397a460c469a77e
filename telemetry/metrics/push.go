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

// Job is the name under which a push gateway knows the program.
const Job = "rowtocol"

// Gateway is a push gateway.
type Gateway struct {
	address string // without the user
	origin  string // the part of the address that messages may tell
	user    *url.Userinfo
}

// NewGateway returns the gateway at an address, http://host:9091, in which a user and a
// password may stand. The error does not show the address.
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

// Push adds the metrics of a run to the group of its destination and command, in place of
// those of the run before. If the run did not succeed, the gateway keeps the time of the
// last success that it has.
func (g *Gateway) Push(ctx context.Context, r *report.Run) error {
	registry := prometheus.NewRegistry()
	register(registry, r)
	if r.Succeeded() {
		set(registry, lastSuccess, lastSuccessHelp, nil, unix(r.Ended))
	}
	p := push.New(g.address, Job).Gatherer(registry).Client(briefly{g.secret()})
	for name, value := range labels(r) {
		p.Grouping(name, value)
	}
	if g.user != nil {
		password, _ := g.user.Password()
		p.BasicAuth(g.user.Username(), password)
	}
	return g.redact(p.AddContext(ctx))
}

// secret reports whether the address has what is not for logs: a user, a path.
func (g *Gateway) secret() bool { return g.user != nil || g.address != g.origin }

// redact takes the path of the address out of an error. What a server answers is not in
// it where the address has secrets.
func (g *Gateway) redact(err error) error {
	if err == nil {
		return nil
	}
	// net/http quotes what it does not understand of an answer.
	for _, quoting := range []string{"transport connection broken", "http2: "} {
		if g.secret() && strings.Contains(err.Error(), quoting) {
			err = errors.New("its answer is no HTTP")
		}
	}
	return fmt.Errorf("push gateway %s: %s", g.origin, strings.ReplaceAll(err.Error(), g.address, g.origin))
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 10

// briefly is a client that reads little of an answer, and follows it nowhere.
type briefly struct{ secret bool }

func (b briefly) Do(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	most := int64(maxAnswer)
	//guard: keeps secrets out of the log
	if b.secret {
		most = 0
	}
	//guard: bounds the length of a server's message
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, most), resp.Body}
	return resp, nil
}
