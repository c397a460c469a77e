package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestFilteredInputs converts some of the inputs, and reports the others.
func TestFilteredInputs(t *testing.T) {
	dir := t.TempDir()
	for name, ago := range map[string]time.Duration{"a": 30 * time.Hour, "b": time.Minute, "sub/c": 30 * time.Hour} {
		writePairs(t, dir, "in/"+name, 0, 10)
		touch(t, dir+"/in/"+name, ago)
	}
	write(t, dir+"/in/sub/_SUCCESS", nil)
	yesterday := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		args string
		code int
		want string // names of the inputs, or the message
	}{
		{"--min-age 1h in", 0, "a sub/c"},
		{"--since 24h in", 0, "b"},
		{"--since " + yesterday + " in", 0, "b"},
		{"--until " + yesterday + " in", 0, "a sub/c"},
		{"--since 2020-01-01 --until 1h in", 0, "a sub/c"},
		{"--require-marker _SUCCESS in", 0, "sub/c"},
		{"--min-age 1h in/a in/b", 3, "input in/b holds nothing that is to be converted yet (skipped: 1, the first is"},
		{"--min-age 1h --exclude a in/a in/b in/sub", 3, "input in/a holds no Avro file but those that --exclude leaves out (skipped: 3, the first is"},
		{"--min-age 1h --exclude a --exclude c in", 3, "input in holds nothing that is to be converted yet (skipped: 4, the first is"},
		{"--min-age 1h --allow-empty in/a in/b", 0, "a"},
		{"--require-marker none in", 3, "waits for none next to it); with --allow-empty"},
		{"--since yesterday in", 1, "is not a time"},
		{"--min-age -1h in", 1, "--min-age"},
		{"--require-marker a/b in", 1, "the name of a file"},
		{"--since 1h --until 2h in", 1, "nothing was modified since"},
	} {
		args := append([]string{"plan", "-o", "plan.json"}, append(strings.Fields(tt.args), "out")...)
		o := rowtocol(t, dir, nil, args...).want(t, tt.code)
		if tt.code != 0 {
			o.want(t, tt.code, tt.want)
			continue
		}
		p, err := manifest.DecodePlan(read(t, dir+"/plan.json"))
		must(t, err)
		var got []string
		for _, in := range p.Request.Inputs {
			got = append(got, strings.TrimPrefix(in.Path, dir+"/in/"))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s", tt.args, s)
		}
	}
	rowtocol(t, dir, nil, "convert", "--dry-run", "--min-age", "1h", "in", "out").want(t, 0, "waits until it is 1h0m0s old: 1)", "in/b")
	rowtocol(t, dir, nil, "convert", "--allow-empty", "--min-age", "1h", "in/a", "in/b", "out").want(t, 0, "/in/b is left out: waits until it is 1h0m0s old", "10 rows")
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 9, "in/b was added")
}

// TestIncrementalWaits has nothing to do while the new inputs wait, and after converted
// inputs were removed.
func TestIncrementalWaits(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a", 0, 10)
	convertNew := func(text string, flags ...string) {
		t.Helper()
		args := append([]string{"convert", "--incremental", "--exit-nothing", "99"}, flags...)
		code := 99
		if !strings.HasPrefix(text, "nothing to do") {
			code = 0
		}
		rowtocol(t, dir, nil, append(args, "in", "out")...).want(t, code, text)
	}
	convertNew("nothing to do: no input is new for out (skipped: 1)", "--min-age", "1h")
	wantAbsent(t, dir+"/out")
	touch(t, dir+"/in/a", 2*time.Hour)
	convertNew("10 rows", "--min-age", "1h")
	writePairs(t, dir, "in/b", 10, 20)
	convertNew("nothing to do", "--min-age", "1h")
	convertNew("nothing to do", "--require-marker", "_SUCCESS")
	convertNew("20 rows")
	for _, name := range []string{"a", "b"} {
		must(t, os.Remove(dir+"/in/"+name))
	}
	convertNew("nothing to do")
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "other").want(t, 3, "holds no Avro file")
}
