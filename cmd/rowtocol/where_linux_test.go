package main

import (
	"strings"
	"testing"
)

// TestWhereOnTerminal checks that a terminal shows the place of the error, with escapes.
func TestWhereOnTerminal(t *testing.T) {
	dir := placesOutput(t)
	long := strings.Repeat("id = 1 or ", 20)
	for condition, want := range map[string]string{
		"name = 'x' and idd = 1":          "  name = 'x' and idd = 1\n                 ^\n",
		"name = '日本\x1b[31m' and idd = 1": "  name = '日本\\x1b[31m' and idd = 1\n                            ^\n",
		"id = 1\nand idd = 2\nor id = 3":  "  and idd = 2\n      ^\n",
		long + "idd = 1":                  "  ..." + long[len(long)-36:] + "idd = 1\n" + strings.Repeat(" ", 41) + "^\n",
		"idd = 1 or " + long + "id = 2":   "  idd = 1 or " + long[:61] + "...\n  ^\n",
	} {
		screen := onTerminal(t, dir, 80, "cat", "--where", condition, "places").want(t, 1).wantHarmless(t).stderr
		if !strings.HasPrefix(screen, "rowtocol: condition, ") || !strings.HasSuffix(screen, "did you mean id or kind?\n"+want) {
			t.Errorf("%q: %s\nwant\n%s", condition, screen, want)
		}
	}
}
