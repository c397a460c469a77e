package metrics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// received is a request to a gateway.
type received struct {
	method, path, user, password string
	values                       map[string]float64
}

// startGateway starts a push gateway that keeps the last request.
func startGateway(t *testing.T) (url string, last *received) {
	last = new(received)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = received{method: r.Method, path: r.URL.EscapedPath(), values: map[string]float64{}}
		last.user, last.password, _ = r.BasicAuth()
		dec := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header))
		for {
			f := new(dto.MetricFamily)
			if err := dec.Decode(f); err == io.EOF {
				break
			} else if err != nil {
				t.Error(err)
				break
			}
			last.values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
			for _, l := range f.GetMetric()[0].GetLabel() {
				if f.GetName() != runInfo || l.GetName() == jobLabel {
					t.Errorf("%s has the label %s", f.GetName(), l)
				}
			}
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	return server.URL, last
}

func TestPush(t *testing.T) {
	url, last := startGateway(t)
	g, err := NewGateway(strings.Replace(url, "://", "://anna:s3cret@", 1) + "/below/")
	testenv.Must(t, err)
	run := newRun(5, 0, "done")
	run.Dest = "out"
	testenv.Must(t, g.Push(t.Context(), run))
	if last.method != http.MethodPost || last.user != "anna" || last.password != "s3cret" {
		t.Errorf("%+v", last)
	}
	group := strings.TrimPrefix(last.path, "/below/metrics/job/rowtocol/")
	if group != "job_name@base64/b3V0" {
		t.Errorf("path %s", last.path)
	}
	if last.values[lastSuccess] != float64(run.Ended.Unix()) || last.values["rowtocol_run_rows"] != 12_000_000 || len(last.values) != len(gauges)+2 {
		t.Errorf("%v", last.values)
	}
	// A gateway replaces metrics by name, and keeps the others.
	testenv.Must(t, g.Push(t.Context(), newRun(6, 3, "input")))
	if _, sent := last.values[lastSuccess]; sent || last.method != http.MethodPost || last.values["rowtocol_run_exit_code"] != 3 {
		t.Errorf("after a failure: %+v", last)
	}
}

// TestGroup checks the names of groups, whose destinations have characters with a meaning in paths.
func TestGroup(t *testing.T) {
	url, last := startGateway(t)
	g, err := NewGateway(url)
	testenv.Must(t, err)
	for dest, want := range map[string]string{
		"": "=", "..": "Li4", "/data/a b%2F?#+": "L2RhdGEvYSBiJTJGPyMr", "a\xff": "Ye-_vQ",
	} {
		run := newRun(1, 4, "storage")
		run.Dest = dest
		testenv.Must(t, g.Push(t.Context(), run))
		if last.path != "/metrics/job/rowtocol/job_name@base64/"+want {
			t.Errorf("%q: path %s", dest, last.path)
		}
	}
}

// TestPushAnswer checks that a server's answer is in the error if the address has no secrets.
func TestPushAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too old", http.StatusBadRequest)
	}))
	defer server.Close()
	g, err := NewGateway(server.URL + "/")
	testenv.Must(t, err)
	if err := g.Push(t.Context(), newRun(1, 0, "done")); err == nil || !strings.Contains(err.Error(), "400") || !strings.Contains(err.Error(), "too old") {
		t.Errorf("error %v", err)
	}
}

// TestPushFails checks the error of Push, which shows no secrets, for servers that refuse,
// echo, redirect, send an endless answer or none.
func TestPushFails(t *testing.T) {
	elsewhere, followed := startGateway(t)
	for what, tt := range map[string]struct {
		answer http.HandlerFunc
		word   string
	}{
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too old", http.StatusBadRequest) }, "400"},
		"echoes": {func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			http.Error(w, fmt.Sprint(user, password, url.QueryEscape(password), r.Header, r.URL), http.StatusUnauthorized)
		}, "401"},
		"echoes without HTTP": {func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = fmt.Fprint(conn, "HTTP/1.1 500 X\r\n", r.URL, r.Header, "\r\n\r\n")
				_ = conn.Close()
			}
		}, "not HTTP"},
		"redirects": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307"},
		"endless answer": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "500"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "deadline"},
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			g, err := NewGateway(strings.Replace(server.URL, "://", "://anna:s3cr%2Ft@", 1) + "/t0ken/")
			testenv.Must(t, err)
			limit := 5 * time.Second
			if tt.word == "deadline" {
				limit = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err = g.Push(ctx, newRun(1, 0, "done"))
			if err == nil || !strings.Contains(err.Error(), tt.word) || !strings.Contains(err.Error(), server.URL) || len(err.Error()) > 2*maxAnswer {
				t.Fatalf("got error %.2000v, want %q", err, tt.word)
			}
			for _, secret := range []string{"s3cr", "YW5uYTpzM2NyL3Q=", "t0ken"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows %s: %v", secret, err)
				}
			}
		})
	}
	if followed.method != "" {
		t.Error("a redirect was followed")
	}
}

func TestNewGateway(t *testing.T) {
	for _, address := range []string{"", "localhost:9091", "ftp://host", "http://", "http://host?token=s3cret", "http://host#s3cret", "http://a:s3cret@ho st", "http://a:s3cret@host:x"} {
		if _, err := NewGateway(address); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: got error %v", address, err)
		}
	}
	if _, err := NewGateway("https://host:9091/path"); err != nil {
		t.Error(err)
	}
}
