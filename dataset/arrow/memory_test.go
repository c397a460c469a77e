package arrow_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// A Parquet writer reserves all of its memory at once, or fails. It releases the memory
// when the file is complete or writing fails.
func TestParquetWithinMemory(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"words","type":{"type":"array","items":"string"}},{"name":"x","type":["null","double"]}]}`
	judge, err := avro.Parse(schema)
	testenv.Must(t, err)
	rows, want := make([][]byte, 3000), []any{}
	for i := range rows {
		word := fmt.Sprint("word ", i)
		rows[i] = append(binary.AppendVarint(nil, int64(i)), 2)
		rows[i] = append(binary.AppendVarint(rows[i], int64(len(word))), word...)
		rows[i] = append(rows[i], 0, 0)
		want = append(want, native(t, judge, rows[i]))
	}
	d := convert(t, formats[0], schema, rows)
	s, batches := records(t, d, arrow.Structs, 100)
	for _, codec := range codecs {
		for _, test := range []struct {
			size int64
			fits bool
		}{{1 << 20, false}, {16 << 20, false}, {20 << 20, true}, {64 << 20, true}, {2 << 30, true}} {
			pool := budget.New(test.size)
			var out bytes.Buffer
			w, err := arrow.NewParquet(&out, s, codec, pool)
			if !test.fits {
				var e *budget.Error
				if !errors.As(err, &e) || e.Need <= test.size || !strings.Contains(err.Error(), "3 columns") || out.Len() > 0 || pool.Available() != test.size {
					t.Errorf("%s within %d bytes: %v, %d left", codec, test.size, err, pool.Available())
				}
				continue
			}
			if err != nil {
				t.Errorf("%s within %d bytes: %v", codec, test.size, err)
				continue
			}
			if pool.Available() >= test.size-16<<20 {
				t.Errorf("%s within %d bytes: %d left during writing", codec, test.size, pool.Available())
			}
			writeAll(t, w, batches)
			if pool.Available() != test.size {
				t.Errorf("%s: %d of %d bytes left after the file is complete", codec, pool.Available(), test.size)
			}
			check(t, d.Schema().Root(), readParquet(t, out.Bytes()), want)
		}
	}

	pool := budget.New(64 << 20)
	w, err := arrow.NewParquet(fullDisk{}, s, "null", pool)
	if err == nil {
		err = w.Write(batches[0])
	}
	if err == nil {
		err = w.Close()
	} else {
		t.Fatal(err)
	}
	if !errors.Is(err, errFull) || pool.Available() != pool.Size() {
		t.Errorf("%v, %d bytes left", err, pool.Available())
	}
	if _, err := arrow.NewParquet(&bytes.Buffer{}, s, "bzip2", pool); err == nil || pool.Available() != pool.Size() {
		t.Errorf("an unknown codec: %v, %d bytes left", err, pool.Available())
	}
}

var errFull = errors.New("the disk is full")

// fullDisk accepts only the first bytes of a file.
type fullDisk struct{}

func (fullDisk) Write(p []byte) (int, error) {
	if len(p) <= 4 {
		return len(p), nil
	}
	return 0, errFull
}
