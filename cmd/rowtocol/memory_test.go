package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const textSchema = `{"type":"record","name":"Text","fields":[{"name":"id","type":"long"},{"name":"text","type":"string"}]}`

// writeTexts writes an Avro file of rows with texts of the sizes, each in its own block.
func writeTexts(t *testing.T, dir, name string, sizes ...int) {
	t.Helper()
	var rows [][]byte
	for i, size := range sizes {
		row := appendVarint(appendVarint(nil, i), size)
		rows = append(rows, append(row, bytes.Repeat([]byte{'a' + byte(i%26)}, size)...))
	}
	write(t, filepath.Join(dir, name), encodeAvro(t, textSchema, rows...))
}

const largeText = 30 << 20

var needed = regexp.MustCompile(`--memory ([0-9]+)MiB`)

// wantRefused checks that a run ended because memory was too small, and that the message
// names the file once, and a larger --memory.
func (o output) wantRefused(t *testing.T, have int, name string) {
	t.Helper()
	o.want(t, 1, "too little memory")
	need, found := 0, needed.FindStringSubmatch(o.stderr)
	if found != nil {
		_, _ = fmt.Sscan(found[1], &need) // 0 fails the test
	}
	if need <= have {
		t.Errorf("the message asks for no more than the %d MiB given: %s", have, o.stderr)
	}
	if n := strings.Count(o.log(), name); n != 1 {
		t.Errorf("%s is named %d times, want once: %s", name, n, o.stderr)
	}
}

// TestLargeRow reads an output with a large row among small ones with enough memory, and
// checks that it is refused with too little.
func TestLargeRow(t *testing.T) {
	dir := t.TempDir()
	writeTexts(t, dir, "a.avro", 10, 20, largeText, 30)
	rowtocol(t, dir, nil, "convert", "--memory", "1GiB", "a.avro", "out").want(t, 0)
	t.Run("cat", func(t *testing.T) { testCatLargeRow(t, dir) })
	t.Run("verify", func(t *testing.T) { testVerifyLargeRow(t, dir) })
	t.Run("against", func(t *testing.T) { testLargeRowAgainst(t, dir) })
}

func testCatLargeRow(t *testing.T, dir string) {
	part := filepath.Base(partOf(t, filepath.Join(dir, "out"), 0))
	for _, to := range []string{"json", "csv", "avro", "arrow"} {
		args := []string{"cat", "--to", to, "--output-codec", "null", "--output", "rows." + to, "--memory"}
		rowtocol(t, dir, nil, append(args, "16MiB", "out")...).wantRefused(t, 16, part)
		rowtocol(t, dir, nil, append(args, "256MiB", "out")...).want(t, 0)
		if size := len(read(t, filepath.Join(dir, "rows."+to))); size < largeText || size > largeText+10_000 {
			t.Errorf("%s: %d bytes", to, size)
		}
	}
	rowtocol(t, dir, nil, "cat", "--memory", "16MiB", "--columns", "id", "out").want(t, 0).prints(t, "{\"id\":0}\n{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n")
}

func testVerifyLargeRow(t *testing.T, dir string) {
	part := filepath.Base(partOf(t, filepath.Join(dir, "out"), 0))
	rowtocol(t, dir, nil, "verify", "--memory", "16MiB", "out").wantRefused(t, 16, part)
	rowtocol(t, dir, nil, "verify", "--memory", "256MiB", "out").want(t, 0, "sound")
	var v verified
	o := rowtocol(t, dir, nil, "verify", "--json", "--memory", "16MiB", "out").want(t, 1)
	if r := o.object(t, &v); r.Exit != 1 {
		t.Errorf("%+v", r)
	}

	// inspect reads the values only with --bytes.
	rowtocol(t, dir, nil, "inspect", "--memory", "16MiB", "out").want(t, 0, "4 rows")
	file := filepath.Join("out", part)
	rowtocol(t, dir, nil, "inspect", "--bytes", "--memory", "16MiB", file).want(t, 1, "--memory", "too little memory")
	rowtocol(t, dir, nil, "inspect", "--bytes", "--memory", "256MiB", file).want(t, 0)
}

// testLargeRowAgainst tests --against, whose decoders take more memory than the columns.
func testLargeRowAgainst(t *testing.T, dir string) {
	o := rowtocol(t, dir, nil, "verify", "--memory", "40MiB", "out", "--against", "a.avro").want(t, 1, "too little memory")
	if !needed.MatchString(o.stderr) {
		t.Errorf("the message lacks the needed memory: %s", o.stderr)
	}
	rowtocol(t, dir, nil, "verify", "--memory", "1GiB", "out", "--against", "a.avro", "--require-complete").want(t, 0, "4 rows")
}

// TestColumnsNeedMemory checks that too many columns are refused before any row is read, with
// the same message by all commands.
func TestColumnsNeedMemory(t *testing.T) {
	dir := t.TempDir()
	const columns = 4000
	fields := make([]string, columns)
	for i := range fields {
		fields[i] = fmt.Sprintf(`{"name":"c%d","type":"int"}`, i)
	}
	write(t, filepath.Join(dir, "a.avro"), encodeAvro(t, `{"type":"record","name":"Wide","fields":[`+strings.Join(fields, ",")+`]}`, make([]byte, columns)))
	for _, args := range []string{"convert a.avro out", "convert --dry-run a.avro out", "plan a.avro out -o plan.json"} {
		o := rowtocol(t, dir, nil, append(strings.Fields(args), "--memory", "16MiB")...)
		o.want(t, 1, "4000 columns with blocks of 4096 bytes: too little memory: --memory ", "is needed, the limit is 16MiB")
		need := needed.FindStringSubmatch(o.stderr)
		if need == nil {
			t.Fatal(o.stderr)
		}
		rowtocol(t, dir, nil, append(strings.Fields(args), "--memory", need[1]+"MiB")...).want(t, 0)
		must(t, os.RemoveAll(filepath.Join(dir, "out")))
	}
}

// TestVerifyPartsThatFitAlone checks that parts that do not fit into memory together are
// verified one after another.
func TestVerifyPartsThatFitAlone(t *testing.T) {
	dir := t.TempDir()
	writeTexts(t, dir, "a.avro", 12<<20)
	must(t, os.Mkdir(filepath.Join(dir, "out"), 0o777))
	rowtocol(t, dir, nil, "convert", "--memory", "1GiB", "a.avro", "out/k=0").want(t, 0)
	const parts = 8 // some are verified at the same time
	for i := range parts - 1 {
		must(t, os.CopyFS(filepath.Join(dir, fmt.Sprint("out/k=", i+1)), os.DirFS(filepath.Join(dir, "out/k=0"))))
	}
	for _, workers := range []string{"1", "4"} {
		rowtocol(t, dir, nil, "verify", "--memory", "16MiB", "--workers", workers, "out").want(t, 0, fmt.Sprintf("%d rows", parts), "sound")
	}

	// The damage of each part is found, also of those that did not fit at first.
	var damaged []string
	for i := range parts {
		part := partOf(t, filepath.Join(dir, fmt.Sprint("out/k=", i)), 0)
		flip(t, part, -1, 1) // in the checksum of the text
		damaged = append(damaged, strings.TrimPrefix(part, dir+"/")+": column text: block 0")
	}
	rowtocol(t, dir, nil, "verify", "--memory", "16MiB", "--workers", "4", "out").want(t, 6, damaged...)
}
