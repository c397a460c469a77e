package hdfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// writeAnswers are the answers for writing a file of one block to the data node with a
// port.
func writeAnswers(length, port int) answers {
	return answers{
		"getFileInfo":       {dirInfo, fileInfo(length)},
		"create":            {fileInfo(0)},
		"addBlock":          {`{"block":` + block("1", 0, port) + `}`},
		"complete":          {`{"result":true}`},
		"getBlockLocations": {blockLocations(length, false, true, block("1", length, port))},
		"delete":            {`{"result":true}`},
		"rename2":           {`{}`},
	}
}

// writeParts writes a file of a promised size in parts.
func writeParts(t *testing.T, s *Store, size int64, parts ...string) error {
	t.Helper()
	w, err := s.Create(t.Context(), "/d/f", store.CreateOptions{Size: size})
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }()
	for _, part := range parts {
		_, _ = io.WriteString(w, part) // Commit fails too
	}
	return w.Commit(t.Context())
}

func TestWrite(t *testing.T) {
	d := newDataNode(t, "")
	n, s := newNameNode(t, writeAnswers(5, d.port()).with("complete", `{"result":false}`, `{"result":true}`).
		with("getBlockLocations", blockLocations(5, false, false, block("1", 5, d.port())), blockLocations(5, false, true, block("1", 5, d.port()))))
	testenv.Must(t, writeParts(t, s, 5, "hel", "", "lo"))
	if a, b := len(n.requests("complete")), len(n.requests("getBlockLocations")); a != 2 || b != 2 {
		t.Errorf("closed %d times, %d requests for its blocks; want 2 and 2", a, b)
	}
	if len(n.requests("delete")) > 0 {
		t.Error("a committed file was removed")
	}
	if size := n.requests("create")[0].field("blockSize").Uint(); size != 1<<20 {
		t.Errorf("a block of %d bytes", size)
	}
}

// TestEmptyFile checks that a file without bytes gets no block.
func TestEmptyFile(t *testing.T) {
	n, s := newNameNode(t, writeAnswers(0, 0).with("getBlockLocations", blockLocations(0, false, false)))
	testenv.Must(t, writeParts(t, s, 0, ""))
	if len(n.requests("addBlock")) > 0 {
		t.Error("a block was added")
	}
}

// TestUnsoundUpload has uploads whose Commit must fail.
func TestUnsoundUpload(t *testing.T) {
	d := newDataNode(t, "")
	one := block("1", 5, d.port())
	small := strings.ReplaceAll(fileInfo(5), `"blocksize":1048576`, `"blocksize":4`)
	ec := info(statusJSON("IS_DIR", "", 0, `,"flags":4`))
	for name, tt := range map[string]struct {
		answers answers
		parts   []string
		is      error
	}{
		"a part is refused": {writeAnswers(5, d.port()).with("addBlock", "java.io.IOException: none", `{"block":`+block("1", 0, d.port())+`}`),
			[]string{"hello", "hello"}, store.ErrUnavailable},
		"striped":      {writeAnswers(5, d.port()).with("getFileInfo", ec, fileInfo(5)), []string{"hello"}, store.ErrErasureCoded},
		"no directory": {writeAnswers(5, d.port()).with("getFileInfo", `{}`, fileInfo(5)), []string{"hello"}, store.ErrNoParent},
		"hidden directory": {writeAnswers(5, d.port()).with("getFileInfo", "org.apache.hadoop.security.AccessControlException: denied", fileInfo(5)),
			[]string{"hello"}, fs.ErrPermission},
		"below a file": {writeAnswers(5, d.port()).with("getFileInfo", fileInfo(5)), []string{"hello"}, syscall.ENOTDIR},
		"close fails": {writeAnswers(5, d.port()).with("complete", "java.io.IOException: lost", `{"result":true}`),
			[]string{"hello"}, store.ErrUnavailable},
		"shorter":            {writeAnswers(5, d.port()).with("getFileInfo", dirInfo, fileInfo(4)), []string{"hello"}, store.ErrMismatch},
		"blocks are shorter": {writeAnswers(5, d.port()).with("getBlockLocations", blockLocations(4, false, true, one)), []string{"hello"}, store.ErrMismatch},
		"stays open":         {writeAnswers(5, d.port()).with("getBlockLocations", blockLocations(5, true, true, one)), []string{"hello"}, store.ErrUnavailable},
		"unconfirmed block":  {writeAnswers(5, d.port()).with("getBlockLocations", blockLocations(5, false, false, one)), []string{"hello"}, store.ErrUnavailable},
		"two blocks":         {writeAnswers(5, d.port()).with("getBlockLocations", blockLocations(5, false, true, one, one)), []string{"hello"}, store.ErrMismatch},
		"smaller blocks":     {writeAnswers(5, d.port()).with("getFileInfo", dirInfo, small), []string{"hello"}, store.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			n, s := newNameNode(t, tt.answers)
			s.confirmTime = 50 * time.Millisecond
			if err := writeParts(t, s, 5, tt.parts...); !errors.Is(err, tt.is) {
				t.Errorf("committed, %v", err)
			}
			if begun, removed := len(n.requests("create")), len(n.requests("delete")); begun != removed {
				t.Errorf("%d files were begun, %d removed", begun, removed)
			}
		})
	}
}

// TestAbort ends the library's goroutines of an upload: goleak checks that.
func TestAbort(t *testing.T) {
	d := newDataNode(t, "")
	n, s := newNameNode(t, writeAnswers(5, d.port()))
	w, err := s.Create(t.Context(), "/d/f", store.CreateOptions{Size: 5})
	testenv.Must(t, err)
	if _, err := io.WriteString(w, "hel"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
	}
	if len(n.requests("complete")) > 0 || len(n.requests("delete")) != 1 {
		t.Errorf("closed %d times, removed %d times", len(n.requests("complete")), len(n.requests("delete")))
	}
}

// TestWriteFile replaces a file unless exclusive, and leaves no temporary file.
func TestWriteFile(t *testing.T) {
	d := newDataNode(t, "")
	for _, exclusive := range []bool{false, true} {
		n, s := newNameNode(t, writeAnswers(5, d.port()))
		testenv.Must(t, s.WriteFile(t.Context(), "/d/f", []byte("hello"), exclusive))
		if r := n.requests("rename2"); len(r) != 1 || r[0].field("overwriteDest").Bool() == exclusive {
			t.Errorf("exclusive %v: renamed by %v", exclusive, r)
		}
	}
	n, s := newNameNode(t, writeAnswers(5, d.port()).with("rename2", "org.apache.hadoop.fs.FileAlreadyExistsException: rename destination /d/f already exists"))
	if err := s.WriteFile(t.Context(), "/d/f", []byte("hello"), true); !errors.Is(err, store.ErrExist) {
		t.Error(err)
	}
	if len(n.requests("delete")) != 1 {
		t.Error("the temporary file was left")
	}
}

// TestLostAnswer checks that only operations that may be repeated are retried.
func TestLostAnswer(t *testing.T) {
	n, s := newNameNode(t, answers{"rename2": {"hang up"}, "getFileInfo": {"hang up", fileInfo(1)}})
	s.addresses = append(s.addresses, s.addresses[0])
	if err := s.Rename(t.Context(), "/a", "/b"); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if len(n.requests("rename2")) != 1 || n.requests("rename2")[0].field("overwriteDest").Bool() {
		t.Errorf("renamed by %v", n.requests("rename2"))
	}
	if _, err := s.Stat(t.Context(), "/a"); err != nil {
		t.Error(err)
	}
}
