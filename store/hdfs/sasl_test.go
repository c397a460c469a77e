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
		offer, configured    string
		wantOffer, wantLevel string
		wantError            string // a part of the error; "" if there is none
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
		level, err := prefer(message, tt.configured)
		if tt.wantError != "" {
			if !errors.Is(err, syscall.ENOTSUP) || !strings.Contains(err.Error(), tt.wantError) {
				t.Errorf("%s, %s: %v", tt.offer, tt.configured, err)
			}
			continue
		}
		if err != nil || level != tt.wantLevel || string(message) != `realm="0",nonce="n",qop="`+tt.wantOffer+`",charset=utf-8` {
			t.Errorf("%s, %s: %s, %s, %v", tt.offer, tt.configured, level, message, err)
		}
	}
	if level, err := prefer([]byte("no offer"), "privacy"); level != "" || err != nil {
		t.Errorf("no offer: %s, %v", level, err)
	}
}

// TestNegotiation checks that a node's messages reach the library unchanged. A message without
// AES, and a damaged, a short and a too long message are errors.
func TestNegotiation(t *testing.T) {
	const (
		success = "\x08\x00"                    // status: SUCCESS
		payload = "\x12\x11qop=\"auth-conf,x\"" // payload: an offer
		aes     = "\x22\x02\x08\x02"            // cipherOption: AES/CTR/NoPadding
	)
	message := func(s string) string { return string(rune(len(s))) + s } // for texts of less than 128 bytes
	tests := []struct {
		name, answer string
		text         string // a part of the error; "" if all is passed on
	}{
		{"AES", message(success+payload) + message(success+aes) + "data", ""},
		{"no AES", message(success+payload) + message(success), "AES"},
		{"failure", message("\x08\x01") + message("\x08\x01"), ""},
		{"garbage", message(success+payload) + message("\x12\x7f"), "negotiate"},
		{"too long", "\xff\xff\x7f", "2097151 bytes"},
		{"short", "\x05\x08", "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := negotiate(t, "privacy", nil, tt.answer)
			if tt.text == "" {
				// The node closes the connection, which is never an io.EOF for the library.
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

// negotiate begins a negotiation with a data node that sends only answer, and returns the bytes
// that were read. protection is configured, and sums may be nil. It uses TCP, because
// SetReadDeadline of a net.Pipe fails once the other end is closed, before the bytes are read.
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

// TestTokenOfRequest checks that the tokens of all three requests are hidden in messages.
func TestTokenOfRequest(t *testing.T) {
	const opBlockChecksum = 0x55
	const token = `"token":{"identifier":"aWRlbnRpZmllci1vZi1hLWJsb2Nr","password":"cGFzc3dvcmQtb2YtYS1ibG9jaw==","kind":"k","service":"s"}`
	const base = `{"block":{"poolId":"p","blockId":"1","generationStamp":"1"},` + token + `}`
	header := `{"header":{"baseHeader":` + base + `,"clientName":"c"}`
	for op, text := range map[byte]string{
		0x50:            header + `,"stage":"DATA_STREAMING","pipelineSize":1,"minBytesRcvd":"0","maxBytesRcvd":"0","latestGenerationStamp":"0","requestedChecksum":{"type":"CHECKSUM_NULL","bytesPerChecksum":1}}`,
		0x51:            header + `,"offset":"0","len":"1"}`,
		opBlockChecksum: `{"header":` + base + `}`,
	} {
		s, err := newStore(t, nil, "127.0.0.1:1")
		testenv.Must(t, err)
		c := newDataConn(conn{session: &session{store: s}})
		c.observeWrite([]byte{1, 2, 3, 4})
		c.observeWrite([]byte{0, 28, op, 0xff}) // not a whole request
		c.observeWrite(append([]byte{0, 28, op}, appendMessage(jsonMessage(requests[[3]byte{0, 28, op}], text), nil)...))
		// The padding == is not a part of the secret.
		if got := s.login.Redact("no cGFzc3dvcmQtb2YtYS1ibG9jaw==, password-of-a-block"); got != "no (hidden)==, (hidden)" || !c.requested {
			t.Errorf("operation %#x: %s", op, got)
		}
	}
}
