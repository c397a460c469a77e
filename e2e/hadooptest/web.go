package hadooptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const poll = 100 * time.Millisecond

// WaitLive waits until n data nodes are in service and no name node that answers is in safe
// mode.
func (c *Cluster) WaitLive(ctx context.Context, n int) error { return c.waitLive(ctx, n, nil) }

// waitLive fails early if one of the needed daemons ends.
func (c *Cluster) waitLive(ctx context.Context, n int, needed []*Daemon) error {
	for {
		last := c.checkLive(ctx, n)
		if last == nil {
			return nil
		}
		for _, d := range needed {
			if err := d.failure(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d data nodes: %w: %w", n, ctx.Err(), last)
		case <-time.After(poll):
		}
	}
}

func (c *Cluster) checkLive(ctx context.Context, n int) error {
	asked := 0
	for _, nn := range c.NameNodes {
		if _, answers := nn.state(); !answers {
			continue
		}
		asked++
		var info struct{ LiveNodes, Safemode string }
		if err := c.bean(ctx, nn, "NameNodeInfo", &info); err != nil {
			return err
		}
		var nodes map[string]struct{ Capacity int64 }
		if err := json.Unmarshal([]byte(info.LiveNodes), &nodes); err != nil {
			return err
		}
		serving := 0
		for _, node := range nodes {
			if node.Capacity > 0 { // it has reported its storage
				serving++
			}
		}
		if serving != n {
			return fmt.Errorf("%s: %d data nodes", nn.Name, serving)
		}
		if info.Safemode != "" {
			return fmt.Errorf("%s: %s", nn.Name, info.Safemode)
		}
	}
	if asked == 0 {
		return errors.New("no name node is running")
	}
	return nil
}

// bean reads one of a name node's management beans.
func (c *Cluster) bean(ctx context.Context, nn *Daemon, name string, bean any) error {
	body, err := c.request(ctx, http.MethodGet, "http://"+nn.http+"/jmx?qry=Hadoop:service=NameNode,name="+name)
	if err != nil {
		return err
	}
	var answer struct{ Beans []json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if len(answer.Beans) == 0 {
		return errors.New("no " + name + " yet")
	}
	return json.Unmarshal(answer.Beans[0], bean)
}

// active returns the active name node.
func (c *Cluster) active(ctx context.Context) (*Daemon, error) {
	for _, nn := range c.NameNodes {
		if _, answers := nn.state(); !answers {
			continue
		}
		var status struct{ State string }
		if err := c.bean(ctx, nn, "NameNodeStatus", &status); err == nil && status.State == "active" {
			return nn, nil
		}
	}
	return nil, errors.New("no name node is active")
}

// Fsck returns the name node's report on all files under path: their blocks, and whether
// they are open.
func (c *Cluster) Fsck(ctx context.Context, path string) (string, error) {
	nn, err := c.active(ctx)
	if err != nil {
		return "", err
	}
	q := url.Values{"ugi": {superuser()}, "path": {path}, "files": {"1"}, "blocks": {"1"}, "openforwrite": {"1"}}
	body, err := c.request(ctx, http.MethodGet, "http://"+nn.http+"/fsck?"+q.Encode())
	return string(body), err
}

// Do sends a WebHDFS request that needs neither a body nor a data node, as the superuser, and
// returns the answer. Tests prepare files with it, as in Do(ctx, "PUT", "/dir",
// "op=SETQUOTA&namespacequota=3").
func (c *Cluster) Do(ctx context.Context, method, path, query string) (string, error) {
	nn, err := c.active(ctx)
	if err != nil {
		return "", err
	}
	u := url.URL{Scheme: "http", Host: nn.http, Path: "/webhdfs/v1" + path, RawQuery: query + "&user.name=" + superuser()}
	body, err := c.request(ctx, method, u.String())
	return string(body), err
}

// request sends a request as the superuser.
func (c *Cluster) request(ctx context.Context, method, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if k := c.config.Kerberos; k != nil {
		if err := k.authenticate(req, c.keytab); err != nil {
			return nil, err
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}
