package location

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const hdfsSite = `<configuration>
<property><name>dfs.nameservices</name><value>ns</value></property>
<property><name>dfs.ha.namenodes.ns</name><value>a,b</value></property>
<property><name>dfs.namenode.rpc-address.ns.a</name><value>one:8020</value></property>
<property><name>dfs.namenode.rpc-address.ns.b</name><value>two:8020</value></property>
<property><name>dfs.namenode.http-address.ns.a</name><value>one:9870</value></property>
<property><name>dfs.namenode.http-address.ns.b</name><value>two:9870</value></property>
</configuration>`

const coreSite = `<configuration>
<property><name>fs.defaultFS</name><value>hdfs://ns</value></property>
</configuration>`

// configure points HADOOP_CONF_DIR to files with the given contents.
func configure(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("HADOOP_CONF_DIR", dir)
	t.Setenv("HADOOP_USER_NAME", "etl")
}

func TestResolve(t *testing.T) {
	configure(t, map[string]string{"hdfs-site.xml": hdfsSite, "core-site.xml": coreSite})
	r := New(Options{})
	defer func() { _ = r.Close() }()
	tests := []struct{ location, origin, path string }{
		{"a/b", "", "a/b"},
		{"file:///a", "", "/a"},
		{"hdfs://ns/a//b/../c", "hdfs://ns", "/a/c"},
		{"hdfs:///a", "hdfs://ns", "/a"},
		{"hdfs://ns", "hdfs://ns", "/"},
		{"HDFS://other/a", "hdfs://other:8020", "/a"},
		{"hdfs://other:8020/a b%20*", "hdfs://other:8020", "/a b%20*"},
		{"webhdfs://ns/a", "webhdfs://ns", "/a"},
		{"swebhdfs://other/a", "swebhdfs://other:9871", "/a"},
	}
	stores := map[string]store.Store{}
	for _, tt := range tests {
		got, err := r.Resolve(tt.location)
		if err != nil || got.Origin != tt.origin || got.Path != tt.path {
			t.Errorf("%s is %s and %s, %v; want %s and %s", tt.location, got.Origin, got.Path, err, tt.origin, tt.path)
			continue
		}
		if known := stores[got.Origin]; known != nil && known != got.Store {
			t.Errorf("%s: another store for the same origin", tt.location)
		}
		stores[got.Origin] = got.Store
		again, err := r.Resolve(got.Origin + got.Path)
		if err != nil || again != got {
			t.Errorf("%s does not resolve to itself again: %v, %v", got.Origin+got.Path, again, err)
		}
	}
}

// TestResolveAtOnce resolves the first location of an origin in many goroutines.
func TestResolveAtOnce(t *testing.T) {
	configure(t, map[string]string{"hdfs-site.xml": hdfsSite})
	r := New(Options{})
	defer func() { _ = r.Close() }()
	stores := make([]store.Store, 8)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			got, err := r.Resolve("hdfs://ns/a")
			if err != nil {
				t.Error(err)
			}
			stores[i] = got.Store
		})
	}
	all.Wait()
	for _, st := range stores {
		if st != stores[0] {
			t.Fatal("two stores for one origin")
		}
	}
}

func TestResolveFails(t *testing.T) {
	tests := []struct {
		name, location string
		files          map[string]string
		class          store.Class
	}{
		{"scheme", "s3://bucket/key", nil, store.Unsupported},
		{"token", "webhdfs://nn/a?op=OPEN&Delegation=x", nil, store.Unknown},
		{"no default file system", "hdfs:///a", nil, store.Unknown},
		{"broken configuration", "hdfs://nn/a", map[string]string{"core-site.xml": "<configuration>"}, store.Unknown},
		{"nameservice with port", "hdfs://ns:8020/a", map[string]string{"hdfs-site.xml": hdfsSite}, store.Unknown},
		{"protection that the client cannot read", "hdfs://nn/a", map[string]string{"core-site.xml": `<configuration>
			<property><name>dfs.encrypt.data.transfer</name><value>true</value></property></configuration>`}, store.Final},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			configure(t, tt.files)
			r := New(Options{})
			defer func() { _ = r.Close() }()
			_, err := r.Resolve(tt.location)
			if err == nil || store.Classify(err) != tt.class {
				t.Errorf("%v, of class %v", err, store.Classify(err))
			}
		})
	}
}

// TestGivenConf checks that a given configuration replaces that of the environment.
func TestGivenConf(t *testing.T) {
	configure(t, map[string]string{"core-site.xml": coreSite, "hdfs-site.xml": hdfsSite})
	r := New(Options{Hadoop: Hadoop{
		Conf: cluster.NewConf(map[string]string{"fs.defaultFS": "hdfs://given:9000"}), Login: cluster.LoginOptions{User: "job"},
	}})
	defer func() { _ = r.Close() }()
	got, err := r.Resolve("hdfs:///a")
	if err != nil || got.Origin != "hdfs://given:9000" {
		t.Errorf("%s, %v", got.Origin, err)
	}
	if user := r.login.User(); user != "job" {
		t.Errorf("logged in as %s", user)
	}
}

// TestTokens resolves hdfs:// locations with a file of delegation tokens that Hadoop
// wrote. One token is for the nameservice mycluster.
func TestTokens(t *testing.T) {
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", filepath.Join("..", "cluster", "testdata", "writable.token"))
	asked := make(chan url.Values, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query()
		_, _ = io.WriteString(w, `{"FileStatus":{"type":"FILE","length":7,"fileId":9}}`)
	}))
	defer server.Close()
	at := server.Listener.Addr().String()
	for _, tt := range []struct {
		name, location string
		conf           map[string]string
		token          bool
		says           string
	}{
		{"secure", "hdfs://mycluster/a", map[string]string{"dfs.namenode.rpc-address.mycluster": "nn:8020", "dfs.namenode.http-address.mycluster": at}, true, ""},
		{"another name node", "hdfs://other/a", map[string]string{"dfs.namenode.http-address": "nn:9870"}, false, "hdfs://other/a: the configuration does not say"},
		{"not secure", "hdfs://other:8020/a", map[string]string{"dfs.namenode.http-address": "nn:9870", "hadoop.security.authentication": "simple"}, false, ""},
		{"by HTTP anyway", "webhdfs://other:9870/a", nil, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf := map[string]string{"hadoop.security.authentication": "kerberos"}
			maps.Copy(conf, tt.conf)
			r := New(Options{Hadoop: Hadoop{Tokens: true, Conf: cluster.NewConf(conf)}})
			defer func() { _ = r.Close() }()
			l, err := r.Resolve(tt.location)
			if tt.says != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.says) {
					t.Errorf("%v, want an error that says %q", err, tt.says)
				}
				return
			}
			if err != nil || l.Origin+l.Path != tt.location {
				t.Fatalf("%s is %s and %s, %v", tt.location, l.Origin, l.Path, err)
			}
			if !tt.token {
				return
			}
			if info, err := l.Store.Stat(t.Context(), l.Path); err != nil || info.Size != 7 {
				t.Fatal(info, err)
			}
			if query := <-asked; !query.Has("delegation") {
				t.Errorf("a request without a token: %v", query)
			}
		})
	}
}
