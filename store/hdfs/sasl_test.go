package hdfs

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	client "github.com/colinmarc/hdfs/v2"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestPrefer(t *testing.T) {
	tests := []struct {
		offer, want, list, level string
		text                     string // of the error
	}{
		{"auth", "authentication", "auth", "auth", ""},
		{"auth-conf,auth-int,auth", "authentication", "auth,auth-conf,auth-int", "auth", ""},
		{"auth,auth-conf", "privacy", "auth-conf,auth", "auth-conf", ""},
		{"auth-conf", "", "auth-conf", "auth-conf", ""},
		{"auth-int", "authentication", "", "", "by integrity, not by authentication"},
		{"auth-int,auth-conf", "authentication", "", "", "integrity or privacy"},
		{"auth-int", "", "", "", "webhdfs://"},
		{"x\x00", "authentication", "", "", `"x\x00"`},
	}
	for _, tt := range tests {
		message := []byte(`realm="0",nonce="n",qop="` + tt.offer + `",charset=utf-8`)
		level, err := prefer(message, tt.want)
		if tt.text != "" {
			if !errors.Is(err, syscall.ENOTSUP) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s, %s: %v", tt.offer, tt.want, err)
			}
			continue
		}
		if err != nil || level != tt.level || string(message) != `realm="0",nonce="n",qop="`+tt.list+`",charset=utf-8` {
			t.Errorf("%s, %s: %s, %s, %v", tt.offer, tt.want, level, message, err)
		}
	}
	if level, err := prefer([]byte("no offer"), "privacy"); level != "" || err != nil {
		t.Errorf("no offer: %s, %v", level, err)
	}
}

// TestNegotiation reads a node's answers: they pass unchanged to the library, and one
// that is too long is an error.
func TestNegotiation(t *testing.T) {
	const (
		offer  = "\x12\x10qop=\"auth-conf,x\"" // payload
		cipher = "\x22\x02\x08\x02"
		plain  = "\x08\x00"
	)
	message := func(s string) string { return string(rune(len(s))) + s }
	tests := []struct {
		name, answer string
		text         string // of the error
	}{
		{"AES", message(plain+offer) + message(plain+cipher) + "data", ""},
		{"no AES", message(plain+offer) + message(plain), "AES"},
		{"failure", message("\x08\x01") + message("\x08\x01"), ""},
		{"garbage", message(plain+offer) + message("\x12\x7f"), "negotiate"},
		{"too long", "\xff\xff\x7f", "2097151 bytes"},
		{"short", "\x05\x08", "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := negotiate(t, "privacy", nil, tt.answer)
			if tt.text == "" {
				if got != tt.answer || errors.Is(err, io.EOF) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// negotiate begins a negotiation with a data node that sends only answer, and returns the
// bytes that were read. It does not use net.Pipe: after its other end is closed, setting
// a deadline fails instead of the read.
func negotiate(t *testing.T, protection string, sums *checksums, answer string) (string, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer func() { _ = l.Close() }()
	here, err := net.Dial("tcp", l.Addr().String())
	testenv.Must(t, err)
	defer func() { _ = here.Close() }()
	there, err := l.Accept()
	testenv.Must(t, err)
	se := &session{store: &Store{options: client.ClientOptions{DataTransferProtection: protection}}, checksums: sums}
	se.ctx, se.cancel = t.Context(), func() {}
	c := newDataConn(conn{Conn: here, session: se, timeout: time.Minute, name: "node"})
	go func() {
		_, _ = io.CopyN(io.Discard, there, 4)
		_, _ = io.WriteString(there, answer)
		_ = there.Close()
	}()
	if _, err := c.Write(saslMagic); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	return string(got), err
}

// TestTokenOfRequest checks that the token of a request becomes a secret.
func TestTokenOfRequest(t *testing.T) {
	const token, checksummed = `"token":{"identifier":"aWRlbnRpZmllci1vZi1hLWJsb2Nr","password":"cGFzc3dvcmQtb2YtYS1ibG9jaw==","kind":"k","service":"s"}`, 0x55
	const base = `{"block":{"poolId":"p","blockId":"1","generationStamp":"1"},` + token + `}`
	header := `{"header":{"baseHeader":` + base + `,"clientName":"c"}`
	for op, text := range map[byte]string{
		0x50:        header + `,"stage":"DATA_STREAMING","pipelineSize":1,"minBytesRcvd":"0","maxBytesRcvd":"0","latestGenerationStamp":"0","requestedChecksum":{"type":"CHECKSUM_NULL","bytesPerChecksum":1}}`,
		0x51:        header + `,"offset":"0","len":"1"}`,
		checksummed: `{"header":` + base + `}`,
	} {
		s, err := newStore(t, nil, "127.0.0.1:1")
		testenv.Must(t, err)
		c := newDataConn(conn{session: &session{store: s}})
		c.observeWrite([]byte{1, 2, 3, 4})
		c.observeWrite([]byte{0, 28, op, 0xff})
		c.observeWrite(append([]byte{0, 28, op}, appendMessage(jsonMessage(requests[[3]byte{0, 28, op}], text), nil)...))
		if got := s.login.Redact("no cGFzc3dvcmQtb2YtYS1ibG9jaw==, password-of-a-block"); got != "no (hidden)==, (hidden)" || !c.requested {
			t.Errorf("operation %#x: %s", op, got)
		}
	}
}
