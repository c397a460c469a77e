package webhdfs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// answers are what a name node answers to an operation: JSON, nothing, or an
// exception as its class, a colon, a space and its message. "node" leads to the
// data node, "hang up" ends the connection. The last one is repeated.
type answers map[string][]string

func (a answers) with(op string, texts ...string) answers {
	a[op] = texts
	return a
}

// nameNode is a name node that gives the answers of a test.
type nameNode struct {
	t    *testing.T
	node string // where the data node is

	mu      sync.Mutex // of what follows
	answers answers
	asked   map[string][]url.Values
	named   map[string][]string // the paths that were asked for, by operation
}

// newNameNode starts a name node and the data node that it leads to, and
// returns a store of it.
func newNameNode(t *testing.T, a answers, node http.HandlerFunc) (*nameNode, *Store) {
	t.Helper()
	data := httptest.NewServer(node)
	t.Cleanup(data.Close)
	n := &nameNode{t: t, node: data.URL, answers: a, asked: map[string][]url.Values{}, named: map[string][]string{}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, newClient(t, server)
}

// requests returns the queries by which an operation was asked for.
func (n *nameNode) requests(op string) []url.Values {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[op]
}

// paths returns the paths that an operation was asked for.
func (n *nameNode) paths(op string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.named[op]
}

func (n *nameNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	op := query.Get("op")
	n.mu.Lock()
	n.asked[op] = append(n.asked[op], query)
	n.named[op] = append(n.named[op], strings.TrimPrefix(r.URL.Path, "/webhdfs/v1"))
	texts := n.answers[op]
	if len(texts) > 1 {
		n.answers[op] = texts[1:]
	}
	n.mu.Unlock()
	if len(texts) == 0 {
		n.t.Errorf("the test has no answer to %s", op)
		return
	}
	text := texts[0]
	class, message, exception := strings.Cut(text, ": ")
	switch {
	case text == "node":
		http.Redirect(w, r, n.node+r.URL.String(), http.StatusTemporaryRedirect)
	case text == "hang up":
		panic(http.ErrAbortHandler)
	case exception && text[0] != '{':
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, remote(class, message))
	default:
		_, _ = io.WriteString(w, text)
	}
}

// takes is a data node that stores what it is sent.
func takes(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusCreated)
}

const notFound = "FileNotFoundException: File does not exist: /d/f"

var aDir = statusOf("DIRECTORY", 0, "")

// statusOf describes a file or directory, with further fields as JSON.
func statusOf(kind string, length int, more string) string {
	return fmt.Sprintf(`{"FileStatus":{"type":%q,"length":%d,"blockSize":1048576,"fileId":9,"modificationTime":1000%s}}`, kind, length, more)
}

func fileOf(length int) string { return statusOf("FILE", length, "") }

// located describes a file of so many blocks.
func located(length, blocks int, open, complete bool) string {
	list := strings.TrimSuffix(strings.Repeat("{},", blocks), ",")
	return fmt.Sprintf(`{"LocatedBlocks":{"fileLength":%d,"isUnderConstruction":%v,"isLastBlockComplete":%v,"locatedBlocks":[%s]}}`,
		length, open, complete, list)
}
