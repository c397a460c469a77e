package webhdfs

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	// shunTime is for how long a data node that failed is avoided. A name node notices a dead
	// data node in about this time.
	shunTime = 10 * time.Minute
	// maxNodes is how many data nodes an operation tries.
	maxNodes = 3
	// maxOffers is how often to ask a name node for another data node.
	maxOffers = 8
)

// nodes are the data nodes that failed lately.
type nodes struct {
	mu    sync.Mutex
	until map[string]time.Time // until when to avoid a node, by host:port of its HTTP server
}

func (n *nodes) failed(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.until == nil {
		n.until = map[string]time.Time{}
	}
	n.until[address] = time.Now().Add(shunTime)
}

func (n *nodes) worked(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.until, address)
}

func (n *nodes) shunned(address string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.until[address])
}

// hosts returns the IP addresses of the nodes to avoid. A name node recognizes a data node
// neither by its name nor by the port of a redirect.
func (n *nodes) hosts(ctx context.Context) string {
	n.mu.Lock()
	var names []string
	for address, until := range n.until {
		if host, _, err := net.SplitHostPort(address); err == nil && time.Now().Before(until) {
			names = append(names, host)
		}
	}
	n.mu.Unlock()
	var ips []string
	for _, name := range names {
		if found := resolve(ctx, name); len(found) > 0 {
			ips = append(ips, found[0])
		}
	}
	return strings.Join(ips, ",")
}

// fault classifies an error by its source.
type fault int

const (
	nodeNotAtFault    fault = iota
	nodeFailed              // the node failed, and another may be asked
	nodeFailedHalfway       // the node failed, and may have done a part that must not be repeated
)

// dispatch asks a name node for the location of an operation, and calls visit with the location.
// If the name node answers the operation itself, as HttpFS does, visit gets the answer and no
// location.
func (s *Store) dispatch(ctx context.Context, c call, visit func(to *url.URL, resp *http.Response) (fault, error)) error {
	for tries := 1; ; tries++ {
		to, resp, err := s.pickNode(ctx, c)
		if err != nil {
			return err
		}
		f, err := visit(to, resp)
		if to == nil || s.isNameNode(to.Host) || ctx.Err() != nil {
			return err
		}
		if f == nodeNotAtFault {
			s.nodes.worked(to.Host)
			return err
		}
		s.nodes.failed(to.Host)
		//guard: does not repeat a call that may be half done at another node
		if f == nodeFailedHalfway || tries == maxNodes {
			return err
		}
	}
}

// isNameNode reports whether a host is one of the servers that redirect.
func (s *Store) isNameNode(host string) bool {
	for _, address := range s.addresses {
		if strings.EqualFold(address, host) {
			return true
		}
	}
	return false
}

// pickNode asks a name node for a data node until the data node has not failed lately. After
// maxOffers data nodes it accepts any.
func (s *Store) pickNode(ctx context.Context, c call) (*url.URL, *http.Response, error) {
	excluded := s.nodes.hosts(ctx)
	for offers := 1; ; offers++ {
		if excluded != "" {
			c = c.with("excludedatanodes", excluded)
		}
		resp, err := s.call(ctx, c)
		if excluded != "" && isNoNodeError(err) {
			excluded = ""
			delete(c.query, "excludedatanodes")
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		to, err := s.redirect(resp)
		if err != nil || to == nil {
			return nil, resp, err
		}
		if !s.nodes.shunned(to.Host) || offers >= maxOffers {
			return to, nil, nil
		}
	}
}

// with returns the call with another parameter.
func (c call) with(key, value string) call {
	query := map[string]string{key: value}
	for k, v := range c.query {
		if k != key {
			query[k] = v
		}
	}
	c.query = query
	return c
}

// isNoNodeError reports whether a name node found only excluded data nodes.
func isNoNodeError(err error) bool {
	remote, ok := asRemote(err)
	return ok && (strings.Contains(remote.Message, "Failed to find datanode") ||
		strings.Contains(remote.Message, "No active and not excluded nodes"))
}

// classifyFault returns nodeFailed if a data node is at fault, so that another may succeed.
func classifyFault(err error) fault {
	if _, answered := asRemote(err); answered || err == nil || store.Classify(err) != store.Retryable {
		return nodeNotAtFault
	}
	return nodeFailed
}

// classifyFaultOnce is classifyFault for an operation that must not be repeated. Another node is
// asked only if the operation did not reach the first node.
func classifyFaultOnce(err error) fault {
	if f := classifyFault(err); f == nodeNotAtFault || isDialError(err) {
		return f
	}
	return nodeFailedHalfway
}

func asRemote(err error) (*cluster.RemoteError, bool) {
	var remote *cluster.RemoteError
	ok := errors.As(err, &remote)
	return remote, ok
}
