package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestByteSize(t *testing.T) {
	cases := []struct {
		text, shown string
		want        int64
	}{
		{"0", "0", 0}, {"65536", "64KiB", 65536}, {"64KiB", "64KiB", 65536}, {"1.5GiB", "1536MiB", 3 << 29},
		{" 2 MiB ", "2MiB", 2 << 20}, {"1kB", "1000", 1000}, {"7B", "7", 7}, {"1TB", "976562500KiB", 1e12},
		{"9223372036854775807", "9223372036854775807", 1<<63 - 1},
	}
	for _, c := range cases {
		var s ByteSize
		if err := s.Set(c.text); err != nil || int64(s) != c.want || s.String() != c.shown {
			t.Errorf("%q: %d, shown %q, %v; want %d, shown %q", c.text, int64(s), s, err, c.want, c.shown)
		}
	}
	for _, text := range []string{"", "64M", "64mib", "-1", "-1KiB", "1e3", "0x10KiB", "NaN", "InfMiB", "1.3B", "9223372036854775808", "8388608TiB", "KiB"} {
		var s ByteSize
		if err := s.Set(text); err == nil {
			t.Errorf("%q is parsed as %d, want an error", text, int64(s))
		}
	}
}

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 64 << 10: "64.0 KiB", 128 << 20: "128 MiB", 5 << 40: "5.00 TiB", 1 << 60: "1048576 TiB"} {
		if got := Human(n); got != want {
			t.Errorf("human(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for _, width := range []int{0, 40, 80, 200} {
		tab := NewTable("#>", "name", "rows>")
		tab.Add("0", strings.Repeat("recipients[]#", 10)+"address", "12")
		tab.Add("1999", "né", "3000000")
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		tab.Print(w, 1, width)
		testenv.Must(t, w.Flush())
		ends := map[int]bool{}
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
			ends[utf8.RuneCountInString(strings.TrimLeft(line, " "))-len(strings.TrimSpace(line[:5]))] = true
			if width > 0 && utf8.RuneCountInString(line) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
		if !strings.Contains(b.String(), "address") {
			t.Errorf("width %d: the end of the name is missing:\n%s", width, &b)
		}
	}
}

// TestTableOnNarrowTerminal checks that columns on the right are left out if they do not fit,
// and that no figure is cut.
func TestTableOnNarrowTerminal(t *testing.T) {
	for width, want := range map[int]string{
		40: "name             rows  nulls  least\nsome…name[]#sub  1234   5678  2010-01-01\n",
		20: "name            rows\nsome…ame[]#sub  1234\n",
		10: "name\nsom…[]#sub\n",
	} {
		tab := NewTable("name", "rows>", "nulls>", "least", "most")
		tab.Add("some_long_name[]#sub", "1234", "5678", "2010-01-01", "2011-12-31")
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		tab.Print(w, 0, width)
		if err := w.Flush(); err != nil || b.String() != want {
			t.Errorf("width %d: %v\n%s", width, err, &b)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a#b[]": "a#b[]", "né": "né", "a\x1b[2J": `a\x1b[2J`, "a\nb\t": `a\nb\t`, "\x7f\u009b": `\u007f\u009b`, "\u202ea": `\u202ea`,
		"a\xffb": `a\xffb`, "\u2028": `\u2028`, "\U000e0041": `\udb40\udc41`, "\uFFFD": "\uFFFD", `a\"`: `a\"`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestEscaperPieces cuts characters into two pieces.
func TestEscaperPieces(t *testing.T) {
	text := "é日本\u202e\xe6\x97\x1b[2J\u009b\n\ta😀\xff"
	const want = "é日本" + `\u202e\xe6\x97\x1b[2J\u009b` + "\n\ta😀" + `\xff`
	for i := range len(text) {
		var e escaper
		shown := string(e.escape([]byte(text[:i])))
		if shown += string(e.escape([]byte(text[i:]))); shown != want {
			t.Errorf("cut at %d: %q, want %q", i, shown, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abcdefghij", 10, "abcdefghij"}, {"abcdefghij", 7, "ab…ghij"}, {"abcdefghij", 2, "abcdefghij"},
		{"日本語日本語", 12, "日本語日本語"}, {"日本語日本語", 7, "日…本語"}, {"e\u0301e\u0301e\u0301e\u0301", 4, "e\u0301e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301e\u0301", 3, "…e\u0301e\u0301"}, {"ab\u0301\u0301\u0301\u0301\u0301cd", 3, "…cd"},
	} {
		if got := Shorten(c.text, c.n); got != c.want || TextWidth(got) > max(c.n, 3) && c.n > 2 {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
