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

// answers are a name node's answers by operation: JSON, nothing, or an exception as
// "class: message". "node" redirects to the data node, "hang up" ends the connection.
// The last one is repeated.
type answers map[string][]string

func (a answers) with(op string, texts ...string) answers {
	a[op] = texts
	return a
}

// nameNode is a name node with the answers of a test.
type nameNode struct {
	t    *testing.T
	node string // URL of the data node

	mu        sync.Mutex // of what follows
	answers   answers
	requested map[string][]url.Values
	pathsByOp map[string][]string // requested paths, by operation
}

// newNameNode starts a name node and its data node, and returns a store on them.
func newNameNode(t *testing.T, a answers, node http.HandlerFunc) (*nameNode, *Store) {
	t.Helper()
	data := httptest.NewServer(node)
	t.Cleanup(data.Close)
	n := &nameNode{t: t, node: data.URL, answers: a, requested: map[string][]url.Values{}, pathsByOp: map[string][]string{}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, newClient(t, server)
}

// requests returns the queries of the requests for an operation.
func (n *nameNode) requests(op string) []url.Values {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requested[op]
}

// paths returns the paths of the requests for an operation.
func (n *nameNode) paths(op string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pathsByOp[op]
}

func (n *nameNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	op := query.Get("op")
	n.mu.Lock()
	n.requested[op] = append(n.requested[op], query)
	n.pathsByOp[op] = append(n.pathsByOp[op], strings.TrimPrefix(r.URL.Path, "/webhdfs/v1"))
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

// storeBody handles an upload like a data node that stores it.
func storeBody(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusCreated)
}

const notFound = "FileNotFoundException: File does not exist: /d/f"

var dirStatus = statusJSON("DIRECTORY", 0, "")

// statusJSON describes a file or directory; more has further fields.
func statusJSON(kind string, length int, more string) string {
	return fmt.Sprintf(`{"FileStatus":{"type":%q,"length":%d,"blockSize":1048576,"fileId":9,"modificationTime":1000%s}}`, kind, length, more)
}

func fileStatus(length int) string { return statusJSON("FILE", length, "") }

// blockLocations describes the blocks of a file.
func blockLocations(length, blocks int, open, complete bool) string {
	list := strings.TrimSuffix(strings.Repeat("{},", blocks), ",")
	return fmt.Sprintf(`{"LocatedBlocks":{"fileLength":%d,"isUnderConstruction":%v,"isLastBlockComplete":%v,"locatedBlocks":[%s]}}`,
		length, open, complete, list)
}
