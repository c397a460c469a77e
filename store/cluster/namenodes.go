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
	key  string // of a name node's address in the configuration
	port string // default
}

var protocols = map[string]protocol{
	"hdfs":     {"dfs.namenode.rpc-address", "8020"},
	"webhdfs":  {"dfs.namenode.http-address", "9870"},
	"swebhdfs": {"dfs.namenode.https-address", "9871"},
}

// NameNodes returns the addresses (host:port) of an authority's name nodes, and the
// canonical spelling of scheme and authority: with the port, or the name of a
// nameservice. The scheme is hdfs, webhdfs or swebhdfs, else the error is
// store.ErrScheme. An empty authority is that of fs.defaultFS. A nameservice has only
// its own addresses in the configuration, in their order.
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
		return "", fmt.Errorf("%s:/// needs fs.defaultFS, which no configuration sets "+
			"(HADOOP_CONF_DIR, HADOOP_HOME)", scheme)
	}
	theirs, rest, ok := strings.Cut(value, "://")
	theirs = strings.ToLower(theirs)
	authority, _, _ := strings.Cut(rest, "/")
	p, known := protocols[theirs]
	if !ok || !known || authority == "" {
		return "", fmt.Errorf("%s:/// stands for fs.defaultFS, but that is %s", scheme, value)
	}
	if theirs == scheme || c.isNameservice(authority) {
		return authority, nil
	}
	host, port, err := splitAuthority(authority, p.port)
	if err != nil {
		return "", fmt.Errorf("fs.defaultFS %s: %w", value, err)
	}
	return c.counterpart(p, net.JoinHostPort(host, port), protocols[scheme]), nil
}

// counterpart returns the address for protocol other of the name node that has the
// given address for p.
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
	if suffixless := c.address(other, "", host); suffixless != "" {
		if h, _, _ := net.SplitHostPort(suffixless); strings.EqualFold(h, host) {
			return suffixless
		}
	}
	return net.JoinHostPort(host, other.port)
}

// WebNodes returns the WebHDFS addresses of the name nodes of an authority of hdfs, as
// NameNodes spells it, and the scheme: swebhdfs if dfs.http.policy offers TLS, else
// webhdfs. A configuration that requires encrypted transfers but offers none is an
// error, and so is one that has only other name nodes.
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
	//guard: shows no token to another cluster
	if h, _, _ := net.SplitHostPort(address); !strings.EqualFold(h, host) {
		return "", nil, fmt.Errorf("the configuration does not say where the name node %s serves HTTP: "+
			"%s is %s, and no dfs.namenode.rpc-address.NAME, with NAME in dfs.nameservices and its %s.NAME, is %[1]s",
			authority, p.key, address, p.key)
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
		//guard: refuses a connection that is not encrypted as asked
		if key := c.asksForPrivacy(); key != "" {
			return "", fmt.Errorf("%s requires encrypted transfers, but %s=%s offers none over HTTP "+
				"(a location that begins with webhdfs:// does not require them)", key, policy, value)
		}
		return "webhdfs", nil
	default:
		return "", fmt.Errorf("%s is %s, which is not known", policy, value)
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

// suffixes returns the endings of the keys of all nameservices' name nodes.
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

// address returns the address of a protocol from the keys with a suffix, or "". If that
// is the address of all interfaces, host replaces it.
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

func (c *Conf) isNameservice(name string) bool {
	return c.String("dfs.ha.namenodes."+name, "") != "" ||
		c.String(protocols["hdfs"].key+"."+name, "") != "" ||
		slices.Contains(list(c.String("dfs.nameservices", "")), name)
}

// nameservice returns the addresses of a nameservice's name nodes.
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
	//guard: refuses an address with a password
	if strings.Contains(authority, "@") {
		return "", "", errors.New("not a host alone: HADOOP_USER_NAME names the user")
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

// list splits the value of a list.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}
