package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rowtocol/rowtocol/store"
)

// protocol is one way to talk to a name node.
type protocol struct {
	key  string // configuration key of a name node's address
	port string // the port if an address has none
}

var protocols = map[string]protocol{
	"hdfs":     {"dfs.namenode.rpc-address", "8020"},
	"webhdfs":  {"dfs.namenode.http-address", "9870"},
	"swebhdfs": {"dfs.namenode.https-address", "9871"},
}

// NameNodes returns the canonical form of scheme://authority, and the addresses (host:port)
// of its name nodes. The canonical authority is the name of a nameservice, or host:port in
// small letters. An empty authority means the name node or nameservice of fs.defaultFS. The
// addresses of a nameservice are in the order of dfs.ha.namenodes. A name node without a web
// address has its RPC host and the default port. The error is store.ErrScheme unless the
// scheme is hdfs, webhdfs or swebhdfs.
func (c *Conf) NameNodes(scheme, authority string) (canonical string, addrs []string, err error) {
	p, ok := protocols[scheme]
	if !ok {
		return "", nil, fmt.Errorf("%s://%s: %w", scheme, authority, store.ErrScheme)
	}
	if authority == "" {
		if authority, err = c.defaultAuthority(scheme); err != nil {
			return "", nil, err
		}
	}
	if c.isNameservice(authority) {
		addrs, err = c.nameservice(p, authority)
		return scheme + "://" + authority, addrs, err
	}
	host, port, err := splitAuthority(authority, p.port)
	if err != nil {
		return "", nil, fmt.Errorf("%s://%s: %w", scheme, authority, err)
	}
	if c.String("dfs.ha.namenodes."+host, "") != "" {
		return "", nil, fmt.Errorf("%s://%s: %s is a nameservice, which has no port", scheme, authority, host)
	}
	address := net.JoinHostPort(strings.ToLower(host), port)
	return scheme + "://" + address, []string{address}, nil
}

// defaultAuthority returns the authority of fs.defaultFS for a scheme.
func (c *Conf) defaultAuthority(scheme string) (string, error) {
	value := c.String("fs.defaultFS", "")
	if value == "" {
		return "", fmt.Errorf("%s:/// stands for fs.defaultFS, which is not set: name the host, "+
			"or set HADOOP_CONF_DIR to a directory whose core-site.xml has fs.defaultFS", scheme)
	}
	defaultScheme, rest, ok := strings.Cut(value, "://")
	defaultScheme = strings.ToLower(defaultScheme)
	authority, _, _ := strings.Cut(rest, "/")
	p, known := protocols[defaultScheme]
	if !ok || !known || authority == "" {
		return "", fmt.Errorf("%s:/// stands for fs.defaultFS, but %s is not a location on HDFS", scheme, value)
	}
	if defaultScheme == scheme || c.isNameservice(authority) {
		return authority, nil
	}
	host, port, err := splitAuthority(authority, p.port)
	if err != nil {
		return "", fmt.Errorf("fs.defaultFS %s: %w", value, err)
	}
	return c.counterpart(p, net.JoinHostPort(host, port), protocols[scheme]), nil
}

// counterpart returns the address at which a name node serves the protocol other. The node
// is the one that serves p at address. If no address is configured, the result is the node's
// host with the default port.
func (c *Conf) counterpart(p protocol, address string, other protocol) string {
	host, _, _ := net.SplitHostPort(address)
	for _, suffix := range append([]string{""}, c.suffixes()...) {
		if c.address(p, suffix, "") != address {
			continue
		}
		if found := c.address(other, suffix, host); found != "" {
			return found
		}
	}
	if single := c.address(other, "", host); single != "" {
		if h, _, _ := net.SplitHostPort(single); strings.EqualFold(h, host) {
			return single
		}
	}
	return net.JoinHostPort(host, other.port)
}

// WebNodes returns the scheme and the addresses at which the name nodes of hdfs://authority
// serve WebHDFS. authority is in the canonical form of NameNodes. The scheme is swebhdfs if
// dfs.http.policy offers TLS, else webhdfs. WebNodes returns an error if the configuration
// requires encrypted transfers and has no TLS. It also does if the web address outside of
// nameservices is on another host and no nameservice has the name node.
func (c *Conf) WebNodes(authority string) (scheme string, addrs []string, err error) {
	if scheme, err = c.webScheme(); err != nil {
		return "", nil, err
	}
	p := protocols[scheme]
	if c.isNameservice(authority) {
		addrs, err = c.nameservice(p, authority)
		return scheme, addrs, err
	}
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		return "", nil, err
	}
	standard := net.JoinHostPort(host, p.port)
	for _, suffix := range append([]string{""}, c.suffixes()...) {
		if strings.EqualFold(c.address(protocols["hdfs"], suffix, host), authority) {
			return scheme, []string{cmp.Or(c.address(p, suffix, host), standard)}, nil
		}
	}
	address := cmp.Or(c.address(p, "", host), standard)
	//guard: refuses a name node that may be of another cluster, which must not get tokens
	if h, _, _ := net.SplitHostPort(address); !strings.EqualFold(h, host) {
		return "", nil, fmt.Errorf("the configuration does not say where the name node %s serves WebHDFS: "+
			"%s is %s, which is another host. Add a NAME to dfs.nameservices, set dfs.namenode.rpc-address.NAME to %[1]s, "+
			"and set %[2]s.NAME to its web address", authority, p.key, address)
	}
	return scheme, []string{address}, nil
}

// webScheme returns the safest scheme of WebHDFS that the name nodes offer.
func (c *Conf) webScheme() (string, error) {
	const policy = "dfs.http.policy"
	switch value := strings.ToUpper(c.String(policy, "HTTP_ONLY")); value {
	case "HTTPS_ONLY", "HTTP_AND_HTTPS":
		return "swebhdfs", nil
	case "HTTP_ONLY":
		//guard: refuses a connection without encryption if the configuration requires it
		if key := c.asksForPrivacy(); key != "" {
			return "", fmt.Errorf("%s requires encrypted transfers, but %s=%s has no TLS. "+
				"To transfer without encryption all the same, write the location with webhdfs://", key, policy, value)
		}
		return "webhdfs", nil
	default:
		return "", fmt.Errorf("%s is %s, expected HTTP_ONLY, HTTPS_ONLY or HTTP_AND_HTTPS", policy, value)
	}
}

// asksForPrivacy returns the setting that requires encryption of all data transfers, or
// "".
func (c *Conf) asksForPrivacy() string {
	if c.Bool("dfs.encrypt.data.transfer", false) {
		return "dfs.encrypt.data.transfer=true"
	}
	const key = "dfs.data.transfer.protection"
	levels := list(strings.ToLower(c.String(key, "")))
	if len(levels) > 0 && !slices.ContainsFunc(levels, func(l string) bool { return l != "privacy" }) {
		return key + "=privacy"
	}
	return ""
}

// suffixes returns what follows a protocol's key for each name node of each nameservice in
// dfs.nameservices: .NAMESERVICE.ID, or .NAMESERVICE if dfs.ha.namenodes has no IDs.
func (c *Conf) suffixes() []string {
	var all []string
	for _, ns := range list(c.String("dfs.nameservices", "")) {
		ids := list(c.String("dfs.ha.namenodes."+ns, ""))
		if len(ids) == 0 {
			all = append(all, "."+ns)
		}
		for _, id := range ids {
			all = append(all, "."+ns+"."+id)
		}
	}
	return all
}

// address returns the address in the key p.key+suffix. It returns "" if the key is not set or
// its value is not an address. Unless host is empty, it replaces the host 0.0.0.0 or ::.
func (c *Conf) address(p protocol, suffix, host string) string {
	value := c.String(p.key+suffix, "")
	if value == "" {
		return ""
	}
	h, port, err := splitAuthority(value, p.port)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(h); ip != nil && ip.IsUnspecified() && host != "" {
		h = host
	}
	return net.JoinHostPort(h, port)
}

// isNameservice reports whether name is a nameservice: it has IDs of name nodes or an RPC
// address, or is in dfs.nameservices.
func (c *Conf) isNameservice(name string) bool {
	return c.String("dfs.ha.namenodes."+name, "") != "" ||
		c.String(protocols["hdfs"].key+"."+name, "") != "" ||
		slices.Contains(list(c.String("dfs.nameservices", "")), name)
}

// nameservice returns the addresses at which the name nodes of a nameservice serve p.
func (c *Conf) nameservice(p protocol, ns string) ([]string, error) {
	suffixes := []string{"." + ns}
	if ids := list(c.String("dfs.ha.namenodes."+ns, "")); len(ids) > 0 {
		suffixes = suffixes[:0]
		for _, id := range ids {
			suffixes = append(suffixes, "."+ns+"."+id)
		}
	}
	rpc := protocols["hdfs"]
	var addrs []string
	for _, suffix := range suffixes {
		host, _, _ := net.SplitHostPort(c.address(rpc, suffix, ""))
		address := c.address(p, suffix, host)
		if address == "" && host != "" && p != rpc {
			address = net.JoinHostPort(host, p.port)
		}
		if address == "" {
			return nil, fmt.Errorf("nameservice %s: the configuration has no address in %s%s", ns, p.key, suffix)
		}
		addrs = append(addrs, address)
	}
	return addrs, nil
}

// splitAuthority returns the host and port of an authority, or the given port if it has
// none. It removes the brackets of an IPv6 address.
func splitAuthority(authority, defaultPort string) (host, port string, err error) {
	//guard: refuses an address with a user or a password
	if strings.Contains(authority, "@") {
		return "", "", errors.New("a location cannot have a user or a password: HADOOP_USER_NAME names the user")
	}
	host, port = authority, defaultPort
	bracket := strings.LastIndexByte(authority, ']')
	switch {
	case strings.LastIndexByte(authority, ':') > bracket:
		if host, port, err = net.SplitHostPort(authority); err != nil {
			return "", "", err
		}
	case bracket >= 0:
		host = strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
		if len(host)+2 != len(authority) {
			return "", "", fmt.Errorf("%q is not a host", authority)
		}
	}
	// An IPv6 address has brackets, and nothing else has.
	if bracket >= 0 != (net.ParseIP(host) != nil && strings.Contains(host, ":")) {
		return "", "", fmt.Errorf("%q is not a host", authority)
	}
	if bracket < 0 && (host == "" || strings.ContainsAny(host, "/@?#[]:%, \t\r\n")) {
		return "", "", fmt.Errorf("%q is not a host", authority)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("%q is not a port", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

// list splits a value at commas and white space.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}
