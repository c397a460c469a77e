package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// indexedPairs makes an indexed output of two increments: one of rows 0 to 99, in several
// files, and one of rows 50 to 149.
func indexedPairs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--incremental", "--index", "id", "--row-group-size", "2000B", "--block-size", "256", "a.avro", "out").want(t, 0)
	writePairs(t, dir, "b.avro", 50, 100)
	rowtocol(t, dir, nil, "convert", "--incremental", "--index", "id", "--row-group-size", "2000B", "--block-size", "256", "b.avro", "out").want(t, 0, "KiB of key indexes")
	return dir
}

// TestLookup checks that lookup finds the same rows as cat with a condition.
func TestLookup(t *testing.T) {
	dir := indexedPairs(t)
	for _, test := range []struct{ args, where string }{
		{"7", "id == 7"},
		{"70", "id == 70"}, // in both increments
		{"149", "id == 149"},
		{"150", "id == 150"},
		{"--limit 1 70", "id == 70"},
		{"--range 40..60", "id >= 40 && id <= 60"},
		{"--range ..3", "id <= 3"},
		{"--range 147..", "id >= 147"},
		{"--columns id --to csv 8", "id == 8"},
		{"--by id 9", "id == 9"},
	} {
		args := strings.Fields(test.args)
		// The alternative holds for no row, but keeps cat from using an index.
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

// TestLookupRefused checks the messages about wrong arguments and a missing index.
func TestLookupRefused(t *testing.T) {
	dir := indexedPairs(t)
	rowtocol(t, dir, nil, "convert", "a.avro", "none").want(t, 0)
	for args, text := range map[string]string{
		"none 1":              "convert --index",
		"a.avro 1":            "not part of a committed output",
		"--by other out 1":    "no index on other, only on id",
		"--range 9..3 out":    `there are no keys from \"9\" to \"3\"`,
		"out 1 x":             "long",
		"out -5":              "put -- before keys",
		"out":                 "--range or --prefix",
		"--range 1..2 out 1":  "give either keys",
		"--range 12 out":      "FROM..TO",
		"--range a..b..c out": "JSON array",
		"out x":               "long",
		"--prefix 1 out":      "prefix",
		"out 1 -":             "standard input",
		"--to parquet out 1":  "--to",
	} {
		rowtocol(t, dir, nil, append([]string{"lookup"}, strings.Fields(args)...)...).want(t, 1, text)
	}
}

// TestLookupDamaged checks the messages about a damaged and a missing file of an index.
func TestLookupDamaged(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	rowtocol(t, dir, nil, "convert", "--index", "id", "a.avro", "out").want(t, 0)
	files := globOne(t, filepath.Join(dir, "out", manifest.IndexDir, "*", "id", "*.hfile"))
	whole := flip(t, files, 40, 1)
	rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 3, filepath.Base(files), "offset").prints(t, "")
	must(t, os.Remove(files))
	rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 3, "missing")
	write(t, files, whole)
	rowtocol(t, dir, nil, "lookup", "out", "60").want(t, 0, fmt.Sprint(60))
}

// TestIndexOfAnotherOutput replaces the index of an output with that of another output, also in
// the manifest. That is damage, and no row is found by it.
func TestIndexOfAnotherOutput(t *testing.T) {
	dir := t.TempDir()
	index := map[string]string{}
	for from, out := range map[int]string{0: "a", 1000: "b"} {
		writePairs(t, dir, out+".avro", from, 100)
		rowtocol(t, dir, nil, "convert", "--index", "id", out+".avro", out).want(t, 0)
		index[out] = globOne(t, filepath.Join(dir, out, manifest.IndexDir, "*", "id", "*.hfile"))
	}
	write(t, index["a"], read(t, index["b"]))
	changeManifest(t, dir+"/a", func(s *manifest.Success) {
		name := s.Index[0].Name
		s.Index = manifestIn(t, dir+"/b").Index
		s.Index[0].Name = name
	})
	rowtocol(t, dir, nil, "lookup", "a", "1007").want(t, 3, "other row groups").prints(t, "")
	rowtocol(t, dir, nil, "verify", "a").want(t, 6, "other row groups")
	rowtocol(t, dir, nil, "cat", "--where", "id = 1007", "a").want(t, 0, "index is not used").prints(t, "")
	changeManifest(t, dir+"/a", func(s *manifest.Success) { s.Index = nil })
	rowtocol(t, dir, nil, "lookup", "a", "7").want(t, 3, "the index id is not listed")
}

// TestLookupManyKeys reads the rows of many keys together, and prints them key by key.
func TestLookupManyKeys(t *testing.T) {
	dir := indexedPairs(t)
	var keys, want strings.Builder
	for i := range 1200 { // more than a batch, with repeated keys
		id := i * 7 % 160
		fmt.Fprintln(&keys, id)
		for range map[bool]int{id < 150: 1}[true] + map[bool]int{id >= 50 && id < 100: 1}[true] {
			fmt.Fprintf(&want, "{\"id\":%d}\n", id)
		}
	}
	ask := func(stdin string, args ...string) (stdout, stderr string, err error) {
		cmd := command(t, append([]string{"lookup", "--columns", "id", "--json", "out", "-"}, args...)...)
		var printed bytes.Buffer
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(stdin), &printed
		out, err := cmd.Output()
		return string(out), printed.String(), err
	}
	out, stderr, err := ask(keys.String())
	if err != nil || out != want.String() {
		t.Errorf("%v, %s: %d bytes, want %d", err, stderr, len(out), want.Len())
	}
	if rows := fmt.Sprintf(`"rows":%d,`, strings.Count(out, "\n")); !strings.Contains(stderr, rows) {
		t.Errorf("%s is not in %s", rows, stderr)
	}
	if out, _, err = ask(keys.String(), "--limit", "700"); err != nil || out != strings.Join(strings.SplitAfter(want.String(), "\n")[:700], "") {
		t.Errorf("%v: %d rows, want 700", err, strings.Count(out, "\n"))
	}
	// The limit is reached before the wrong key.
	if out, stderr, err = ask("3\n60\nx\n", "--limit", "3"); err != nil || out != "{\"id\":3}\n{\"id\":60}\n{\"id\":60}\n" {
		t.Errorf("%v, %s: %q", err, stderr, out)
	}
	// Rows before an error are printed, also those of the same batch.
	if out, stderr, err = ask("3\n4\nx\n5\n"); err == nil || out != "{\"id\":3}\n{\"id\":4}\n" || !strings.Contains(stderr, "long") {
		t.Errorf("%v, %s: %q", err, stderr, out)
	}
}

// TestLookupInLittleMemory reads the rows of many keys in no order, when memory has room for the
// rows of some keys only. With a wrong key, all rows of the keys before it are printed.
func TestLookupInLittleMemory(t *testing.T) {
	const rows, size, some = 1500, 20_000, 1100
	dir := t.TempDir()
	var data []byte
	for i := range rows {
		data = appendVarint(data, i)
		data = append(appendVarint(data, size), bytes.Repeat([]byte{byte('a' + i%26)}, size)...)
	}
	write(t, filepath.Join(dir, "in.avro"), avrotest.File(t, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"text","type":"string"}]}`, syncMarker, rows, data))
	rowtocol(t, dir, nil, "convert", "--index", "id", "in.avro", "out").want(t, 0)
	var keys, want strings.Builder
	for i := range rows {
		id := i * 7 % rows
		if i == some {
			keys.WriteString("x\n")
		}
		fmt.Fprintln(&keys, id)
		if i < some {
			fmt.Fprintf(&want, "%d,%s\n", id, strings.Repeat(string(rune('a'+id%26)), size))
		}
	}
	cmd := command(t, "lookup", "--memory", "48MiB", "--to", "csv", "out", "-")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(keys.String()), &stderr
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "line 1101 of standard input") || string(out) != "id,text\n"+want.String() {
		t.Errorf("%v, %s: %d bytes, want %d", err, &stderr, len(out), want.Len())
	}
}

// TestLookupDamagedRows checks that the rows of keys before a damaged row are printed.
func TestLookupDamagedRows(t *testing.T) {
	dir := indexedPairs(t)
	parts := globAtLeast(t, filepath.Join(dir, "out", "increment-*", "part-*"), 2)
	if err := os.Remove(parts[len(parts)-1]); err != nil { // of row 149
		t.Fatal(err)
	}
	rowtocol(t, dir, nil, "lookup", "--columns", "id", "out", "5", "149", "3").want(t, 3).prints(t, "{\"id\":5}\n")
}

// TestLookupChoosesIndex checks that lookup uses the only index that the keys fit.
func TestLookupChoosesIndex(t *testing.T) {
	dir := t.TempDir()
	mail, err := filepath.Abs("../../testdata/mail/archive-1.avro")
	must(t, err)
	rowtocol(t, dir, nil, "convert", "--index", "id", "--index", "folder,id", "--index", "size,id", mail, "out").want(t, 0)
	for args, index := range map[string]string{
		"SPAM,7":      "folder,id",
		"--prefix SP": "folder,id",
	} {
		want := rowtocol(t, dir, nil, append([]string{"lookup", "--by", index, "out"}, strings.Fields(args)...)...).want(t, 0).stdout
		if got := rowtocol(t, dir, nil, append([]string{"lookup", "out"}, strings.Fields(args)...)...).want(t, 0).stdout; got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	rowtocol(t, dir, nil, "lookup", "out", "7").want(t, 1, "id and folder,id and size,id")
	rowtocol(t, dir, nil, "lookup", "out", "-").want(t, 1, "--by")
}

// TestIndexesShown checks that status and inspect show the indexes of all increments.
func TestIndexesShown(t *testing.T) {
	dir := indexedPairs(t)
	for _, name := range []string{"status", "inspect"} {
		rowtocol(t, dir, nil, name, "out").want(t, 0, "key indexes: id (200 keys, ")
		rowtocol(t, dir, nil, name, "--json", "out").want(t, 0, `"indexes":`, `"fields":`, `"entries":`)
	}
}

// TestIncrementWithoutIndex checks that convert warns if an increment gets no index that the
// destination has.
func TestIncrementWithoutIndex(t *testing.T) {
	dir := indexedPairs(t)
	convert := []string{"convert", "--incremental", "c.avro", "out"}
	writePairs(t, dir, "c.avro", 200, 10)
	rowtocol(t, dir, nil, append(convert, "--index", "id", "--dry-run")...).want(t, 0).lacks(t, "gets no index")
	warning := "the new increment gets no index on id, but the destination has one: lookup by id will fail; add --index id"
	if o := rowtocol(t, dir, nil, convert...).want(t, 0, warning); strings.Count(o.stderr, warning) != 1 {
		t.Errorf("several warnings: %s", o.stderr)
	}
	rowtocol(t, dir, nil, "lookup", "out", "7").want(t, 1, "has no index")
	rowtocol(t, dir, nil, convert...).want(t, 0, "nothing to do").lacks(t, "gets no index")
}

// TestLookupAsPrinted looks up rows by the keys that cat prints, for all types whose printed
// form differs from the stored one.
func TestLookupAsPrinted(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}},
		{"name":"raw","type":"bytes"},
		{"name":"id","type":{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
		{"name":"day","type":{"type":"int","logicalType":"date"}},
		{"name":"clock","type":["null",{"type":"long","logicalType":"time-micros"}]},
		{"name":"local","type":{"type":"long","logicalType":"local-timestamp-millis"}}]}`
	var rows []byte
	for i := range int64(9) {
		rows = append(rows, 2, byte(25*i-100))
		rows = append(rows, 4, 0, byte(255-i))
		rows = append(rows, bytes.Repeat([]byte{byte(16 * i)}, 16)...)
		for _, n := range []int64{1577934245123456 + i, 18000 + i, 1, 3_600_000_000*i + 7, 1577934245123 + i} {
			rows = appendVarint(rows, int(n))
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.avro"), avrotest.File(t, schema, syncMarker, 9, rows))
	fields := []string{"dec", "raw", "id", "at", "day", "clock", "local"}
	args := []string{"convert", "in.avro", "out"}
	for _, f := range fields {
		args = append(args, "--index", f)
	}
	rowtocol(t, dir, nil, args...).want(t, 0)
	lines := strings.SplitAfter(rowtocol(t, dir, nil, "cat", "out").want(t, 0).stdout, "\n")
	for i, f := range fields {
		var row map[string]string
		must(t, json.Unmarshal([]byte(lines[i]), &row))
		if got := rowtocol(t, dir, nil, "lookup", "--by", f, "out", "--", row[f]).want(t, 0).stdout; got != lines[i] {
			t.Errorf("%s %s: %q, want %q", f, row[f], got, lines[i])
		}
	}
	if got := rowtocol(t, dir, nil, "lookup", "--by", "dec", "--range=-0.60..0.25", "--columns", "dec", "--to", "csv", "out").want(t, 0).stdout; got != "dec\n-0.50\n-0.25\n0.00\n0.25\n" {
		t.Errorf("%q", got)
	}
}

// TestWhereWithDamagedIndex checks that cat reads all rows if the index is damaged.
func TestWhereWithDamagedIndex(t *testing.T) {
	dir := indexedPairs(t)
	files := globAtLeast(t, filepath.Join(dir, "out", "increment-*", manifest.IndexDir, "*", "id", "*.hfile"), 1)
	for _, f := range files {
		write(t, f, nil)
	}
	rowtocol(t, dir, nil, "cat", "--columns", "id", "--where", "id = 60", "out").want(t, 0, "index is not used").prints(t, "{\"id\":60}\n{\"id\":60}\n")
}

// TestDividesBatch checks after which errors a batch is read in halves.
func TestDividesBatch(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{damage.New(damage.Checksum, "part", 7, "damaged"), true},
		{fmt.Errorf("a row: %w", &budget.Error{}), true},
		{errBatchMemory, true},
		{fmt.Errorf("line 3: %w", cli.Usagef("a key")), true},
		{syscall.EIO, false},
		{context.Canceled, false},
	} {
		if dividesBatch(c.err) != c.want {
			t.Errorf("%v: divided is %v, want %v", c.err, !c.want, c.want)
		}
	}
}
