package cluster

import (
	"encoding/base64"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// Token is a delegation token: a secret that authenticates its owner to one service
// until it expires.
type Token struct {
	Alias      string // name of the token in the file, mostly the service
	Kind       string // HDFS_DELEGATION_TOKEN, WEBHDFS delegation, ...
	Service    string // host:port, or ha-hdfs:nameservice
	Identifier []byte
	Password   []byte
}

// URLString returns the token in the form that WebHDFS URLs have. The result is as secret as the
// token.
func (t Token) URLString() string {
	b := wire.AppendText(nil, t.Identifier)
	b = wire.AppendText(b, t.Password)
	b = wire.AppendText(b, t.Kind)
	b = wire.AppendText(b, t.Service)
	return base64.RawURLEncoding.EncodeToString(b)
}

// String returns the parts of the token that are not secret.
func (t Token) String() string { return fmt.Sprintf("%s for %s", t.Kind, t.Service) }

// GoString returns the parts of the token that are not secret.
func (t Token) GoString() string { return t.String() }

// DelegationTokens returns the tokens of a file that Hadoop gives to the tasks of a job
// (HADOOP_TOKEN_FILE_LOCATION), in the file's order. Redact hides them from then on. The error is
// fs.ErrPermission if the file cannot be used.
func (l *Login) DelegationTokens(path string) ([]Token, error) {
	data, err := l.files.read(path)
	if err != nil {
		return nil, credentialsErrorf("delegation tokens: %v", err)
	}
	tokens, err := parseTokens(data)
	if err != nil {
		return nil, credentialsErrorf("delegation tokens: %s: %v", path, err)
	}
	for _, t := range tokens {
		l.hideToken(t)
	}
	return tokens, nil
}

const tokenMagic = "HDTS"

func parseTokens(data []byte) ([]Token, error) {
	//guard: rejects a file that has no tokens
	if len(data) <= len(tokenMagic) || string(data[:len(tokenMagic)]) != tokenMagic {
		return nil, errors.New("not a file of Hadoop credentials")
	}
	version, body := data[len(tokenMagic)], data[len(tokenMagic)+1:]
	switch version {
	case 0:
		return writableTokens(body)
	case 1:
		return protobufTokens(body)
	}
	return nil, fmt.Errorf("credentials of version %d, which is not known", version)
}

// writableTokens parses the output of Hadoop's Credentials.write. It ignores the secret keys after
// the tokens, because they are not for file systems.
func writableTokens(body []byte) ([]Token, error) {
	c := wire.New(body, int64(len(tokenMagic)+1))
	text := func(what string) []byte { return c.Bytes(c.VInt("length of "+what), what) }
	count := c.VInt("number of tokens")
	//guard: rejects a negative number of tokens
	if count < 0 {
		return nil, fmt.Errorf("%d tokens", count)
	}
	var tokens []Token
	for i := int64(0); i < count && c.Err() == nil; i++ {
		tokens = append(tokens, Token{
			Alias:      string(text("an alias")),
			Identifier: text("an identifier"),
			Password:   text("a password"),
			Kind:       string(text("a kind")),
			Service:    string(text("a service")),
		})
	}
	//guard: rejects a file that is cut short
	if err := c.Err(); err != nil {
		return nil, err
	}
	return tokens, nil
}

// protobufTokens parses a CredentialsProto after its length.
func protobufTokens(body []byte) ([]Token, error) {
	message, n := protowire.ConsumeBytes(body)
	//guard: rejects a length beyond the file
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	var tokens []Token
	err := fields(message, func(number protowire.Number, entry []byte) error {
		if number != 1 {
			return nil
		}
		token, ok, err := protobufEntry(entry)
		if ok {
			tokens = append(tokens, token)
		}
		return err
	})
	return tokens, err
}

// protobufEntry parses a CredentialsKVProto, which may have no token.
func protobufEntry(entry []byte) (t Token, ok bool, err error) {
	err = fields(entry, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			t.Alias = string(value)
		case 2:
			ok = true
			return fields(value, func(number protowire.Number, value []byte) error {
				switch number {
				case 1:
					t.Identifier = value
				case 2:
					t.Password = value
				case 3:
					t.Kind = string(value)
				case 4:
					t.Service = string(value)
				}
				return nil
			})
		}
		return nil
	})
	return t, ok, err
}

// fields calls f for each length-delimited field of a protobuf message.
func fields(message []byte, f func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return protowire.ParseError(n)
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
