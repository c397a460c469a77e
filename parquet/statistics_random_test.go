package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// A tide is how the values of a column are for some rows, so that pages have no values, only
// NaN, only zeros, or values that ascend or descend.
const (
	nullTide = iota // only nulls, where they can be
	nanTide         // one value or few; floating-point numbers: NaN
	zeroTide
	risingTide
	fallingTide
	wildTide
	tides
)

// statisticsTypes are Avro types, with %[1]s in place of a name, and how their values are made.
var statisticsTypes = []struct {
	schema string
	append func(dst []byte, r *rand.Rand, tide, i int) []byte
}{
	{`"boolean"`, appendBoolean},
	{`"int"`, appendInteger[int32]},
	{`{"type":"int","logicalType":"date"}`, appendInteger[int32]},
	{`{"type":"int","logicalType":"time-millis"}`, appendInteger[int32]},
	{`"long"`, appendInteger[int64]},
	{`{"type":"long","logicalType":"time-micros"}`, appendInteger[int64]},
	{`{"type":"long","logicalType":"timestamp-millis"}`, appendInteger[int64]},
	{`{"type":"long","logicalType":"timestamp-nanos"}`, appendInteger[int64]},
	{`{"type":"long","logicalType":"local-timestamp-micros"}`, appendInteger[int64]},
	{`"float"`, func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(floatOf(r, tide, i))))
	}},
	{`"double"`, func(dst []byte, r *rand.Rand, tide, i int) []byte { return appendDouble(dst, floatOf(r, tide, i)) }},
	{`"string"`, appendWord("\u07ff", "\ud7ff", "\x7f", "é", "a")},
	{`"string"`, appendWord("\U0010ffff", "\uffff")}, // nothing is above some of them
	{`{"type":"string","logicalType":"uuid"}`, func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return appendText(dst, fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(numberOf[int32](r, tide, i)), i))
	}},
	{`"bytes"`, appendWord("\xfe", "\x80", "\x7f", "\x00")},
	{`"bytes"`, appendWord("\xff", "\x80")}, // here, too
	{`{"type":"enum","name":"%[1]s","symbols":["zz","b","Z","%[1]s"]}`, func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return binary.AppendVarint(dst, int64(uint8(numberOf[int32](r, tide, i))%4))
	}},
	{`{"type":"fixed","name":"%[1]s","size":3}`, appendFixed(3, "\x80", "\xff", "\x00")},
	{`{"type":"fixed","name":"%[1]s","size":70}`, appendFixed(70, "\x80", "\xfe", "\x00")},
	{`{"type":"fixed","name":"%[1]s","size":65}`, appendFixed(65, "\xff", "\x80")},
	{`{"type":"fixed","name":"%[1]s","size":0}`, appendFixed(0, "\x80", "\xff", "\x00")},
	{`{"type":"fixed","name":"%[1]s","size":12,"logicalType":"duration"}`, appendFixed(12, "\x80", "\xff", "\x00")},
	{`{"type":"fixed","name":"%[1]s","size":16,"logicalType":"uuid"}`, appendFixed(16, "\x80", "\xff", "\x00")},
	{`{"type":"fixed","name":"%[1]s","size":4,"logicalType":"decimal","precision":9,"scale":2}`, func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return binary.BigEndian.AppendUint32(dst, uint32(numberOf[int32](r, tide, i)%1e9))
	}},
	{`{"type":"bytes","logicalType":"decimal","precision":38,"scale":3}`, appendDecimal},
	{`"null"`, func(dst []byte, _ *rand.Rand, _, _ int) []byte { return dst }},
}

func appendBoolean(dst []byte, r *rand.Rand, tide, i int) []byte {
	return append(dst, byte(numberOf[int32](r, tide, i)&1))
}

func appendInteger[T int32 | int64](dst []byte, r *rand.Rand, tide, i int) []byte {
	return binary.AppendVarint(dst, int64(numberOf[T](r, tide, i)))
}

func appendWord(parts ...string) func([]byte, *rand.Rand, int, int) []byte {
	return func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return appendText(dst, wordOf(r, tide, i, parts...))
	}
}

func appendFixed(size int, parts ...string) func([]byte, *rand.Rand, int, int) []byte {
	return func(dst []byte, r *rand.Rand, tide, i int) []byte {
		return append(dst, (wordOf(r, tide, i, parts...) + strings.Repeat(parts[0], size))[:size]...)
	}
}

// appendDecimal appends a number of any size, in more bytes than it needs.
func appendDecimal(dst []byte, r *rand.Rand, tide, i int) []byte {
	v := numberOf[int64](r, tide, i)
	b := binary.BigEndian.AppendUint64(nil, uint64(v))
	for len(b) > 1 && r.IntN(3) > 0 && int64(int8(b[1]))>>7 == v>>63 && int64(int8(b[0])) == v>>63 {
		b = b[1:]
	}
	if r.IntN(3) == 0 {
		b = append([]byte{byte(v >> 63)}, b...)
	}
	return appendText(dst, string(b))
}

func numberOf[T int32 | int64](r *rand.Rand, tide, i int) T {
	switch tide {
	case nanTide:
		return -7
	case zeroTide:
		return 0
	case risingTide:
		return T(i) - 700
	case fallingTide:
		return 700 - T(i)
	}
	bits := int64(math.MinInt64)
	low := T(bits)
	if low == 0 { // T has 32 bits
		low = math.MinInt32
	}
	return []T{low, low + 1, -low - 1 /* the greatest */, 0, -1, 1, 255, 256, T(r.Uint64()), T(int8(r.Uint64()))}[r.IntN(10)]
}

func floatOf(r *rand.Rand, tide, i int) float64 {
	// NaN is only in the last rows, so that some columns have bounds.
	if i >= 1000 && (tide == nanTide || tide == wildTide && r.IntN(10) == 0) {
		return math.Float64frombits(math.Float64bits(math.NaN()) | uint64(r.IntN(2))<<63)
	}
	switch tide {
	case nanTide:
		return -7
	case zeroTide:
		return math.Copysign(0, float64(r.IntN(2)-1))
	case risingTide:
		return float64(i)
	case fallingTide:
		return -float64(i)
	}
	return []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e-44, -1e-44, math.MaxFloat32, -math.MaxFloat32, 0.5, r.NormFloat64(),
	}[r.IntN(10)]
}

// wordOf returns a word made of parts, often with more than 64 bytes.
func wordOf(r *rand.Rand, tide, i int, parts ...string) string {
	switch tide {
	case nanTide:
		return strings.Repeat("x", i/20%3) + strings.Repeat(parts[i/60%len(parts)], 70)
	case zeroTide:
		return ""
	case risingTide:
		return fmt.Sprintf("%09d", i)
	case fallingTide:
		return strings.Repeat("x", 60) + fmt.Sprintf("%09d", 100_000-i)
	}
	var b strings.Builder
	part := parts[r.IntN(len(parts))]
	for n := []int{0, 1, 14, 15, 16, 20, 31, 32, 61, 62, 63, 64, 65, 70}[r.IntN(14)]; n > 0; n-- {
		b.WriteString(part)
	}
	for range r.IntN(3) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// TestStatisticsOfEveryType compares bounds, counts, histograms and indexes with random values
// of each type: required ones, ones that may be null, and those of lists.
func TestStatisticsOfEveryType(t *testing.T) {
	var fields []string
	for i, typ := range statisticsTypes {
		for k, form := range []string{`%s`, `["null",%s]`, `{"type":"array","items":["null",%s]}`} {
			if typ.schema == `"null"` && k > 0 {
				form = []string{`["null","int"]`, `{"type":"array","items":%s}`}[k-1]
			}
			name := fmt.Sprintf("f%d_%d", i, k)
			of := typ.schema
			if strings.Contains(of, "%[1]s") {
				of = fmt.Sprintf(of, strings.ToUpper(name))
			}
			if strings.Contains(form, "%s") {
				form = fmt.Sprintf(form, of)
			}
			fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%s}`, name, form))
		}
	}
	schema := `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
	for seed := range soak.Rounds[uint64](6, 300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			blockSize := []int{150, 600, 4 << 10}[seed%3]
			rows := tidalRows(r, 1200)
			checkFile(t, schema, rows, fileOf(t, schema, options{Compression: "none"}, blockSize, rows))
		})
	}
}

// tidalRows returns rows of statisticsTypes. The tide of each column changes from time to time.
func tidalRows(r *rand.Rand, n int) [][]byte {
	rows := make([][]byte, n)
	type state struct{ tide, left int }
	columns := make([]state, 3*len(statisticsTypes))
	for i := range rows {
		for c := range columns {
			s := &columns[c]
			if s.left--; s.left < 0 {
				*s = state{r.IntN(tides), []int{1, 30, 300}[r.IntN(3)]}
			}
			rows[i] = appendTidal(rows[i], r, c, s.tide, i)
		}
	}
	return rows
}

// appendTidal appends a value of column c.
func appendTidal(row []byte, r *rand.Rand, c, tide, i int) []byte {
	typ := &statisticsTypes[c/3]
	null := tide == nullTide || r.IntN(5) == 0
	switch {
	case c%3 == 0:
		return typ.append(row, r, tide, i)
	case typ.schema == `"null"` && c%3 == 1:
		return append(row, 0)
	case c%3 == 1 && null:
		return append(row, 0)
	case c%3 == 1:
		return typ.append(append(row, 2), r, tide, i)
	}
	items := r.IntN(4)
	if items > 0 {
		row = binary.AppendVarint(row, int64(items))
	}
	for k := range items {
		switch {
		case typ.schema == `"null"`:
		case tide == nullTide || null && k == 0:
			row = append(row, 0)
		default:
			row = typ.append(append(row, 2), r, tide, i)
		}
	}
	return append(row, 0)
}
