package trevni

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The dump of a small file matches the drawing in the package documentation.
func TestDumpGolden(t *testing.T) {
	cols := []column.Column{
		{Name: "id", Type: column.Long, Parent: -1},
		{Name: "ok", Type: column.Boolean, Parent: -1},
		{Name: "tags[]", Type: column.String, Array: true, Parent: -1},
		{Name: "hops[]", Type: column.Null, Array: true, Parent: -1},
		{Name: "hops[]#ms", Type: column.Double, Parent: 3},
		{Name: "zip", Type: column.Bytes, Parent: -1},
	}
	file := write(t, `"long"`, cols, Options{
		Codec: "null", ColumnCodecs: map[string]string{"zip": "snappy"}, Values: []string{"id"},
		Meta: []KeyValue{{"origin", []byte("a test")}},
	}, 4, func(w *Writer, row int) {
		w.Column(0).AppendVarint(int64(100 * row))
		w.Column(1).AppendBool(row%2 == 0)
		w.Column(2).Length(uint32(row))
		for i := range row {
			w.Column(2).AppendSized([]byte{'a' + byte(i)})
		}
		w.Column(3).Length(1)
		w.Column(4).Append([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f})
		w.Column(5).AppendSized([]byte("zip zip zip zip"))
	})
	var got bytes.Buffer
	testenv.Must(t, openBytes(t, file).Dump(&got))
	const golden = "testdata/dump.golden"
	if *update {
		testenv.Must(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	testenv.Must(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the dump changed (-update accepts it):\n%s", got.Bytes())
	}
}

// An unclaimed byte is an error of the dump.
func TestDumpClaimsEveryByte(t *testing.T) {
	b := append(sampleFile(t, newSampler(4), 5, 2, Options{}), 0)
	var out bytes.Buffer
	if err := openBytes(t, b).Dump(&out); !isDamage(err) {
		t.Errorf("an extra byte: %v", err)
	}
}
