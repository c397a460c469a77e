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

// taken are the answers to who writes a file of a block, which the data node of
// a port takes.
func taken(length, port int) answers {
	return answers{
		"getFileInfo":       {aDir, aFile(length)},
		"create":            {aFile(0)},
		"addBlock":          {`{"block":` + block("1", 0, port) + `}`},
		"complete":          {`{"result":true}`},
		"getBlockLocations": {located(length, false, true, block("1", length, port))},
		"delete":            {`{"result":true}`},
		"rename2":           {`{}`},
	}
}

// writeParts writes a file in parts, of as many bytes as are promised.
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
	n, s := newNameNode(t, taken(5, d.port()).with("complete", `{"result":false}`, `{"result":true}`).
		with("getBlockLocations", located(5, false, false, block("1", 5, d.port())), located(5, false, true, block("1", 5, d.port()))))
	testenv.Must(t, writeParts(t, s, 5, "hel", "", "lo"))
	if a, b := len(n.requests("complete")), len(n.requests("getBlockLocations")); a != 2 || b != 2 {
		t.Errorf("closed %d times, looked at %d times; want 2 and 2", a, b)
	}
	if len(n.requests("delete")) > 0 {
		t.Error("a committed file was removed")
	}
	if size := n.requests("create")[0].field("blockSize").Uint(); size != 1<<20 {
		t.Errorf("a block of %d bytes", size)
	}
}

// TestEmptyFile has no block, whatever is written.
func TestEmptyFile(t *testing.T) {
	n, s := newNameNode(t, taken(0, 0).with("getBlockLocations", located(0, false, false)))
	testenv.Must(t, writeParts(t, s, 0, ""))
	if len(n.requests("addBlock")) > 0 {
		t.Error("a block was added")
	}
}

// TestUnsoundUpload has uploads that must not count as written.
func TestUnsoundUpload(t *testing.T) {
	d := newDataNode(t, "")
	one := block("1", 5, d.port())
	small := strings.ReplaceAll(aFile(5), `"blocksize":1048576`, `"blocksize":4`)
	ec := info(aStatus("IS_DIR", "", 0, `,"flags":4`))
	for name, tt := range map[string]struct {
		answers answers
		parts   []string
		is      error
	}{
		"a part is refused": {taken(5, d.port()).with("addBlock", "java.io.IOException: none", `{"block":`+block("1", 0, d.port())+`}`),
			[]string{"hello", "hello"}, store.ErrUnavailable},
		"striped":      {taken(5, d.port()).with("getFileInfo", ec, aFile(5)), []string{"hello"}, store.ErrErasureCoded},
		"no directory": {taken(5, d.port()).with("getFileInfo", `{}`, aFile(5)), []string{"hello"}, store.ErrNoParent},
		"hidden directory": {taken(5, d.port()).with("getFileInfo", "org.apache.hadoop.security.AccessControlException: denied", aFile(5)),
			[]string{"hello"}, fs.ErrPermission},
		"in a file": {taken(5, d.port()).with("getFileInfo", aFile(5)), []string{"hello"}, syscall.ENOTDIR},
		"close fails": {taken(5, d.port()).with("complete", "java.io.IOException: lost", `{"result":true}`),
			[]string{"hello"}, store.ErrUnavailable},
		"shorter":            {taken(5, d.port()).with("getFileInfo", aDir, aFile(4)), []string{"hello"}, store.ErrMismatch},
		"blocks are shorter": {taken(5, d.port()).with("getBlockLocations", located(4, false, true, one)), []string{"hello"}, store.ErrMismatch},
		"stays open":         {taken(5, d.port()).with("getBlockLocations", located(5, true, true, one)), []string{"hello"}, store.ErrUnavailable},
		"unconfirmed block":  {taken(5, d.port()).with("getBlockLocations", located(5, false, false, one)), []string{"hello"}, store.ErrUnavailable},
		"two blocks":         {taken(5, d.port()).with("getBlockLocations", located(5, false, true, one, one)), []string{"hello"}, store.ErrMismatch},
		"smaller blocks":     {taken(5, d.port()).with("getFileInfo", aDir, small), []string{"hello"}, store.ErrMismatch},
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

// TestAbort ends what the library runs for an upload, which goleak sees.
func TestAbort(t *testing.T) {
	d := newDataNode(t, "")
	n, s := newNameNode(t, taken(5, d.port()))
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

// TestWriteFile replaces only what it may, and leaves nothing behind.
func TestWriteFile(t *testing.T) {
	d := newDataNode(t, "")
	for _, exclusive := range []bool{false, true} {
		n, s := newNameNode(t, taken(5, d.port()))
		testenv.Must(t, s.WriteFile(t.Context(), "/d/f", []byte("hello"), exclusive))
		if r := n.requests("rename2"); len(r) != 1 || r[0].field("overwriteDest").Bool() == exclusive {
			t.Errorf("exclusive %v: renamed by %v", exclusive, r)
		}
	}
	n, s := newNameNode(t, taken(5, d.port()).with("rename2", "org.apache.hadoop.fs.FileAlreadyExistsException: rename destination /d/f already exists"))
	if err := s.WriteFile(t.Context(), "/d/f", []byte("hello"), true); !errors.Is(err, store.ErrExist) {
		t.Error(err)
	}
	if len(n.requests("delete")) != 1 {
		t.Error("the temporary file was left")
	}
}

// TestLostAnswer asks once only for what must not be done twice.
func TestLostAnswer(t *testing.T) {
	n, s := newNameNode(t, answers{"rename2": {"hang up"}, "getFileInfo": {"hang up", aFile(1)}})
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
