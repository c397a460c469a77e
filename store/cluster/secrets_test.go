package cluster

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// everyEscape returns a text with each byte as a percent escape.
func everyEscape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02x", text[i])
	}
	return b.String()
}

func TestRedact(t *testing.T) {
	l := newSimpleLogin(t)
	token := javaTokens[1]
	secret := token.URLString()
	path := filepath.Join("testdata", "writable.token")
	if got := l.Redact(secret); got != secret {
		t.Errorf("hidden before it is a secret: %s", got)
	}
	if _, err := l.DelegationTokens(path); err != nil {
		t.Fatal(err)
	}
	l.Hide("x") // would hide every x
	for name, form := range map[string]string{
		"itself":               secret,
		"in upper case":        strings.ToUpper(secret),
		"in lower case":        strings.ToLower(secret),
		"escaped":              everyEscape(secret),
		"escaped, upper case":  strings.ToUpper(everyEscape(secret)),
		"escaped twice":        url.QueryEscape(everyEscape(secret)),
		"first half":           secret[:len(secret)/2],
		"second half":          secret[len(secret)/2:],
		"in another alphabet":  strings.NewReplacer("-", "+", "_", "/").Replace(secret),
		"the password":         base64.StdEncoding.EncodeToString(token.Password),
		"the password, in hex": hex.EncodeToString(token.Password),
		"the password, raw":    string(token.Password),
		"the identifier":       base64.URLEncoding.EncodeToString(token.Identifier),
	} {
		got := l.Redact("before, " + form + " after")
		if !strings.HasPrefix(got, "before, (hidden)") || !strings.HasSuffix(got, " after") || len(got) > 40 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, text := range []string{"", "%", "%4", "nothing to hide", "/data/token=1/part-00000-00000.avro", strings.Repeat("%25", 40)} {
		if got := l.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestOldestSecretIsForgotten checks what is hidden after more secrets were added than are kept.
func TestOldestSecretIsForgotten(t *testing.T) {
	l := newSimpleLogin(t)
	secret := func(i int) string { return strings.Repeat(fmt.Sprintf("%05d", i), 4) }
	for i := range 2 * maxSecrets {
		l.Hide(secret(i))
		l.Hide(secret(0)) // in use all the time
	}
	if len(l.secrets.known) != maxSecrets {
		t.Errorf("%d secrets are kept", len(l.secrets.known))
	}
	for i, hidden := range map[int]bool{0: true, 1: false, 2*maxSecrets - 1: true} {
		if got := l.Redact(secret(i)); (got == "(hidden)") != hidden {
			t.Errorf("secret %d is shown as %s", i, got)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	var reported []string
	l, err := simpleLogin("alice", LoginOptions{Exposed: func(file string, mode fs.FileMode) {
		reported = append(reported, fmt.Sprintf("%s %04o", filepath.Base(file), mode.Perm()))
	}})
	testenv.Must(t, err)
	sound, err := os.ReadFile(filepath.Join("testdata", "writable.token"))
	testenv.Must(t, err)
	file := func(name string, data []byte, mode fs.FileMode) string {
		p := filepath.Join(dir, name)
		testenv.Must(t, os.WriteFile(p, data, 0o600))
		testenv.Must(t, os.Chmod(p, mode))
		return p
	}
	for name, mode := range map[string]fs.FileMode{"closed": 0o600, "only": 0o400, "group": 0o640, "all": 0o604, "written": 0o622} {
		p := file(name, sound, mode)
		reported = nil
		for range 2 {
			if tokens, err := l.DelegationTokens(p); err != nil || len(tokens) != 3 {
				t.Errorf("%s: %v, %v", name, tokens, err)
			}
		}
		want := "[]"
		if mode&0o044 != 0 {
			want = fmt.Sprintf("[%s %04o]", name, mode)
		}
		if got := fmt.Sprint(reported); got != want {
			t.Errorf("reported %s, want %s", got, want)
		}
	}
	pipe := filepath.Join(dir, "pipe")
	testenv.Must(t, syscall.Mkfifo(pipe, 0o600))
	huge := file("huge", nil, 0o600)
	testenv.Must(t, os.Truncate(huge, maxFile+1))
	for p, says := range map[string]string{
		pipe:                             "not a regular file",
		dir:                              "not a regular file",
		filepath.Join(dir, "none"):       "no such file",
		huge:                             "more than",
		file("half", sound[:100], 0o600): "identifier needs 300 bytes",
		file("text", []byte("x"), 0o600): "not a file of Hadoop credentials",
	} {
		_, err := l.DelegationTokens(p)
		wantRefusal(t, err, says)
		wantRefusal(t, err, p)
	}
}
