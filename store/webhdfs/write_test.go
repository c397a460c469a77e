package webhdfs

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// writeAnswers are the answers for writing a file.
func writeAnswers(length int) answers {
	return answers{
		"GETFILESTATUS":       {dirStatus, notFound, fileStatus(length)},
		"GET_BLOCK_LOCATIONS": {blockLocations(length, 1, false, true)},
		"CREATE":              {"node"},
		"DELETE":              {`{"boolean":true}`},
	}
}

// writeParts writes a file of a promised size in parts.
func writeParts(t *testing.T, s *Store, p string, size int64, parts ...string) error {
	t.Helper()
	ctx := storetest.Bounded(t)
	w, err := s.Create(ctx, p, store.CreateOptions{Size: size})
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }()
	for _, part := range parts {
		_, _ = io.WriteString(w, part) // Commit fails too
	}
	return w.Commit(ctx)
}

func TestWrite(t *testing.T) {
	n, s := newNameNode(t, writeAnswers(5).with("GET_BLOCK_LOCATIONS", blockLocations(5, 1, true, false), blockLocations(5, 1, false, false), blockLocations(5, 1, false, true)), storeBody)
	testenv.Must(t, writeParts(t, s, "/d/f", 5, "hel", "", "lo"))
	if n.requests("CREATE")[0].Get("blocksize") != "1048576" || n.requests("CREATE")[0].Get("overwrite") != "false" {
		t.Errorf("created by %v", n.requests("CREATE"))
	}
	if len(n.requests("GET_BLOCK_LOCATIONS")) != 3 || len(n.requests("DELETE")) > 0 {
		t.Errorf("%d requests for its blocks, removed %d times", len(n.requests("GET_BLOCK_LOCATIONS")), len(n.requests("DELETE")))
	}
}

// TestUnsoundUpload has uploads whose Commit must fail.
func TestUnsoundUpload(t *testing.T) {
	small := strings.ReplaceAll(fileStatus(5), "1048576", "4")
	for name, tt := range map[string]struct {
		answers answers
		node    http.HandlerFunc
		parts   []string
		is      error
		removed int // files
	}{
		"no directory":      {writeAnswers(5).with("GETFILESTATUS", notFound), storeBody, []string{"hello"}, store.ErrNoParent, 0},
		"striped directory": {writeAnswers(5).with("GETFILESTATUS", statusJSON("DIRECTORY", 0, `,"ecBit":true`), notFound, fileStatus(5)), storeBody, []string{"hello"}, store.ErrErasureCoded, 0},
		"striped file":      {writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound, statusJSON("FILE", 5, `,"ecPolicy":"RS-6-3"`)), storeBody, []string{"hello"}, store.ErrErasureCoded, 1},
		"node fails":        {writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, []string{"hello"}, store.ErrUnavailable, 0},
		"shorter":           {writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound, fileStatus(4)), storeBody, []string{"hello"}, store.ErrMismatch, 1},
		"shorter, blocks unknown": {writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound, fileStatus(4)).
			with("GET_BLOCK_LOCATIONS", "UnsupportedOperationException: no such operation"), storeBody, []string{"hello"}, store.ErrMismatch, 1},
		"two blocks":     {writeAnswers(5).with("GET_BLOCK_LOCATIONS", blockLocations(5, 2, false, true)), storeBody, []string{"hello"}, store.ErrMismatch, 1},
		"smaller blocks": {writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound, small), storeBody, []string{"hello"}, store.ErrMismatch, 1},
		"stays open":     {writeAnswers(5).with("GET_BLOCK_LOCATIONS", blockLocations(5, 1, true, false)), storeBody, []string{"hello"}, store.ErrUnavailable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, tt.answers, tt.node)
			s.settle = 50 * time.Millisecond
			if err := writeParts(t, s, "/d/f", 5, tt.parts...); !errors.Is(err, tt.is) {
				t.Errorf("committed, %v", err)
			}
			if removed := len(n.requests("DELETE")); removed != tt.removed {
				t.Errorf("%d files were removed, want %d", removed, tt.removed)
			}
		})
	}
}

// TestTakenName checks that a taken name is found before the first byte.
func TestTakenName(t *testing.T) {
	n, s := newNameNode(t, writeAnswers(5).with("GETFILESTATUS", dirStatus, fileStatus(5)), storeBody)
	if err := writeParts(t, s, "/d/f", 5, "hello"); !errors.Is(err, store.ErrExist) || len(n.requests("CREATE")) > 0 {
		t.Errorf("%v, created %d times", err, len(n.requests("CREATE")))
	}
}

// TestFileOfFasterWriter checks that an upload keeps the file of a faster writer.
func TestFileOfFasterWriter(t *testing.T) {
	n, s := newNameNode(t, writeAnswers(5), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, remote("FileAlreadyExistsException", "/d/f already exists"))
	})
	if err := writeParts(t, s, "/d/f", 5, "hello"); !errors.Is(err, store.ErrExist) || len(n.requests("DELETE")) > 0 {
		t.Errorf("%v, removed %d times", err, len(n.requests("DELETE")))
	}
}

// TestNodeFailsHalfway has a data node that may have begun the file. No other node is
// tried, and a temporary file is removed.
func TestNodeFailsHalfway(t *testing.T) {
	for _, p := range []string{"/d/f", store.TempName("/d/f")} {
		n, s := newNameNode(t, writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound), alwaysAnswers(http.StatusBadGateway, ""))
		if err := writeParts(t, s, p, 5, "hello"); !errors.Is(err, store.ErrUnavailable) || len(n.requests("CREATE")) != 1 {
			t.Errorf("%s: %v, created %d times", p, err, len(n.requests("CREATE")))
		}
		if removed := len(n.requests("DELETE")) == 1; removed != (p != "/d/f") {
			t.Errorf("%s: removed %v", p, removed)
		}
	}
}

// TestNodeCreatesNothing has a data node that accepts an upload but creates no file.
func TestNodeCreatesNothing(t *testing.T) {
	_, s := newNameNode(t, writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	s.silence = 50 * time.Millisecond
	if err := writeParts(t, s, "/d/f", 5, "hello"); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}

// TestNodeFailsDuringUpload checks that a failed upload keeps its error.
func TestNodeFailsDuringUpload(t *testing.T) {
	_, s := newNameNode(t, writeAnswers(1<<20), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1))
		panic(http.ErrAbortHandler)
	})
	w, err := s.Create(storetest.Bounded(t), "/d/f", store.CreateOptions{Size: 64 << 20})
	testenv.Must(t, err)
	defer func() { _ = w.Abort() }()
	for part := make([]byte, 1<<20); err == nil; {
		_, err = w.Write(part)
	}
	if _, again := w.Write(nil); !errors.Is(err, store.ErrUnavailable) || again != err || w.Commit(t.Context()) != err {
		t.Errorf("%v, then %v", err, again)
	}
}
