package metrics

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/common/expfmt"

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

// Push replaces the metrics of the previous run of the same job. If the run did not succeed, the
// gateway keeps the time of the last success.
func (g *Gateway) Push(ctx context.Context, r *report.Run) error {
	all := families(r, nil)
	if r.Succeeded() {
		all = append(all, family(lastSuccess, lastSuccessHelp, unix(r.Ended), nil))
	}
	body := new(bytes.Buffer)
	if err := write(body, all); err != nil {
		return err
	}
	// POST replaces the metrics that it sends, and keeps the others of the group.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address+group(r), body)
	if err != nil {
		return g.redact(err)
	}
	req.Header.Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	if g.user != nil {
		password, _ := g.user.Password()
		req.SetBasicAuth(g.user.Username(), password)
	}
	return g.redact(g.send(req))
}

// group returns the path of the group of a run's metrics. The name of a job may have any
// characters, so it is in base64. A gateway reads = as an empty value.
func group(r *report.Run) string {
	encoded := base64.RawURLEncoding.EncodeToString([]byte(jobName(r)))
	return "/metrics/job/" + Job + "/job_name@base64/" + cmp.Or(encoded, "=")
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

// send sends a request. It follows no redirects. Its error has at most maxAnswer bytes of the
// answer, and none if the address has secrets.
func (g *Gateway) send(req *http.Request) error {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusAccepted {
		return nil
	}
	limit := int64(maxAnswer)
	//guard: drops an answer that may repeat secrets
	if g.hasSecret() {
		limit = 0
	}
	var answer io.Reader = resp.Body
	//guard: bounds the length of a server's message
	answer = io.LimitReader(answer, limit)
	text, _ := io.ReadAll(answer) // the status is the error
	return fmt.Errorf("unexpected status code %d: %s", resp.StatusCode, text)
}
