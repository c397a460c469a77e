package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// HostNames records which host names of name nodes resolved, and which never did. The zero value
// has no names.
type HostNames struct {
	mu       sync.Mutex
	resolved map[string]bool // whether a host name resolved; it is absent if it was never looked up
}

// Note records the result of a connection to an address.
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

// Judge adds store.ErrUnresolved to err if err is store.ErrUnavailable and none of the host names
// in addresses resolves or ever did. It returns other errors unchanged.
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
