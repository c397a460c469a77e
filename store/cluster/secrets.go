package cluster

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

const (
	// maxSecrets is the number of secrets that are kept. Name nodes make a token for each
	// redirect, so there are many, but servers that repeat a token do so soon.
	maxSecrets = 256
	// fragment is the length of the shortest part of a secret that is hidden, because texts
	// may be truncated. A shorter text is not a secret.
	fragment = 12
)

// secrets are texts that must not be shown.
type secrets struct {
	mu        sync.Mutex
	known     []string            // in plain form, oldest first
	fragments map[string]struct{} // parts of the known secrets; nil after a change
}

func (s *secrets) add(secret string) {
	secret, _ = plainForm(secret)
	if len(secret) < fragment {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.known, secret); i >= 0 {
		s.known = slices.Delete(s.known, i, i+1)
	} else {
		s.fragments = nil
	}
	//guard: bounds the number of secrets
	if len(s.known) == maxSecrets {
		s.known = slices.Delete(s.known, 0, 1)
	}
	s.known = append(s.known, secret)
}

// parts returns the fragments of all secrets.
func (s *secrets) parts() map[string]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fragments == nil {
		s.fragments = map[string]struct{}{}
		for _, secret := range s.known {
			for i := 0; i+fragment <= len(secret); i++ {
				s.fragments[secret[i:i+fragment]] = struct{}{}
			}
		}
	}
	return s.fragments
}

// redact replaces secrets and parts of them, with any escaping and in any case.
func (s *secrets) redact(text string) string {
	plain, at := plainForm(text)
	hide := make([]bool, len(text)) // for each byte of text, whether to hide it
	parts := s.parts()
	for i := 0; i+fragment <= len(plain); i++ {
		if _, ok := parts[plain[i:i+fragment]]; !ok {
			continue
		}
		for j := at[i]; j < at[i+fragment]; j++ {
			hide[j] = true
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hide[i]:
			b.WriteByte(text[i])
		case i == 0 || !hide[i-1]:
			b.WriteString(store.Concealed)
		}
	}
	return store.Redact(b.String())
}

// plainForm normalizes the forms of a secret in a text. It decodes percent escapes, even if nested,
// converts to lower case, and replaces one alphabet of base64 by the other. at has the offset in
// text of each byte of plain, and the end of text.
func plainForm(text string) (plain string, at []int) {
	b := []byte(text)
	at = make([]int, len(b)+1)
	for i := range at {
		at[i] = i
	}
	const escapes = 3 // levels of nesting
	for range escapes {
		n := 0
		for i := 0; i < len(b); n++ {
			b[n], at[n] = b[i], at[i]
			high, low := -1, -1
			if b[i] == '%' && i+2 < len(b) {
				high, low = hexDigit(b[i+1]), hexDigit(b[i+2])
			}
			if high < 0 || low < 0 {
				i++
				continue
			}
			b[n] = byte(high<<4 | low)
			i += 3
		}
		at[n] = len(text)
		if n == len(b) {
			break
		}
		b, at = b[:n], at[:n+1]
	}
	for i, c := range b {
		switch {
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case c == '-':
			b[i] = '+'
		case c == '_':
			b[i] = '/'
		}
	}
	return string(b), at
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// Hide makes a text a secret, which Redact then replaces.
func (l *Login) Hide(secret string) { l.secrets.add(secret) }

// hideToken makes a token a secret, in every form in which it appears in texts.
func (l *Login) hideToken(t Token) {
	l.Hide(t.URLString())
	l.Hide(base64.RawStdEncoding.EncodeToString(t.Identifier))
	l.Hide(base64.RawStdEncoding.EncodeToString(t.Password))
	l.Hide(hex.EncodeToString(t.Password))
	l.Hide(string(t.Password))
}

// HideToken makes a name node's token for a data node a secret.
func (l *Login) HideToken(identifier, password []byte) {
	l.hideToken(Token{Identifier: identifier, Password: password})
}

// Redact replaces the login's secrets in a text: delegation tokens, proofs of identity,
// and texts that are named as secrets. A server may repeat any text that it received.
func (l *Login) Redact(text string) string { return l.secrets.redact(text) }
