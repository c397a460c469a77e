package metrics

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"

	"github.com/rowtocol/rowtocol/report"
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
	p := push.New(g.address, Job).Gatherer(registry).Client(briefly{})
	for name, value := range labels(r) {
		p.Grouping(name, value)
	}
	if g.user != nil {
		password, _ := g.user.Password()
		p.BasicAuth(g.user.Username(), password)
	}
	return g.redact(p.AddContext(ctx))
}

// redact takes out of an error what is not for logs: the path of the address, and what a
// server may echo of the password.
func (g *Gateway) redact(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), g.address, g.origin)
	if password, ok := g.user.Password(); ok && password != "" {
		sent := base64.StdEncoding.EncodeToString([]byte(g.user.Username() + ":" + password))
		//guard: a server that echoes what it was sent would put the password into the log
		text = strings.NewReplacer(sent, "…", password, "…").Replace(text)
	}
	return fmt.Errorf("push gateway %s: %s", g.origin, text)
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 10

// briefly is a client that reads little of an answer, and follows it nowhere.
type briefly struct{}

func (briefly) Do(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	//guard: a server could send a message without end
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
