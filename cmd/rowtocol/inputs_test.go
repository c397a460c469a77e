package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// skippedPaths returns the skipped names below a directory, with the reasons.
func skippedPaths(dir string, skipped []input.Skipped) string {
	var names []string
	for _, s := range skipped {
		names = append(names, strings.TrimPrefix(s.Path, dir+"/")+" ("+s.Reason+")")
	}
	return strings.Join(names, ", ")
}

func makeFIFO(t *testing.T, name string) {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o600))
}

// TestInputsByContent converts a directory of Hive's files that also has other files.
func TestInputsByContent(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/000000_0", 0, 10)
	writePairs(t, dir, "in/day=1/part-m-00000", 10, 5)
	writePairs(t, dir, "in/z.avro", 15, 5)
	writePairs(t, dir, "in/_temporary/0/a.avro", 100, 5)
	writePairs(t, dir, "in/.b.avro", 100, 5)
	for name, text := range map[string]string{"_SUCCESS": "", "empty.avro": "", "notes.txt": "Obj is not all", "short": "Ob"} {
		write(t, filepath.Join(dir, "in", name), []byte(text))
	}
	makeFIFO(t, dir+"/in/pipe.avro")
	const found = ".b.avro (hidden), _SUCCESS (hidden), _temporary (hidden), empty.avro (empty), notes.txt (not an Avro file), " +
		"pipe.avro (not a regular file), short (not an Avro file)"
	var dry dryRun
	o := rowtocol(t, dir, nil, "convert", "--dry-run", "--json", "in", "out").want(t, 0, "in/notes.txt", "not an Avro file")
	if o.object(t, &dry); skippedPaths(dir+"/in", dry.Skipped) != found || len(dry.Request.Inputs) != 3 {
		t.Errorf("a dry run skips %s, and takes %+v", skippedPaths(dir+"/in", dry.Skipped), dry.Request.Inputs)
	}
	var p planned
	rowtocol(t, dir, nil, "plan", "--json", "in", "out", "-o", "plan.json").want(t, 0, "7 files or directories").object(t, &p)
	var c converted
	skips := strings.ReplaceAll("7 files or directories among the inputs are skipped (empty: 1, IN/empty.avro; hidden: 3; "+
		"not a regular file: 1, IN/pipe.avro; not an Avro file: 2, IN/notes.txt, IN/short)", "IN", dir+"/in")
	rowtocol(t, dir, nil, "convert", "--json", "in", "out").want(t, 0, skips).object(t, &c)
	if c.Rows != 20 || c.Inputs != 3 || c.Skipped != 7 || p.Skipped != 7 {
		t.Errorf("%+v, planned %+v", c, p)
	}
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "nothing to do", "7 files or directories")

	for name, text := range map[string]string{
		"in/notes.txt": "magic", "in/empty.avro": "the file is empty", "in/pipe.avro": "a named pipe is not a regular file", "in/not*": "magic",
	} {
		rowtocol(t, dir, nil, "convert", name, "other").want(t, 3, text)
	}
}

// TestUnfinishedCopies converts a directory while files are copied into it. Their rows must be
// there once, after the copies are complete. A file that is named is converted at once.
func TestUnfinishedCopies(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	names := []string{"b.avro._COPYING_", "c.avro.filepart", "d.avro.part", "e.avro.tmp", "f.avro.bak", "g.avro.crdownload", "h.avro.swp", "i.avro~"}
	for i, name := range names {
		writePairs(t, dir, "in/"+name, 10+i, 1)
	}
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").
		want(t, 0, "8 files or directories among the inputs are skipped (the name of an unfinished copy or of a backup: 8, ", "in/b.avro._COPYING_")
	rowtocol(t, dir, nil, "convert", "--incremental", "in/*", "out").want(t, 0, "nothing to do", "8 files or directories")
	rowtocol(t, dir, nil, "count", "out").want(t, 0, "10")
	for _, name := range names {
		must(t, os.Rename(dir+"/in/"+name, dir+"/in/"+name[:6]))
		rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0)
	}
	rowtocol(t, dir, nil, "convert", "--incremental", "in", "out").want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "count", "out").want(t, 0, "18")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)

	writePairs(t, dir, "in/j.avro.tmp", 90, 1)
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "in/j.avro.tmp")
	rowtocol(t, dir, nil, "convert", "in/j.avro.tmp", "named").want(t, 0)
	rowtocol(t, dir, nil, "convert", "in/*.tmp", "named").want(t, 0, "nothing to do")
}

// TestManySkipped checks that the log names some of many skipped files, and JSON all.
func TestManySkipped(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a", 0, 10)
	for i := range 15 {
		write(t, fmt.Sprintf("%s/in/text%02d", dir, i), []byte("text"))
	}
	rowtocol(t, dir, nil, "convert", "--dry-run", "in", "out").want(t, 0, "text09", "and 5 more").lacks(t, "text10")
	var dry dryRun
	if rowtocol(t, dir, nil, "convert", "--dry-run", "--json", "in", "out").want(t, 0).object(t, &dry); len(dry.Skipped) != 15 {
		t.Errorf("%d are named, want 15", len(dry.Skipped))
	}
}

// TestAddedFileIsAnotherRequest adds an input to a converted directory.
func TestAddedFileIsAnotherRequest(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	write(t, dir+"/in/README", []byte("text"))
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "nothing to do")
	writePairs(t, dir, "in/000000_0", 10, 10)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 9, "in/000000_0 was added")
}

// TestLinkedInputs checks that a file with several names is converted once.
func TestLinkedInputs(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/2026/a.avro", 0, 10)
	for link, to := range map[string]string{"in/latest": "2026", "in/2026/all": "../../in", "in/same.avro": "2026/a.avro"} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "10 rows", "another name of an input: 3")
	rowtocol(t, dir, nil, "convert", "in/2026/a.avro", "out").want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0, "10 rows of 1 input are equal")
}

// TestNothingToConvert checks that inputs without an Avro file are refused, also with
// --overwrite.
func TestNothingToConvert(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	writePairs(t, dir, "rowless.avro", 0, 0)
	write(t, dir+"/empty/text", []byte("text"))
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	before := fileSums(t, dir+"/out")
	for _, args := range []string{"--overwrite empty out", "--overwrite a.avro empty out", "--overwrite none*.avro out", "--dry-run empty other"} {
		rowtocol(t, dir, nil, append([]string{"convert"}, strings.Fields(args)...)...).want(t, 3, "--allow-empty")
	}
	rowtocol(t, dir, nil, "plan", "empty", "other", "-o", "plan.json").want(t, 3, "empty/text: not an Avro file", "--allow-empty")
	if after := fileSums(t, dir+"/out"); len(after) != len(before) {
		t.Errorf("%v became %v", before, after)
	}
	rowtocol(t, dir, nil, "plan", "--allow-empty", "empty", "other", "-o", "plan.json").want(t, 0, "0 tasks")
	rowtocol(t, dir, nil, "convert", "rowless.avro", "rowless").want(t, 0, "0 rows in 1 file")
	rowtocol(t, dir, nil, "convert", "--allow-empty", "a.avro", "none*.avro", "empty", "some").want(t, 0, "10 rows")
	rowtocol(t, dir, nil, "convert", "--allow-empty", "--overwrite", "empty", "out").want(t, 0, "0 rows in 0 files")
}

// TestEmptyFileIsALoss checks that an empty file counts as a loss of 0 rows with --on-damage.
func TestEmptyFileIsALoss(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	write(t, dir+"/in/b.avro", nil)
	args := []string{"convert", "--on-damage", "skip", "--max-lost-rows", "0", "in/a.avro", "in/b.avro", "out"}
	rowtocol(t, dir, nil, args...).want(t, 8, "in/b.avro", "the file is empty", "with 0 rows")
	rowtocol(t, dir, nil, args...).want(t, 8, "nothing to do")
	rowtocol(t, dir, nil, "cat", "--stats", "out").want(t, 0, `{"id":9`)
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, "10 rows of 1 input are equal")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 6, "damaged range")
	rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "in/b.avro", "none").want(t, 3, "--allow-empty")
	rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "--schema", "none.avsc", "in/b.avro", "none").want(t, 1)

	for i, step := range [][]string{
		{"plan", "--on-damage", "quarantine", "in/b.avro", "in/a.avro", "steps", "-o", "plan.json"},
		{"task", "--plan", "plan.json", "--task", "0"}, {"commit", "--plan", "plan.json"},
	} {
		rowtocol(t, dir, nil, step...).want(t, []int{0, 0, 8}[i])
	}
}

// TestRequireComplete checks that verify names everything that would be lost with the inputs.
func TestRequireComplete(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	against := []string{"verify", "out", "--against", "in"}
	complete := append(slices.Clone(against), "--require-complete")
	rowtocol(t, dir, nil, complete...).want(t, 0)
	rowtocol(t, dir, nil, "verify", "out", "--require-complete").want(t, 1, "--against")
	for name, put := range map[string]func(name string){
		"notes.txt":        func(name string) { write(t, name, []byte("text")) },
		"empty.avro":       func(name string) { write(t, name, nil) },
		".hidden.avro":     func(name string) { writePairs(t, dir, "in/.hidden.avro", 50, 5) },
		"_logs/deep/a.log": func(name string) { write(t, name, []byte("text")) },
		"rowless":          func(name string) { writePairs(t, dir, "in/rowless", 0, 0) },
		"pipe":             func(name string) { makeFIFO(t, name) },
	} {
		file := filepath.Join(dir, "in", name)
		put(file)
		rowtocol(t, dir, nil, against...).want(t, 0, "not in the output", file)
		rowtocol(t, dir, nil, complete...).want(t, 6, "the output lacks 1 file of --against: ", file, "what to do: if a file is torn")
		var v verified
		r := rowtocol(t, dir, nil, append(slices.Clone(against), "--json")...).want(t, 0).object(t, &v)
		if r.Status != "incomplete" || *v.Complete || len(v.NotContained) != 1 || v.NotContained[0].Path != file {
			t.Errorf("%s: %s %+v", name, r.Status, v)
		}
		must(t, os.RemoveAll(filepath.Join(dir, "in", strings.Split(name, "/")[0])))
	}
	for i := range 15 {
		write(t, fmt.Sprintf("%s/in/text%02d", dir, i), []byte("text"))
	}
	rowtocol(t, dir, nil, complete...).want(t, 6, "15 files", "text09", "and 5 more").lacks(t, "text10")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in/*.avro", "--require-complete").want(t, 0)

	// Rows that the output lacks are always a difference.
	writePairs(t, dir, "in/000000_0", 10, 10)
	rowtocol(t, dir, nil, against...).want(t, 6, "in/000000_0", "10 rows differ")
}

// TestNotNamed checks that verify names the inputs that --against does not cover.
func TestNotNamed(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	writePairs(t, dir, "in/b.avro", 0, 0)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	var v verified
	rowtocol(t, dir, nil, "verify", "--json", "out", "--against", "in/a.avro").want(t, 0, "does not name", "in/b.avro").object(t, &v)
	if len(v.NotNamed) != 1 || v.NotNamed[0] != dir+"/in/b.avro" || !*v.Complete {
		t.Errorf("%+v", v)
	}
	must(t, os.Rename(dir+"/in", dir+"/moved"))
	write(t, dir+"/moved/c", []byte("text"))
	rowtocol(t, dir, nil, "verify", "out", "--against", "moved", "--require-complete").want(t, 6, "moved/c")
	writePairs(t, dir, "moved/d", 0, 0)
	rowtocol(t, dir, nil, "verify", "out", "--against", "moved", "--require-complete").want(t, 6, "lacks 2 files of --against: ", "moved/d")
}

// TestLossesAreMentioned checks that verify and inspect report losses.
func TestLossesAreMentioned(t *testing.T) {
	dir := t.TempDir()
	b := writePairs(t, dir, "a.avro", 0, 100)
	b[len(b)/2] ^= 1 // in a row
	write(t, dir+"/a.avro", b)
	copy(b[len(b)/2:], "sync-sync?sync-s")
	write(t, dir+"/a.avro", b)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 3, "a.avro", "--on-damage skip or quarantine")
	rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "a.avro", "out").want(t, 8)
	rowtocol(t, dir, nil, "verify", "out").want(t, 0, "without a damaged range", "a.avro")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0, "without a damaged range", "are equal")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro", "--require-complete").want(t, 6, "damaged range")
	rowtocol(t, dir, nil, "inspect", "out").want(t, 0, "LOSSES: ", "damaged range")
	var shown struct {
		Losses []manifest.Loss `json:"losses"`
	}
	if rowtocol(t, dir, nil, "inspect", "--json", "out").want(t, 0).object(t, &shown); len(shown.Losses) == 0 {
		t.Error("inspect lists no losses")
	}
	rowtocol(t, dir, nil, "inspect", "--html", "page.html", "out").want(t, 0, "LOSSES: ")
	if page := string(read(t, dir+"/page.html")); !strings.Contains(page, "Damaged data was left out") {
		t.Error("the page names no losses")
	}
}

// TestHelpfulErrors checks that messages name the flag that helps, and the exit code.
func TestHelpfulErrors(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	write(t, dir+"/in/b", encodeAvro(t, strings.Replace(pairSchema, `"name":"Pair","namespace":"t"`, `"name":"t.Pair"`, 1), []byte{2, 0}))
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "11 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
	rowtocol(t, dir, nil, "convert", "in/b", "other").want(t, 0)
	rowtocol(t, dir, nil, "cat", "out", "other").want(t, 0)
	write(t, dir+"/mixed/a", encodeAvro(t, `"long"`))
	write(t, dir+"/mixed/b", encodeAvro(t, `"int"`))
	write(t, dir+"/list.avro", encodeAvro(t, `{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`, []byte{0, 0}))
	makeFIFO(t, dir+"/pipe")
	for _, tt := range []struct {
		args string
		code int
		text string
	}{
		{"convert mixed none", 3, "--schema"},
		{"convert list.avro none", 3, "--recursive bytes"},
		{"schema --shredded list.avro", 3, "--recursive bytes"},
		{"convert --schema in in none", 1, "--schema: in"},
		{"cat --schema in out", 1, "--schema: in"},
		{"convert --temp-dir in/a.avro in none", 1, "is not a directory"},
		{"task --plan in --task 0", 1, "--plan: in"},
		{"cat pipe", 3, "a named pipe"},
		{"inspect pipe", 3, "a named pipe"},
	} {
		rowtocol(t, dir, nil, strings.Fields(tt.args)...).want(t, tt.code, tt.text)
	}
}

// TestNamesOutsideUTF8 checks that names that are not UTF-8 are refused: plan and _SUCCESS
// cannot hold them.
func TestNamesOutsideUTF8(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a", 0, 3)
	writePairs(t, dir, "in/_\xff", 0, 3)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "1 file or directory among the inputs is skipped (hidden: 1)")
	rowtocol(t, dir, nil, "convert", "in", "out\xff").want(t, 1, `out\\xff`, "not UTF-8")
	rowtocol(t, dir, nil, "plan", "in", "out\xff", "-o", "plan.json").want(t, 1, "not UTF-8")
	writePairs(t, dir, "in/b\xff", 3, 3)
	for _, args := range [][]string{{"convert", "in", "out"}, {"convert", "in/b\xff", "new"}, {"plan", "in", "new", "-o", "plan.json"}} {
		rowtocol(t, dir, nil, args...).want(t, 3, `in/b\\xff`, "not UTF-8")
	}
}

// TestDryRunOfADestination checks that a dry run says what convert would do to DEST.
func TestDryRunOfADestination(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a", 0, 3)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	before := fileSums(t, dir)
	rowtocol(t, dir, nil, "convert", "--dry-run", "in", "out").want(t, 0, "convert will do nothing")
	rowtocol(t, dir, nil, "convert", "--dry-run", "--codec", "null", "in", "out").want(t, 0, "convert will be refused", "--overwrite replaces the output")
	rowtocol(t, dir, nil, "convert", "--dry-run", "--codec", "null", "--overwrite", "in", "out").want(t, 0).lacks(t, "refused")
	wantUnchanged(t, dir, before)
}

// TestFormatRequiresUTF8 checks that a string that is not UTF-8 ends a conversion to a format
// that cannot hold it, also if damage is skipped, because the row is not damaged.
func TestFormatRequiresUTF8(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, `{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"name","type":["null","string"]}]}`, "null", [16]byte{})
	must(t, err)
	must(t, w.AppendBlock(3, []byte("\x02\x02\x02a"+"\x04\x02\x04a\xff"+"\x06\x00")))
	write(t, dir+"/a.avro", file.Bytes())
	for _, args := range [][]string{nil, {"--on-damage", "skip"}} {
		rowtocol(t, dir, nil, append([]string{"convert", "--format", "parquet", "a.avro", "out"}, args...)...).
			want(t, 3, "a.avro", "row 1", "name", "a string is not UTF-8, which the format requires; --invalid-utf8 replace", "--schema")
	}
	rowtocol(t, dir, nil, "convert", "a.avro", "trevni").want(t, 0, "UTF-8")
}
