package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/cli"
)

// catPairs makes a directory of two outputs: a of rows 0 to 99, in several files, and b of
// rows 100 to 149.
func catPairs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	writePairs(t, dir, "b.avro", 100, 50)
	rowtocol(t, dir, nil, "convert", "--row-group-size", "1200B", "--block-size", "64", "a.avro", "a").want(t, 0)
	rowtocol(t, dir, nil, "convert", "b.avro", "b").want(t, 0)
	if parts, err := filepath.Glob(dir + "/a/part-*"); err != nil || len(parts) < 2 {
		t.Fatal(parts, err)
	}
	return dir
}

func TestCat(t *testing.T) {
	dir := catPairs(t)
	cases := []struct{ args, want string }{
		{"--limit 2 a", `{"id":0,"words":[]}` + "\n" + `{"id":1,"words":["1"]}` + "\n"},
		{"--limit 0 a", ""},
		{"--offset 149 a b", `{"id":149,"words":["149","149"]}` + "\n"},
		{"--offset 99 --limit 2 --columns id a b", `{"id":99}` + "\n" + `{"id":100}` + "\n"},
		{"--offset 1000 a b", ""},
		{"--columns id --where id>=98&&id!=99 --offset 1 --limit 2 a b", `{"id":100}` + "\n" + `{"id":101}` + "\n"},
		{"--columns id --where id>120 --offset 3 --limit 1 a b", `{"id":124}` + "\n"},
		{"--columns words,id --limit 2 --offset 1 --json-unions b a", `{"id":101,"words":["101","101"]}` + "\n" + `{"id":102,"words":[]}` + "\n"},
		{"--to csv --columns id --where id>98 a", "id\n99\n"},
		{partOf(t, dir+"/a", 0) + " --limit 1", `{"id":0,"words":[]}` + "\n"},
	}
	for _, c := range cases {
		o := rowtocol(t, dir, nil, append([]string{"cat"}, strings.Fields(c.args)...)...).want(t, 0)
		if o.stdout != c.want || o.stderr != "" {
			t.Errorf("cat %s: %q, want %q\n%s", c.args, o.stdout, c.want, o.stderr)
		}
	}
	env := []string{"ROWTOCOL_COLUMNS=id", "ROWTOCOL_LIMIT=1"}
	rowtocol(t, dir, env, "cat", "b").want(t, 0).prints(t, `{"id":100}`+"\n")
}

func TestCatAvro(t *testing.T) {
	dir := catPairs(t)
	rowtocol(t, dir, nil, "cat", "--to", "avro", "--output", "all.avro", "a", "b").want(t, 0)
	rowtocol(t, dir, nil, "convert", "all.avro", "again").want(t, 0)
	rowtocol(t, dir, nil, "verify", "again", "--against", "a.avro", "--against", "b.avro", "--require-complete").want(t, 0, "150 rows")
	for _, codec := range avroCodecs {
		o := rowtocol(t, dir, nil, "cat", "--to", "avro", "--output-codec", codec, "--columns", "id", "a").want(t, 0)
		write(t, dir+"/"+codec+".avro", []byte(o.stdout))
		rowtocol(t, dir, nil, "convert", codec+".avro", "of-"+codec).want(t, 0)
		rowtocol(t, dir, nil, "cat", "--offset", "98", "of-"+codec).want(t, 0, `{"id":98}`+"\n"+`{"id":99}`+"\n")
	}
}

func TestCatSchemas(t *testing.T) {
	dir := catPairs(t)
	write(t, dir+"/v2.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"n","type":"double","aliases":["id"]},{"name":"new","type":["null","int"],"default":null}]}`))
	rowtocol(t, dir, nil, "convert", "--schema", "v2.avsc", "b.avro", "b2").want(t, 0)
	rowtocol(t, dir, nil, "cat", "a", "b2").want(t, 3, "different schema", "b2")
	rowtocol(t, dir, nil, "cat", "--schema", "v2.avsc", "--offset", "99", "--limit", "2", "a", "b2").want(t, 0).prints(t, `{"n":99.0,"new":null}`+"\n"+`{"n":100.0,"new":null}`+"\n")
	write(t, dir+"/other.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"string"}]}`))
	rowtocol(t, dir, nil, "cat", "--schema", "other.avsc", "a").want(t, 3, "id")
	write(t, dir+"/bad.avsc", []byte(`{"type":"recor"}`))
	rowtocol(t, dir, nil, "cat", "--schema", "bad.avsc", "a").want(t, 1, "bad.avsc")
}

// TestCatDoubles checks that no printed floating-point number looks like an integer.
func TestCatDoubles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.avro", encodeAvro(t, `{"type":"record","name":"D","fields":[{"name":"d","type":"double"}]}`,
		[]byte{7: 0x80}, []byte{6: 0x08, 0x40}, []byte{6: 0xe0, 0x3f}, []byte{6: 0x50, 0x44}))
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	for _, flags := range []string{"", "--json-unions"} {
		rowtocol(t, dir, nil, append([]string{"cat", "out"}, strings.Fields(flags)...)...).want(t, 0).prints(t, `{"d":-0.0}`+"\n"+`{"d":3.0}`+"\n"+`{"d":0.5}`+"\n"+`{"d":1.1805916207174113e+21}`+"\n")
	}
	rowtocol(t, dir, nil, "cat", "--to", "csv", "out").want(t, 0).prints(t, "d\n-0.0\n3.0\n0.5\n1.1805916207174113e+21\n")
}

// TestCatOfNoInput checks that an output of no input, which has no schema, is an error
// only where a schema is needed.
func TestCatOfNoInput(t *testing.T) {
	dir := catPairs(t)
	must(t, os.Mkdir(dir+"/in", 0o700))
	rowtocol(t, dir, nil, "convert", "--allow-empty", "in", "none").want(t, 0)
	for _, args := range []string{"none", "none --columns id --where id>1", "none --to csv"} {
		if o := rowtocol(t, dir, nil, append([]string{"cat"}, strings.Fields(args)...)...).want(t, 0); o.stdout+o.stderr != "" {
			t.Errorf("cat %s: %q %q", args, o.stdout, o.stderr)
		}
	}
	rowtocol(t, dir, nil, "cat", "--to", "avro", "none").want(t, 3, "no schema")
	rowtocol(t, dir, nil, "cat", "--limit", "1", "none", "b").want(t, 0, `{"id":100`)
}

func TestCatOutput(t *testing.T) {
	dir := catPairs(t)
	var got catted
	o := rowtocol(t, dir, nil, "cat", "--json", "--output", "rows.json", "b").want(t, 0)
	if o.object(t, &got); got.Rows != 50 || *got.TotalRows != 50 || got.Output != "rows.json" || got.BytesRead == 0 {
		t.Errorf("%+v", got)
	}
	first := fileSums(t, dir)
	rowtocol(t, dir, nil, "cat", "--output", "rows.json", "a").want(t, 9, "rows.json", "--overwrite")
	rowtocol(t, dir, nil, "cat", "--output", "a", "--overwrite", "b").want(t, 9, "directory")
	write(t, dir+"/copy.trv", read(t, partOf(t, dir+"/a", 0)))
	rowtocol(t, dir, nil, "cat", "--output", "copy.trv", "--overwrite", "b").want(t, 9, "column file")
	must(t, os.Remove(dir+"/copy.trv"))
	rowtocol(t, dir, nil, "cat", "--output", "no/rows.json", "b").want(t, 7)
	rowtocol(t, dir, nil, "cat", "--output", "new", "--to", "csv", "b").want(t, 1, "words")
	must(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	rowtocol(t, dir, nil, "cat", "--output", "fifo", "--overwrite", "b").want(t, 7, "regular")
	must(t, os.Remove(dir+"/fifo"))
	wantUnchanged(t, dir, first)
	rowtocol(t, dir, nil, "cat", "--output", "rows.json", "--overwrite", "--limit", "1", "a").want(t, 0)
	if rows := string(read(t, dir+"/rows.json")); rows != `{"id":0,"words":[]}`+"\n" {
		t.Errorf("%q", rows)
	}
}

// TestCatOntoInput checks that cat does not overwrite an input under any of its names.
func TestCatOntoInput(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 100)
	for link, to := range map[string]string{"link": "in", "in/b.avro": "a.avro"} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	before := fileSums(t, dir+"/in")
	for _, c := range []struct{ input, output string }{
		{"in/a.avro", "in/a.avro"},
		{"in/a.avro", dir + "/in/a.avro"},
		{dir + "/in/a.avro", "in/../in/a.avro"},
		{"in/a.avro", "link/a.avro"},
		{"link/a.avro", "in/a.avro"},
		{"in/b.avro", "in/a.avro"},
		{"in/b.avro", "in/b.avro"},
		{"in/*.avro", "in/a.avro"},
		{"link/[a].avro", dir + "/in/a.avro"},
	} {
		rowtocol(t, dir, nil, "cat", "--limit", "1", "--to", "avro", "--overwrite", "--output", c.output, c.input).want(t, 9, "this command reads")
	}
	writePairs(t, dir, "[a].avro", 0, 1)
	rowtocol(t, dir, nil, "cat", "--output", "a.avro", "[a].avro").want(t, 0)
	in, err := os.Open(dir + "/in/a.avro")
	must(t, err)
	defer func() { _ = in.Close() }()
	rowtocolOn(t, dir, in, "cat", "--limit", "1", "--to", "avro", "--overwrite", "--output", "in/a.avro", "-").want(t, 9, "this command reads")
	wantUnchanged(t, dir+"/in", before)
}

// TestCatStats checks that statistics go to standard error.
func TestCatStats(t *testing.T) {
	dir := catPairs(t)
	o := rowtocol(t, dir, nil, "cat", "--stats", "--limit", "1", "a", "b").want(t, 0)
	if !strings.HasPrefix(o.stderr, "1 of 150 rows; read ") || strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("%q, %q", o.stdout, o.stderr)
	}
	for _, c := range []struct {
		args string
		code int
	}{{"--limit 1 a", 0}, {"--where none>1 a", 1}, {"missing", 3}, {"--none", 1}} {
		o := rowtocol(t, dir, nil, append([]string{"cat", "--json"}, strings.Fields(c.args)...)...).want(t, c.code)
		lines := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
		var r cli.Ending
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Command != "cat" || r.Exit != c.code || strings.Contains(o.stdout, "command") {
			t.Errorf("cat %s: %v, %+v\n%s%s", c.args, err, r, o.stdout, o.stderr)
		}
	}
}

func TestCatRefused(t *testing.T) {
	dir := catPairs(t)
	write(t, dir+"/half/part-00000.trv", read(t, partOf(t, dir+"/b", 0)))
	cases := []struct {
		args string
		code int
		text string
	}{
		{"", 1, "usage"},
		{"--to xml a", 1, "xml"},
		{"--output-codec lzo a", 1, "lzo"},
		{"--json-unions --to csv a", 1, "--json-unions"},
		{"--to parquet --output-codec xz a", 1, "deflate, null, snappy, zstandard"},
		{"--to arrow --unions strct a", 1, "did you mean struct?"},
		{"--unions struct a", 1, "--unions"},
		{"--to avro --unions dense a", 1, "--unions"},
		{"--to parquet --unions dense a", 1, "--unions"},
		{"--to parquet --times nanos a", 1, "nanos"},
		{"--times spark a", 1, "--times"},
		{"--to arrow --schema v2.avsc a", 1, "v2.avsc"},
		{"--offset -1 a", 1, "--offset"},
		{"--limit -2 a", 1, "--limit"},
		{"--columns nothing a", 1, "nothing"},
		{"--where words==1 a", 1, "words"},
		{"--schema none.avsc a", 1, "none.avsc"},
		{"none", 3, "none"},
		{"half", 3, "_SUCCESS"},
		{"half/part-00000.trv a none", 3, "none"},
	}
	for _, c := range cases {
		rowtocol(t, dir, nil, append([]string{"cat"}, strings.Fields(c.args)...)...).want(t, c.code, c.text).prints(t, "")
	}
	rowtocol(t, dir, nil, "cat", "--partial", "--limit", "1", "half").want(t, 0, `{"id":100`)
}

// TestCatDamage checks that rows before damage are printed, but not written to --output.
func TestCatDamage(t *testing.T) {
	dir := catPairs(t)
	name := partOf(t, dir+"/a", 1)
	flip(t, name, -5, 1)
	o := rowtocol(t, dir, nil, "cat", "a", "b").want(t, 3, filepath.Base(name))
	if n := strings.Count(o.stdout, "\n"); n == 0 || n >= 100 || !strings.HasSuffix(o.stdout, "}\n") {
		t.Errorf("%d rows", n)
	}
	before := fileSums(t, dir)
	rowtocol(t, dir, nil, "cat", "--output", "rows", "a").want(t, 3, filepath.Base(name))
	wantUnchanged(t, dir, before)
}

func TestCatColumns(t *testing.T) {
	dir := catPairs(t)
	for _, args := range []string{"--to arrow", "--to parquet", "--to parquet --output-codec zstandard"} {
		out := rowtocol(t, dir, nil, append(strings.Fields("cat --columns id --offset 98 --limit 3 a b"), strings.Fields(args)...)...).want(t, 0).stdout
		rowtocol(t, dir, nil, append(strings.Fields("cat --columns id --offset 98 --limit 3 --overwrite --output rows a b"), strings.Fields(args)...)...).want(t, 0)
		if file := string(read(t, dir+"/rows")); file != out || len(out) < 100 {
			t.Errorf("%s: %d bytes on standard output, %d in a file", args, len(out), len(file))
		}
	}
	rowtocol(t, dir, nil, "cat", "--to", "arrow", "none").want(t, 3, "none")
	name := partOf(t, dir+"/a", 1)
	flip(t, name, -5, 1)
	before := fileSums(t, dir)
	for _, format := range []string{"arrow", "parquet"} {
		rowtocol(t, dir, nil, "cat", "--to", format, "--output", "new", "a").want(t, 3, filepath.Base(name))
	}
	wantUnchanged(t, dir, before)
}

// TestCatPipe checks that cat ends silently if its reader leaves.
func TestCatPipe(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 200_000)
	rowtocol(t, dir, nil, "convert", "a.avro", "a").want(t, 0)
	cmd := command(t, "cat", "a")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	start := make([]byte, 9)
	if _, err := io.ReadFull(out, start); err != nil || string(start) != `{"id":0,"` {
		t.Errorf("%q, %v", start, err)
	}
	must(t, out.Close())
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v, %s", err, &stderr)
	}
}

// TestCatBlocked checks that a signal ends cat even if no reader takes its output.
func TestCatBlocked(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 200_000)
	rowtocol(t, dir, nil, "convert", "a.avro", "a").want(t, 0)
	out, in, err := os.Pipe()
	must(t, err)
	defer func() { _ = out.Close() }()
	cmd := command(t, "cat", "a")
	cmd.Stdout = in
	startCmd(t, dir, cmd)
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	waitCmd(t, cmd).want(t, 143)
}

func TestCatStopped(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 200_000)
	rowtocol(t, dir, nil, "convert", "a.avro", "a").want(t, 0)
	before := fileSums(t, dir)
	args := []string{"cat", "--to", "avro", "--output-codec", "xz", "--output", "rows"}
	for range 20 {
		args = append(args, "a")
	}
	cmd := startCmd(t, dir, command(t, args...))
	for len(fileSums(t, dir)) == len(before) {
		time.Sleep(time.Millisecond)
	}
	must(t, cmd.Process.Signal(os.Interrupt))
	waitCmd(t, cmd).want(t, 130)
	wantUnchanged(t, dir, before)
}
