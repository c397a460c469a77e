package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspectHTML(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--row-group-size", "4KiB", "--block-size", "1KiB", "a.avro", "out").want(t, 0)
	part := partOf(t, dir+"/out", 0)
	name := filepath.Base(part)
	sound := read(t, part)

	rowtocol(t, dir, nil, "inspect", "--html", "page.html", "out").want(t, 0, "100 rows, 2 columns", "drawn in page.html")
	page := string(read(t, dir+"/page.html"))
	for _, text := range []string{"<!DOCTYPE html>", "<title>out: where the bytes are</title>", `"name":"words[]"`, `"name":"` + name + `"`, "&#34;Pair&#34;",
		"<bdi>" + dir + "/out</bdi>", "Made 2", "UTC by rowtocol "} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %s", text)
		}
	}
	var look inspected
	rowtocol(t, dir, nil, "inspect", "--json", "--html", "again.html", "out").want(t, 0).object(t, &look)
	if look.HTML != "again.html" || len(look.RowGroups) != look.Files || look.Columns[0].Share <= 0 || look.RowGroups[0].Name != name {
		t.Errorf("%+v", look)
	}
	if again := string(read(t, dir+"/again.html")); again != page {
		t.Error("the same figures make another page")
	}

	write(t, dir+"/other.avro", []byte("other"))
	before := fileSums(t, dir)
	cases := []struct {
		name string
		args string
		code int
		text string
	}{
		{"with --bytes", "--bytes --html x.html out/" + name, 1, "exclude each other"},
		{"onto the inspected file", "--html out/" + name + " out", 9, "is not an HTML page"},
		{"onto a directory", "--html out out", 7, "out"},
		{"into a missing directory", "--html none/x.html out", 7, "none"},
		{"of another file", "--html x.html other.avro", 3, "other.avro"},
	}
	for _, c := range cases {
		rowtocol(t, dir, nil, append([]string{"inspect"}, strings.Fields(c.args)...)...).want(t, c.code, c.text)
	}
	write(t, part, append(sound[:len(sound)-50:len(sound)-50], make([]byte, 40)...))
	rowtocol(t, dir, nil, "inspect", "--html", "page.html", part).want(t, 3, name)
	write(t, part, sound)
	if after := fileSums(t, dir); len(after) != len(before) || string(read(t, dir+"/page.html")) != page {
		t.Errorf("failed runs changed the directory: %v, %v", before, after)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 6 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestInspectFilters(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--bloom-filter", "id", "--bloom-filter", "words[]", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "inspect", "out").want(t, 0, "  Bloom filters of id, words[]: ")
	rowtocol(t, dir, nil, "verify", "out").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--format", "parquet", "--bloom-filter", "none", "a.avro", "other").want(t, 1, "--bloom-filter none", "no such column")
	rowtocol(t, dir, nil, "convert", "--bloom-filter", "id", "a.avro", "other").want(t, 1, "--bloom-filter")
}
