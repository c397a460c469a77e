package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// block is an Avro block to write.
type block struct {
	rows int64
	data []byte
}

// writeAvro writes an Avro file without compression.
func writeAvro(t *testing.T, name, schema string, blocks ...block) string {
	t.Helper()
	var out bytes.Buffer
	w, err := ocf.NewWriter(&out, schema, "null", [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	must(t, err)
	for _, b := range blocks {
		must(t, w.AppendBlock(b.rows, b.data))
	}
	path := filepath.Join(t.TempDir(), name+".avro")
	must(t, os.WriteFile(path, out.Bytes(), 0o644))
	return path
}

// writeMail writes a generated mail archive.
func writeMail(t testing.TB, path string, rows int64) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	must(t, mailgen.Write(f, mailgen.Options{Rows: rows, Seed: 7, Codec: "snappy"}))
	must(t, f.Close())
}

// varints appends zig-zag varints.
func varints(dst []byte, values ...int64) []byte {
	for _, v := range values {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

func sized(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

// negative appends a block of an array or map with a negated count and its size in bytes,
// an optional form.
func negative(dst []byte, count int64, items []byte) []byte {
	return append(varints(dst, -count, int64(len(items))), items...)
}

// TestSeveralBlocks converts arrays and maps that a writer cut into several
// blocks, with and without sizes.
func TestSeveralBlocks(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"a","type":{"type":"array","items":"string"}},
		{"name":"n","type":{"type":"array","items":{"type":"array","items":"long"}}},
		{"name":"m","type":{"type":"map","values":{"type":"record","name":"V","fields":[
			{"name":"x","type":["null","double"]},{"name":"y","type":{"type":"array","items":"int"}}]}}}]}`
	var data []byte
	const rows = 500
	for r := range rows {
		s := fmt.Sprint(r)
		data = negative(data, 2, sized(sized(nil, "p"+s), "q"))
		data = sized(varints(data, 1), "r"+s)
		data = negative(data, 1, sized(nil, ""))
		data = append(data, 0)

		inner := append(negative(nil, 2, varints(nil, int64(r), -1)), varints(nil, 1, 1<<60, 0)...)
		data = negative(data, 2, append(inner, 0)) // the second inner array is empty
		data = append(varints(data, 1), inner...)
		data = append(data, 0)

		value := append(append(sized(nil, "k"+s), 0), varints(nil, 1, 7, 0)...)
		data = negative(data, 1, value)
		data = append(sized(varints(data, 1), "l"), 2)
		data = append(data, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
		data = append(negative(data, 3, varints(nil, 1, 2, 3)), 0)
		data = append(data, 0)
	}
	path := writeAvro(t, "blocks", schema, block{rows, data})
	e := entry{file: path, class: "ok", path: path, rows: rows}
	converted := convertAll(t, []entry{e})
	run(t, "verify", converted[0].dest, "--against", path, "--require-complete").want(t, 0)
	if java.missing == "" {
		wantJava(t, converted)
	}
}

// simpleAvro writes rows of simple fields, enough for several column blocks.
func simpleAvro(t *testing.T) entry {
	t.Helper()
	const schema = `{"type":"record","name":"S","fields":[{"name":"i","type":"int"},{"name":"l","type":"long"},
		{"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"s","type":"string"},{"name":"b","type":"bytes"}]}`
	const rows = 60_000
	var data []byte
	for r := range rows {
		data = varints(data, int64(r*3), int64(r)<<32)
		data = binary.LittleEndian.AppendUint32(data, uint32(r)<<8)
		data = binary.LittleEndian.AppendUint64(data, uint64(r)<<40)
		data = sized(data, fmt.Sprintf("%08d", r))
		data = sized(data, fmt.Sprintf("\x00\xff%07d", r))
	}
	path := writeAvro(t, "simple", schema, block{rows, data})
	return entry{file: path, class: "ok", path: path, rows: rows}
}

// TestValuesIndex checks that Java reads files with trevni.values, and that such files of Java are read.
func TestValuesIndex(t *testing.T) {
	needJava(t)
	e := simpleAvro(t)
	for _, codec := range []string{"null", "snappy", "deflate", "bzip2"} {
		for _, checksum := range []string{"null", "crc32"} {
			file := writeJava(t, []entry{e}, "write-values", codec, checksum)[0]
			run(t, "verify", file, "--against", e.path, "--require-complete").want(t, 0)
			for c, col := range open(t, file).Columns() {
				if !col.Values {
					t.Errorf("column %d has no values", c)
				}
			}
		}
	}
	flags := []string{}
	for _, name := range []string{"i", "l", "f", "d", "s", "b"} {
		flags = append(flags, "--values="+name)
	}
	ours := convertAll(t, []entry{e}, flags...)
	wantJava(t, ours)
	f := open(t, ours[0].parts[0])
	blocks, err := f.Blocks(4)
	if err != nil || len(blocks) < 2 {
		t.Fatalf("%d blocks of a string column, %v", len(blocks), err)
	}
	out := java.call(t, "seek", ours[0].parts[0])
	t.Logf("java seek: %s", out)
}
