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

// TestLooseRename has a server that renames as HttpFS does: over nothing, but
// below a directory.
func TestLooseRename(t *testing.T) {
	other := strings.ReplaceAll(aDir, `"fileId":9`, `"fileId":3`)
	for name, tt := range map[string]struct {
		statuses []string // of the two names, then of the second
		renames  int
		is       error
	}{
		"free":              {[]string{fileOf(5), notFound, fileOf(5)}, 1, nil},
		"taken":             {[]string{fileOf(5), fileOf(5)}, 0, store.ErrExist},
		"a directory comes": {[]string{fileOf(5), notFound, other}, 2, store.ErrExist},
		"nothing to rename": {[]string{notFound}, 0, store.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, answers{"GETFILESTATUS": tt.statuses, "RENAME": {`{"boolean":true}`}}, nil)
			if err := s.Rename(t.Context(), "/d/f", "/e/g"); !errors.Is(err, tt.is) {
				t.Error(err)
			}
			if asked := n.requests("RENAME"); len(asked) != tt.renames || len(asked) == 2 && asked[1].Get("destination") != "/d/f" {
				t.Errorf("renamed by %v", asked)
			}
		})
	}
}

// TestReplaceDirectory finds what has the name, where a rename would go below it.
func TestReplaceDirectory(t *testing.T) {
	n, s := newNameNode(t, taken(5).with("GETFILESTATUS", aDir, notFound, fileOf(5), fileOf(5), aDir).with("RENAME", `{"boolean":true}`), takes)
	s.renames.Store(renamesLoose)
	if err := s.WriteFile(storetest.Bounded(t), "/d/f", []byte("hello"), false); !errors.Is(err, store.ErrNotRegular) {
		t.Error(err)
	}
	if len(n.requests("RENAME")) > 0 || len(n.requests("DELETE")) != 1 {
		t.Errorf("renamed %d times, removed %d times", len(n.requests("RENAME")), len(n.requests("DELETE")))
	}
}

// TestRefusals are answers that say no without an exception.
func TestRefusals(t *testing.T) {
	_, s := newNameNode(t, answers{"GETFILESTATUS": {aDir, notFound}, "MKDIRS": {`{"boolean":false}`}, "DELETE": {`{"boolean":false}`}}, nil)
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

// TestLostAnswer asks once only for what must not be done twice.
func TestLostAnswer(t *testing.T) {
	n, s := newNameNode(t, answers{"RENAME": {"hang up"}, "GETFILESTATUS": {"hang up", fileOf(5)}}, nil)
	s.addresses = append(s.addresses, s.addresses[0])
	s.renames.Store(renamesExact)
	if err := s.Rename(t.Context(), "/d/f", "/d/g"); !errors.Is(err, store.ErrUnavailable) || len(n.requests("RENAME")) != 1 {
		t.Errorf("%v, renamed %d times", err, len(n.requests("RENAME")))
	}
	if _, err := s.Stat(t.Context(), "/d/f"); err != nil {
		t.Error(err)
	}
}

// TestUnsoundFile has files that are not to be read, or not as they seem.
func TestUnsoundFile(t *testing.T) {
	read := func(s *Store) error { _, err := s.ReadFile(t.Context(), "/d/f", 4); return err }
	open := func(s *Store) error { _, err := s.Open(t.Context(), "/d/f"); return err }
	for name, tt := range map[string]struct {
		do      func(*Store) error
		answers answers
		is      error
	}{
		"a directory": {open, answers{"GETFILESTATUS": {aDir}, "GET_BLOCK_LOCATIONS": {located(0, 0, false, true)}}, store.ErrNotRegular},
		"still written": {open, answers{"GETFILESTATUS": {fileOf(5)}, "GET_BLOCK_LOCATIONS": {located(5, 1, true, false)}},
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

// TestLostFile is removed or replaced while it is read. Whatever knows it first,
// the reader learns that, and not that storage fails.
func TestLostFile(t *testing.T) {
	whole := alwaysAnswers(http.StatusOK, "hello")
	// Both have four of the five bytes; one says so.
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
		"the name node knows":            {[]string{notFound}, whole, notFound, store.ErrNotExist},
		"the data node knows":            {[]string{"node"}, alwaysAnswers(http.StatusNotFound, remote("FileNotFoundException", "File does not exist: /d/f")), notFound, store.ErrNotExist},
		"a block is gone":                {[]string{"node"}, fails, notFound, store.ErrNotExist},
		"a block is gone halfway":        {[]string{"node"}, breaksOff, notFound, store.ErrNotExist},
		"halfway, the name node knows":   {[]string{"node", notFound}, breaksOff, notFound, store.ErrNotExist},
		"the answer is short":            {[]string{"node"}, short, notFound, store.ErrNotExist},
		"an offset that is out of range": {[]string{"node", "IOException: Offset=4 out of the range [0, 3); OPEN, path=/d/f"}, breaksOff, fileOf(3), store.ErrReplaced},
		"storage fails":                  {[]string{"node"}, fails, fileOf(5), store.ErrUnavailable},
		"storage ends early":             {[]string{"node"}, short, fileOf(5), store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, answers{
				"GETFILESTATUS": {fileOf(5), tt.status}, "GET_BLOCK_LOCATIONS": {located(5, 1, false, true)}, "OPEN": tt.open,
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
