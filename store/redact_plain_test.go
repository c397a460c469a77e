package store

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestRedactPlain checks that Redact compiles its expression only for texts that may have a secret,
// and that all other texts have none.
func TestRedactPlain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"token", "Password", "=", ":", "%3d", "%253D", " ", "\t", "\n", "\f", "\r", "\v", "\u00a0", "bearer", "Basic", "://", "@", "/", "'", "a", "0123456789abcdefg"}
	original := namedSecret
	t.Cleanup(func() { namedSecret = original })
	used := false
	namedSecret = func() *regexp.Regexp { used = true; return original() }
	redacted, plain := 0, 0
	for range 20_000 {
		text := ""
		for range 1 + random.IntN(6) {
			text += pieces[random.IntN(len(pieces))]
		}
		used = false
		got := Redact(text)
		if want := original().ReplaceAllString(text, "${1}${2}${3}"+Concealed+"${4}"); got != want {
			t.Fatalf("%q became %q, want %q", text, got, want)
		} else if want != text {
			redacted++
		}
		if !used {
			plain++
		}
	}
	if redacted < 500 || plain < 500 {
		t.Errorf("%d texts had secrets, and %d were plain", redacted, plain)
	}
}
