package tables

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
)

// isCommit reports whether a request commits a table.
func isCommit(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tables/t")
}

func TestREST(t *testing.T) {
	f := newFixture(t)
	s, o := f.serve()
	o.Catalog.Properties = map[string]string{"credential": "user:password"}
	s.fault = func(w http.ResponseWriter, r *http.Request, done bool) bool {
		if !done && !strings.Contains(r.URL.Path, "oauth") && r.Header.Get("Authorization") != "Bearer secret" {
			answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"message": "who?", "type": "NotAuthorizedException", "code": 401}})
			return true
		}
		return false
	}
	for i := range 3 {
		f.input("k=1", i*10, i*10+10)
		f.convert("k=1", increment)
		f.sync(o)
		f.check(o, int64(i*10+10))
	}
	o.Catalog.Properties = map[string]string{"token": "other"}
	f.refused(o, failure.Refused, "who?")
}

// The server fails one commit, before or after it did its work.
func TestRESTFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
	}{
		{"error", 500}, {"gateway", 502}, {"unavailable", 503}, {"timeout", 504}, {"conflict", 409}, {"expired token", 419}, {"hang", 0}, {"death", -1},
	} {
		for _, after := range []bool{false, true} {
			if after && (tt.code == 409 || tt.code == 419) {
				continue // the server says that it did not commit
			}
			t.Run(fmt.Sprint(tt.name, after), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				s, o := f.serve()
				o.CallTimeout = time.Second
				var failed atomic.Bool
				stop := make(chan struct{})
				t.Cleanup(func() { close(stop) }) // before the server is closed
				s.fault = func(w http.ResponseWriter, r *http.Request, done bool) bool {
					if !isCommit(r) || done != after || failed.Swap(true) {
						return false
					}
					switch tt.code {
					case 0:
						<-stop
					case -1:
						panic(http.ErrAbortHandler)
					default:
						answer(w, tt.code, map[string]any{"error": map[string]any{"message": tt.name, "type": "Exception", "code": tt.code}})
					}
					return true
				}
				f.input("", 0, 10)
				f.convert("", increment)
				f.sync(o)
				f.check(o, 10)
				failed.Store(false)
				f.input("", 10, 20)
				f.convert("", increment)
				f.sync(o)
				f.check(o, 20)
			})
		}
	}
}

func TestRESTSyncsAtOnce(t *testing.T) {
	f := newFixture(t)
	_, o := f.serve()
	o.Tries = 100
	f.input("", 0, 10)
	f.convert("", increment)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := Sync(t.Context(), o)
			testenv.Must(t, err)
		})
	}
	all.Wait()
	f.check(o, 10)
}
