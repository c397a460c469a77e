package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherFormat takes a format of several files per row group through all
// commands, with a program that has it beside its own.
func TestAnotherFormat(t *testing.T) {
	dir := t.TempDir()
	withTagged(t)
	pairs(t, dir, "a.avro", 0, 3000)
	run := func(args ...string) output { t.Helper(); return rowtocol(t, dir, nil, args...) }
	run("convert", "--row-group-size", "16KiB", "a.avro", "trevni").want(t, 0)
	run("convert", "--help").want(t, 0, "trevni or ", "trevni: column to keep")
	run("convert", "--format", "split", "--values", "id", "a.avro", "split").want(t, 1, "--values is no option of the format split")
	run("convert", "--format", "split", "--codec", "bzip2", "a.avro", "split").want(t, 1, "bzip2")
	run("convert", "--format", "split", "--dry-run", "a.avro", "split").want(t, 0, "split")
	convert := []string{"convert", "--format", "split", "--codec", "snappy", "--row-group-size", "16KiB", "a.avro", "split"}
	made := run(convert...)
	run(convert...).want(t, 0, "already")
	run("convert", "--row-group-size", "16KiB", "a.avro", "split").want(t, 9, "format")

	parts, err := filepath.Glob(dir + "/split/part-*.split")
	if err != nil || len(parts) < 3 {
		t.Fatalf("parts %q, %v", parts, err)
	}
	files, err := filepath.Glob(dir + "/split/part-*/*")
	if err != nil {
		t.Fatal(err)
	}
	made.want(t, 0, fmt.Sprintf("3000 rows in %d files", len(files)))
	for _, args := range [][]string{
		{}, {"--where", "id % 7 == 3"}, {"--columns", "words"}, {"--limit", "5", "--offset", "1234"}, {"--to", "csv", "--columns", "id"},
		{"--to", "avro"}, {"--to", "arrow"}, {"--to", "arrow", "--where", "id > 2900"},
	} {
		of := func(name string) []byte {
			t.Helper()
			run(append([]string{"cat", "--output", name + ".rows", "--overwrite", name}, args...)...).want(t, 0)
			rows, err := os.ReadFile(filepath.Join(dir, name+".rows"))
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		if got, want := of("split"), of("trevni"); !bytes.Equal(got, want) {
			t.Errorf("cat %v: %d bytes, want the %d of Trevni's", args, len(got), len(want))
		}
	}
	run("verify", "split", "--against", "a.avro", "--require-complete").want(t, 0, "3000 rows")
	run("inspect", "split").want(t, 0, "split version", "words[]")
	run("inspect", "--html", "page.html", "split").want(t, 0)
	if page, err := os.ReadFile(dir + "/page.html"); err != nil || !bytes.Contains(page, []byte("words[]")) {
		t.Errorf("page of %d bytes, %v", len(page), err)
	}
	run("inspect", "--bytes", parts[0]).want(t, 0)
	run("schema", parts[0]).want(t, 0, `"words"`)
	run("cat", "--limit", "1", parts[0]).want(t, 0, `"id":0`)

	run("plan", "--format", "split", "--row-group-size", "16KiB", "a.avro", "planned", "-o", "plan.json").want(t, 0)
	run("task", "--plan", "plan.json", "--task", "0").want(t, 0)
	run("commit", "--plan", "plan.json").want(t, 4, "not done")
	for i := range 20 {
		if run("task", "--plan", "plan.json", "--task", string('0'+rune(i%10))).code == 1 {
			break // there are no more
		}
	}
	run("commit", "--plan", "plan.json").want(t, 0)
	run("verify", "planned", "--against", "a.avro", "--require-complete").want(t, 0)

	files, err = filepath.Glob(parts[1] + "/*.col")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, %v", files, err)
	}
	damaged, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(files[0], damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(files[0], dir+"/")
	run("verify", "split").want(t, 6, name)
	run("cat", "split").want(t, 3, name)
	run(append([]string{"convert", "--overwrite"}, convert[1:]...)...).want(t, 0)
}
