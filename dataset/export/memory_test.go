package export

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Memory returns the memory of a row. Text takes none because it is written in pieces;
// Avro takes that of a stored block.
func TestMemoryOfWriters(t *testing.T) {
	s := parse(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"}]}`)
	csvOut := openCSV(t, io.Discard, s)
	const large = 100 << 20
	for name, w := range map[string]Writer{
		"json": open(t, io.Discard, JSON(s, JSONOptions{})), "json with tags": open(t, io.Discard, JSON(s, JSONOptions{UnionTags: true})), "csv": csvOut,
	} {
		for _, row := range []int{0, 1, large} {
			if n := w.Memory(row); n != 0 {
				t.Errorf("%s: %d bytes for a row of %d", name, n, row)
			}
		}
	}
	for _, codec := range []string{"", "null", "deflate", "snappy", "bzip2", "xz", "zstandard"} {
		w := openAvro(t, io.Discard, s, codec)
		if n := w.Memory(large); n < large || n > 4*large {
			t.Errorf("avro, codec %q: %d bytes for a row of %d", codec, n, large)
		}
		if less, more := w.Memory(1000), w.Memory(2000); less >= more {
			t.Errorf("avro, codec %q: %d bytes for a row of 1000, %d for one of 2000", codec, less, more)
		}
	}
}

// Long text is written in pieces and does not take memory as a whole.
func TestLongTextTakesNoMemory(t *testing.T) {
	const size = 4 << 20
	s := parse(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"b","type":"bytes"}]}`)
	for _, unit := range []string{"a", "\"", "\n", "é"} {
		rowOf := func(size int) []byte {
			text := sized(strings.Repeat(unit, size/len(unit)))
			return slices.Concat(text, text)
		}
		pieces, row := rowOf(3*longText), rowOf(size)
		csvOut := openCSV(t, io.Discard, s)
		for name, w := range map[string]Writer{
			"json": open(t, io.Discard, JSON(s, JSONOptions{})), "json with tags": open(t, io.Discard, JSON(s, JSONOptions{UnionTags: true})), "csv": csvOut,
		} {
			if err := w.Write(pieces); err != nil { // allocates the memory for pieces
				t.Fatal(err)
			}
			before := allocated()
			testenv.Must(t, w.Write(row))
			if n := allocated() - before; n > size/4 {
				t.Errorf("%s, %q: %d bytes allocated for a row", name, unit, n)
			}
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Rows larger than a block of Avro become blocks of their own, and the order of rows
// stays.
func TestLargeAvroRows(t *testing.T) {
	s := parse(t, `"string"`)
	sizes := []int{avroBlock, 10, 20, avroBlock - 3, avroBlock - 4, 1, avroBlock - 2, 500_000, 3_000_000, 7, 80_000}
	for _, codec := range []string{"null", "deflate", "snappy"} {
		var out bytes.Buffer
		w := openAvro(t, &out, s, codec)
		var rows [][]byte
		for i, size := range sizes {
			rows = append(rows, sized(strings.Repeat(string(rune('a'+i)), size)))
		}
		write(t, w, &out, rows...)
		r, err := goavro.NewOCFReader(bytes.NewReader(out.Bytes()))
		testenv.Must(t, err)
		n := 0
		for ; r.Scan(); n++ {
			v, err := r.Read()
			testenv.Must(t, err)
			if got := v.(string); got != strings.Repeat(string(rune('a'+n)), sizes[n]) {
				t.Errorf("%s: row %d has %d bytes, want %d", codec, n, len(got), sizes[n])
			}
			alone := len(rows[n]) >= avroBlock || n+1 < len(rows) && len(rows[n+1]) >= avroBlock
			if left := r.RemainingBlockItems(); left > 0 && alone {
				t.Errorf("%s: row %d of %d bytes has %d rows after it in its block", codec, n, len(rows[n]), left)
			}
		}
		if r.Err() != nil || n != len(sizes) {
			t.Errorf("%s: %d rows, want %d: %v", codec, n, len(sizes), r.Err())
		}
	}
}
