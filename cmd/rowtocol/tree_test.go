package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset/inspect"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// makeTree makes a directory with outputs of ten rows each, with consecutive IDs.
func makeTree(t *testing.T, dirs ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, d := range dirs {
		makeOutput(t, dir, d, 10*i)
	}
	return dir
}

// makeOutput makes an output of ten rows.
func makeOutput(t *testing.T, dir, dest string, first int, flags ...string) {
	t.Helper()
	in := fmt.Sprintf("in%d.avro", first)
	writePairs(t, dir, in, first, 10)
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, dest)), 0o700))
	rowtocol(t, dir, nil, append([]string{"convert", in, dest}, flags...)...).want(t, 0)
}

// catLine returns the rows that cat prints, in one line.
func catLine(t *testing.T, dir string, args ...string) string {
	t.Helper()
	o := rowtocol(t, dir, nil, append([]string{"cat"}, args...)...).want(t, 0)
	return strings.ReplaceAll(strings.TrimSuffix(o.stdout, "\n"), "\n", " ")
}

// wantCat checks the rows that cat prints.
func wantCat(t *testing.T, dir, want string, args ...string) {
	t.Helper()
	if got := catLine(t, dir, args...); got != want {
		t.Errorf("cat %q: %s, want %s", args, got, want)
	}
}

func TestCatTree(t *testing.T) {
	dir := makeTree(t, "mail/dt=2026-01-02/hour=9", "mail/dt=2026-01-01/hour=10", "mail/dt=2026-01-01/hour=9")
	makeOutput(t, dir, "mail/dt=2026-01-01/hour=11", 30, "--incremental")
	for _, test := range []struct{ args, want string }{
		{"--columns id,dt,hour --where id%10==7 mail", `{"id":27,"dt":"2026-01-01","hour":9} {"id":17,"dt":"2026-01-01","hour":10} {"id":37,"dt":"2026-01-01","hour":11} {"id":7,"dt":"2026-01-02","hour":9}`},
		{"--offset 9 --limit 1 mail", `{"id":29,"words":["29","29"],"dt":"2026-01-01","hour":9}`},
		{"--columns id,dt,hour --limit 1 mail/dt=*/hour=1*", `{"id":10,"dt":"2026-01-01","hour":10}`},
		{"--columns id --limit 1 --where hour==11 mail/dt=2026-01-01", `{"id":30}`},
		{"--limit 1 --offset 30 mail/dt=2026-01-01 mail/dt=2026-01-02", `{"id":0,"words":[],"dt":"2026-01-02","hour":9}`},
		{"--limit 1 mail/dt=2026-01-02/hour=9", `{"id":0,"words":[]}`},
		{"--to csv --columns dt,hour --limit 1 mail", "dt,hour 2026-01-01,9"},
	} {
		wantCat(t, dir, test.want, strings.Fields(test.args)...)
	}
	// Files of directories that the condition excludes are not read.
	part := partOf(t, dir+"/mail/dt=2026-01-01/hour=9", 0)
	whole := read(t, part)
	must(t, os.Remove(part))
	wantCat(t, dir, `{"id":0}`, "--columns", "id", "--limit", "1", "--where", `dt > date("2026-01-01") && id < 5`, "mail")
	o := rowtocol(t, dir, nil, "cat", "--stats", "--columns", "dt", "mail").want(t, 0, "40 of 40 rows; read 0 B of", "0 of 0 blocks")
	if n := strings.Count(o.stdout, "2026-01-01"); n != 30 {
		t.Errorf("%d rows of a day", n)
	}
	rowtocol(t, dir, nil, "cat", "mail").want(t, 3, "hour=9")
	write(t, part, whole)
	rowtocol(t, dir, nil, "cat", "mail/none*").want(t, 3, "none*")
	rowtocol(t, dir, nil, "cat", "mail/[").want(t, 1, "pattern")
}

// TestCatTreeTo checks that the rows of a tree can be converted, and become columns of Parquet
// and Arrow.
func TestCatTreeTo(t *testing.T) {
	dir := makeTree(t, "mail/k=a", "mail/k=__HIVE_DEFAULT_PARTITION__")
	rowtocol(t, dir, nil, "cat", "--to", "avro", "--output", "all.avro", "mail").want(t, 0)
	rowtocol(t, dir, nil, "convert", "all.avro", "all").want(t, 0)
	rows := catLine(t, dir, "mail")
	wantCat(t, dir, rows, "all")
	if strings.Count(rows, `"k":"a"`) != 10 || strings.Count(rows, `"k":null`) != 10 {
		t.Errorf("%s", rows)
	}
	for _, format := range []string{"parquet", "arrow"} {
		direct := rowtocol(t, dir, nil, "cat", "--to", format, "--columns", "id,k", "mail").want(t, 0).stdout
		if again := rowtocol(t, dir, nil, "cat", "--to", format, "--columns", "id,k", "all").want(t, 0).stdout; again != direct || len(direct) < 100 {
			t.Errorf("--to %s: %d bytes differ from the %d of the same rows in one output", format, len(direct), len(again))
		}
	}
}

func TestTreeSchemas(t *testing.T) {
	dir := makeTree(t, "mail/k=1", "mail/k=2")
	schema := rowtocol(t, dir, nil, "schema", "mail").want(t, 0).stdout
	var record struct{ Fields []struct{ Name, Type any } }
	if err := json.Unmarshal([]byte(schema), &record); err != nil || len(record.Fields) != 3 || record.Fields[2].Name != "k" || record.Fields[2].Type != "long" {
		t.Errorf("%s, %v", schema, err)
	}
	rowtocol(t, dir, nil, "schema", "--shredded", "mail").want(t, 0, "words[]", "2  k        long")
	if one := rowtocol(t, dir, nil, "schema", "mail/k=1").want(t, 0).stdout; strings.Contains(one, `"k"`) {
		t.Errorf("the schema of one output has the key: %s", one)
	}
	rowtocol(t, dir, nil, "schema", "mail/k=1", "mail/k=2").want(t, 0, `"name": "k"`)

	write(t, dir+"/v2.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"double"}]}`))
	writePairs(t, dir, "in.avro", 20, 10)
	rowtocol(t, dir, nil, "convert", "--schema", "v2.avsc", "in.avro", "mail/k=3").want(t, 0)
	for _, command := range []string{"cat", "schema"} {
		rowtocol(t, dir, nil, command, "mail").want(t, 3, "mail/k=3", "mail/k=1", "--schema")
	}
	rowtocol(t, dir, nil, "inspect", "mail").want(t, 3, "mail/k=3")
	rowtocol(t, dir, nil, "verify", "mail").want(t, 0, "30 rows")
	wantCat(t, dir, `{"id":19.0,"k":2} {"id":20.0,"k":3}`, "--schema", "v2.avsc", "--offset", "19", "--limit", "2", "mail")
}

func TestTreeUnfinished(t *testing.T) {
	dir := makeTree(t, "mail/k=1", "mail/k=2")
	must(t, os.Mkdir(dir+"/in", 0o700))
	rowtocol(t, dir, nil, "convert", "--allow-empty", "in", "mail/k=0").want(t, 0)
	wantCat(t, dir, `{"id":0,"k":1}`, "--columns", "id,k", "--limit", "1", "mail")
	must(t, os.Remove(dir+"/mail/k=2/"+manifest.SuccessName))
	for _, command := range []string{"cat", "schema", "verify", "inspect"} {
		rowtocol(t, dir, nil, command, "mail").want(t, 3, "mail/k=2")
	}
	wantCat(t, dir, `{"k":2}`, "--partial", "--columns", "k", "--limit", "1", "--offset", "19", "mail")
	write(t, dir+"/mail/k=2/"+manifest.LockName, nil)
	for _, command := range []string{"cat", "schema", "verify", "inspect"} {
		rowtocol(t, dir, nil, command, "mail").want(t, 4, "mail/k=2")
	}
	rowtocol(t, dir, nil, "cat", "mail/k=1", "mail/k=2").want(t, 4, "mail/k=2")
}

func TestTreeKeysDiffer(t *testing.T) {
	dir := makeTree(t, "mail/k=1/h=2", "mail/h=2/k=1")
	rowtocol(t, dir, nil, "cat", "mail").want(t, 3, "mail/k=1/h=2", "mail/h=2/k=1")
	rowtocol(t, dir, nil, "verify", "mail").want(t, 0, "2 files, 20 rows")
}

func TestVerifyTree(t *testing.T) {
	dir := makeTree(t, "mail/k=1")
	makeOutput(t, dir, "mail/k=2", 10, "--incremental")
	makeOutput(t, dir, "mail/k=2", 20, "--incremental")
	increments := globAtLeast(t, dir+"/mail/k=2/increment-*", 2)
	rowtocol(t, dir, nil, "verify", "mail").want(t, 0, "sound: 3 files, 30 rows")
	rowtocol(t, dir, nil, "verify", "mail/k=1", "mail/k=2").want(t, 0, "sound: 3 files, 30 rows")
	for i, name := range []string{"a.avro", "b.avro", "c.avro"} {
		writePairs(t, dir, name, 10*i, 10)
	}
	rowtocol(t, dir, nil, "verify", "mail", "--require-complete", "--against", "[abc].avro").want(t, 0, "30 rows of 3 inputs are equal")

	for name, text := range map[string]string{
		"mail/notes": "mail/notes", "mail/old/part": "mail/old", "mail/k=1/" + filepath.Base(partOf(t, increments[0], 0)): "k=1/part-",
	} {
		write(t, filepath.Join(dir, name), nil)
		rowtocol(t, dir, nil, "verify", "mail").want(t, 6, text, "1 difference,")
		must(t, os.Remove(filepath.Join(dir, name)))
		if name == "mail/old/part" {
			must(t, os.Remove(dir+"/mail/old"))
		}
	}
	write(t, dir+"/mail/_logs/x", nil)
	rowtocol(t, dir, nil, "verify", "mail").want(t, 0)

	// Each output is compared with its manifest.
	success := increments[1] + "/" + manifest.SuccessName
	sound := read(t, success)
	changeManifest(t, increments[1], func(s *manifest.Success) { s.Rows++ })
	rowtocol(t, dir, nil, "verify", "mail").want(t, 6, filepath.Base(increments[1]), "the parts have 10 rows, and the document says 11")
	write(t, success, sound)
	part := partOf(t, increments[0], 0)
	flip(t, part, -5, 1)
	rowtocol(t, dir, nil, "verify", "mail").want(t, 6, filepath.Base(increments[0]))
}

func TestInspectTree(t *testing.T) {
	dir := makeTree(t, "mail/k=1", "mail/k=2")
	var look inspect.Figures
	rowtocol(t, dir, nil, "inspect", "--json", "--html", "page.html", "mail").want(t, 0).object(t, &look)
	if len(look.Datasets) != 2 || look.Rows != 20 || look.Files != 2 || look.Path != "mail" {
		t.Errorf("%+v", look)
	}
	bytes := int64(0)
	for i, d := range look.Datasets {
		if bytes += d.Bytes; d.Path != []string{"mail/k=1", "mail/k=2"}[i] || d.Rows != 10 || d.Files != 1 || d.Stored == 0 {
			t.Errorf("%+v", d)
		}
	}
	if bytes != look.Bytes || !strings.HasPrefix(look.RowGroups[1].Name, "k=2/part-") {
		t.Errorf("%+v", look)
	}
	if page := string(read(t, dir+"/page.html")); !strings.Contains(page, "k=2/part-") {
		t.Error("the page lacks the directories of the row groups")
	}
	rowtocol(t, dir, nil, "inspect", "mail/k=*").want(t, 0, "20 rows", "of 2 datasets")
	rowtocol(t, dir, nil, "inspect", "--bytes", "mail").want(t, 1, "one file")
}
