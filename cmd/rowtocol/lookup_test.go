package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/manifest"
)

// indexedPairs makes an output of two runs, with an index of the rows 0 to 99, in several
// files, and 50 to 149.
func indexedPairs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	pairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--incremental", "--index", "id", "--row-group-size", "2000", "--block-size", "256", "a.avro", "out").want(t, 0)
	pairs(t, dir, "b.avro", 50, 100)
	rowtocol(t, dir, nil, "convert", "--incremental", "--index", "id", "--row-group-size", "2000", "--block-size", "256", "b.avro", "out").want(t, 0)
	return dir
}

// TestLookup finds by key, range and standard input what cat finds by a condition.
func TestLookup(t *testing.T) {
	dir := indexedPairs(t)
	for _, test := range []struct{ args, where string }{
		{"7", "id == 7"},
		{"70", "id == 70"}, // in both runs
		{"149", "id == 149"},
		{"150", "id == 150"},
		{"--limit 1 70", "id == 70"},
		{"--range 40..60", "id >= 40 && id <= 60"},
		{"--range ..3", "id <= 3"},
		{"--range 147..", "id >= 147"},
		{"--columns id --to csv 8", "id == 8"},
		{"--index id 9", "id == 9"},
	} {
		args := strings.Fields(test.args)
		// With an alternative, which holds for no row, no index helps.
		cat := []string{"cat", "--where", "(" + test.where + ") or id = -1", "out"}
		if strings.HasPrefix(test.args, "--limit") || strings.HasPrefix(test.args, "--columns") {
			n := strings.Count(test.args, " ")
			cat = append(cat, args[:n]...)
		}
		want := rowtocol(t, dir, nil, cat...).want(t, 0).stdout
		if got := rowtocol(t, dir, nil, append([]string{"lookup", "out"}, args...)...).want(t, 0).stdout; got != want {
			t.Errorf("lookup %s: %q, want %q", test.args, got, want)
		}
	}
	rowtocol(t, dir, nil, "lookup", "--exit-nothing", "99", "out", "--", "-1").want(t, 99)
	rowtocol(t, dir, nil, "lookup", "--exit-nothing", "99", "out", "1", "1000").want(t, 0)
	rowtocol(t, dir, nil, "lookup", "--stats", "--columns", "id", "out", "1").want(t, 0, "1 of 200 rows", "read")
	rowtocol(t, dir, nil, "lookup", "--json", "out", "1").want(t, 0, `"rows":1`)

	cmd := command(t, "lookup", "--columns", "id", "out", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("120\n1000\n3\n60\n")
	out, err := cmd.Output()
	if want := "{\"id\":120}\n{\"id\":3}\n{\"id\":60}\n{\"id\":60}\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

// TestLookupRefused says what is wrong, and how an index is made.
func TestLookupRefused(t *testing.T) {
	dir := indexedPairs(t)
	rowtocol(t, dir, nil, "convert", "a.avro", "none").want(t, 0)
	for args, text := range map[string]string{
		"none 1":              "convert --index",
		"a.avro 1":            "no such index",
		"--index other out 1": "convert --index other",
		"out":                 "--range or --prefix",
		"--range 1..2 out 1":  "one of them",
		"--range 12 out":      "FROM..TO",
		"out x":               "long",
		"--prefix 1 out":      "prefix",
		"out 1 -":             "standard input",
		"--to parquet out 1":  "--to",
	} {
		rowtocol(t, dir, nil, append([]string{"lookup"}, strings.Fields(args)...)...).want(t, 1, text)
	}
}

// TestLookupDamaged names the file and the place of damage, and one that is gone.
func TestLookupDamaged(t *testing.T) {
	dir := t.TempDir()
	pairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--index", "id", "a.avro", "out").want(t, 0)
	files, err := filepath.Glob(filepath.Join(dir, "out", manifest.IndexDir, "*", "id", "*.hfile"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[40] ^= 1
	write(t, files[0], damaged)
	o := rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 3, filepath.Base(files[0]), "offset")
	if o.stdout != "" {
		t.Errorf("%q", o.stdout)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 3, "missing")
	write(t, files[0], whole)
	rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 0, fmt.Sprint(60))
}
