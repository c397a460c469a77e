package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
)

func TestFilter(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"d/old": 50 * time.Hour, "d/new": time.Minute, "d/future": -time.Hour, "d/done/old": 50 * time.Hour, "d/done/DONE": 0, "d/not/old": 50 * time.Hour,
	} {
		file := filepath.Join(dir, name)
		write(t, file, "", 0)
		testenv.Must(t, os.Chtimes(file, now.Add(-age), now.Add(-age)))
	}
	testenv.Must(t, os.Mkdir(dir+"/d/not/DONE", 0o777))
	write(t, dir+"/d/not/DONE/x", "", 0)
	testenv.Must(t, os.Chtimes(dir+"/d/not/DONE/x", now, now))
	for _, tc := range []struct {
		name, args string
		filter     Filter
		want       string
		reason     string // reason for all files that are left out
	}{
		{"none", "d/old d/new", Filter{}, "d/new d/old", ""},
		{"since", "d", Filter{Since: now.Add(-time.Hour)}, "d/done/DONE d/future d/new d/not/DONE/x", "modified before"},
		{"since exactly", "d/old", Filter{Since: now.Add(-50 * time.Hour)}, "d/old", ""},
		{"until", "d", Filter{Until: now.Add(-time.Hour)}, "d/done/old d/not/old d/old", "or later"},
		{"until exactly", "d/old", Filter{Until: now.Add(-50 * time.Hour)}, "", "or later"},
		{"age", "d", Filter{MinAge: time.Hour}, "d/done/old d/not/old d/old", "waits until it is 1h0m0s old"},
		{"age of a named file", "d/new d/o*", Filter{MinAge: time.Hour}, "d/old", "waits until"},
		{"marker", "d", Filter{Marker: "DONE"}, "d/done/DONE d/done/old", "waits for DONE next to it"},
		{"marker next to a named file", "d/done/old d/not/old d/o* d/new", Filter{Marker: "DONE"}, "d/done/old", "waits for DONE"},
	} {
		s := Search{Filter: tc.filter}
		for _, a := range strings.Fields(tc.args) {
			s.Inputs = append(s.Inputs, dir+"/"+a)
		}
		files, skipped, err := Expand(t.Context(), s)
		if err != nil {
			t.Fatal(tc.name, err)
		}
		var got []string
		for _, f := range files {
			got = append(got, strings.TrimPrefix(f.Name, dir+"/"))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, s, tc.want)
		}
		for _, s := range skipped {
			if tc.reason == "" || !strings.Contains(s.Reason, tc.reason) || len(s.By) == 0 || s.Named != strings.Contains(tc.args, strings.TrimPrefix(s.Path, dir+"/")) {
				t.Errorf("%s: %+v", tc.name, s)
			}
		}
	}
	for text, filter := range map[string]Filter{
		"nothing was modified": {Since: now, Until: now}, "an age": {MinAge: -1}, `name of a file; "a/b"`: {Marker: "a/b"},
		`name of a file; "."`: {Marker: "."}, `name of a file; ".."`: {Marker: ".."},
	} {
		_, _, err := Expand(t.Context(), Search{Inputs: []string{dir}, Filter: filter})
		failuretest.Want(t, err, failure.Usage, text)
	}
}

// TestExclude checks which patterns are refused, and which files patterns leave out.
func TestExclude(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, pattern := range []string{"", "[", "a/["} {
		if got, err := LocateExclude(nil, pattern); !errors.Is(err, failure.Usage) {
			t.Errorf("%q: %q, %v", pattern, got, err)
		}
	}
	for _, c := range []struct{ pattern, out, in string }{
		{"b*d", "/a/bad", "/a/bad/b"},
		{"a/b", dir + "/a/b", "/a/b"},
		{"a/", dir + "/a/b/c", dir + "/ab"},
		{"/a/*/c", "/a/b/c/d", "/a/b"},
	} {
		pattern, err := LocateExclude(nil, c.pattern)
		testenv.Must(t, err)
		patterns := []string{"other", pattern}
		out, in := Excluded(patterns, c.out), Excluded(patterns, c.in)
		if out != "excluded by "+pattern || in != "" {
			t.Errorf("%q: %q and %q", c.pattern, out, in)
		}
		if got := Unmatched(patterns, []Skipped{{Path: c.out, Reason: out}}); len(got) != 1 || got[0] != "other" {
			t.Errorf("%q: unmatched %q", c.pattern, got)
		}
	}
}
