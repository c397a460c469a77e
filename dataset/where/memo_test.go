package where

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A memo has the outcomes of its test, and makes few tests of few texts.
func TestMemo(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts int // number of different texts
		size  int // bytes added to each text
		most  int // most tests of 100,000 texts
		tried int // most texts that are looked for
	}{
		{"few texts", 10, 0, 30_000, 100_000}, // some of them may share a slot
		{"a few long texts", 10, memoSize, 100_000, 2_000},
		{"texts that share slots", 5 * memoTexts, 0, 100_000, 100_000},
		{"texts that do not come again", 1 << 40, 0, 100_000, 5 * memoTexts},
	} {
		t.Run(c.name, func(t *testing.T) {
			tests := 0
			outcome := func(text []byte) bool { return strings.Contains(string(text), "7") }
			m := newMemo(func(text []byte) bool { tests++; return outcome(text) })
			r := rand.New(rand.NewPCG(1, 2))
			var text []byte // is used again, as the memory of a batch is
			for range 100_000 {
				text = fmt.Appendf(text[:0], "%d%s", r.IntN(c.texts), strings.Repeat("x", c.size))
				if r.IntN(100) == 0 {
					text = text[:0]
				}
				if got := m.test(text); got != outcome(text) {
					t.Fatalf("%q: %t", text, got)
				}
			}
			if tests > c.most || m.tests > c.tried {
				t.Errorf("%d tests of %d texts, want at most %d; %d were looked for, want at most %d", tests, c.texts, c.most, m.tests, c.tried)
			}
		})
	}
}
