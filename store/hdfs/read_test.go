package hdfs

import (
	"errors"
	"fmt"
	hashcrc "hash/crc32"
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

// readAnswers are the answers for reading a file of one block on the data node with a
// port.
func readAnswers(length, port int) answers {
	return answers{
		"getFileInfo":       {fileInfo(length)},
		"getBlockLocations": {blockLocations(length, false, true, block("1", length, port))},
	}
}

func (a answers) with(method string, texts ...string) answers {
	a[method] = texts
	return a
}

func TestReadFile(t *testing.T) {
	d := newDataNode(t, "hello")
	_, s := newNameNode(t, readAnswers(5, d.port()))
	if data, err := s.ReadFile(t.Context(), "/f", 5); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
}

// Bytes that do not match their checksums are not returned. They are read from another data node if
// there is one.
func TestChecksumOfData(t *testing.T) {
	sound, damaged := strings.Repeat("sound", 1000), strings.Repeat("sound", 500)+"!"+strings.Repeat("sound", 500)[1:]
	sums := map[string]uint32{}
	table := hashcrc.MakeTable(hashcrc.Castagnoli)
	crcOf := func(chunk []byte) uint32 { return hashcrc.Checksum(chunk, table) }
	for i := 0; i < len(sound); i += 512 {
		end := min(i+512, len(sound))
		sums[damaged[i:end]] = crcOf([]byte(sound[i:end]))
	}
	for _, replicas := range []int{1, 2} {
		bad, good := newDataNode(t, damaged), newDataNode(t, sound)
		bad.crc, good.crc = func(chunk []byte) uint32 { return sums[string(chunk)] }, crcOf
		located, is := block("1", len(sound), bad.port()), store.ErrUnavailable
		if replicas == 2 {
			first := located[strings.Index(located, `{"id"`):strings.LastIndex(located, "]")]
			second := strings.Replace(first, fmt.Sprint(bad.port()), fmt.Sprint(good.port()), 1)
			located, is = strings.Replace(located, first, first+","+second, 1), nil
		}
		_, s := newNameNode(t, readAnswers(len(sound), 0).with("getBlockLocations", blockLocations(len(sound), false, true, located)))
		f, err := s.Open(storetest.Bounded(t), "/f")
		testenv.Must(t, err)
		data := make([]byte, len(sound))
		n, err := f.ReadAt(data, 0)
		if !errors.Is(err, is) || string(data[:n]) != sound[:n] || err == nil && n < len(sound) {
			t.Errorf("%d replicas: %d bytes, sound: %v, %v", replicas, n, string(data[:n]) == sound[:n], err)
		}
		testenv.Must(t, f.Close())
	}
}

// readOnce is ReadFile with one try.
func readOnce(t *testing.T, s *Store) ([]byte, error) {
	f, err := s.Open(storetest.Bounded(t), "/f")
	return store.ReadWhole(f, err, 10)
}

// TestUnsoundFile has files that must not be read, or that change meanwhile.
func TestUnsoundFile(t *testing.T) {
	d := newDataNode(t, "hello")
	file := func(more string) string { return info(statusJSON("IS_FILE", "", 5, more)) }
	another := strings.ReplaceAll(fileInfo(5), `"fileId":7`, `"fileId":8`)
	sound := blockLocations(5, false, true, block("1", 5, d.port()))
	const freePort = 1 // no process listens there
	const policy = `{"name":"RS-6-3","schema":{"codecName":"rs","dataUnits":6,"parityUnits":3},"cellSize":1024,"id":1}`
	const crypt = `{"suite":"AES_CTR_NOPADDING","cryptoProtocolVersion":"ENCRYPTION_ZONES","key":"","iv":"","keyName":"","ezKeyVersionName":""}`
	for name, tt := range map[string]struct {
		answers answers
		is      error
	}{
		"a directory":            {readAnswers(0, 0).with("getFileInfo", dirInfo), store.ErrNotRegular},
		"erasure-coded":          {readAnswers(5, d.port()).with("getFileInfo", file(`,"ecPolicy":`+policy)), store.ErrErasureCoded},
		"erasure-coded, by flag": {readAnswers(5, d.port()).with("getFileInfo", file(`,"flags":4`)), store.ErrErasureCoded},
		"encrypted":              {readAnswers(5, d.port()).with("getFileInfo", file(`,"fileEncryptionInfo":`+crypt)), store.ErrEncrypted},
		"encrypted, by flag":     {readAnswers(5, d.port()).with("getFileInfo", file(`,"flags":2`)), store.ErrEncrypted},
		"still written":          {readAnswers(5, d.port()).with("getBlockLocations", blockLocations(5, true, false, block("1", 5, d.port()))), store.ErrBeingWritten},
		"longer than expected":   {readAnswers(1<<50, d.port()), store.ErrTooLarge},
		"of a negative length":   {readAnswers(5, d.port()).with("getFileInfo", strings.ReplaceAll(fileInfo(5), `"length":5`, `"length":"18446744073709551615"`)), store.ErrUnavailable},
		"grows":                  {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), fileInfo(6)), store.ErrReplaced},
		"becomes empty":          {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), fileInfo(0)), store.ErrReplaced},
		"replaced before a read": {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), another), store.ErrReplaced},
		"removed":                {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), `{}`), store.ErrNotExist},
		"removed before its blocks are asked for": {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), fileInfo(5), `{}`).
			with("getBlockLocations", sound, "java.io.FileNotFoundException: File does not exist: /f"), store.ErrNotExist},
		"removed, and without blocks": {readAnswers(5, d.port()).with("getFileInfo", fileInfo(5), fileInfo(5), `{}`).
			with("getBlockLocations", sound, `{}`), store.ErrNotExist},
		"removed, data node first": {readAnswers(5, freePort).with("getFileInfo", fileInfo(5), fileInfo(5), `{}`), store.ErrNotExist},
		"not removed":              {readAnswers(5, freePort), store.ErrUnavailable},
		"a block that ends early":  {readAnswers(7, d.port()), store.ErrUnavailable},
		"cipher that is not ours": {readAnswers(5, d.port()).with("getServerDefaults", `{"serverDefaults":{"blockSize":1,"bytesPerChecksum":1,`+
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

// TestShrunkFile reads at an offset that the file no longer has.
func TestShrunkFile(t *testing.T) {
	_, s := newNameNode(t, readAnswers(9, 0).with("getFileInfo", fileInfo(9), fileInfo(5)))
	f, err := s.Open(t.Context(), "/f")
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	if _, err := f.ReadAt(make([]byte, 1), 8); !errors.Is(err, store.ErrReplaced) {
		t.Error(err)
	}
}

// TestSilence has a name node and a data node that never answer.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer func() { _ = l.Close() }()
	address := l.Addr().(*net.TCPAddr)
	_, s := newNameNode(t, readAnswers(5, address.Port))
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

// TestHugeAnswer checks that a length is refused before the library allocates it.
func TestHugeAnswer(t *testing.T) {
	_, s := newNameNode(t, answers{"getFileInfo": {"huge"}})
	if _, err := s.Stat(storetest.Bounded(t), "/f"); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "2147483647 bytes") {
		t.Error(err)
	}
}

// TestFailedSessionIsNotUsedAgain lets the connection of an idle session fail, as if a
// renewal of its lease had failed.
func TestFailedSessionIsNotUsedAgain(t *testing.T) {
	n, s := newNameNode(t, readAnswers(5, 0))
	if _, err := s.Stat(t.Context(), "/f"); err != nil {
		t.Fatal(err)
	}
	failed := s.idle[0]
	failed.failed(io.ErrUnexpectedEOF)
	if _, err := s.Stat(t.Context(), "/f"); err != nil {
		t.Fatal(err)
	}
	if s.idle[0] == failed || failed.alive() || len(n.requests("getFileInfo")) != 2 {
		t.Error("the failed session is used again")
	}
}

func TestUnsoundListing(t *testing.T) {
	list := func(left string, statuses ...string) string {
		return `{"dirList":{"partialListing":[` + strings.Join(statuses, ",") + `],"remainingEntries":` + left + `}}`
	}
	a, b := statusJSON("IS_FILE", "a", 1, ""), statusJSON("IS_FILE", "b", 1, "")
	for name, tt := range map[string]struct {
		answers []string
		is      error
	}{
		"sound":          {[]string{list("1", a), list("0", b)}, nil},
		"a file":         {[]string{list("0", statusJSON("IS_FILE", "", 1, ""))}, syscall.ENOTDIR},
		"repeated names": {[]string{list("2", a), list("1", b), list("1", a), list("0", b)}, store.ErrUnavailable},
		"empty page":     {[]string{list("1", a), list("1"), list("0")}, store.ErrUnavailable},
		"nothing":        {[]string{`{}`}, store.ErrNotExist},
		"leads out":      {[]string{list("0", statusJSON("IS_FILE", "../b", 1, ""), b)}, store.ErrUnavailable},
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

// TestReadRange checks that a data node is asked for no more than the bytes of a range.
func TestReadRange(t *testing.T) {
	d := newDataNode(t, "hello")
	_, s := newNameNode(t, readAnswers(5, d.port()))
	f, err := s.Open(t.Context(), "/f")
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	p := make([]byte, 2)
	if _, err := store.ReadRange(f, p, 1); err != nil || string(p) != "el" {
		t.Errorf("read %q, %v", p, err)
	}
	if asked := <-d.asked; asked != [2]uint64{1, 2} {
		t.Errorf("asked for offset and length %d", asked)
	}
}
