package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// wantEqualFiles checks that the files of a pattern in dir/out and dir/again are equal, and
// returns those in dir/out.
func wantEqualFiles(t *testing.T, dir, pattern string, least int) []string {
	t.Helper()
	files, again := globAtLeast(t, dir+"/out/"+pattern, least), globAtLeast(t, dir+"/again/"+pattern, least)
	if len(files) != len(again) {
		t.Fatalf("%d and %d files, want equal numbers of at least %d", len(files), len(again), least)
	}
	for i := range files {
		if !bytes.Equal(read(t, files[i]), read(t, again[i])) {
			t.Errorf("%s and %s differ", files[i], again[i])
		}
	}
	return files
}

// TestFormatOfManyFiles runs the commands with a format that has a file for each column.
func TestFormatOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3000)
	write(t, dir+"/job.yaml", []byte("input: a.avro\ndest: out\nformat: cfile\nrow-group-size: 16KiB\nblock-size: 2KiB\n"+
		"compression: [lz4, words=zlib]\nencoding:\n  id: plain\nsorted-by: id\nmany-files: true\n"))
	run := func(args ...string) output { t.Helper(); return rowtocol(t, dir, nil, args...) }
	run("convert", "--config", "job.yaml", "--dry-run").want(t, 0, "compression lz4, sorted by id")
	run("convert", "--config", "job.yaml", "--workers", "1").want(t, 0, "3000 rows")
	run("convert", "--config", "job.yaml", "--workers", "1").want(t, 0, "already")
	run("convert", "--config", "job.yaml", "--dest", "again", "--workers", "5").want(t, 0, "3000 rows")
	wantEqualFiles(t, dir, "part-*.cfiles/*", 12)
	run("verify", "out", "--against", "a.avro", "--require-complete").want(t, 0, "3000 rows")
	run("cat", "out", "--where", "id = 1234", "--columns", "id").want(t, 0, `{"id":1234}`)
	run("inspect", "out").want(t, 0, "words[]", "cfile")

	convert := func(code int, words []string, args ...string) {
		t.Helper()
		run(append([]string{"convert", "a.avro", "other", "--format", "cfile"}, args...)...).want(t, code, words...)
	}
	convert(1, []string{"--encoding di=rle: there is no such column", "--sorted-by words[]"}, "--encoding", "di=rle", "--sorted-by", "words")
	convert(1, []string{"bitshufle", "did you mean bitshuffle?"}, "--encoding", "id=bitshufle")
	convert(1, []string{"--codec is not an option of the format cfile"}, "--codec", "snappy")
	convert(1, []string{"which has the encodings plain, rle, bitshuffle"}, "--encoding", "id=prefix")
}

// TestFilesOfColumns checks that commands print the same for a format of several files per
// row group as for the default.
func TestFilesOfColumns(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3000)
	run := func(args ...string) output { t.Helper(); return rowtocol(t, dir, nil, args...) }
	run("convert", "--row-group-size", "16KiB", "a.avro", "trevni").want(t, 0)
	run("convert", "--help").want(t, 0, "trevni or cfile or", "trevni: column for which")
	convert := []string{"convert", "--format", "cfile", "--row-group-size", "16KiB", "a.avro", "cfile"}
	made := run(convert...)
	run("convert", "--row-group-size", "16KiB", "a.avro", "cfile").want(t, 9, "format")

	parts := globAtLeast(t, dir+"/cfile/part-*.cfiles", 3)
	files, err := filepath.Glob(dir + "/cfile/part-*/*")
	must(t, err)
	made.want(t, 0, fmt.Sprintf("3000 rows in %d files", len(files)))
	for _, args := range [][]string{
		{}, {"--where", "id % 7 == 3"}, {"--columns", "words"}, {"--limit", "5", "--offset", "1234"}, {"--to", "csv", "--columns", "id"},
		{"--to", "avro"}, {"--to", "arrow"}, {"--to", "arrow", "--where", "id > 2900"},
	} {
		printed := func(name string) []byte {
			t.Helper()
			run(append([]string{"cat", "--output", name + ".rows", "--overwrite", name}, args...)...).want(t, 0)
			return read(t, filepath.Join(dir, name+".rows"))
		}
		if got, want := printed("cfile"), printed("trevni"); !bytes.Equal(got, want) {
			t.Errorf("cat %v: %d bytes, want the %d of Trevni", args, len(got), len(want))
		}
	}
	run("inspect", "--html", "page.html", "cfile").want(t, 0)
	if page := read(t, dir+"/page.html"); !bytes.Contains(page, []byte("words[]")) {
		t.Errorf("page of %d bytes", len(page))
	}
	run("inspect", "--bytes", parts[0]).want(t, 0)
	run("schema", parts[0]).want(t, 0, `"words"`)
	run("cat", "--limit", "1", parts[0]).want(t, 0, `"id":0`)

	run("plan", "--format", "cfile", "--row-group-size", "16KiB", "a.avro", "planned", "-o", "plan.json").want(t, 0)
	run("task", "--plan", "plan.json", "--task", "0").want(t, 0)
	run("commit", "--plan", "plan.json").want(t, 4, "not done")
	for i := 1; i < 20 && run("task", "--plan", "plan.json", "--task", strconv.Itoa(i)).code != 1; i++ { // 1: there are no more
	}
	run("commit", "--plan", "plan.json").want(t, 0)
	run("verify", "planned", "--against", "a.avro", "--require-complete").want(t, 0)

	column := globOne(t, parts[1]+"/00000.cf")
	flip(t, column, len(read(t, column))/2, 1)
	name := strings.TrimPrefix(column, dir+"/")
	run("verify", "cfile").want(t, 6, name)
	run("cat", "cfile").want(t, 3, name)
	run(append([]string{"convert", "--overwrite"}, convert[1:]...)...).want(t, 0)
}

// TestFilesWithoutColumns checks what commands report of Kudu's Bloom and delta files.
func TestFilesWithoutColumns(t *testing.T) {
	run := func(args ...string) output { t.Helper(); return rowtocol(t, "../../cfile/testdata", nil, args...) }
	const bloom, holds = "kudu/bloom_4000keys.cf", "3 Bloom filters (13 hash functions, 98304 bits) of about 3987 keys"
	run("inspect", bloom).want(t, 0, bloom+": 0 rows", "  holds "+holds)
	run("inspect", "--json", bloom).want(t, 0, `"holds": "`+holds)
	run("verify", bloom).want(t, 0, "0 rows", "  holds "+holds)
	run("cat", bloom).want(t, 3, bloom, "the file holds "+holds+", and no rows")
	const delta = "delta/redo.cf"
	run("inspect", delta).want(t, 0, delta+": 15 rows", "  holds changes of the rows of a Kudu rowset")
	run("verify", delta).want(t, 0, "15 rows", "  holds changes")
	run("cat", "--where", "row = 10 and change = 'DELETE'", delta).want(t, 0, `{"row":10,"timestamp":6,"change":"DELETE","columns":[]}`)
	run("count", delta).want(t, 0, "15")
	run("inspect", bloom, delta).want(t, 0, "15 rows")
}

// TestUnfitValues checks that the message about a value that the format cannot hold names
// its place in the input.
func TestUnfitValues(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},
		{"name":"day","type":["null",{"type":"int","logicalType":"date"}]}]}`, "null", [16]byte{1})
	must(t, err)
	for block := range 5 {
		var data []byte
		for row := range 100 {
			day := row
			if block == 3 && row == 42 {
				day = 3_000_000
			}
			data = appendVarint(data, 100-row)
			data = appendVarint(append(data, 2), day)
		}
		must(t, w.AppendBlock(100, data))
	}
	write(t, dir+"/a.avro", file.Bytes())
	run := func(args ...string) output {
		t.Helper()
		return rowtocol(t, dir, nil, append([]string{"convert", "--format", "cfile", "a.avro", "out"}, args...)...)
	}
	run().want(t, 3, "a.avro: column day/int: row 42 of the block at offset ", "--encoding day/int=physical").lacks(t, "--on-damage")
	run("--on-damage", "skip").want(t, 3, "row 42")
	run("--sorted-by", "id", "--encoding", "day=physical").want(t, 3, "a.avro: column id: row 1 of the block at offset ", "--sorted-by")
	run("--encoding", "day=physical").want(t, 0, "500 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0)
}

// TestUnfitLargeValues checks that values that the format cannot hold are refused even if
// memory was short when they were found.
func TestUnfitLargeValues(t *testing.T) {
	dir := t.TempDir()
	for _, codec := range []string{"null", "deflate"} {
		var file bytes.Buffer
		w, err := ocf.NewWriter(&file, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"X","type":"bytes"}]}`, codec, [16]byte{1})
		must(t, err)
		const size = 16_777_153 // one byte too many
		row := append(appendVarint([]byte{2}, size), make([]byte, size)...)
		for range 2 {
			must(t, w.AppendBlock(1, row))
		}
		write(t, dir+"/"+codec+".avro", file.Bytes())
		for _, encoding := range []string{"plain", "prefix"} {
			for _, command := range [][]string{{"plan", "-o", "plan.json"}, {"convert"}, {"convert", "--dry-run"}, {"convert", "--on-damage", "skip"}} {
				args := append(command, "--format", "cfile", "--encoding", "X="+encoding, codec+".avro", "out")
				rowtocol(t, dir, nil, args...).want(t, 3, codec+".avro: column X: row 0 of the block at offset ", "a value of 16777153 bytes")
			}
		}
	}
}
