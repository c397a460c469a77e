package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
)

// rowtocolOn runs the program in dir with in as standard input.
func rowtocolOn(t *testing.T, dir string, in io.Reader, args ...string) output {
	t.Helper()
	cmd := command(t, args...)
	cmd.Stdin = in
	return waitCmd(t, startCmd(t, dir, cmd))
}

// TestAvroInput checks that an Avro file and a stream of one give the same output as the
// column files that were made from it.
func TestAvroInput(t *testing.T) {
	dir := t.TempDir()
	a := writePairs(t, dir, "a.avro", 0, 3000)
	rowtocol(t, dir, nil, "convert", "--row-group-size", "9000B", "--block-size", "512", "a.avro", "a").want(t, 0)
	write(t, dir+"/v2.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"n","type":"double","aliases":["id"]},{"name":"new","type":["null","int"],"default":null}]}`))
	for _, args := range []string{
		"cat", "cat --columns words", "cat --where id>2990||id<3 --columns id", "cat --offset 2500 --limit 3", "cat --where id>5 --offset 1234 --limit 2",
		"cat --limit 0", "cat --offset 5000", "cat --to csv --columns id", "cat --to avro", "cat --to arrow", "cat --to parquet --columns id", "cat --to table", "head", "head -n 3 --to json",
		"cat --schema v2.avsc --where id!=7", "cat --json-unions", "count", "count --where id>=1000", "stats",
	} {
		want := rowtocol(t, dir, nil, append(strings.Fields(args), "a")...).want(t, 0).stdout
		if got := rowtocol(t, dir, nil, append(strings.Fields(args), "a.avro")...).want(t, 0).stdout; got != want {
			t.Errorf("%s: from the Avro file %.300q, want %.300q as from the columns", args, got, want)
		}
		if got := rowtocolOn(t, dir, bytes.NewReader(a), append(strings.Fields(args), "-")...).want(t, 0).stdout; got != want {
			t.Errorf("%s: from the stream %.300q, want %.300q as from the columns", args, got, want)
		}
	}
	rowtocol(t, dir, nil, "count", "a.avro", "a", "a.avro").want(t, 0, "9000\n")
	rowtocol(t, dir, nil, "cat", "--columns", "id", "--offset", "2999", "--limit", "2", "a.avro", "a").want(t, 0).prints(t, "{\"id\":2999}\n{\"id\":0}\n")
}

func TestStandardInput(t *testing.T) {
	dir := catPairs(t)
	part := partOf(t, dir+"/b", 0)
	columns, err := os.Open(part)
	must(t, err)
	defer func() { _ = columns.Close() }()
	rowtocolOn(t, dir, columns, "cat", "--limit", "1", "-").want(t, 0, `{"id":100`)
	rowtocolOn(t, dir, columns, "inspect", "-").want(t, 0, "50 rows")
	rowtocolOn(t, dir, columns, "schema", "-").want(t, 0, "words")
	piped := func() io.Reader { return bytes.NewReader(read(t, part)) }
	for _, command := range []string{"cat", "head", "count", "stats", "inspect", "schema"} {
		rowtocolOn(t, dir, piped(), command, "-").want(t, 1, "pipe").prints(t, "")
	}
	avro := read(t, dir+"/a.avro")
	rowtocolOn(t, dir, bytes.NewReader(avro), "schema", "-").want(t, 0, "words")
	rowtocolOn(t, dir, bytes.NewReader(avro), "inspect", "-").want(t, 0, "100 rows in 10 blocks")
	rowtocolOn(t, dir, bytes.NewReader(avro), "schema", "-", "a").want(t, 0, "words")
	rowtocolOn(t, dir, columns, "inspect", "-", "a").want(t, 0, "150 rows")
	rowtocolOn(t, dir, bytes.NewReader(avro), "cat", "-", "-").want(t, 1, "once")
	for _, n := range []int{0, 3, 20, len(avro) - 1} {
		o := rowtocolOn(t, dir, bytes.NewReader(avro[:n]), "cat", "-").want(t, 3, "standard input")
		if lines := strings.Count(o.stdout, "\n"); lines != max(0, n-len(avro)+91) {
			t.Errorf("%d rows of %d bytes", lines, n)
		}
	}
	rowtocolOn(t, dir, strings.NewReader("a file of no known format"), "cat", "-").want(t, 3, "not an Avro")
	rowtocol(t, dir, nil, "cat", ".").want(t, 3, "Avro files", "name the files")
}

// endless is an endless stream of an Avro file.
type endless struct {
	header, block []byte
	at            int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.at < int64(len(e.header)) {
		n := copy(p, e.header[e.at:])
		e.at += int64(n)
		return n, nil
	}
	n := copy(p, e.block[(e.at-int64(len(e.header)))%int64(len(e.block)):])
	e.at += int64(n)
	return n, nil
}

// TestEndlessInput checks that no more of a stream is read than the command needs, and
// that memory does not grow.
func TestEndlessInput(t *testing.T) {
	dir := t.TempDir()
	header := encodeAvro(t, textSchema)
	row := append(appendVarint(appendVarint(nil, 7), 3), "abc"...)
	block := encodeAvro(t, textSchema, row)[len(header):]
	for _, c := range []struct{ args, want string }{
		{"head -n 2 --to json -", "{\"id\":7,\"text\":\"abc\"}\n{\"id\":7,\"text\":\"abc\"}\n"},
		{"head --where id==7 -n 1 --to csv -", "id,text\n7,abc\n"},
		{"cat --offset 200000 --limit 1 --memory 16MiB --columns id -", "{\"id\":7}\n"},
	} {
		r, w, err := os.Pipe()
		must(t, err)
		go func() {
			_, _ = io.Copy(w, &endless{header: header, block: block})
			_ = w.Close()
		}()
		o := rowtocolOn(t, dir, r, strings.Fields(c.args)...).want(t, 0)
		_ = r.Close()
		if o.stdout != c.want {
			t.Errorf("%s: %q, want %q", c.args, o.stdout, c.want)
		}
	}
}

// TestRecursiveInput prints the rows of a recursive schema.
func TestRecursiveInput(t *testing.T) {
	dir := t.TempDir()
	schema := `{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`
	write(t, dir+"/l.avro", encodeAvro(t, schema, []byte{2, 2, 4, 0}, []byte{6, 0}))
	rowtocol(t, dir, nil, "cat", "l.avro").want(t, 0).prints(t, `{"v":1,"next":{"v":2,"next":null}}`+"\n"+`{"v":3,"next":null}`+"\n")
	rowtocol(t, dir, nil, "head", "l.avro").want(t, 0, `{"v":2,"next":null}`)
}

const flagSchema = `{"type":"record","name":"Flag","fields":[{"name":"on","type":"boolean"},{"name":"text","type":["null","string"]}]}`

// TestDamagedAvroInput checks that damage in a row, in the head of a block and between
// blocks ends the rows with exit 3, after all rows before it.
func TestDamagedAvroInput(t *testing.T) {
	dir := t.TempDir()
	rows := func(n int, end ...byte) (b []byte) {
		for i := range n {
			b = append(b, byte(i%2), 2, 2, 'x')
		}
		return append(b, end...)
	}
	block := func(count int64, data []byte) []byte {
		return avrotest.File(t, flagSchema, syncMarker, count, data)[len(encodeAvro(t, flagSchema)):]
	}
	header, sound := encodeAvro(t, flagSchema), block(11, rows(11))
	bad := bytes.Clone(sound)
	bad[len(bad)-1] ^= 1
	for _, c := range []struct {
		name string
		rest []byte
		want int // rows
	}{
		{"boolean", block(8, rows(5, 2, 0, 0, 0, 0)), 5},
		{"union", block(7, append(rows(6), 1, 4)), 6},
		{"left over", block(5, rows(6)), 5},
		{"too few", block(6, rows(5)), 5},
		{"sync", bad, 0},
		{"cut", sound[:len(sound)-3], 0},
		{"claim", append(appendVarint(appendVarint(nil, 1), 1<<29), make([]byte, 40)...), 0},
	} {
		all := append(append(bytes.Clone(header), sound...), c.rest...)
		write(t, dir+"/bad.avro", all)
		offset := fmt.Sprint(len(header) + len(sound))
		for i, o := range []output{
			rowtocol(t, dir, nil, "cat", "bad.avro"), rowtocolOn(t, dir, bytes.NewReader(all), "cat", "-"), rowtocol(t, dir, nil, "cat", "--memory", "16MiB", "--offset", "11", "bad.avro"),
		} {
			if i == 1 && c.name == "claim" {
				o.want(t, 1) // the length of a stream is not known before its end
				continue
			}
			if o.want(t, 3); c.name != "cut" && c.name != "claim" && !strings.Contains(o.stderr, "offset "+offset) {
				t.Errorf("%s: the message lacks offset %s: %s", c.name, offset, o.stderr)
			}
			want := ""
			for row := range 11 + c.want {
				if row >= 11 || i < 2 {
					want += fmt.Sprintf(`{"on":%t,"text":"x"}`+"\n", (row%11)%2 == 1)
				}
			}
			if o.stdout != want {
				t.Errorf("%s, %d: %q, want %q", c.name, i, o.stdout, want)
			}
		}
		if c.want == 0 {
			rowtocol(t, dir, nil, "count", "bad.avro").want(t, 3)
		}
		rowtocol(t, dir, nil, "inspect", "bad.avro").want(t, map[bool]int{true: 3, false: 0}[c.want == 0])
	}
}

// TestLargeAvroRow checks that a large row is read with enough memory, and else refused.
func TestLargeAvroRow(t *testing.T) {
	dir := t.TempDir()
	writeTexts(t, dir, "a.avro", 10, largeText, 20)
	o := rowtocol(t, dir, nil, "cat", "--memory", "16MiB", "a.avro").want(t, 1, "too little memory", "a.avro")
	if !needed.MatchString(o.stderr) {
		t.Errorf("the message lacks the needed memory: %s", o.stderr)
	}
	for to, memory := range map[string]string{"json": "300MiB", "arrow": "400MiB", "table": "700MiB"} {
		rowtocol(t, dir, nil, "cat", "--memory", memory, "--to", to, "--output", to, "a.avro").want(t, 0)
		if size := len(read(t, filepath.Join(dir, to))); size < largeText || size > largeText+10_000 {
			t.Errorf("%s: %d bytes", to, size)
		}
	}
}

// TestCatResolvedColumns writes rows resolved to another schema as columns.
func TestCatResolvedColumns(t *testing.T) {
	dir := catPairs(t)
	write(t, dir+"/v2.avsc", []byte(`{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"n","type":"double","aliases":["id"]},{"name":"new","type":["null","int"],"default":null}]}`))
	rowtocol(t, dir, nil, "cat", "--schema", "v2.avsc", "--to", "avro", "--output", "v2.avro", "a", "b").want(t, 0)
	rowtocol(t, dir, nil, "convert", "v2.avro", "v2").want(t, 0)
	for _, to := range []string{"arrow", "parquet"} {
		want := rowtocol(t, dir, nil, "cat", "--to", to, "v2").want(t, 0).stdout
		o := rowtocol(t, dir, nil, "cat", "--to", to, "--schema", "v2.avsc", "--stats", "a", "b.avro").want(t, 0, "150 rows")
		if o.stdout != want || len(want) < 500 {
			t.Errorf("%s: the %d bytes differ from the %d of the converted rows", to, len(o.stdout), len(want))
		}
		one := rowtocol(t, dir, nil, "cat", "--to", to, "--where", "id==120", "v2.avro", "--json").want(t, 1, "id").stdout
		if one != "" {
			t.Errorf("%q", one)
		}
	}
	rowtocol(t, dir, nil, "stats", "--schema", "v2.avsc", "--where", "id>=140", "a", "b").want(t, 0, "10 rows", "new/int", "149.0")
	must(t, os.Mkdir(dir+"/in", 0o700))
	rowtocol(t, dir, nil, "convert", "--allow-empty", "in", "none").want(t, 0)
	rowtocol(t, dir, nil, "inspect", "none").want(t, 0, "none: 0 rows, 0 columns, 0 B in 0 files\n")
	if o := rowtocol(t, dir, nil, "cat", "--to", "parquet", "--schema", "v2.avsc", "none").want(t, 0); !strings.HasPrefix(o.stdout, "PAR1") {
		t.Errorf("%q", o.stdout)
	}
}

func TestInspectAvro(t *testing.T) {
	dir := t.TempDir()
	all := writePairs(t, dir, "a.avro", 0, 95)
	var got inspectedAvro
	rowtocol(t, dir, nil, "inspect", "--json", "a.avro").want(t, 0).object(t, &got)
	if got.Rows != 95 || got.Blocks != 10 || got.BlockRows != (extremes{5, 10}) || got.Codec != "null" || got.Raw != got.Stored ||
		got.Bytes != int64(len(all)) || got.SchemaBytes != len(pairSchema) || len(got.Metadata) != 1 {
		t.Errorf("%+v", got)
	}
	rowtocol(t, dir, nil, "inspect", "a.avro").want(t, 0, "95 rows in 10 blocks", "codec null", "5 to 10 rows")
	rowtocol(t, dir, nil, "inspect", "--bytes", "a.avro").want(t, 1, "--bytes")
	rowtocol(t, dir, nil, "inspect", "--html", "x.html", "a.avro").want(t, 1, "--html")
}
