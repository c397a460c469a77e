package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/trevni"
)

// stringsRequest returns a request to convert an input of string columns. The first column has
// another value in each row. The other columns do so as well, or have one constant value.
func stringsRequest(t *testing.T, columns, bytes int, constant bool) Request {
	t.Helper()
	fields := make([]string, columns)
	for i := range fields {
		fields[i] = fmt.Sprintf(`{"name":"c%04d","type":"string"}`, i)
	}
	const value, block = 8, 20_000
	rows := block / ((1 + value) * columns)
	random := rand.New(rand.NewPCG(1, 2))
	var blocks [][]byte
	for total := 0; total < bytes; total += len(blocks[0]) {
		var b []byte
		for i := range rows * columns {
			b = append(b, 2*value)
			if constant && i%columns > 0 {
				b = append(b, "the same"...)
			} else {
				b = fmt.Appendf(b, "%08x", random.Uint32())
			}
		}
		blocks = append(blocks, b)
	}
	file := filepath.Join(t.TempDir(), "a.avro")
	writeBlocks(t, file, `{"type":"record","name":"r","fields":[`+strings.Join(fields, ",")+`]}`, int64(rows), blocks...)
	r := request(file+".out", file)
	return r
}

// TestExpectedRowGroupsOfColumns checks that the expected row groups agree with those that are
// made. If columns compress well, their open blocks end row groups long before the stored
// bytes would.
func TestExpectedRowGroupsOfColumns(t *testing.T) {
	for _, output := range []struct {
		format, options string
		perColumn       int64 // least bytes of a row group for each column, because of the tables
	}{
		{"trevni", `{"codec":"zstandard"}`, 0}, {"trevni", `{"codec":"null"}`, 0}, {"cfile", `{}`, 0}, {"hfile", `{"key":["c0000"]}`, 0}, {"parquet", `{}`, 2 << 10},
	} {
		for _, tc := range []struct {
			columns   int
			size      int64 // size of row groups
			blockSize int
		}{
			{3, 100 << 10, manifest.DefaultBlockSize}, {3, 1 << 20, manifest.DefaultBlockSize},
			{51, 100 << 10, manifest.DefaultBlockSize}, {51, 300 << 10, manifest.DefaultBlockSize}, {51, 1 << 20, manifest.DefaultBlockSize},
			{51, 300 << 10, minBlock}, {300, 600 << 10, manifest.DefaultBlockSize}, {300, 1 << 20, minBlock},
		} {
			for _, constant := range []bool{true, false} {
				if testing.Short() && !constant || tc.size < output.perColumn*int64(tc.columns) {
					continue
				}
				t.Run(fmt.Sprintf("%d columns of %s%s in %d, blocks of %d, constant %v", tc.columns, output.format, output.options, tc.size, tc.blockSize, constant), func(t *testing.T) {
					r := stringsRequest(t, tc.columns, int(3*tc.size), constant)
					r.Output.Format, r.Output.FormatOptions = output.format, json.RawMessage(output.options)
					r.Output.RowGroupSize, r.Output.BlockSize = tc.size, tc.blockSize
					expected, made := expectedAndMade(t, r)
					if off := expected / float64(made); off > 1.5 || off < 1/1.5 {
						t.Errorf("%.1f row groups are expected, got %d", expected, made)
					}
				})
			}
		}
	}
}

// TestRollsAfter checks rollsAfter against a search in small steps, for random columns.
func TestRollsAfter(t *testing.T) {
	const blockSize, end, step = 1000, 200_000, 2
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		f := &filling{block: blockSize, columns: make([]rates, 1+random.IntN(20))}
		cols := make([]column.Column, len(f.columns))
		for i := range cols {
			cols[i] = column.Column{Name: fmt.Sprint("c", i), Type: column.Bytes, Parent: -1}
			data := random.Float64() / float64(len(cols))
			f.columns[i] = rates{fill: data / blockSize, data: data, stored: data * random.Float64(), table: 12}
			f.stored += f.columns[i].stored
		}
		w, err := trevni.Format.Writer(formatOptions("null"))
		testenv.Must(t, err)
		if f.empty, err = w.(format.ColumnWriter).NewRowGroup("", cols, blockSize); err != nil {
			t.Fatal(err)
		}
		limit := float64(f.empty.Size()) + float64(len(cols)*blockSize)*(0.5+random.Float64())
		want, s := 0.0, stretch{}
		for want < end {
			if f.counted(s, want, want) > limit {
				next, goesOn := f.goesOn(s, want, limit)
				if !goesOn {
					break
				}
				s = next
			}
			want += step
		}
		if got := f.rollsAfter(limit, end); math.Abs(got-want) > 0.01*want+step {
			t.Errorf("%d columns and a limit of %.0f: %.0f bytes of input, want %.0f", len(cols), limit, got, want)
		}
		stores := f.stored
		for _, c := range f.columns {
			stores += c.fill * c.table
		}
		// Following every block would take too long here.
		if got, want := f.rollsAfter(maxSplit, math.MaxFloat64), maxSplit/stores; math.Abs(got/want-1) > 0.01 {
			t.Errorf("%d columns and a limit of %g: %g bytes of input, want %g", len(cols), float64(maxSplit), got, want)
		}
	}
}
