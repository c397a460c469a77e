package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func openByOther(t testing.TB, file []byte) *parquet.File {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	testenv.Must(t, err)
	return f
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func appendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// TestOddStatistics checks the statistics of values that have special rules.
func TestOddStatistics(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"s","type":"string"},{"name":"b","type":"bytes"},
		{"name":"d","type":"double"},{"name":"f","type":["null","float"]},{"name":"nan","type":"double"},
		{"name":"m","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":2}},
		{"name":"x","type":{"type":"fixed","name":"X","size":3,"logicalType":"decimal","precision":5,"scale":0}},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["zz","é","a"]}},
		{"name":"n","type":"null"},{"name":"t","type":"boolean"}]}`
	r := rand.New(rand.NewPCG(3, 4))
	doubles := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1.5, -7}
	prefixes := []string{"", "é", strings.Repeat("a", 63), strings.Repeat("a", 70), strings.Repeat("\U0010ffff", 20), strings.Repeat("é", 40)}
	var rows [][]byte
	for range 4000 {
		row := appendText(nil, prefixes[r.IntN(len(prefixes))]+fmt.Sprint(r.IntN(3000)))
		row = appendText(row, string([]byte{0xff, byte(r.Uint32())})+strings.Repeat("\xff", r.IntN(100)))
		row = appendDouble(row, doubles[r.IntN(len(doubles))])
		if r.IntN(2) == 0 {
			row = append(row, 0)
		} else {
			row = binary.LittleEndian.AppendUint32(append(row, 2), math.Float32bits(float32(doubles[r.IntN(len(doubles))])))
		}
		row = appendDouble(row, append(doubles, math.NaN())[r.IntN(len(doubles)+1)])
		number := make([]byte, 1+r.IntN(8))
		for i := range number {
			number[i] = byte(r.Uint32())
		}
		row = appendText(row, string(number))
		row = append(row, byte(r.IntN(2)-1), byte(r.Uint32()), byte(r.Uint32()))
		row = append(row, byte(2*r.IntN(3)), byte(r.IntN(2)))
		rows = append(rows, row)
	}
	for _, blockSize := range []int{150, 4 << 10, 64 << 10} {
		file := fileOf(t, schema, options{}, blockSize, rows)
		checkFile(t, schema, rows, file)
		for i, c := range openByOther(t, file).Metadata().RowGroups[0].Columns {
			s := &c.MetaData.Statistics
			path := c.MetaData.PathInSchema[0]
			none := path == "n" || path == "nan"
			if (s.MinValue == nil) != none || (s.MaxValue == nil) != (none || path == "s" || path == "b") {
				t.Errorf("column %d, %s: bounds %x and %x", i, path, s.MinValue, s.MaxValue)
			}
		}
	}
}

// Empty texts are bounds, too.
func TestEmptyBounds(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"z","type":{"type":"fixed","name":"Z","size":0}}]}`
	file := fileOf(t, schema, options{}, 80, [][]byte{{0}, {0}})
	for i, c := range openByOther(t, file).Metadata().RowGroups[0].Columns {
		if s := &c.MetaData.Statistics; s.MinValue == nil || s.MaxValue == nil || c.ColumnIndexLength == 0 {
			t.Errorf("column %d: bounds %x and %x, an index of %d bytes", i, s.MinValue, s.MaxValue, c.ColumnIndexLength)
		}
	}
}

// One NaN leaves a column chunk without bounds and without a column index: engines would skip
// it by bounds that leave it out.
func TestNaNPage(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"d","type":"double"},{"name":"e","type":"double"}]}`
	var rows [][]byte
	for i := range 100 {
		v := 1.0
		if i == 50 {
			v = math.NaN()
		}
		rows = append(rows, appendDouble(appendDouble(nil, v), float64(i)))
	}
	file := fileOf(t, schema, options{}, 80, rows)
	checkFile(t, schema, rows, file)
	for i, c := range openByOther(t, file).Metadata().RowGroups[0].Columns {
		if (c.ColumnIndexLength == 0) != (i == 0) || c.OffsetIndexLength == 0 {
			t.Errorf("column %d: indexes of %d and %d bytes", i, c.ColumnIndexLength, c.OffsetIndexLength)
		}
		if s := &c.MetaData.Statistics; (s.MinValue == nil) != (i == 0) || (s.MaxValue == nil) != (i == 0) {
			t.Errorf("column %d: bounds %x and %x", i, s.MinValue, s.MaxValue)
		}
	}
}

// A page has at most 20,000 rows, except that one begins only with a row.
func TestPageCuts(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"i","type":"int"},
		{"name":"n","type":["null","int"]},{"name":"a","type":{"type":"array","items":"int"}},{"name":"s","type":"string"}]}`
	var rows [][]byte
	long := appendText(nil, strings.Repeat("x", 300_000))
	for i := range 50_000 {
		row := binary.AppendVarint(nil, int64(i%50))
		row = append(row, 0)
		if i == 7 {
			row = binary.AppendVarint(row, 1<<21)
			row = append(row, make([]byte, 1<<21)...)
		}
		row = append(row, 0)
		if i >= 100 && i < 110 {
			row = append(row, long...)
		} else {
			row = append(row, 0)
		}
		rows = append(rows, row)
	}
	file := fileOf(t, schema, options{}, 16<<20, rows)
	checkFile(t, schema, rows, file)
	f := openByOther(t, file)
	for i, x := range f.OffsetIndexes() {
		var got []int64
		for _, l := range x.PageLocations {
			got = append(got, l.FirstRowIndex)
		}
		want := [][]int64{{0, 20_000, 40_000}, {0, 20_000, 40_000}, {0, 8, 20_008, 40_008}, {0, 104, 108, 20_108, 40_108}}[i]
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("column %d: pages begin with the rows %v, want %v", i, got, want)
		}
	}
}

// Values of a column are numbers of a dictionary while that saves bytes.
func TestDictionary(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"v","type":%s}]}`
	kinds := []struct {
		typ    string
		append func(dst []byte, v int) []byte
	}{
		{`"int"`, func(dst []byte, v int) []byte { return binary.AppendVarint(dst, int64(v)) }},
		{`"long"`, func(dst []byte, v int) []byte { return binary.AppendVarint(dst, int64(v)<<40) }},
		{`"double"`, func(dst []byte, v int) []byte { return appendDouble(dst, float64(v)) }},
		{`"string"`, func(dst []byte, v int) []byte { return appendText(dst, fmt.Sprint("value ", v)) }},
		{`{"type":"fixed","name":"F","size":9}`, func(dst []byte, v int) []byte { return fmt.Appendf(dst, "%09d", v) }},
	}
	for _, kind := range kinds {
		for _, tt := range []struct {
			name         string
			value        func(row int) int
			coded, plain bool
		}{
			{"few values", func(row int) int { return row * 7 % 100 }, true, false},
			{"distinct values", func(row int) int { return row }, false, true},
			{"first few, then distinct", func(row int) int { return max(row%100, row-70_000) }, true, true},
		} {
			t.Run(kind.typ+"/"+tt.name, func(t *testing.T) {
				var rows [][]byte
				for i := range 200_000 {
					rows = append(rows, kind.append(nil, tt.value(i)))
				}
				schema := fmt.Sprintf(schema, kind.typ)
				file := fileOf(t, schema, options{BloomFilters: allFiltered(t, schema)}, 16<<10, rows)
				checkFile(t, schema, rows, file)
				testenv.Must(t, verifyFile(t, file))
				coded, plain := false, false
				for _, s := range openByOther(t, file).Metadata().RowGroups[0].Columns[0].MetaData.EncodingStats {
					coded = coded || s.PageType == pq.DataPage && s.Encoding == pq.RLEDictionary
					plain = plain || s.PageType == pq.DataPage && s.Encoding == pq.Plain
				}
				if coded != tt.coded || plain != tt.plain {
					t.Errorf("coded pages: %v, plain pages: %v", coded, plain)
				}
			})
		}
	}
}
