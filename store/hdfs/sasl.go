package hdfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// saslMagic are the first bytes that a client writes if it negotiates.
var saslMagic = []byte{0xDE, 0xAD, 0xBE, 0xEF}

// protections maps the names of levels in a negotiation to their names in
// dfs.data.transfer.protection.
var protections = map[string]string{"auth": "authentication", "auth-int": "integrity", "auth-conf": "privacy"}

// negotiation inspects the messages in which a data node and the library agree on the
// protection of their transfers. The library chooses the first level that a node offers and
// ignores the configuration. With a level that the library does not support, reads fail with
// an obscure error.
type negotiation struct {
	conn  *dataConn
	want  string // configured level; empty means any level
	level string // level that the library will choose, by its name in a negotiation
	step  int    // number of messages that were read
}

// inspect reads a node's next message.
func (n *negotiation) inspect(message []byte) (err error) {
	n.step++
	if n.step == 1 {
		n.level, err = prefer(message, n.want)
	} else if n.level == "auth-conf" {
		//guard: refuses encryption without AES
		err = wantCipher(message)
	}
	//guard: refuses to ask for a checksum whose answer is encrypted
	if err == nil && n.level == "auth-conf" && n.conn.session.checksums != nil {
		err = fmt.Errorf("it encrypts its answer about checksums: %w", syscall.ENOTSUP)
	}
	return err
}

var offered = lazyregexp.New(`qop="([^"]*)"`)

// prefer moves the wanted level to the front of the offer in a message, in place. It returns
// the level in front, or "" if the message has no offer.
func prefer(message []byte, want string) (string, error) {
	m := offered.FindSubmatchIndex(message)
	if m == nil {
		return "", nil
	}
	list := message[m[2]:m[3]]
	levels := strings.Split(string(list), ",")
	if want != "" {
		i := slices.IndexFunc(levels, func(l string) bool { return protections[l] == want })
		//guard: refuses another protection than is configured
		if i < 0 {
			return "", fmt.Errorf("it protects transfers by %s, not by %s as dfs.data.transfer.protection says here: %w",
				strings.Join(named(levels), " or "), want, syscall.ENOTSUP)
		}
		levels = slices.Concat(levels[i:i+1], levels[:i], levels[i+1:])
		copy(list, strings.Join(levels, ","))
	}
	//guard: refuses a level that the library cannot read
	if levels[0] == "auth-int" {
		return "", fmt.Errorf("it protects transfers by integrity, which is possible over webhdfs:// only: %w", syscall.ENOTSUP)
	}
	return levels[0], nil
}

func named(levels []string) (names []string) {
	for _, l := range levels {
		name, ok := protections[l]
		if !ok {
			name = fmt.Sprintf("%q", l)
		}
		names = append(names, name)
	}
	return names
}

// wantCipher returns an error if a node's last message reports success but has no AES cipher.
func wantCipher(message []byte) error {
	m, err := messageOf("hadoop.hdfs.DataTransferEncryptorMessageProto")
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(message, m.Interface()); err != nil {
		return fmt.Errorf("negotiate protection: %w", err)
	}
	if m.field("status").Enum() != 0 || m.field("cipherOption").List().Len() > 0 {
		return nil // the library reports the failure, or has its cipher
	}
	return fmt.Errorf("it has no AES for dfs.data.transfer.protection=privacy, which is then possible over webhdfs:// only: %w", syscall.ENOTSUP)
}

// observeWrite records whether the first write begins a negotiation.
func (c *dataConn) observeWrite(p []byte) {
	if !c.written && bytes.HasPrefix(p, saslMagic) {
		c.sasl = &negotiation{conn: c, want: c.session.store.options.DataTransferProtection}
	}
	c.written = true
	if !c.requested {
		c.requested = c.hideToken(p)
	}
}

// requests are the message types of requests to a data node, by the version and operation
// before them.
var requests = map[[3]byte]string{
	{0, 28, 0x50}: "hadoop.hdfs.OpWriteBlockProto",
	{0, 28, 0x51}: "hadoop.hdfs.OpReadBlockProto",
	{0, 28, 0x55}: "hadoop.hdfs.OpBlockChecksumProto",
}

// hideToken makes the token of a request a secret of the login, so that messages do not show
// it. It reports whether p is a request.
func (c *dataConn) hideToken(p []byte) bool {
	if len(p) < 3 {
		return false
	}
	name, ok := requests[[3]byte(p)]
	if !ok {
		return false
	}
	m, err := messageOf(name)
	_, n := binary.Uvarint(p[3:])
	//guard: ignores bytes that are not a request
	if err != nil || n <= 0 || proto.Unmarshal(p[3+n:], m.Interface()) != nil {
		return false
	}
	header, _ := m.message("header")
	if base := header.Descriptor().Fields().ByName("baseHeader"); base != nil {
		header, _ = header.message("baseHeader")
	}
	token, _ := header.message("token")
	c.session.store.login.HideToken(token.field("identifier").Bytes(), token.field("password").Bytes())
	return true
}
