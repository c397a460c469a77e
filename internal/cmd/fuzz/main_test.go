package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const source = `package sample

import (
	"os"
	"testing"
)

func FuzzSound(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(*testing.T, int) {})
}

func FuzzBroken(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {
		if n != 1 {
			t.Error("not 1")
		}
	})
}

func FuzzSkips(f *testing.F) {
	f.Skip("skipped")
}

func FuzzExits(f *testing.F) {
	os.Exit(0)
}
`

func TestFuzz(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module sample\n\ngo 1.26\n",
		"sample_test.go":   source,
		"excluded_test.go": "//go:build excluded\n\n" + strings.ReplaceAll(source, "Sound", "Excluded"),
		"comment_test.go":  "package sample\n\n/*\nfunc FuzzComment(f *testing.F)\n*/\n",
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	for _, tt := range []struct {
		run, fails string
		prints     []string
	}{
		{"", "3 of 4 targets failed", []string{"ok   sample ", "FuzzSound", "FAIL sample ", "FuzzBroken", "not 1"}},
		{"Sound", "", []string{"ok   sample ", "FuzzSound"}},
		{"Skips", "1 of 1", []string{"FAIL sample ", "ran no input"}},
		{"Exits", "1 of 1", []string{"FAIL sample ", "os.Exit(0)"}},
		{"None", "no such target", nil},
		{"Excluded|Comment", "no such target", nil},
	} {
		var out strings.Builder
		err := fuzz(t.Context(), options{time: "1000x", run: tt.run, patterns: []string{"./..."}}, &out)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%q: got error %v, want %q", tt.run, err, tt.fails)
		}
		for _, text := range tt.prints {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q: want %q in\n%s", tt.run, text, out.String())
			}
		}
	}
	if inputs, err := filepath.Glob(filepath.Join(dir, "testdata/fuzz/FuzzBroken/*")); err != nil || len(inputs) != 1 {
		t.Errorf("got %d inputs, %v; want one", len(inputs), err)
	}
}

func TestCheckTime(t *testing.T) {
	for s, valid := range map[string]bool{
		"2s": true, "1h30m": true, "0.5s": true, "1000x": true,
		"": false, "xyz": false, "5": false, "0": false, "0s": false, "-1s": false, "0x": false, "-1x": false, "x": false, "1.5x": false,
	} {
		if err := checkTime(s); (err == nil) != valid {
			t.Errorf("%q: got error %v", s, err)
		}
	}
}

func TestTimeUp(t *testing.T) {
	const end = "fuzz: elapsed: 2s, execs: 309 (148/sec)\n--- FAIL: FuzzX (2.10s)\n    context deadline exceeded\nFAIL\n"
	for out, want := range map[string]bool{
		end:    true,
		"PASS": false,
		"--- FAIL: FuzzX (2.10s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:3: context deadline exceeded\nFAIL\n":                               false,
		"--- FAIL: FuzzX (2.10s)\n    fuzzing process hung or terminated unexpectedly: exit status 2\n    Failing input written to testdata\nFAIL\n": false,
		end + "    Failing input written to testdata/fuzz/FuzzX/1\n":                                                                                 false,
	} {
		if got := timeUp([]byte(out)); got != want {
			t.Errorf("%q: got %v", out, got)
		}
	}
}
