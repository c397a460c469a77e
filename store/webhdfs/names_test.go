package webhdfs

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestLooseRename has a server that renames like HttpFS: it replaces no file, but moves
// into a directory that has the new name.
func TestLooseRename(t *testing.T) {
	other := strings.ReplaceAll(dirStatus, `"fileId":9`, `"fileId":3`)
	for name, tt := range map[string]struct {
		statuses []string // of the two names, then of the second
		renames  int
		is       error
	}{
		"free":              {[]string{fileStatus(5), notFound, fileStatus(5)}, 1, nil},
		"taken":             {[]string{fileStatus(5), fileStatus(5)}, 0, store.ErrExist},
		"a new directory":   {[]string{fileStatus(5), notFound, other}, 2, store.ErrExist},
		"nothing to rename": {[]string{notFound}, 0, store.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, answers{"GETFILESTATUS": tt.statuses, "RENAME": {`{"boolean":true}`}}, nil)
			if err := s.Rename(t.Context(), "/d/f", "/e/g"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			if requested := n.requests("RENAME"); len(requested) != tt.renames || len(requested) == 2 && requested[1].Get("destination") != "/d/f" {
				t.Errorf("renamed by %v", requested)
			}
		})
	}
}

// TestReplaceDirectory refuses to replace a directory: the file would move into it.
func TestReplaceDirectory(t *testing.T) {
	n, s := newNameNode(t, writeAnswers(5).with("GETFILESTATUS", dirStatus, notFound, fileStatus(5), fileStatus(5), dirStatus).with("RENAME", `{"boolean":true}`), storeBody)
	s.renames.Store(renamesLoose)
	if err := s.WriteFile(storetest.Bounded(t), "/d/f", []byte("hello"), false); !errors.Is(err, store.ErrNotRegular) {
		t.Error(err)
	}
	if len(n.requests("RENAME")) > 0 || len(n.requests("DELETE")) != 1 {
		t.Errorf("renamed %d times, removed %d times", len(n.requests("RENAME")), len(n.requests("DELETE")))
	}
}

// TestRefusals has answers that refuse without an exception.
func TestRefusals(t *testing.T) {
	_, s := newNameNode(t, answers{"GETFILESTATUS": {dirStatus, notFound}, "MKDIRS": {`{"boolean":false}`}, "DELETE": {`{"boolean":false}`}}, nil)
	if err := s.Mkdir(t.Context(), "/d"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("make a directory: %v", err)
	}
	if err := s.Remove(t.Context(), "/d"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("remove: %v", err)
	}
	if err := s.RemoveAll(t.Context(), "/d"); err != nil {
		t.Errorf("remove all: %v", err)
	}
}

// TestLostAnswer checks that only operations that may be repeated are retried.
func TestLostAnswer(t *testing.T) {
	n, s := newNameNode(t, answers{"RENAME": {"hang up"}, "GETFILESTATUS": {"hang up", fileStatus(5)}}, nil)
	s.addresses = append(s.addresses, s.addresses[0])
	s.renames.Store(renamesExact)
	if err := s.Rename(t.Context(), "/d/f", "/d/g"); !errors.Is(err, store.ErrUnavailable) || len(n.requests("RENAME")) != 1 {
		t.Errorf("%v, renamed %d times", err, len(n.requests("RENAME")))
	}
	if _, err := s.Stat(t.Context(), "/d/f"); err != nil {
		t.Error(err)
	}
}

// TestUnsoundFile has files that must not be read.
func TestUnsoundFile(t *testing.T) {
	read := func(s *Store) error { _, err := s.ReadFile(t.Context(), "/d/f", 4); return err }
	open := func(s *Store) error { _, err := s.Open(t.Context(), "/d/f"); return err }
	for name, tt := range map[string]struct {
		do      func(*Store) error
		answers answers
		is      error
	}{
		"a directory": {open, answers{"GETFILESTATUS": {dirStatus}, "GET_BLOCK_LOCATIONS": {blockLocations(0, 0, false, true)}}, store.ErrNotRegular},
		"still written": {open, answers{"GETFILESTATUS": {fileStatus(5)}, "GET_BLOCK_LOCATIONS": {blockLocations(5, 1, true, false)}},
			store.ErrBeingWritten},
		"longer than expected": {read, answers{"OPEN": {"node"}, "GET_BLOCK_LOCATIONS": {"UnsupportedOperationException: no such operation"}},
			store.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, tt.answers, alwaysAnswers(http.StatusOK, "hello"))
			if err := tt.do(s); !errors.Is(err, tt.is) {
				t.Error(err)
			}
		})
	}
}

// TestLostFile removes or replaces a file while it is read. Any server may notice first;
// the error of the read says that, and not that storage fails.
func TestLostFile(t *testing.T) {
	whole := alwaysAnswers(http.StatusOK, "hello")
	// serve sends four of five bytes; promised is the announced length.
	serve := func(w http.ResponseWriter, r *http.Request, promised int) {
		off, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		w.Header().Set("Content-Length", strconv.Itoa(promised-off))
		_, _ = io.WriteString(w, "hell"[off:])
	}
	short := func(w http.ResponseWriter, r *http.Request) { serve(w, r, 4) }
	breaksOff := func(w http.ResponseWriter, r *http.Request) { serve(w, r, 5) }
	fails := alwaysAnswers(http.StatusInternalServerError, remote("IOException", "Could not obtain block"))
	for name, tt := range map[string]struct {
		open   []string // the name node's answers
		node   http.HandlerFunc
		status string // at the end
		is     error
	}{
		"sound":                          {[]string{"node"}, whole, notFound, nil},
		"gone, by the name node":         {[]string{notFound}, whole, notFound, store.ErrNotExist},
		"gone, by the data node":         {[]string{"node"}, alwaysAnswers(http.StatusNotFound, remote("FileNotFoundException", "File does not exist: /d/f")), notFound, store.ErrNotExist},
		"a block is gone":                {[]string{"node"}, fails, notFound, store.ErrNotExist},
		"a block is gone halfway":        {[]string{"node"}, breaksOff, notFound, store.ErrNotExist},
		"halfway, the name node knows":   {[]string{"node", notFound}, breaksOff, notFound, store.ErrNotExist},
		"the answer is short":            {[]string{"node"}, short, notFound, store.ErrNotExist},
		"an offset that is out of range": {[]string{"node", "IOException: Offset=4 out of the range [0, 3); OPEN, path=/d/f"}, breaksOff, fileStatus(3), store.ErrReplaced},
		"storage fails":                  {[]string{"node"}, fails, fileStatus(5), store.ErrUnavailable},
		"storage ends early":             {[]string{"node"}, short, fileStatus(5), store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, answers{
				"GETFILESTATUS": {fileStatus(5), tt.status}, "GET_BLOCK_LOCATIONS": {blockLocations(5, 1, false, true)}, "OPEN": tt.open,
			}, tt.node)
			f, err := s.Open(storetest.Bounded(t), "/d/f")
			testenv.Must(t, err)
			defer func() { _ = f.Close() }()
			data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
			if !errors.Is(err, tt.is) || err == nil && string(data) != "hello" {
				t.Errorf("read %q, %v", data, err)
			}
		})
	}
}
