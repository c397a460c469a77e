package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// TestPrivateField fails if a version of the library lacks the private fields that callerOf
// reads and setBlocks sets.
func TestPrivateField(t *testing.T) {
	if _, err := callerOf(&client.Client{}); err != nil {
		t.Error(err)
	}
	a, err := messageOf("hadoop.hdfs.LocatedBlocksProto")
	testenv.Must(t, err)
	blocks := a.Mutable(a.Descriptor().Fields().ByName("blocks")).List()
	blocks.Append(blocks.NewElement())
	if err := setBlocks(&client.FileReader{}, blocks); err != nil {
		t.Error(err)
	}
	if w, err := newWriter(&client.Client{}, "/a", 1, 1<<20, 7); err != nil || w == nil {
		t.Error(err)
	}
}

// TestLibraryMessages fails if a version of the library lacks the internal messages that
// messagesOf finds by name.
func TestLibraryMessages(t *testing.T) {
	requests := map[string]fields{
		"getFileInfo":       {"src": "/"},
		"getListing":        {"src": "/", "startAfter": []byte{}, "needLocation": false},
		"getBlockLocations": {"src": "/", "offset": uint64(0), "length": uint64(1)},
		"getServerDefaults": nil,
		"rename2":           {"src": "/a", "dst": "/b", "overwriteDest": false},
		"delete":            {"src": "/", "recursive": true},
		"mkdirs":            {"src": "/", "masked": fields{"perm": uint32(0o755)}, "createParent": true},
		"setPermission":     {"src": "/", "permission": fields{"perm": uint32(0o700)}},
		"create": {
			"src": "/", "masked": fields{"perm": uint32(0o644)}, "unmasked": fields{"perm": uint32(0o666)}, "createFlag": uint32(1),
			"clientName": "c", "createParent": false, "replication": uint32(1), "blockSize": uint64(1),
		},
	}
	for method, args := range requests {
		request, _, err := messagesOf(method, args)
		if err != nil {
			t.Errorf("%s: %v", method, err)
		} else if err := proto.CheckInitialized(request); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, _, err := messagesOf("delete", fields{"no": 1}); err == nil {
		t.Error("an unknown field is accepted")
	}
	if _, _, err := messagesOf("explode", nil); err == nil {
		t.Error("an unknown method is accepted")
	}
	answers := map[string][]protoreflect.Name{
		"GetFileInfoResponseProto":       {"fs"},
		"GetListingResponseProto":        {"dirList"},
		"DirectoryListingProto":          {"partialListing", "remainingEntries"},
		"GetBlockLocationsResponseProto": {"locations"},
		"LocatedBlocksProto":             {"fileLength", "blocks", "underConstruction", "lastBlock", "isLastBlockComplete"},
		"GetServerDefaultsResponseProto": {"serverDefaults"},
		"FsServerDefaultsProto":          {"encryptDataTransfer", "blockSize", "bytesPerChecksum", "replication"},
		"DeleteResponseProto":            {"result"},
	}
	for name, fields := range answers {
		m, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("hadoop.hdfs." + name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, f := range fields {
			if m.Descriptor().Fields().ByName(f) == nil {
				t.Errorf("%s has no field %s", name, f)
			}
		}
	}
}

func newStore(t *testing.T, properties map[string]string, address string) (*Store, error) {
	t.Helper()
	t.Setenv("HADOOP_USER_NAME", "alice")
	conf := cluster.NewConf(properties)
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	testenv.Must(t, err)
	return New(conf, login, Options{Addresses: []string{address}})
}

func TestProtection(t *testing.T) {
	const aes = "AES/CTR/NoPadding"
	tests := []struct {
		name                   string
		value, encrypt, cipher string
		secure                 bool
		want                   string
		refused                string
	}{
		{name: "none", secure: true},
		{name: "authentication", value: "authentication", secure: true, want: "authentication"},
		{name: "the one that works", value: "privacy, Authentication", secure: true, want: "authentication"},
		{name: "integrity", value: "integrity", secure: true, refused: "protection=integrity"},
		{name: "privacy", value: "privacy", secure: true, refused: "protection=privacy"},
		{name: "privacy with AES", value: "privacy", cipher: aes, secure: true, want: "privacy"},
		{name: "privacy or integrity", value: "integrity,privacy", cipher: aes, secure: true, want: "privacy"},
		{name: "without Kerberos", value: "privacy"},
		{name: "encrypted", encrypt: "true", refused: "dfs.encrypt.data.transfer"},
		{name: "encrypted with AES", encrypt: "true", cipher: aes, want: "privacy"},
		{name: "nonsense", value: "secret", secure: true, refused: "secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf := cluster.NewConf(map[string]string{
				"dfs.data.transfer.protection":            tt.value,
				"dfs.encrypt.data.transfer":               tt.encrypt,
				"dfs.encrypt.data.transfer.cipher.suites": tt.cipher,
			})
			got, err := protection(conf, tt.secure)
			if tt.refused != "" {
				if err == nil || store.Classify(err) != store.Final || !strings.Contains(err.Error(), tt.refused) {
					t.Fatalf("error is %v", err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("protection is %q, %v; want %q", got, err, tt.want)
			}
			if o := clientOptions(conf, got); o.DataTransferProtection != tt.want || o.Addresses != nil || o.KerberosClient != nil {
				t.Errorf("the options are %+v", o)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	conf := cluster.NewConf(nil)
	login, err := cluster.NewLogin(conf, cluster.LoginOptions{})
	testenv.Must(t, err)
	if _, err := New(conf, login, Options{}); err == nil {
		t.Error("a store without name nodes was made")
	}
	if _, err := newStore(t, map[string]string{"dfs.encrypt.data.transfer": "true"}, "nn:8020"); err == nil {
		t.Error("encrypted data transfer was accepted")
	}
}

// exception is the library's error for a daemon's exception.
type exception struct{ class, message string }

func (e exception) Method() string    { return "create" }
func (e exception) Desc() string      { return "ERROR_APPLICATION" }
func (e exception) Exception() string { return e.class }
func (e exception) Message() string   { return e.message }
func (e exception) Error() string     { return "create call failed" }

func TestTranslate(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EACCES}
	se := &session{ctx: t.Context()}
	se.failed(errors.New("data node 10.0.0.1:9866: i/o timeout"))
	tests := []struct {
		name string
		se   *session
		err  error
		want error
		text string
	}{
		{"exception", nil, &fs.PathError{Err: exception{"org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota of /q is exceeded"}}, store.ErrQuota, "quota of /q"},
		{"standby", nil, errors.New("no available namenodes: getFileInfo call failed with ERROR_APPLICATION (org.apache.hadoop.ipc.StandbyException)"), store.ErrUnavailable, "Standby"},
		{"denied in a handshake", nil, errors.New("no available namenodes: SASL handshake: sasl call failed with FATAL_UNAUTHORIZED (org.apache.hadoop.security.AccessControlException)"), fs.ErrPermission, "UNAUTHORIZED"},
		{"no Kerberos", nil, errors.New("unexpected sequence number"), fs.ErrPermission, "hadoop.security.authentication"},
		{"wrong principal", nil, errors.New("no available namenodes: SASL handshake: [Root cause: KDC_Error] KDC_Error: TGS Exchange Error: kerberos error response from KDC when requesting for nn/a: KRB Error: (7) KDC_ERR_S_PRINCIPAL_UNKNOWN Server not found"), fs.ErrPermission, "nn/a: (7) KDC_ERR_S_PRINCIPAL"},
		{"wrong service", nil, errors.New("no available namenodes: SASL handshake: sasl call failed with FATAL_UNAUTHORIZED (javax.security.sasl.SaslException)"), fs.ErrPermission, "dfs.namenode.kerberos.principal"},
		{"network", nil, fmt.Errorf("call: %w", refused), store.ErrUnavailable, "dial tcp"},
		{"end of connection", nil, io.EOF, store.ErrUnavailable, "EOF"},
		{"text", nil, errors.New("write failed: ERROR ()"), store.ErrUnavailable, "write failed"},
		{"cause", se, fmt.Errorf("write: %w", net.ErrClosed), store.ErrUnavailable, "10.0.0.1"},
		{"exists", nil, &fs.PathError{Err: fs.ErrExist}, store.ErrExist, "exists"},
		{"invalid", nil, &fs.PathError{Err: fs.ErrInvalid}, syscall.EINVAL, "invalid"},
		{"mismatch", nil, fmt.Errorf("%w: 3", store.ErrMismatch), store.ErrMismatch, "3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := translate(t.Context(), tt.se, tt.err)
			if !errors.Is(got, tt.want) || !strings.Contains(got.Error(), tt.text) || strings.Contains(got.Error(), "\n") {
				t.Errorf("got %v", got)
			}
			if want, is := store.Classify(tt.want), store.Classify(got); is != want {
				t.Errorf("class %v, want %v", is, want)
			}
			if errors.Is(got, io.EOF) {
				t.Error("the error looks like the end of a file")
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := translate(ctx, nil, io.EOF); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
	if err := translate(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestFrames(t *testing.T) {
	stream := []byte{0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}
	for step := 1; step <= len(stream); step++ {
		f := frames{max: 8}
		for rest := stream; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			if err := f.check(rest[:min(step, len(rest))]); err != nil {
				t.Fatalf("in steps of %d: %v", step, err)
			}
		}
		if f.left != 0 || f.have != 0 {
			t.Errorf("in steps of %d: %+v after whole answers", step, f)
		}
	}
	f := frames{max: 8}
	if err := f.check([]byte{0, 0, 0, 9}); err == nil {
		t.Error("an answer that is too long is accepted")
	}
}

// TestKilledWhileDialing kills a session while it connects: the connection must end too.
func TestKilledWhileDialing(t *testing.T) {
	s := &Store{addresses: []string{"nn:8020"}}
	se := &session{store: s, conns: map[net.Conn]struct{}{}}
	se.ctx, se.cancel = context.WithCancel(t.Context())
	se.kill()
	ours, theirs := net.Pipe()
	if err := theirs.SetDeadline(time.Now().Add(5 * time.Second)); err != nil { // so that the test does not hang
		t.Fatal(err)
	}
	if err := se.keep(newDataConn(conn{Conn: ours, session: se})); !errors.Is(err, context.Canceled) {
		t.Errorf("keep: %v", err)
	}
	if _, err := theirs.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
	if len(se.conns) != 0 {
		t.Errorf("%d connections are kept", len(se.conns))
	}
}

// TestDataNodeReadsNothing has a data node that never reads.
func TestDataNodeReadsNothing(t *testing.T) {
	se := &session{store: &Store{}, conns: map[net.Conn]struct{}{}}
	se.ctx, se.cancel = context.WithCancel(t.Context())
	defer se.cancel()
	ours, theirs := net.Pipe()
	release := time.AfterFunc(5*time.Second, func() { _ = theirs.Close() }) // so that the test does not hang
	defer release.Stop()
	c := newDataConn(conn{Conn: ours, session: se, timeout: 20 * time.Millisecond})
	if n, err := c.Write([]byte("packet")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	if !errors.Is(se.cause(), os.ErrDeadlineExceeded) {
		t.Errorf("the session failed with %v", se.cause())
	}
}

// TestClosedStore checks that a closed store begins no operation and keeps no session.
func TestClosedStore(t *testing.T) {
	_, s := newNameNode(t, readAnswers(5, 0))
	err := s.runIdempotent(t.Context(), func(*session) error { return s.Close() })
	if err != nil || len(s.idle) != 0 {
		t.Errorf("%v, keeps %d sessions", err, len(s.idle))
	}
	if _, err := s.Stat(t.Context(), "/f"); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// TestUnresolved has a host name that does not resolve, first never, then no longer.
func TestUnresolved(t *testing.T) {
	const address = "no..such-host:8020" // invalid, so no server is queried
	s, err := newStore(t, nil, address)
	testenv.Must(t, err)
	for range 2 {
		if _, err := s.Stat(t.Context(), "/f"); !errors.Is(err, store.ErrUnresolved) || store.Classify(err) != store.Retryable {
			t.Errorf("a host without a name: %v", err)
		}
	}
	s.names.Note(address, nil)
	if _, err := s.Stat(t.Context(), "/f"); errors.Is(err, store.ErrUnresolved) || store.Classify(err) != store.Retryable {
		t.Errorf("a host that had a name: %v", err)
	}
}

// TestNoDialWithoutTicket connects to no name node without a ticket: the library would
// wait for one.
func TestNoDialWithoutTicket(t *testing.T) {
	_, s := newNameNode(t, answers{})
	se, err := s.acquire(t.Context())
	testenv.Must(t, err)
	defer se.close()
	requested := ""
	se.ticket = func(address string) error {
		requested = address
		return context.Canceled
	}
	if c, err := se.dialNameNode(t.Context(), "tcp", s.addresses[0]); !errors.Is(err, context.Canceled) || requested != s.addresses[0] {
		t.Errorf("%v, %v, ticket for %q", c, err, requested)
	}
	for principal, want := range map[string]string{"nn/_HOST": "nn/a.b", "nn/c": "nn/c", "nn": "nn"} {
		s.options.KerberosServicePrincipleName = principal
		if got := s.service("a.b:8020"); got != want {
			t.Errorf("%s is %s, want %s", principal, got, want)
		}
	}
}
