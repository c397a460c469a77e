package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestClassify(t *testing.T) {
	damaged := damage.New(damage.Sync, "a.avro", 7, "no marker")
	cases := []struct {
		err  error
		code int
	}{
		{nil, 0},
		{usagef("no"), 1},
		{fmt.Errorf("a: %w", store.ErrScheme), 1},
		{fmt.Errorf("x: %w", failure.Usage), 1},
		{errors.New("an unexpected error"), 2},
		{&defect{value: damaged}, 2},
		{fmt.Errorf("x: %w", damaged), 3},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}, 3},
		{fmt.Errorf("%w: %w", failure.Input, syscall.EACCES), 3},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, 4},
		{&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}, 4},
		{context.DeadlineExceeded, 4},
		{fmt.Errorf("%w: %w", failure.Storage, syscall.ENOENT), 4},
		{fmt.Errorf("x: %w", dataset.ErrChanging), 4},
		{fmt.Errorf("x: %w", failure.Locked), 5},
		{failure.New(failure.Different, "%w", damaged), 6},
		{&fs.PathError{Op: "create", Path: "a", Err: syscall.EROFS}, 7},
		{fmt.Errorf("%w: %w", failure.Refused, syscall.EEXIST), 7},
		{fmt.Errorf("x: %w", failure.Losses), 8},
		{fmt.Errorf("%w: %w", failure.Foreign, damaged), 9},
		{&fs.PathError{Op: "create", Path: "a", Err: syscall.EEXIST}, 9},
		{interrupted{syscall.SIGTERM}, 130},
	}
	for _, c := range cases {
		if got := classify(c.err).code; got != c.code {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.code)
		}
	}
}

func TestInterrupted(t *testing.T) {
	if text := (interrupted{syscall.SIGTERM}).Error(); !strings.HasPrefix(text, "stopped by SIGTERM: ") {
		t.Error(text)
	}
}

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
		var s byteSize
		if err := s.Set(c.text); err != nil || int64(s) != c.want || s.String() != c.shown {
			t.Errorf("%q: %d, shown %q, %v; want %d, shown %q", c.text, int64(s), s, err, c.want, c.shown)
		}
	}
	for _, text := range []string{"", "64M", "64mib", "-1", "-1KiB", "1e3", "0x10KiB", "NaN", "InfMiB", "1.3B", "9223372036854775808", "8388608TiB", "KiB"} {
		var s byteSize
		if err := s.Set(text); err == nil {
			t.Errorf("%q is parsed as %d, want an error", text, int64(s))
		}
	}
}

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 64 << 10: "64.0 KiB", 128 << 20: "128 MiB", 5 << 40: "5.00 TiB", 1 << 60: "1048576 TiB"} {
		if got := human(n); got != want {
			t.Errorf("human(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for _, width := range []int{0, 40, 80, 200} {
		tab := newTable("#>", "name", "rows>")
		tab.add("0", strings.Repeat("recipients[]#", 10)+"address", "12")
		tab.add("1999", "né", "3000000")
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		tab.print(w, 1, width)
		must(t, w.Flush())
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
		tab := newTable("name", "rows>", "nulls>", "least", "most")
		tab.add("some_long_name[]#sub", "1234", "5678", "2010-01-01", "2011-12-31")
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		tab.print(w, 0, width)
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
		if got := printable(in); got != want {
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
		if got := shorten(c.text, c.n); got != c.want || textWidth(got) > max(c.n, 3) && c.n > 2 {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{0: "", 1: "████", 0.5: "██", 1.0 / 32: "▏", 31.0 / 32: "███▉"} {
		if got := bar(share, 4); got != want {
			t.Errorf("bar(%v) = %q, want %q", share, got, want)
		}
	}
}

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		rows, bytes, done, total int64
		columns                  int
		want                     string
	}{
		{300, 10 << 20, 10 << 20, 40 << 20, 80, "███████▌░░░░░░░░░░░░░░░░░░░░░░   25%  1.00 MiB/s  30s left  300 rows  10.0 MiB"},
		{300, 10 << 20, 10 << 20, 40 << 20, 40, "██▊░░░░░░░░   25%  1.00 MiB/s  30s left"},
		{300, 10 << 20, 10 << 20, 40 << 20, 30, "▎   25%  1.00 MiB/s  30s left"},
		{300, 900 << 30, 1, 100_000, 40, "░░░░    0%  90.0 GiB/s  277h46m30s left"},
		{300, 10 << 20, 50, 100, 200, strings.Repeat("█", 15) + strings.Repeat("░", 15) + "   50%  1.00 MiB/s  10s left  300 rows  10.0 MiB"},
		{300, 10 << 20, 120, 100, 80, strings.Repeat("█", 30) + "  100%  1.00 MiB/s  0s left  300 rows  10.0 MiB"},
		{300, 0, 0, 100, 80, strings.Repeat("░", 30) + "    0%  0 B/s  300 rows  0 B"},
		{300, 10 << 20, 0, 0, 80, "1.00 MiB/s  300 rows  10.0 MiB"},
		{300, 10 << 20, 10 << 20, 40 << 20, 20, "▊░░   25%  30s left"},
		{300, 10 << 20, 10 << 20, 40 << 20, 10, " 2…s left"},
		{300, 10 << 20, 0, 0, 24, "1.00 MiB/s  300 rows"},
		{0, 10 << 20, 10 << 20, 40 << 20, 80, "███████▌░░░░░░░░░░░░░░░░░░░░░░   25%  1.00 MiB/s  30s left  10.0 MiB"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &progress{start: time.Now()}
			if got := p.text(time.Now(), 80); got != "" {
				t.Errorf("at the start: %q", got)
			}
			p.setOf(0, 0, 0, c.total)
			time.Sleep(10 * time.Second)
			p.setOf(c.rows, c.bytes, c.done, c.total)
			if got := p.text(time.Now(), c.columns); got != c.want || textWidth(got) >= c.columns {
				t.Errorf("%+v: got %q", c, got)
			}
		})
	}
}

// TestProgressLeft checks that the time left is estimated from the work of this run, without
// that of an earlier run or a wait before it.
func TestProgressLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &progress{start: time.Now()}
		time.Sleep(time.Hour) // in a queue
		p.set(0, 50, 100)
		if got := p.text(time.Now(), 200); strings.Contains(got, "left") {
			t.Errorf("after work of an earlier run only: %q", got)
		}
		time.Sleep(10 * time.Second)
		p.set(0, 75, 100)
		if got := p.text(time.Now(), 200); !strings.Contains(got, "  10s left") {
			t.Errorf("with half of the rest done: %q", got)
		}
	})
}

func TestReadConfig(t *testing.T) {
	cases := []struct{ name, text, wrong string }{
		{"empty", "", ""},
		{"comments", "# nothing\n", ""},
		{"all forms", "codec: [snappy, a=null]\nmeta: {k: v}\nstrict: true\nmemory: 64MiB\n", ""},
		{"twice", "strict: true\nstrict: false\n", "given twice"},
		{"no value", "codec:\n", "has no value"},
		{"list at the top", "- a\n", "mapping"},
		{"nested", "codec: [[a]]\n", "plain values"},
		{"not YAML", "a: [\n", "yaml"},
		{"two documents", "strict: true\n---\nstrict: false\n", ":2: a job file is one YAML document"},
		{"nothing and a document", "# a\n---\n---\nstrict: false\n", "one YAML document"},
		{"a marker before and after", "---\nstrict: true\n...\n", ""},
		{"then not YAML", "strict: true\n---\na: [\n", "yaml"},
	}
	for _, c := range cases {
		name := t.TempDir() + "/job.yaml"
		must(t, os.WriteFile(name, []byte(c.text), 0o600))
		got, err := readConfig(t.Context(), name)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
		if c.name == "all forms" && (fmt.Sprint(got["codec"].values) != "[snappy a=null]" || got["meta"].values[0] != "k=v") {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestFailedReplacement checks that the replaced file is restored if the second rename fails.
func TestFailedReplacement(t *testing.T) {
	dir := t.TempDir()
	at := store.Location{Store: storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.Rename, N: 2, Err: store.ErrUnavailable}), Path: dir + "/rows.json"}
	must(t, os.WriteFile(at.Path, []byte("old"), 0o600))
	err := new(app).newFile(t.Context(), at, true, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if data, err := os.ReadFile(at.Path); err != nil || string(data) != "old" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left %v, %v", names, err)
	}
}

// TestReplacesItsOwnOutput checks that a file of a form that cat writes is replaced, but not a
// column file that commands read, also if both have the same format.
func TestReplacesItsOwnOutput(t *testing.T) {
	dir := t.TempDir()
	mail, err := filepath.Abs("../../testdata/mail")
	must(t, err)
	for name, args := range map[string][]string{"columns": nil, "parquet": {"--format", "parquet"}} {
		rowtocol(t, dir, nil, append([]string{"convert", mail, name}, args...)...).want(t, 0)
		parts, err := filepath.Glob(filepath.Join(dir, name, "part-*"))
		if err != nil || len(parts) == 0 {
			t.Fatal(parts, err)
		}
		if err := checkFree(t.Context(), store.Location{Store: store.Local(), Path: parts[0]}, true); !errors.Is(err, store.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rowtocol(t, dir, nil, "cat", "--to", "parquet", "--output", "rows.parquet", "columns").want(t, 0)
	if err := checkFree(t.Context(), store.Location{Store: store.Local(), Path: dir + "/rows.parquet"}, true); err != nil {
		t.Error(err)
	}
}

func TestFitColumns(t *testing.T) {
	for _, tt := range []struct {
		widths []int
		width  int
		want   []int
	}{
		{[]int{2, 24, 6}, 80, []int{2, 24, 6}},
		{[]int{2, 24, 6}, 33, []int{2, 24}}, // half a time would be misread
		{[]int{2, 24, 60, 6}, 60, []int{2, 24, 22, 6}},
		{[]int{2, 60, 50}, 56, []int{2, 25, 25}},
		{[]int{60, 24}, 41, []int{41}},
		{[]int{24}, 10, []int{10}},
	} {
		if got := fitColumns(tt.widths, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("%v in %d: %v, want %v", tt.widths, tt.width, got, tt.want)
		}
	}
}
