package main

import (
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
)

// TestFormatOfRows runs the commands with a format that stores whole rows, sorted by a key.
func TestFormatOfRows(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3000)
	writePairs(t, dir, "b.avro", 1, 3000)
	run := func(args ...string) output { t.Helper(); return rowtocol(t, dir, nil, args...) }
	convert := func(dest string, args ...string) output {
		t.Helper()
		return run(append([]string{"convert", "a.avro", dest, "--format", "hfile", "--row-group-size", "32KiB"}, args...)...)
	}
	convert("out", "--key", "id", "--workers", "1").want(t, 0, "3000 rows")
	convert("out", "--key", "id").want(t, 0, "already")
	convert("again", "--key", "id", "--workers", "5", "--memory", "16MiB").want(t, 0, "3000 rows")
	files := wantEqualFiles(t, dir, "part-*.hfile", 3)
	for _, name := range files {
		if size := len(read(t, name)); size > 33<<10 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	run("verify", "out", "--against", "a.avro", "--require-complete").want(t, 0, "3000 rows of 1 input are equal")
	run("verify", files[0], "--against", "a.avro").want(t, 6, "the input has a row")
	run("cat", "out", "--where", "id = 1234", "--columns", "id").want(t, 0, `{"id":1234}`)
	run("count", "out").want(t, 0, "3000")
	run("inspect", "out").want(t, 0, "hfile", "cells", "rowtocol.key = id")
	run("inspect", "--bytes", files[0]).want(t, 0, "trailer")
	run("schema", files[0]).want(t, 0, `"words"`)
	run("schema", "--shredded", files[0]).want(t, 0, "words[]")
	run("stats", "out").want(t, 0, "2999")

	convert("sorted", "--key", "id", "--column", "f:q", "--timestamp", "5", "--block-codec", "gz", "--bloom", "hudi", "--row-group-size", "1MiB").want(t, 0, "3000 rows")
	run("convert", "b.avro", "other", "--format", "hfile", "--key", "id").want(t, 0)
	run("verify", "other/"+filepath.Base(globOne(t, dir+"/other/part-*.hfile")), "--against", "a.avro").want(t, 6, "digests")

	convert("refused").want(t, 1, "needs --key")
	convert("refused", "--key", "words").want(t, 1, `is an array; a field of a key`)
	convert("refused", "--key", "idd").want(t, 1, "the fields are id, words")
	convert("refused", "--key", "id", "--column", "q").want(t, 1, "FAMILY:QUALIFIER")
	convert("refused", "--key", "id", "--index", "id").want(t, 1, "--index is for formats of columns")
	convert("refused", "--key", "id", "--codec", "snappy").want(t, 1, "--codec is not an option of the format hfile")
	run("convert", "a.avro", "refused", "--key", "id").want(t, 1, "--key is not an option of the format trevni")
}

// TestRowsWithoutKey checks that the message about a row without a key names its place.
func TestRowsWithoutKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.avro", avrotest.File(t, `{"type":"record","name":"R","fields":[{"name":"name","type":["null","string"]}]}`, syncMarker, 2, []byte("\x02\x02b\x02\x02a"), []byte("\x02\x02c\x00")))
	rowtocol(t, dir, nil, "convert", "--format", "hfile", "--key", "name", "a.avro", "out").
		want(t, 3, "a.avro: row 1 of the block at offset ", "the key name is null")
}
