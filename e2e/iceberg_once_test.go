package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// fault is what goes wrong with a commit, or with a creation, in a REST catalog.
type fault struct {
	name   string
	code   int  // of the answer; 0 if there is no answer
	create bool // it fails the creation of the table instead
	after  bool // the server has committed
	hang   bool // the connection stays open
	exit   int  // of the sync
}

// faultyServer passes requests on to a REST catalog. A fault happens once.
type faultyServer struct {
	fault
	*httputil.ReverseProxy
	happened atomic.Bool
	hanging  chan bool // sends when a connection hangs, and receives when its client is gone
}

func (s *faultyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "/tables/t"
	if s.create {
		name = "/tables"
	}
	fails := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, name)
	if !fails || s.happened.Swap(true) {
		s.ReverseProxy.ServeHTTP(w, r)
		return
	}
	if s.after {
		s.ReverseProxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	switch {
	case s.hang:
		s.hanging <- true
		<-s.hanging
	case s.code == 0:
		panic(http.ErrAbortHandler) // closes the connection
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.code)
		_, _ = fmt.Fprintf(w, `{"error": {"message": %q, "type": "Exception", "code": %d}}`, s.name, s.code)
	}
}

// TestIcebergFaults syncs to a REST catalog that fails a commit. The next sync, and often the
// same one, must have each row in the table once.
func TestIcebergFaults(t *testing.T) {
	needIceberg(t)
	server, err := url.Parse(restURI(t))
	must(t, err)
	for _, tt := range []fault{
		{name: "error", code: 500},
		{name: "error after the commit", code: 500, after: true},
		{name: "unavailable", code: 503},
		{name: "time-out after the commit", code: 504, after: true},
		{name: "conflict", code: 409},
		{name: "expired token", code: 401, exit: 7},
		{name: "renewable token", code: 419},
		{name: "cut connection"},
		{name: "cut connection after the commit", after: true},
		{name: "unavailable at the creation", code: 503, create: true},
		{name: "error after the creation", code: 500, create: true, after: true},
		{name: "cut connection after the creation", create: true, after: true},
		{name: "hang", hang: true, exit: 143},
		{name: "hang after the commit", hang: true, after: true, exit: 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLake(t, "", nil, "rest")
			s := &faultyServer{fault: tt, ReverseProxy: httputil.NewSingleHostReverseProxy(server), hanging: make(chan bool)}
			proxy := httptest.NewServer(s)
			defer proxy.Close()
			faulty := l.tables[0]
			faulty.URI = proxy.URL
			for i := range 2 {
				l.make(t, fmt.Sprintf("%d.avro", i), 50, 1)
				l.convert(t, "--incremental")
				s.happened.Store(false)
				sync := launch(t, l.syncCommand(faulty))
				if tt.hang {
					<-s.hanging
					must(t, sync.cmd.Process.Signal(syscall.SIGTERM))
					s.hanging <- true
				}
				sync.want(t, tt.exit)
				if happened := s.happened.Load(); happened == (tt.create && i > 0) {
					t.Errorf("sync %d: the fault happened: %v", i, happened)
				}
				if tt.exit != 0 {
					l.sync(t)
				}
				l.check(t, []string{"PyIceberg"}, nil)
			}
		})
	}
}

// TestIcebergKilled starts two syncs at once and kills one, or both, at a random moment.
func TestIcebergKilled(t *testing.T) {
	for _, kind := range []string{"sql", "rest"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLake(t, "", nil, kind)
			var whole time.Duration
			for _, name := range []string{"first.avro", "second.avro"} { // the first sync creates the table
				l.make(t, name, 20, 1)
				l.convert(t, "--incremental")
				whole = finish(t, l.syncCommand(l.tables[0])).want(t, 0).elapsed
			}
			kills := 0
			for i := range soak.Rounds(20, 100) {
				l.make(t, fmt.Sprintf("%d.avro", i), 20, 1)
				l.convert(t, "--incremental")
				a, b := launch(t, l.syncCommand(l.tables[0])), launch(t, l.syncCommand(l.tables[0]))
				time.Sleep(rand.N(whole * 5 / 4))
				kills += a.kill(t)
				if i%3 == 2 {
					kills += b.kill(t)
					l.sync(t)
				} else {
					b.want(t, 0)
				}
				l.check(t, []string{"PyIceberg"}, nil)
			}
			t.Logf("%d syncs were killed within %v", kills, whole)
		})
	}
}

// kill kills a program. It returns 1 if the program had not ended.
func (r *running) kill(t *testing.T) int {
	_ = r.cmd.Process.Kill() // it may have ended
	if r.code() < 0 {
		return 1
	}
	return 0
}
