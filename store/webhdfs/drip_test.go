package webhdfs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// newDripServer returns a server that sends one text at once, and then another byte by
// byte forever, or until the test ends.
func newDripServer(t *testing.T, at, drops string, pause time.Duration) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	stop := make(chan struct{})
	var served sync.WaitGroup
	serve := func(c net.Conn) {
		defer func() { _ = c.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		if _, err := io.WriteString(c, at); err != nil {
			return
		}
		for i := 0; drops != ""; i++ {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			if _, err := c.Write([]byte{drops[i%len(drops)]}); err != nil {
				return
			}
		}
		<-stop
	}
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(stop)
		served.Wait()
	})
	return &httptest.Server{URL: "http://" + l.Addr().String()}
}

// TestDrippingNameNode has a name node that is never silent for long, nor finishes.
func TestDrippingNameNode(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, tt := range map[string]struct{ at, drops string }{
		"says nothing":         {"", ""},
		"a head":               {"", "HTTP/1.1 200 OK\r\nX: y"},
		"a line of a head":     {head, "X"},
		"a redirect's head":    {"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://", "x"},
		"nothing after a head": {head + "Content-Length: 1000\r\n\r\n", ""},
		"an answer":            {head + "Content-Length: 100000\r\n\r\n", " "},
		"a chunk":              {head + "Transfer-Encoding: chunked\r\n\r\n", "0"},
		"a failure":            {"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClient(t, newDripServer(t, tt.at, tt.drops, storetest.Drop))
			s.silence = storetest.Silence
			storetest.Unavailable(t, func(ctx context.Context) error { _, err := s.List(ctx, "/d"); return err })
		})
	}
	// A redirect is followed without waiting for its content.
	data := httptest.NewServer(alwaysAnswers(http.StatusOK, "hello"))
	defer data.Close()
	slow := newDripServer(t, "HTTP/1.1 307 Temporary Redirect\r\nLocation: "+data.URL+"/f\r\nContent-Length: 1000\r\n\r\n", "x", storetest.Drop)
	s := newClient(t, slow)
	s.silence = time.Hour
	began := time.Now()
	resp, _, err := s.get(storetest.Bounded(t), call{method: http.MethodGet, op: "OPEN", path: "/f"})
	if err != nil || time.Since(began) > 2*drainTime {
		t.Errorf("%v after %v", err, time.Since(began))
	} else {
		finish(resp)
	}
}

// TestDrippingDataNode checks that reads end even if all data nodes drip.
func TestDrippingDataNode(t *testing.T) {
	redirects := httptest.NewServer(http.RedirectHandler("/f", http.StatusTemporaryRedirect))
	defer redirects.Close()
	for name, node := range map[string]*httptest.Server{
		"a file":   newDripServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x", storetest.Drop),
		"a head":   newDripServer(t, "HTTP/1.1 200 OK\r\n", "x", storetest.Drop),
		"nothing":  newDripServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "", storetest.Drop),
		"redirect": redirects,
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, answers{"OPEN": {"node"}, "GETFILESTATUS": {fileStatus(1000000)}, "GET_BLOCK_LOCATIONS": {blockLocations(1000000, 1, false, true)}}, nil)
			n.node = node.URL
			s.silence = storetest.Silence
			read := func(ctx context.Context) error {
				f, err := s.Open(ctx, "/f")
				testenv.Must(t, err)
				defer func() { _ = f.Close() }()
				_, err = f.ReadAt(make([]byte, 1000000), 0)
				return err
			}
			if name == "redirect" {
				if err := read(storetest.Bounded(t)); err == nil {
					t.Error("read")
				}
				return
			}
			storetest.Unavailable(t, read)
		})
	}
}

// TestDrippingUpload has data nodes that read or answer byte by byte.
func TestDrippingUpload(t *testing.T) {
	over := make(chan struct{})
	for name, node := range map[string]http.HandlerFunc{
		"reads in drops": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			for {
				select {
				case <-over:
					return
				case <-time.After(storetest.Drop):
					_, _ = r.Body.Read(make([]byte, 1))
				}
			}
		},
		"answers in drops": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusInternalServerError)
			for range 1000 {
				if _, err := io.WriteString(w, "x"); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				time.Sleep(storetest.Drop)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, writeAnswers(8<<20), node)
			if name == "reads in drops" {
				t.Cleanup(func() { close(over) })
			}
			s.silence, s.uploadSilence = storetest.Silence, storetest.Silence
			storetest.Unavailable(t, func(ctx context.Context) error {
				w, err := s.Create(ctx, "/d/f", store.CreateOptions{Size: 8 << 20})
				if err != nil {
					return err
				}
				defer func() { _ = w.Abort() }()
				for n, part := 0, make([]byte, 1<<20); err == nil && n < 8; n++ {
					_, err = w.Write(part)
				}
				if err == nil {
					err = w.Commit(ctx)
				}
				return err
			})
		})
	}
}

// TestSlowLink reads and writes slowly for longer than the longest allowed silence.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	const size, silence = 40 << 10, time.Second // long enough for pauses of a busy machine
	pieces := func(w io.Writer) {
		for sent := 0; sent < size; sent += 1 << 10 { // 30 kB/s
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
			_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
			time.Sleep(30 * time.Millisecond)
		}
	}
	_, s := newNameNode(t, answers{"OPEN": {"node"}, "GETFILESTATUS": {fileStatus(size)}, "GET_BLOCK_LOCATIONS": {blockLocations(size, 1, false, true)}},
		func(w http.ResponseWriter, _ *http.Request) { pieces(w) })
	s.silence = silence
	if data, err := s.ReadFile(storetest.Bounded(t), "/f", size); err != nil || len(data) != size {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	_, s = newNameNode(t, writeAnswers(size), func(w http.ResponseWriter, r *http.Request) {
		for b := make([]byte, 1<<10); ; time.Sleep(10 * time.Millisecond) {
			if _, err := io.ReadFull(r.Body, b); err != nil {
				break
			}
		}
		w.WriteHeader(http.StatusCreated)
	})
	s.silence, s.uploadSilence = silence, 2*silence // the kernel buffers most of the upload
	if err := writeParts(t, s, "/d/f", size, strings.Repeat("x", size)); err != nil {
		t.Error(err)
	}
}

// TestEndlessListing has a listing that never ends.
func TestEndlessListing(t *testing.T) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		time.Sleep(2 * storetest.Silence) // faster, it would keep pace
		_, _ = fmt.Fprintf(w, `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"%09d"}]}},"remainingEntries":1}}`, n)
	}))
	defer server.Close()
	s := newClient(t, server)
	s.silence = 3 * storetest.Silence
	storetest.Unavailable(t, func(ctx context.Context) error { _, err := s.List(ctx, "/d"); return err })
}

// TestEndlessHead has an answer whose headers do not end, at full speed.
func TestEndlessHead(t *testing.T) {
	server := newDripServer(t, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 20_000), "x", storetest.Drop)
	s := newClient(t, server)
	storetest.Unavailable(t, func(ctx context.Context) error { _, err := s.Stat(ctx, "/f"); return err })
}
