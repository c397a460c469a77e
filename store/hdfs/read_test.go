package hdfs

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// stored are the answers to who reads a file of a block, which the data node of
// a port has.
func stored(length, port int) answers {
	return answers{
		"getFileInfo":       {aFile(length)},
		"getBlockLocations": {located(length, false, true, block("1", length, port))},
	}
}

func (a answers) with(method string, texts ...string) answers {
	a[method] = texts
	return a
}

func TestReadFile(t *testing.T) {
	d := newDataNode(t, "hello")
	_, s := newNameNode(t, stored(5, d.port()))
	if data, err := s.ReadFile(t.Context(), "/f", 5); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
}

// readOnce is ReadFile without a second try.
func readOnce(t *testing.T, s *Store) ([]byte, error) {
	f, err := s.Open(storetest.Bounded(t), "/f")
	return store.ReadWhole(f, err, 10)
}

// TestUnsoundFile has files that are not to be read, or not as they seem.
func TestUnsoundFile(t *testing.T) {
	d := newDataNode(t, "hello")
	file := func(more string) string { return info(aStatus("IS_FILE", "", 5, more)) }
	another := strings.ReplaceAll(aFile(5), `"fileId":7`, `"fileId":8`)
	sound := located(5, false, true, block("1", 5, d.port()))
	const nobody = 1 // a port
	const policy = `{"name":"RS-6-3","schema":{"codecName":"rs","dataUnits":6,"parityUnits":3},"cellSize":1024,"id":1}`
	const crypt = `{"suite":"AES_CTR_NOPADDING","cryptoProtocolVersion":"ENCRYPTION_ZONES","key":"","iv":"","keyName":"","ezKeyVersionName":""}`
	for name, tt := range map[string]struct {
		answers answers
		is      error
	}{
		"a directory":            {stored(0, 0).with("getFileInfo", aDir), store.ErrNotRegular},
		"erasure-coded":          {stored(5, d.port()).with("getFileInfo", file(`,"ecPolicy":`+policy)), store.ErrErasureCoded},
		"erasure-coded, by flag": {stored(5, d.port()).with("getFileInfo", file(`,"flags":4`)), store.ErrErasureCoded},
		"encrypted":              {stored(5, d.port()).with("getFileInfo", file(`,"fileEncryptionInfo":`+crypt)), store.ErrEncrypted},
		"encrypted, by flag":     {stored(5, d.port()).with("getFileInfo", file(`,"flags":2`)), store.ErrEncrypted},
		"still written":          {stored(5, d.port()).with("getBlockLocations", located(5, true, false, block("1", 5, d.port()))), store.ErrBeingWritten},
		"longer than expected":   {stored(1<<50, d.port()), store.ErrTooLarge},
		"of a negative length":   {stored(5, d.port()).with("getFileInfo", strings.ReplaceAll(aFile(5), `"length":5`, `"length":"18446744073709551615"`)), store.ErrUnavailable},
		"grows":                  {stored(5, d.port()).with("getFileInfo", aFile(5), aFile(6)), store.ErrReplaced},
		"becomes empty":          {stored(5, d.port()).with("getFileInfo", aFile(5), aFile(0)), store.ErrReplaced},
		"replaced before a read": {stored(5, d.port()).with("getFileInfo", aFile(5), aFile(5), another), store.ErrReplaced},
		"removed":                {stored(5, d.port()).with("getFileInfo", aFile(5), `{}`), store.ErrNotExist},
		"removed before its blocks are asked for": {stored(5, d.port()).with("getFileInfo", aFile(5), aFile(5), `{}`).
			with("getBlockLocations", sound, "java.io.FileNotFoundException: File does not exist: /f"), store.ErrNotExist},
		"removed, and without blocks": {stored(5, d.port()).with("getFileInfo", aFile(5), aFile(5), `{}`).
			with("getBlockLocations", sound, `{}`), store.ErrNotExist},
		"removed, as a data node knows first": {stored(5, nobody).with("getFileInfo", aFile(5), aFile(5), `{}`), store.ErrNotExist},
		"not removed":                         {stored(5, nobody), store.ErrUnavailable},
		"a block that ends early":             {stored(7, d.port()), store.ErrUnavailable},
		"cipher that is not ours": {stored(5, d.port()).with("getServerDefaults", `{"serverDefaults":{"blockSize":1,"bytesPerChecksum":1,`+
			`"writePacketSize":1,"replication":1,"fileBufferSize":1,"encryptDataTransfer":true}}`), syscall.ENOTSUP},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, tt.answers)
			data, err := readOnce(t, s)
			if !errors.Is(err, tt.is) {
				t.Errorf("read %q, %v", data, err)
			}
		})
	}
}

// TestShrunkFile is told from a place that no file has.
func TestShrunkFile(t *testing.T) {
	_, s := newNameNode(t, stored(9, 0).with("getFileInfo", aFile(9), aFile(5)))
	f, err := s.Open(t.Context(), "/f")
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	if _, err := f.ReadAt(make([]byte, 1), 8); !errors.Is(err, store.ErrReplaced) {
		t.Error(err)
	}
}

// TestSilence has a name node and a data node that take a call and say nothing.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer func() { _ = l.Close() }()
	address := l.Addr().(*net.TCPAddr)
	_, s := newNameNode(t, stored(5, address.Port))
	s.dataTimeout = 20 * time.Millisecond
	if data, err := s.ReadFile(storetest.Bounded(t), "/f", 10); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a data node: %q, %v", data, err)
	}
	s, err = newStore(t, map[string]string{"ipc.client.rpc-timeout.ms": "20"}, address.String())
	testenv.Must(t, err)
	defer func() { _ = s.Close() }()
	if _, err := s.Stat(storetest.Bounded(t), "/f"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a name node: %v", err)
	}
}

// TestHugeAnswer ends before the library allocates what it is told.
func TestHugeAnswer(t *testing.T) {
	_, s := newNameNode(t, answers{"getFileInfo": {"huge"}})
	if _, err := s.Stat(storetest.Bounded(t), "/f"); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "2147483647 bytes") {
		t.Error(err)
	}
}

// TestFailedSessionIsNotUsedAgain lets the connection of an idle session fail,
// as the renewal of its lease notices.
func TestFailedSessionIsNotUsedAgain(t *testing.T) {
	n, s := newNameNode(t, stored(5, 0))
	if _, err := s.Stat(t.Context(), "/f"); err != nil {
		t.Fatal(err)
	}
	failed := s.idle[0]
	failed.failed(io.ErrUnexpectedEOF)
	if _, err := s.Stat(t.Context(), "/f"); err != nil {
		t.Fatal(err)
	}
	if s.idle[0] == failed || failed.alive() || len(n.requests("getFileInfo")) != 2 {
		t.Error("the session is used on")
	}
}

func TestUnsoundListing(t *testing.T) {
	list := func(left string, statuses ...string) string {
		return `{"dirList":{"partialListing":[` + strings.Join(statuses, ",") + `],"remainingEntries":` + left + `}}`
	}
	a, b := aStatus("IS_FILE", "a", 1, ""), aStatus("IS_FILE", "b", 1, "")
	for name, tt := range map[string]struct {
		answers []string
		is      error
	}{
		"sound":          {[]string{list("1", a), list("0", b)}, nil},
		"of a file":      {[]string{list("0", aStatus("IS_FILE", "", 1, ""))}, syscall.ENOTDIR},
		"goes round":     {[]string{list("2", a), list("1", b), list("1", a), list("0", b)}, store.ErrUnavailable},
		"without an end": {[]string{list("1", a), list("1"), list("0")}, store.ErrUnavailable},
		"of nothing":     {[]string{`{}`}, store.ErrNotExist},
		"leads out":      {[]string{list("0", aStatus("IS_FILE", "../b", 1, ""), b)}, store.ErrUnavailable},
		"negative files": {[]string{list("0", strings.ReplaceAll(a, `"length":1`, `"length":"18446744073709551615"`), b)}, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, answers{"getListing": tt.answers})
			infos, err := s.List(t.Context(), "/d")
			if !errors.Is(err, tt.is) || err == nil && len(infos) != 2 {
				t.Errorf("%+v, %v", infos, err)
			}
		})
	}
}

// TestAppendedFile keeps its number, and is known by its length.
func TestAppendedFile(t *testing.T) {
	d := newDataNode(t, "hello")
	n, s := newNameNode(t, stored(5, d.port()).with("getFileInfo", aFile(5), aFile(5), aFile(6)))
	if data, err := readOnce(t, s); err == nil || len(n.requests("getFileInfo")) < 3 {
		t.Errorf("read %q, %v", data, err)
	}
}
