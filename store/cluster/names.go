package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// HostNames knows which hosts of name nodes have a name that was resolved, and which never had.
// The zero value knows none.
type HostNames struct {
	mu       sync.Mutex
	resolved map[string]bool // by host; one that is not there was not asked for
}

// Note notes what came of a connection to an address.
func (n *HostNames) Note(address string, err error) {
	host := hostOf(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.resolved == nil {
		n.resolved = make(map[string]bool)
	}
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		n.resolved[host] = true
	case dns.IsNotFound && !n.resolved[host] && strings.EqualFold(strings.TrimSuffix(dns.Name, "."), host):
		n.resolved[host] = false
	}
}

// Judge returns an error of storage that is not available; it is store.ErrUnresolved too if
// there is no host of any of these names, and never was.
func (n *HostNames) Judge(addresses []string, err error) error {
	if !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, address := range addresses {
		if resolved, tried := n.resolved[hostOf(address)]; resolved || !tried {
			return err
		}
	}
	return fmt.Errorf("%w (it may be misspelt, or a nameservice that is not configured): %w", store.ErrUnresolved, err)
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
