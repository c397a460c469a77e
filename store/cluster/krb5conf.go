package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// realms is the content of krb5.conf. The parser of the Kerberos library does not read included
// files. It uses the last of repeated settings and sections, but Kerberos uses the first. It also
// fails on braces in settings that it does not need. So it gets only plain settings.
type realms struct {
	config    *config.Config
	cacheName string // default_ccache_name, or empty
}

// loadRealms reads the files that KRB5_CONFIG lists, else /etc/krb5.conf.
func loadRealms() (*realms, error) {
	list := os.Getenv("KRB5_CONFIG")
	if list == "" {
		list = "/etc/krb5.conf"
	}
	p := profile{}
	found := false
	for _, name := range filepath.SplitList(list) {
		err := p.file(name, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("Kerberos configuration: %w", err)
		}
		found = found || err == nil
	}
	if !found {
		return nil, fmt.Errorf("Kerberos configuration: there is no %s (set KRB5_CONFIG)", list)
	}
	r, err := p.realms()
	if err != nil {
		return nil, fmt.Errorf("Kerberos configuration: %s: %w", list, err)
	}
	return r, nil
}

// setting is a line of a krb5.conf. where is the section and the names of the open braces.
type setting struct {
	where      string
	key, value string
}

// profile is the settings of krb5.conf and the files that it includes, in order.
type profile struct {
	settings []setting
}

const maxProfileDepth = 10 // levels of include

func (p *profile) file(name string, depth int) error {
	//guard: bounds how deep files include each other
	if depth > maxProfileDepth {
		return fmt.Errorf("%s: files include each other without end", name)
	}
	data, err := readFile(name)
	if err != nil {
		return err
	}
	return p.parse(name, string(data), depth)
}

// parse adds the settings of a file. An included file starts and ends outside of all
// sections.
func (p *profile) parse(name, text string, depth int) error {
	var path []string // section and braces
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, " \t\r\n")
		line := strings.TrimSpace(raw)
		key, value, assigns := strings.Cut(line, "=")
		key, value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(key), "*")), strings.TrimSpace(value)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case strings.HasPrefix(raw, "include ") || strings.HasPrefix(raw, "includedir "):
			if err := p.include(raw, depth); err != nil {
				// Not wrapped: a file that is named explicitly must exist.
				return fmt.Errorf("%s: %v", name, err)
			}
		case strings.HasPrefix(raw, "module "):
			return fmt.Errorf("%s: module is not supported", name)
		case line[0] == '[':
			section, _, _ := strings.Cut(line[1:], "]")
			path = []string{strings.ToLower(strings.TrimSpace(section))}
		case len(path) == 0:
			return fmt.Errorf("%s: %q is outside of all sections", name, line)
		case line[0] == '}':
			if len(path) == 1 {
				return fmt.Errorf("%s: } without {", name)
			}
			path = path[:len(path)-1]
		case assigns && value == "{":
			path = append(path, key)
		case assigns:
			p.settings = append(p.settings, setting{strings.Join(path, "/"), key, unquote(value)})
		default:
			return fmt.Errorf("%s: %q is not a setting", name, line)
		}
	}
	return nil
}

var includable = lazyregexp.New(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`)

// include reads the file, or the files of the directory, of an include line.
func (p *profile) include(line string, depth int) error {
	directive, target, _ := strings.Cut(line, " ")
	target = strings.TrimSpace(target)
	if directive == "include" {
		return p.file(target, depth+1)
	}
	entries, err := os.ReadDir(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !includable.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		if err := p.file(filepath.Join(target, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func unquote(value string) string {
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}

// first returns the first of the values that a key has somewhere.
func (p *profile) first(where, key string) string {
	for _, s := range p.settings {
		if s.where == where && s.key == key {
			return s.value
		}
	}
	return ""
}

// passedSettings are the settings that the library gets. Other settings have no effect on a client,
// or a harmful effect. For example, with renew_lifetime the library asks for renewable service
// tickets, and always for 48 hours.
var passedSettings = []string{
	"default_realm", "clockskew", "ticket_lifetime", "noaddresses", "canonicalize",
	"udp_preference_limit", "dns_lookup_kdc", "allow_weak_crypto",
}

// standardEnctypes are the encryption types that Kerberos permits by default
// and the library knows. The library's own default lacks those with SHA-2.
const standardEnctypes = "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96 " +
	"aes256-cts-hmac-sha384-192 aes128-cts-hmac-sha256-128 des3-cbc-sha1 arcfour-hmac"

func (p *profile) realms() (*realms, error) {
	var b strings.Builder
	fmt.Fprintln(&b, "[libdefaults]")
	// By default, Kerberos looks for distribution centers in the DNS.
	if p.first("libdefaults", "dns_lookup_kdc") == "" {
		fmt.Fprintln(&b, "dns_lookup_kdc = true")
	}
	for _, key := range passedSettings {
		if value := p.first("libdefaults", key); value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, boolean(value))
		}
	}
	permitted := p.enctypes("permitted_enctypes", standardEnctypes)
	fmt.Fprintf(&b, "permitted_enctypes = %s\n", permitted)
	for _, key := range []string{"default_tkt_enctypes", "default_tgs_enctypes"} {
		fmt.Fprintf(&b, "%s = %s\n", key, p.enctypes(key, permitted))
	}
	c, err := config.NewFromString(b.String())
	if err != nil {
		return nil, err
	}
	for _, s := range p.settings {
		section, realm, _ := strings.Cut(s.where, "/")
		switch {
		case s.where == "domain_realm":
			if domain := strings.ToLower(s.key); c.DomainRealm[domain] == "" {
				c.DomainRealm[domain] = s.value
			}
		case section == "realms" && s.key == "kdc" && !strings.Contains(realm, "/"):
			addKDC(c, realm, s.value)
		}
	}
	return &realms{config: c, cacheName: p.first("libdefaults", "default_ccache_name")}, nil
}

func boolean(value string) string {
	switch strings.ToLower(value) {
	case "on":
		return "true"
	case "off", "nil":
		return "false"
	}
	return value
}

// enctypes returns the list of encryption types in a setting. It returns def if the setting is
// missing, or if the library knows none of the types.
func (p *profile) enctypes(key, def string) string {
	names := list(p.first("libdefaults", key))
	probe, err := config.NewFromString("[libdefaults]\npermitted_enctypes = " + strings.Join(names, " "))
	if err != nil || len(probe.LibDefaults.PermittedEnctypeIDs) == 0 {
		return def
	}
	return strings.Join(names, " ")
}

// addKDC adds a distribution center to its realm.
func addKDC(c *config.Config, realm, address string) {
	address = strings.TrimSpace(strings.TrimSuffix(address, "*"))
	host, port, err := splitAuthority(address, "88")
	if err != nil {
		return
	}
	address = net.JoinHostPort(host, port)
	i := slices.IndexFunc(c.Realms, func(r config.Realm) bool { return r.Realm == realm })
	if i < 0 {
		c.Realms = append(c.Realms, config.Realm{Realm: realm})
		i = len(c.Realms) - 1
	}
	c.Realms[i].KDC = append(c.Realms[i].KDC, address)
}

// library returns a configuration that shares no mutable data with the configurations of other
// clients. At each request the library shuffles the distribution centers of a realm in place.
func (r *realms) library() *config.Config {
	c := *r.config
	c.Realms = slices.Clone(c.Realms)
	for i := range c.Realms {
		c.Realms[i].KDC = slices.Clone(c.Realms[i].KDC)
	}
	return &c
}
