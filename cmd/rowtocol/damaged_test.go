package main

import (
	"bytes"

	"github.com/rowtocol/rowtocol/internal/cli"

	encoding "encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/trevni"
)

const tickSchema = `{"type":"record","name":"Tick","fields":[
	{"name":"id","type":"long"},{"name":"n","type":"int"},{"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"ok","type":"boolean"},
	{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["RED","GREEN","BLUE"]}},{"name":"was","type":["null","Kind"]},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"day","type":{"type":"int","logicalType":"date"}}]}`

// writeTicks writes an Avro file of rows of simple fields, with the ids 0, 3, 6 and so on.
func writeTicks(t *testing.T, name string, rows int) {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, tickSchema, "null", [16]byte{1})
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	var data []byte
	for i := range rows {
		data = encoding.AppendVarint(encoding.AppendVarint(data, int64(3*i)), int64(rng.Int32()))
		data = encoding.LittleEndian.AppendUint32(data, uint32(rng.IntN(1<<29)))
		data = encoding.LittleEndian.AppendUint64(data, rng.Uint64N(1<<61))
		data = append(data, byte(i%2), byte(2*rng.IntN(3)))
		if data = append(data, byte(2*(i%2))); i%2 == 1 {
			data = append(data, byte(2*rng.IntN(3)))
		}
		data = append(data, 2*3, byte(rng.IntN(100)), byte(rng.IntN(256)), byte(rng.IntN(256)))
		data = encoding.AppendVarint(encoding.AppendVarint(data, 1.7e12+int64(i)), 20_000+int64(i%7))
	}
	must(t, w.AppendBlock(int64(rows), data))
	write(t, name, b.Bytes())
}

// victim is a sound column file to damage, with queries for it.
type victim struct {
	name    string // of the output that has the file
	bytes   []byte
	outside []int      // offsets of the bytes of header and block tables
	queries [][]string // flags of cat; those of CSV have simple fields
	csv     [][]string
}

// tickVictim converts ticks to one file of many blocks, with an index of the ids.
func tickVictim(t *testing.T, dir, codec string) victim {
	t.Helper()
	writeTicks(t, dir+"/ticks.avro", 400)
	name := "ticks-" + codec
	rowtocol(t, dir, nil, "convert", "--codec", codec, "--block-size", "200", "--values", "id", "ticks.avro", name).want(t, 0)
	queries := [][]string{{}, {"--columns=at,kind"}, {"--where=300 <= id < 330"}, {"--where=kind == 'GREEN' && n > 0", "--columns=was,day"}}
	return newVictim(t, dir, name, queries, queries)
}

func mailVictim(t *testing.T, dir, codec string) victim {
	t.Helper()
	var b bytes.Buffer
	must(t, mailgen.Write(&b, mailgen.Options{Rows: 60, Seed: 1}))
	write(t, dir+"/mail.avro", b.Bytes())
	name := "mail-" + codec
	rowtocol(t, dir, nil, "convert", "--codec", codec, "--block-size", "512", "mail.avro", name).want(t, 0)
	return newVictim(t, dir, name,
		[][]string{{}, {"--columns=from,received.host"}, {"--where=size > 1000 && seen"}, {"--where=folder != 'SPAM'", "--columns=headers,date"}},
		[][]string{{"--columns=id,date,subject"}, {"--where=size > 1000 && seen", "--columns=from"}})
}

// newVictim returns the only file of an output, which must have many blocks.
func newVictim(t *testing.T, dir, name string, queries, csv [][]string) victim {
	t.Helper()
	v := victim{name: name, bytes: read(t, partOf(t, dir+"/"+name, 0)), queries: queries, csv: csv}
	f, err := trevni.Open(bytes.NewReader(v.bytes), int64(len(v.bytes)), name)
	must(t, err)
	for at := range int(f.HeaderSize()) {
		v.outside = append(v.outside, at)
	}
	all := 0
	for i, c := range f.Columns() {
		blocks, err := f.Blocks(i)
		if err != nil || len(blocks) == 0 {
			t.Fatalf("column %s: %d blocks, %v", c.Name, len(blocks), err)
		}
		for at := c.Start; at < blocks[0].Offset; at++ {
			v.outside = append(v.outside, int(at))
		}
		all += len(blocks)
	}
	if all < 3*len(f.Columns()) {
		t.Fatalf("%d blocks of %d columns", all, len(f.Columns()))
	}
	return v
}

// inProcess is like rowtocol, but runs in this process, which is faster.
func inProcess(t *testing.T, dir string, args ...string) output {
	t.Helper()
	stdout, stderr := create(t, dir+"/stdout"), create(t, dir+"/stderr")
	defer func() { _, _ = stdout.Close(), stderr.Close() }()
	code := cli.Run(rowtocolProgram, append([]string{"--workers=1"}, args...), stdout, stderr)
	return output{code, string(read(t, stdout.Name())), string(read(t, stderr.Name())), args}
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	return f
}

// TestRandomDamage changes single bytes and bits of column files. Each query must end with
// exit 3, or print the rows of the sound file, byte for byte.
func TestRandomDamage(t *testing.T) {
	dir := t.TempDir()
	victims := []victim{mailVictim(t, dir, "snappy"), mailVictim(t, dir, "deflate")}
	for _, codec := range []string{"null", "deflate", "snappy", "bzip2", "zstandard"} {
		victims = append(victims, tickVictim(t, dir, codec))
	}
	built := func(args ...string) output { return rowtocol(t, dir, nil, args...) }
	inside := func(args ...string) output { return inProcess(t, dir, args...) }
	sound, total := map[string]string{}, map[int]int{}
	rng := rand.New(rand.NewPCG(2, 2))
	rounds := soak.Rounds(28, 3000)
	for _, e := range os.Environ() { // variables for tests are not for the program in this process
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, cli.EnvPrefix) {
			t.Setenv(name, "")
		}
	}
	for round := range rounds {
		v := victims[round%len(victims)]
		at := rng.IntN(len(v.bytes))
		if rng.IntN(2) == 0 {
			at = v.outside[rng.IntN(len(v.outside))]
		}
		xor := byte(1) << rng.IntN(8)
		if rng.IntN(2) == 0 {
			xor = byte(1 + rng.IntN(255))
		}
		damaged := bytes.Clone(v.bytes)
		damaged[at] ^= xor
		soundName, name := filepath.Join(dir, v.name+".trv"), filepath.Join(dir, "damaged.trv")
		write(t, soundName, v.bytes)
		write(t, name, damaged)
		execute, only := inside, -1
		if round%50 == 1 {
			execute, only = built, rng.IntN(5)
		}
		for i, to := range formatNames() {
			if only >= 0 && i != only {
				continue
			}
			queries := v.queries
			if to == "csv" {
				queries = v.csv
			}
			for _, query := range queries {
				args := append([]string{"cat", "--to", to}, query...)
				key := fmt.Sprint(v.name, args)
				if _, ok := sound[key]; !ok {
					sound[key] = execute(append(args, soundName)...).want(t, 0).stdout
				}
				o := execute(append(args, name)...)
				total[o.code]++
				lines := to == "json" || to == "csv"
				switch {
				case o.code == 0 && o.stdout == sound[key]:
				case o.code == 3 && strings.Contains(o.stderr, "damaged.trv") && (!lines || strings.HasPrefix(sound[key], o.stdout)):
				default:
					t.Errorf("%s, byte %d of %d xor %02x, %v: exit %d, %d bytes, want exit 3, or the %d bytes of the sound file\n%s",
						v.name, at, len(v.bytes), xor, args, o.code, len(o.stdout), len(sound[key]), o.stderr)
				}
			}
		}
	}
	t.Logf("%d changes, queries by exit code: %v", rounds, total)
	if total[0] == 0 || total[3] == 0 {
		t.Errorf("queries by exit code: %v, want some with 0 and some with 3", total)
	}
}

// TestDamageIsNamed damages header and block tables, which no checksum of Trevni protects.
func TestDamageIsNamed(t *testing.T) {
	dir := t.TempDir()
	v := tickVictim(t, dir, "snappy")
	f, err := trevni.Open(bytes.NewReader(v.bytes), int64(len(v.bytes)), v.name)
	must(t, err)
	after := func(text string, n int) int {
		at := bytes.Index(v.bytes, []byte(text))
		if at < 0 {
			t.Fatalf("%s is not in the file", text)
		}
		return at + n
	}
	first := int(f.Columns()[0].Start) + 4 + 12 + 1 + 12 // of the second block; the first one's is 0
	for _, c := range []struct {
		name string
		at   int
		to   byte
		want []string
	}{
		{"row count", 4, 1, []string{"CRC-32C of the header"}},
		{"column count", 12, 9, nil},
		{"no columns", 12, 0, nil},
		{"version", 3, 1, []string{"CRC-32C of the header"}},
		{"scale", after(`"scale":`, len(`"scale":`)), '3', []string{"CRC-32C of the header"}},
		{"timestamp", after("timestamp-millis", len("timestamp-mi")), 'c', []string{"CRC-32C of the header"}},
		{"enum symbol", after("GREEN", 0), 'B', []string{"CRC-32C of the header"}},
		{"pairs of metadata", 16, 0, nil},
		{"the key", after(trevni.HeaderCRCKey, 0), 'b', []string{trevni.HeaderCRCKey, trevni.TableCRCKey}},
		{"the key's length", after(trevni.HeaderCRCKey, -1), 2 * 16, nil},
		{"a column's key", after(trevni.TableCRCKey, 0), 'b', []string{trevni.HeaderCRCKey, trevni.TableCRCKey}},
		{"another block's first value", first, v.bytes[first] ^ 2, []string{"CRC-32C of the block table", "column id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			damaged := bytes.Clone(v.bytes)
			if damaged[c.at] == c.to {
				t.Fatal("the byte has this value already")
			}
			damaged[c.at] = c.to
			write(t, dir+"/damaged.trv", damaged)
			want := append([]string{"damaged.trv", "offset"}, c.want...)
			for _, to := range formatNames() {
				rowtocol(t, dir, nil, "cat", "--to", to, "--output", "rows", "damaged.trv").want(t, 3, want...)
				wantAbsent(t, dir+"/rows")
			}
			rowtocol(t, dir, nil, "cat", "--where", "id > 900", "damaged.trv").want(t, 3, want...)
			rowtocol(t, dir, nil, "inspect", "damaged.trv").want(t, 3, want...)
			rowtocol(t, dir, nil, "verify", "damaged.trv").want(t, 6, want...)
		})
	}
}

// TestDamagedOutputIsMadeAgain follows the runbook for a damaged column file: only
// --overwrite --restart converts again, because the file has the right length.
func TestDamagedOutputIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 1000)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	part := partOf(t, dir+"/out", 0)
	flip(t, part, len(read(t, part))/2, 1)
	rowtocol(t, dir, nil, "verify", "out").want(t, 6)
	rowtocol(t, dir, nil, "convert", "--overwrite", "in", "out").want(t, 0, "nothing to do")
	again := []string{"convert", "--overwrite", "--restart", "in", "out"}
	rowtocol(t, dir, nil, "status", "--overwrite", "--restart", "--input", "in", "out").want(t, 0, "convert would plan and convert 1 input")
	rowtocol(t, dir, nil, append(again, "--dry-run")...).want(t, 0).lacks(t, "nothing")
	rowtocol(t, dir, nil, again...).want(t, 0, "1000 rows")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in", "--require-complete").want(t, 0)
}
