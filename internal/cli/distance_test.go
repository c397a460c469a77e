package cli

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"verfiy", "verify", 1}, {"limt", "limit", 1}, {"limitt", "limit", 1},
		{"lomit", "limit", 1}, {"kitten", "sitting", 3}, {strings.Repeat("a", 101), "a", mostCompared},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
