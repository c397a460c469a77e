package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestAlteredSuccess changes the manifest of an output without making it inconsistent. No
// command accepts it, nothing changes, and a copy of the manifest restores the output.
func TestAlteredSuccess(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 4000)
	writePairs(t, dir, "in/b.avro", 4000, 4000)
	rowtocol(t, dir, nil, "convert", "--index", "id", "--row-group-size", "32KiB", "in", "out").want(t, 0)
	file := filepath.Join(dir, "out", manifest.SuccessName)
	whole := read(t, file)
	replace := func(pattern, with string) func() []byte {
		return func() []byte { return regexp.MustCompile(pattern).ReplaceAll(whole, []byte(with)) }
	}
	readers := [][]string{
		{"lookup", "out", "7"}, {"cat", "--where", "id = 7", "out"}, {"cat", "out"}, {"head", "out"}, {"count", "out"},
		{"stats", "out"}, {"inspect", "out"}, {"schema", "out"},
	}
	writers := [][]string{
		{"convert", "in", "out"}, {"convert", "--overwrite", "in", "out"}, {"convert", "--incremental", "in", "out"},
	}
	for name, change := range map[string]func() []byte{
		"narrowed bounds":   replace(`("first": ")[^"]*`, `${1}gAAAAAAAD6A=`),
		"a changed input":   replace(`in/b\.avro`, "in/c.avro"),
		"another time":      replace(`("mod_time": ")2`, `${1}1`),
		"a dropped input":   replace(`,\s*\{\s*"path": "[^"]*in/b[^}]*\}`, ""),
		"no checksum":       replace(`,\s*"crc32c": "\w+"\s*\}\s*$`, "\n}\n"),
		"another checksum":  replace(`("crc32c": "\w{7})\w("\s*\}\s*)$`, `${1}x${2}`),
		"a version changed": replace(`"version": 2`, `"version": 3`),
		"something follows": func() []byte { return append(bytes.Clone(whole), "{}"...) },
		"cut short":         func() []byte { return whole[:len(whole)-9] },
		"empty":             func() []byte { return nil },
	} {
		altered := change()
		if bytes.Equal(altered, whole) {
			t.Fatalf("%s: nothing was changed", name)
		}
		write(t, file, altered)
		before := fileSums(t, dir)
		for _, args := range slices.Concat(readers, writers) {
			rowtocol(t, dir, nil, args...).want(t, 9, manifest.SuccessName, "the document is damaged", "put a copy of it back").prints(t, "")
		}
		rowtocol(t, dir, nil, "status", "out").want(t, 0, manifest.SuccessName, "the document is damaged", "put a copy of it back")
		rowtocol(t, dir, nil, "verify", "out").want(t, 6, manifest.SuccessName, "the document is damaged")
		wantUnchanged(t, dir, before)
	}
	write(t, file, whole)
	rowtocol(t, dir, nil, "convert", "--index", "id", "--row-group-size", "32KiB", "in", "out").want(t, 0, "nothing to do")
	if o := rowtocol(t, dir, nil, "lookup", "out", "7").want(t, 0); strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("%q", o.stdout)
	}

	// Without a copy, the output has to be made again.
	must(t, os.Remove(file))
	rowtocol(t, dir, nil, "convert", "--overwrite", "in", "out").want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
}

// TestAlteredIncrement changes the manifest of an increment.
func TestAlteredIncrement(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	writePairs(t, dir, "in/b.avro", 10, 10)
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	found := globAtLeast(t, dir+"/out/increment-*/_SUCCESS", 1)
	write(t, found[0], bytes.Replace(read(t, found[0]), []byte("in/"), []byte("on/"), 1))
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 9, "the document is damaged", "put a copy of it back")
	rowtocol(t, dir, nil, "count", "out").want(t, 9, filepath.Base(filepath.Dir(found[0])), "the document is damaged", "put a copy of it back")
}
