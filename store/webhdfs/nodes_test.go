package webhdfs

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestNodeRefusesRead has a data node whose refusal is as long as the file.
func TestNodeRefusesRead(t *testing.T) {
	refusal := remote("AccessControlException", "denied")
	n, s := newNameNode(t, answers{
		"GETFILESTATUS":       {fileStatus(len(refusal))},
		"GET_BLOCK_LOCATIONS": {blockLocations(len(refusal), 1, false, true)},
		"OPEN":                {"node"},
	}, alwaysAnswers(http.StatusForbidden, refusal))
	if data, err := s.ReadFile(t.Context(), "/d/f", 1000); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read %q, %v", data, err)
	}
	f, err := s.Open(t.Context(), "/d/f")
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	data := make([]byte, len(refusal))
	if _, err := f.ReadAt(data, 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read %q, %v", data, err)
	}
	if requested := len(n.requests("OPEN")); requested != 2 {
		t.Errorf("%d requests for a refused file", requested)
	}
}

// TestFailingNodes checks that only a few data nodes are tried.
func TestFailingNodes(t *testing.T) {
	visits := 0
	_, s := newNameNode(t, answers{"OPEN": {"node"}}, func(w http.ResponseWriter, _ *http.Request) {
		visits++
		w.WriteHeader(http.StatusBadGateway)
	})
	if _, err := s.ReadFile(storetest.Bounded(t), "/d/f", 10); !errors.Is(err, store.ErrUnavailable) || visits != maxNodes {
		t.Errorf("%v after %d visits", err, visits)
	}
}

// TestNoRedirect has name nodes that redirect to invalid locations.
func TestNoRedirect(t *testing.T) {
	for _, location := range []string{"", ":", "/webhdfs/v1/f", "http:///f", "ftp://localhost/f"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		if data, err := newClient(t, server).ReadFile(t.Context(), "/f", 10); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%q: read %q, %v", location, data, err)
		}
		server.Close()
	}
}
