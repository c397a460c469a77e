package cluster

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

// federation has three nameservices: with two name nodes, with one, and without
// addresses.
var federation = map[string]string{
	"fs.defaultFS":                           "hdfs://ns1/",
	"dfs.nameservices":                       "ns1, ns2,bare",
	"dfs.ha.namenodes.ns1":                   "nn1,nn2",
	"dfs.namenode.rpc-address.ns1.nn1":       "a.example.com:8030",
	"dfs.namenode.rpc-address.ns1.nn2":       "b.example.com",
	"dfs.namenode.http-address.ns1.nn1":      "0.0.0.0:9999",
	"dfs.namenode.https-address.ns1.nn2":     "B.example.com:50470",
	"dfs.namenode.rpc-address.ns2":           "c.example.com:8020",
	"dfs.namenode.http-address.ns2":          "c.example.com:9870",
	"dfs.namenode.servicerpc-address.ns2":    "c.example.com:8021",
	"dfs.ha.namenodes.other":                 "x",
	"dfs.namenode.rpc-address.other.missing": "d.example.com:8020",
}

// single has one name node and no nameservice.
var single = map[string]string{
	"fs.defaultFS":               "hdfs://NN.example.com",
	"dfs.namenode.rpc-address":   "nn.example.com:8020",
	"dfs.namenode.http-address":  "0.0.0.0:50070",
	"dfs.namenode.https-address": "elsewhere.example.com:1",
}

func TestNameNodes(t *testing.T) {
	with := func(properties map[string]string, key, value string) map[string]string {
		m := map[string]string{key: value}
		for k, v := range properties {
			if k != key {
				m[k] = v
			}
		}
		return m
	}
	for _, test := range []struct {
		name              string
		conf              map[string]string
		scheme, authority string
		canonical, addrs  string
	}{
		{"two name nodes", federation, "hdfs", "ns1", "hdfs://ns1", "a.example.com:8030 b.example.com:8020"},
		{"their web ports", federation, "webhdfs", "ns1", "webhdfs://ns1", "a.example.com:9999 b.example.com:9870"},
		{"their secure web ports", federation, "swebhdfs", "ns1", "swebhdfs://ns1", "a.example.com:9871 B.example.com:50470"},
		{"one name node", federation, "hdfs", "ns2", "hdfs://ns2", "c.example.com:8020"},
		{"its web port", federation, "webhdfs", "ns2", "webhdfs://ns2", "c.example.com:9870"},
		{"the default", federation, "hdfs", "", "hdfs://ns1", "a.example.com:8030 b.example.com:8020"},
		{"the default by web", federation, "webhdfs", "", "webhdfs://ns1", "a.example.com:9999 b.example.com:9870"},
		{"a host of no nameservice", federation, "hdfs", "Z.example.com", "hdfs://z.example.com:8020", "z.example.com:8020"},
		{"a host with a port", nil, "hdfs", "h:9000", "hdfs://h:9000", "h:9000"},
		{"web", nil, "webhdfs", "h", "webhdfs://h:9870", "h:9870"},
		{"secure web", nil, "swebhdfs", "h", "swebhdfs://h:9871", "h:9871"},
		{"a leading zero", nil, "hdfs", "h:08020", "hdfs://h:8020", "h:8020"},
		{"IPv4", nil, "hdfs", "127.0.0.1", "hdfs://127.0.0.1:8020", "127.0.0.1:8020"},
		{"IPv6", nil, "hdfs", "[::1]", "hdfs://[::1]:8020", "[::1]:8020"},
		{"IPv6 with a port", nil, "webhdfs", "[FE80::1]:1234", "webhdfs://[fe80::1]:1234", "[fe80::1]:1234"},
		{"the default host", single, "hdfs", "", "hdfs://nn.example.com:8020", "nn.example.com:8020"},
		{"the default host's web port", single, "webhdfs", "", "webhdfs://nn.example.com:50070", "nn.example.com:50070"},
		{"a web port of another host", single, "swebhdfs", "", "swebhdfs://nn.example.com:9871", "nn.example.com:9871"},
		{"the default with a port of its own", with(single, "fs.defaultFS", "hdfs://other:9000/x"), "hdfs", "", "hdfs://other:9000", "other:9000"},
		{"its web port is not that", with(single, "fs.defaultFS", "hdfs://other:9000"), "webhdfs", "", "webhdfs://other:50070", "other:50070"},
		{"a federated default host", with(federation, "fs.defaultFS", "hdfs://a.example.com:8030"), "webhdfs", "", "webhdfs://a.example.com:9999", "a.example.com:9999"},
		{"a default by web", with(single, "fs.defaultFS", "webhdfs://w:50070"), "hdfs", "", "hdfs://w:8020", "w:8020"},
		{"the old name of the default", map[string]string{"fs.default.name": "hdfs://h"}, "hdfs", "", "hdfs://h:8020", "h:8020"},
	} {
		t.Run(test.name, func(t *testing.T) {
			canonical, addrs, err := NewConf(test.conf).NameNodes(test.scheme, test.authority)
			if err != nil || canonical != test.canonical || !slices.Equal(addrs, strings.Fields(test.addrs)) {
				t.Fatalf("got %s %v %v, want %s %s", canonical, addrs, err, test.canonical, test.addrs)
			}
			_, authority, _ := strings.Cut(canonical, "://")
			again, same, err := NewConf(test.conf).NameNodes(test.scheme, authority)
			if err != nil || again != canonical || !slices.Equal(same, addrs) {
				t.Errorf("%s resolves to %s %v (%v)", canonical, again, same, err)
			}
		})
	}
}

func TestNameNodesErrors(t *testing.T) {
	for _, test := range []struct {
		conf                    map[string]string
		scheme, authority, says string
	}{
		{federation, "hdfs", "bare", "dfs.namenode.rpc-address.bare"},
		{federation, "webhdfs", "bare", "dfs.namenode.http-address.bare"},
		{federation, "hdfs", "other", "dfs.namenode.rpc-address.other.x"},
		{federation, "hdfs", "ns1:8020", "no port"},
		{federation, "s3a", "ns1", "s3a://ns1"},
		{nil, "hdfs", "", "fs.defaultFS"},
		{map[string]string{"fs.defaultFS": "file:///"}, "hdfs", "", "file:///"},
		{map[string]string{"fs.defaultFS": "viewfs://x"}, "webhdfs", "", "viewfs://x"},
		{map[string]string{"fs.defaultFS": "hdfs:///"}, "hdfs", "", "hdfs:///"},
		{nil, "hdfs", "h:port", "port"},
		{nil, "hdfs", "h:0", "port"},
		{nil, "hdfs", "h:65536", "port"},
		{nil, "hdfs", "h:", "port"},
		{nil, "hdfs", ":8020", "not a host"},
		{nil, "hdfs", "user@h", "cannot have a user or a password"},
		{nil, "hdfs", "::1", "too many colons"},
		{nil, "hdfs", "[::1", "missing"},
		{nil, "hdfs", "[h]", "not a host"},
		{nil, "hdfs", "[::1]x", "not a host"},
		{nil, "hdfs", "a b", "not a host"},
	} {
		_, _, err := NewConf(test.conf).NameNodes(test.scheme, test.authority)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s://%s: got %v, want one that says %q", test.scheme, test.authority, err, test.says)
		}
	}
	if _, _, err := NewConf(nil).NameNodes("s3a", "x"); !errors.Is(err, store.ErrScheme) {
		t.Errorf("another scheme: %v", err)
	}
}

func TestWebNodes(t *testing.T) {
	more := func(conf map[string]string, properties ...string) map[string]string {
		m := maps.Clone(conf)
		for i := 0; i < len(properties); i += 2 {
			m[properties[i]] = properties[i+1]
		}
		return m
	}
	const policy, protection = "dfs.http.policy", "dfs.data.transfer.protection"
	for _, test := range []struct {
		name        string
		conf        map[string]string
		authority   string
		want, fails string
	}{
		{name: "two name nodes", conf: federation, authority: "ns1", want: "webhdfs a.example.com:9999 b.example.com:9870"},
		{name: "by TLS", conf: more(federation, policy, "HTTPS_ONLY"), authority: "ns1", want: "swebhdfs a.example.com:9871 B.example.com:50470"},
		{name: "TLS if there is a choice", conf: more(federation, policy, "http_and_https"), authority: "ns2", want: "swebhdfs c.example.com:9871"},
		{name: "one of two name nodes", conf: federation, authority: "a.example.com:8030", want: "webhdfs a.example.com:9999"},
		{name: "of another nameservice", conf: federation, authority: "c.example.com:8020", want: "webhdfs c.example.com:9870"},
		{name: "the only one", conf: single, authority: "nn.example.com:8020", want: "webhdfs nn.example.com:50070"},
		{name: "the only one, on another host", conf: more(single, policy, "HTTPS_ONLY"), authority: "nn.example.com:8020", want: "swebhdfs elsewhere.example.com:1"},
		{name: "the same host", conf: map[string]string{"dfs.namenode.http-address": "NN:1"}, authority: "nn:8020", want: "webhdfs NN:1"},
		{name: "all defaults", authority: "nn:8020", want: "webhdfs nn:9870"},
		{name: "the defaults of a job", conf: map[string]string{"dfs.namenode.http-address": "0.0.0.0:9870"}, authority: "[fe80::1]:8020", want: "webhdfs [fe80::1]:9870"},
		{name: "all interfaces", conf: map[string]string{"dfs.namenode.rpc-address": "0.0.0.0:8020", "dfs.namenode.http-address": "0.0.0.0:1"}, authority: "nn:8020", want: "webhdfs nn:1"},
		{name: "encryption is optional", conf: more(single, protection, "privacy,authentication"), authority: "nn.example.com:8020", want: "webhdfs nn.example.com:50070"},
		{name: "encryption is required", conf: more(single, protection, "privacy", policy, "HTTPS_ONLY"), authority: "nn.example.com:8020", want: "swebhdfs elsewhere.example.com:1"},
		{name: "no address", conf: federation, authority: "bare", fails: "dfs.namenode.http-address.bare"},
		{name: "an unknown name node", conf: map[string]string{"dfs.namenode.http-address": "nn:9870"}, authority: "other:8020", fails: "name node other:8020 serves WebHDFS: dfs.namenode.http-address is nn:9870"},
		{name: "a policy", conf: map[string]string{policy: "FTP_ONLY"}, authority: "nn:8020", fails: "dfs.http.policy is FTP_ONLY"},
		{name: "privacy", conf: more(single, protection, "Privacy"), authority: "nn.example.com:8020", fails: "dfs.data.transfer.protection=privacy"},
		{name: "encryption", conf: more(single, "dfs.encrypt.data.transfer", "true"), authority: "nn.example.com:8020", fails: "dfs.encrypt.data.transfer=true"},
		{name: "no port", authority: "nn", fails: "missing port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			scheme, addrs, err := NewConf(test.conf).WebNodes(test.authority)
			switch got := strings.Join(append([]string{scheme}, addrs...), " "); {
			case test.fails != "":
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("got %s, %v, want an error that says %q", got, err, test.fails)
				}
			case err != nil || got != test.want:
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}
