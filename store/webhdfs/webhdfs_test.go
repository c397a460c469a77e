package webhdfs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// newClient returns a store on a test server.
func newClient(t *testing.T, server *httptest.Server) *Store {
	t.Helper()
	conf := cluster.NewConf(map[string]string{"dfs.client.socket-timeout": "2s"})
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	testenv.Must(t, err)
	u, err := url.Parse(server.URL)
	testenv.Must(t, err)
	scheme := map[string]string{"http": "webhdfs", "https": "swebhdfs"}[u.Scheme]
	s, err := New(conf, login, Options{Scheme: scheme, Addresses: []string{u.Host}})
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestUnresolved has two name nodes. Only if the names of both are unknown, the error says so.
func TestUnresolved(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := newClient(t, server)
	unknown, closed := "no..such-host:9870", s.addresses[0]
	for _, tt := range []struct {
		addresses []string
		want      bool
	}{{[]string{unknown, "nor..this:9870"}, true}, {[]string{unknown, closed}, false}} {
		s.addresses = tt.addresses
		if _, err := s.Stat(t.Context(), "/f"); errors.Is(err, store.ErrUnresolved) != tt.want || store.Classify(err) != store.Retryable {
			t.Errorf("%s: %v", tt.addresses, err)
		}
	}
}

func alwaysAnswers(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

var smallFile = fileStatus(7)

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(alwaysAnswers(http.StatusOK, smallFile))
	defer server.Close()
	cas := x509.NewCertPool()
	cas.AddCert(server.Certificate())
	trusting := newClient(t, server)
	trusting.transport.TLSClientConfig.RootCAs = cas
	info, err := trusting.Stat(t.Context(), "/f")
	if err != nil || info.Size != 7 || info.FileID != 9 || !info.ModTime.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v, %v", info, err)
	}
	_, err = newClient(t, server).Stat(t.Context(), "/f")
	if store.Classify(err) != store.Final || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("with a foreign certificate: %v", err)
	}
}

func TestNoRedirectOutOfTLS(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request without TLS for %s", r.URL)
	}))
	defer plain.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/webhdfs/v1/f?op=OPEN&delegation=secret", http.StatusTemporaryRedirect))
	defer server.Close()
	cas := x509.NewCertPool()
	cas.AddCert(server.Certificate())
	s := newClient(t, server)
	s.transport.TLSClientConfig.RootCAs = cas
	data, err := s.ReadFile(t.Context(), "/f", 100)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("read %q, %v", data, err)
	}
}

func remote(class, message string) string {
	return fmt.Sprintf(`{"RemoteException":{"exception":%q,"javaClassName":"java.%s","message":%q}}`, class, class, message)
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name  string
		code  int
		body  string
		class store.Class
	}{
		{"a file", 200, smallFile, store.Unknown},
		{"nothing", 200, "", store.Retryable},
		{"no JSON", 200, "<html>", store.Retryable},
		{"no status", 200, "{}", store.Retryable},
		{"null", 200, "null", store.Retryable},
		{"another type", 200, `{"FileStatus":[]}`, store.Retryable},
		{"a negative length", 200, `{"FileStatus":{"type":"FILE","length":-1}}`, store.Retryable},
		{"a number out of range", 200, `{"FileStatus":{"type":"FILE","length":1e30}}`, store.Retryable},
		{"too much", 200, `{"x":"` + strings.Repeat("x", maxAnswer) + `"}`, store.Retryable},
		{"not found", 404, remote("FileNotFoundException", "File does not exist: /f"), store.NotFound},
		{"another program", 404, "<html>", store.Final},
		{"a login page", 401, "<html>", store.Final},
		{"a firewall", 403, "<html>", store.Final},
		{"an overloaded gateway", 503, "<html>", store.Retryable},
		{"a standby", 403, remote("StandbyException", "Operation category READ is not supported in state standby"), store.Retryable},
		{"a redirect", 307, "", store.Final},
		{"a failure without end", 500, strings.Repeat("x", 1<<20), store.Retryable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(alwaysAnswers(tt.code, tt.body))
			defer server.Close()
			_, err := newClient(t, server).Stat(t.Context(), "/f")
			if c := store.Classify(err); c != tt.class || (err == nil) != (tt.code == 200 && tt.class == store.Unknown) {
				t.Errorf("%v: %v, want %v", err, c, tt.class)
			}
			if err != nil && (len(err.Error()) > 2000 || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the error is not one short line: %d bytes", len(err.Error()))
			}
		})
	}
}

func TestHostileListing(t *testing.T) {
	page := func(kind, name string) string {
		return fmt.Sprintf(`{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":%q,"pathSuffix":%q}]}},"remainingEntries":0}}`, kind, name)
	}
	whole := func(name string) string {
		return fmt.Sprintf(`{"FileStatuses":{"FileStatus":[{"type":"DIRECTORY","pathSuffix":%q}]}}`, name)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/"} {
		for _, a := range []answers{
			{"LISTSTATUS_BATCH": {page("DIRECTORY", name)}},
			{"LISTSTATUS_BATCH": {"IllegalArgumentException: no such operation"}, "LISTSTATUS": {whole(name)}},
		} {
			_, s := newNameNode(t, a, nil)
			if infos, err := s.List(t.Context(), "/d"); err == nil {
				t.Errorf("%q is listed: %+v", name, infos)
			}
		}
	}
	_, s := newNameNode(t, answers{"LISTSTATUS_BATCH": {page("FILE", "")}}, nil)
	if _, err := s.List(t.Context(), "/f"); !errors.Is(err, store.ErrNotRegular) {
		t.Errorf("a file is listed: %v", err)
	}
	for name, text := range map[string]string{
		"without a kind":    page("", "a"),
		"of an empty page":  `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[]}},"remainingEntries":1}}`,
		"of negative files": strings.Replace(page("FILE", "a"), `"pathSuffix"`, `"length":-1,"pathSuffix"`, 1),
	} {
		_, s := newNameNode(t, answers{"LISTSTATUS_BATCH": {text}}, nil)
		if infos, err := s.List(t.Context(), "/d"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a listing %s: %+v, %v", name, infos, err)
		}
	}
	// A listing that never ends and repeats the same page.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("op") == "LISTSTATUS" {
			_, _ = io.WriteString(w, `{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"a"}]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"a"}]}},"remainingEntries":1}}`)
	}))
	defer server.Close()
	infos, err := newClient(t, server).List(storetest.Bounded(t), "/d")
	if err != nil || len(infos) != 1 {
		t.Errorf("%+v, %v", infos, err)
	}
}

// TestEndlessAnswer has answers that are too long to read whole.
func TestEndlessAnswer(t *testing.T) {
	const most = 64 << 20 // bytes to send, far more than connections buffer
	for name, tt := range map[string]struct {
		code int
		do   func(s *Store) error
		says string
	}{
		"a failure": {500, func(s *Store) error { _, err := s.Stat(t.Context(), "/f"); return err }, "answered 500"},
		"a status":  {200, func(s *Store) error { _, err := s.Stat(t.Context(), "/f"); return err }, "more than 1048576 bytes"},
		"a file":    {200, func(s *Store) error { _, err := s.ReadFile(t.Context(), "/f", 10); return err }, "at most 10 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.code)
				for part := make([]byte, 64<<10); sent < most; sent += len(part) {
					if _, err := w.Write(part); err != nil {
						return
					}
				}
			}))
			err := tt.do(newClient(t, server))
			server.Close() // the answer has ended
			if err == nil || !strings.Contains(err.Error(), tt.says) || sent > most/2 {
				t.Errorf("%v, after %d bytes", err, sent)
			}
		})
	}
}

// TestHangUp lets a server close the connection instead of answering, like one that is
// killed.
func TestHangUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer server.Close()
	for op, call := range storetest.Calls(t.Context(), newClient(t, server), "/d") {
		if err := call(); !errors.Is(err, store.ErrUnavailable) || store.Classify(err) != store.Retryable {
			t.Errorf("%s: %v, of class %v", op, err, store.Classify(err))
		}
	}
}

// TestBrokenDownload interrupts each answer after some bytes. The stream continues after
// them.
func TestBrokenDownload(t *testing.T) {
	const data = "0123456789abcdefghijklmnopqrstuvwxyz"
	downloads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		downloads++
		rest := data
		if off := r.URL.Query().Get("offset"); off != "" {
			var n int
			if _, err := fmt.Sscan(off, &n); err != nil {
				t.Error(err)
			}
			rest = data[n:]
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
		_, _ = io.WriteString(w, rest[:min(5, len(rest))])
	}))
	defer server.Close()
	o := opener{newClient(t, server), "/f"}
	r, err := o.OpenAt(storetest.Bounded(t), 3, int64(len(data))-3)
	testenv.Must(t, err)
	got, err := io.ReadAll(r)
	if err != nil || string(got) != data[3:] || downloads != 7 {
		t.Errorf("read %q, %v, in %d downloads", got, err, downloads)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestReconnect interrupts downloads, and counts how often they start.
func TestReconnect(t *testing.T) {
	for name, tt := range map[string]struct {
		text      string // sent of ten promised bytes
		stop      bool   // the reader cancels
		is        error
		downloads int
	}{
		"always interrupted": {"", false, store.ErrUnavailable, 1 + maxNodes},
		"canceled":           {"hello", true, context.Canceled, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(storetest.Bounded(t))
			defer cancel()
			downloads := 0
			release := make(chan struct{})
			n, s := newNameNode(t, answers{"OPEN": {"node"}}, func(w http.ResponseWriter, _ *http.Request) {
				downloads++
				w.Header().Set("Content-Length", "10")
				_, _ = io.WriteString(w, tt.text)
				if tt.stop {
					w.(http.Flusher).Flush()
					<-release
				}
			})
			defer close(release)
			r, err := (&opener{store: s, path: "/f"}).OpenAt(ctx, 0, 10)
			testenv.Must(t, err)
			defer func() { _ = r.Close() }()
			if n, err := r.Read(nil); n != 0 || err != nil {
				t.Errorf("read nothing: %d, %v", n, err)
			}
			if tt.stop {
				if _, err := io.ReadFull(r, make([]byte, len(tt.text))); err != nil {
					t.Error(err)
				}
				cancel()
			}
			if _, err := io.ReadAll(r); !errors.Is(err, tt.is) || downloads != tt.downloads {
				t.Errorf("%v after %d downloads, want %v after %d", err, downloads, tt.is, tt.downloads)
			}
			if node, _ := url.Parse(n.node); s.nodes.shunned(node.Host) {
				t.Error("a data node that answers is shunned")
			}
		})
	}
}

// TestSilence has servers that fall silent at different points.
func TestSilence(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("op") == "OPEN" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
		}
		<-release
	}))
	defer server.Close()
	defer close(release)
	s := newClient(t, server)
	s.silence = 100 * time.Millisecond
	start := time.Now()
	if _, err := s.Stat(t.Context(), "/f"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("stat: %v", err)
	}
	if _, err := s.ReadFile(t.Context(), "/f", 100); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("after %v", d)
	}
	s.silence = time.Hour
	for _, op := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Stat(ctx, "/f"); return err },
		func(ctx context.Context) error { _, err := s.ReadFile(ctx, "/f", 100); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := op(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("with a deadline: %v", err)
		}
		cancel()
	}
}

// TestNameNodes has a standby, a dead and an active name node.
func TestNameNodes(t *testing.T) {
	standby := httptest.NewServer(alwaysAnswers(http.StatusForbidden, remote("StandbyException", "standby")))
	defer standby.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	requested := 0
	active := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requested++
		_, _ = io.WriteString(w, smallFile)
	}))
	defer active.Close()
	s := newClient(t, standby)
	host := func(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }
	s.addresses = []string{host(standby), host(dead), host(active)}
	for range 2 {
		if _, err := s.Stat(t.Context(), "/f"); err != nil {
			t.Fatal(err)
		}
	}
	if requested != 2 || s.active.Load() != 2 {
		t.Errorf("%d requests to the active name node, whose index is %d", requested, s.active.Load())
	}
	s.addresses = s.addresses[:2]
	s.active.Store(0)
	if _, err := s.Stat(t.Context(), "/f"); !errors.Is(err, store.ErrUnavailable) || !isDialError(err) {
		t.Errorf("without an active one: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	conf := cluster.NewConf(nil)
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	testenv.Must(t, err)
	for _, o := range []Options{{Scheme: "hdfs", Addresses: []string{"a:1"}}, {Scheme: "webhdfs"}} {
		if _, err := New(conf, login, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestEscape(t *testing.T) {
	const p = "/a b/ü%+#?;&=.txt"
	escaped := escape(p)
	if got, err := url.PathUnescape(escaped); err != nil || got != p || strings.ContainsAny(escaped, " +#?;&=") {
		t.Errorf("%s, back %s, %v", escaped, got, err)
	}
}

func TestShunnedNodes(t *testing.T) {
	var n nodes
	n.failed("127.0.0.1:9864")
	n.failed("gone.invalid:9864")
	if !n.shunned("127.0.0.1:9864") || n.shunned("127.0.0.1:1") || n.hosts(t.Context()) != "127.0.0.1" {
		t.Errorf("shuns %q", n.hosts(t.Context()))
	}
	n.worked("127.0.0.1:9864")
	if n.shunned("127.0.0.1:9864") {
		t.Error("a working node is shunned")
	}
}

func TestTokenRank(t *testing.T) {
	conf := cluster.NewConf(map[string]string{
		"dfs.nameservices": "ours,theirs", "dfs.ha.namenodes.ours": "a,b", "dfs.ha.namenodes.theirs": "a",
		"dfs.namenode.http-address.ours.a": "127.0.0.1:9870", "dfs.namenode.http-address.ours.b": "127.0.0.2:9870",
		"dfs.namenode.http-address.theirs.a": "127.0.0.3:9870",
	})
	i := identity{store: &Store{conf: conf, addresses: []string{"127.0.0.1:9870", "127.0.0.2:9870"}, rpc: []string{"127.0.0.2:9000"}}, scheme: "webhdfs"}
	best := func(tokens ...cluster.Token) (service string) {
		rank := 0
		for _, token := range tokens {
			if r := i.rank(t.Context(), token); r > rank {
				rank, service = r, token.Kind+" "+token.Service
			}
		}
		return service
	}
	const rpc, web, tls = "HDFS_DELEGATION_TOKEN", "WEBHDFS delegation", "SWEBHDFS delegation"
	for _, tt := range []struct {
		tokens []cluster.Token
		want   string
	}{
		{nil, ""},
		{[]cluster.Token{{Kind: "RM_DELEGATION_TOKEN", Service: "127.0.0.1:9870"}}, ""},
		{[]cluster.Token{{Kind: rpc, Service: "127.0.0.9:8020"}, {Kind: rpc, Service: "127.0.0.2:8020"}}, rpc + " 127.0.0.2:8020"},
		{[]cluster.Token{{Kind: rpc, Service: "127.0.0.2:8020"}, {Kind: rpc, Service: "127.0.0.2:9000"}}, rpc + " 127.0.0.2:9000"},
		{[]cluster.Token{{Kind: rpc, Service: "127.0.0.1:9000"}, {Kind: rpc, Service: "127.0.0.2:9000"}}, rpc + " 127.0.0.2:9000"},
		{[]cluster.Token{{Kind: rpc, Service: "ha-hdfs:theirs"}}, ""},
		{[]cluster.Token{{Kind: rpc, Service: "ha-hdfs:theirs"}, {Kind: rpc, Service: "ha-hdfs:ours"}}, rpc + " ha-hdfs:ours"},
		{[]cluster.Token{{Kind: rpc, Service: "127.0.0.1:8020"}, {Kind: web, Service: "127.0.0.1:9870"}}, web + " 127.0.0.1:9870"},
		{[]cluster.Token{{Kind: tls, Service: "127.0.0.1:9871"}, {Kind: web, Service: "127.0.0.1:9870"}}, web + " 127.0.0.1:9870"},
		{[]cluster.Token{{Kind: web, Service: "nonsense"}}, ""},
	} {
		if got := best(tt.tokens...); got != tt.want {
			t.Errorf("of %v: %q, want %q", tt.tokens, got, tt.want)
		}
	}
}

func TestUnauthorizedIsPermission(t *testing.T) {
	if !errors.Is(errUnauthorized, fs.ErrPermission) || !isTokenRefusal(fmt.Errorf("x: %w", errUnauthorized)) {
		t.Error("401 is not a refusal")
	}
}
