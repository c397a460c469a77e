package cfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

// fixed returns a number as a fixed value of size bytes.
func fixed(n *big.Int, size int) []byte {
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	return n.FillBytes(make([]byte, size))
}

func power(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// Numbers in the range of Kudu's type can be read back. Others are refused, unless the column
// is stored with its physical type.
func TestRanges(t *testing.T) {
	varint := func(v int64) []byte { return binary.AppendVarint(nil, v) }
	decimal := func(size, precision int) string {
		return fmt.Sprintf(`{"type":"fixed","name":"D","size":%d,"logicalType":"decimal","precision":%d}`, size, precision)
	}
	decimals := func(size int, digits int64, off int64) (values [][]byte) {
		limit := new(big.Int).Add(power(digits), big.NewInt(off))
		return [][]byte{fixed(limit, size), fixed(new(big.Int).Neg(limit), size)}
	}
	for _, test := range []struct {
		typ        string
		good, bad  [][]byte
		badMessage string
	}{
		{`{"type":"int","logicalType":"date"}`, [][]byte{varint(0), varint(-719162), varint(2932896)}, [][]byte{varint(-719163), varint(2932897), varint(math.MinInt32)}, "outside of Kudu's dates"},
		{`{"type":"long","logicalType":"timestamp-micros"}`, [][]byte{varint(math.MinInt64), varint(math.MaxInt64)}, nil, ""},
		{`"int"`, [][]byte{varint(math.MinInt32), varint(math.MaxInt32), varint(-1)}, nil, ""},
		{decimal(4, 2), decimals(4, 2, -1), decimals(4, 2, 0), "more digits than its precision, 2"},
		{decimal(5, 9), append(decimals(5, 9, -1), make([]byte, 5)), decimals(5, 9, 0), "precision, 9"},
		{decimal(8, 10), decimals(8, 10, -1), append(decimals(8, 10, 0), []byte{0x80, 0, 0, 0, 0, 0, 0, 0}), "precision, 10"},
		{decimal(30, 18), decimals(30, 18, -1), append(decimals(30, 18, 0), decimals(30, 60, 0)...), "precision, 18"},
		{decimal(16, 19), decimals(16, 19, -1), decimals(16, 19, 0), "precision, 19"},
		{decimal(16, 38), decimals(16, 38, -1), append(decimals(16, 38, 0), append([]byte{0x80}, make([]byte, 15)...)), "precision, 38"},
	} {
		schema := `{"type":"record","name":"R","fields":[{"name":"v","type":` + test.typ + `}]}`
		sameRows(t, schema, test.good, nil)
		for _, bad := range test.bad {
			err := convert(t, schema, append(append([][]byte{}, test.good...), bad), nil)
			if !isDamageOf(err, damage.Unsupported, "column v", fmt.Sprintf("row %d", len(test.good)), test.badMessage, "--encoding v=physical") {
				t.Errorf("%s, % x: %v", test.typ, bad, err)
			}
			sameRows(t, schema, [][]byte{bad}, map[string][]string{"encoding": {"v=physical"}})
		}
	}
}

// sameRows compares the rows of a part with Trevni's.
func sameRows(t *testing.T, schema string, rows [][]byte, chosen map[string][]string) {
	t.Helper()
	p := formattest.MustOpen(t, Format, formattest.Rows(t, Format, chosen, schema, rows, 0).Files(t), format.OpenOptions{})
	want := formattest.MustOpen(t, trevni.Format, formattest.Rows(t, trevni.Format, nil, schema, rows, 0).Files(t), format.OpenOptions{})
	testenv.Must(t, p.Verify(t.Context(), nil))
	for col := range p.Columns() {
		formattest.CompareCursors(t, "", rand.New(rand.NewPCG(1, 1)), p, want, col, partDamage)
	}
}

// convert writes rows to a row group, in blocks that end at the given rows, and returns the
// first error.
func convert(t *testing.T, schema string, rows [][]byte, chosen map[string][]string, ends ...int) error {
	t.Helper()
	s := formattest.Rows(t, Format, chosen, schema, rows, 0)
	g, bufs, err := s.Begin(t)
	testenv.Must(t, err)
	from := 0
	for _, end := range append(ends, len(rows)) {
		for ; from < end; from++ {
			s.Fill(bufs, from)
		}
		for col := range bufs.Cols {
			var b column.Block
			bufs.Cols[col].Finish(int64(end), &b)
			job, err := g.Begin(col, &b)
			if err != nil {
				return err
			}
			stored, err := job.Encode(nil)
			if err == nil {
				err = g.End(col, job, len(stored))
			}
			if err != nil {
				return err
			}
		}
	}
	_, err = g.Finish(int64(len(rows)))
	return err
}

// Columns that are declared sorted get an index. Values in another order are refused.
func TestSortedColumns(t *testing.T) {
	varint := func(v int64) []byte { return binary.AppendVarint(nil, v) }
	text := func(s string) []byte { return append(varint(int64(len(s))), s...) }
	number := func(v int64) []byte { return fixed(big.NewInt(v), 16) }
	sorted := map[string][]string{"sorted-by": {"v"}}
	for typ, rows := range map[string][][]byte{
		`"int"`:    {varint(math.MinInt32), varint(-2), varint(-2), varint(0), varint(math.MaxInt32)},
		`"long"`:   {varint(math.MinInt64), varint(-2), varint(1), varint(1), varint(math.MaxInt64)},
		`"string"`: {text(""), text("a"), text("a"), text("a\x00"), text("ä")},
		`"bytes"`:  {text(""), text("a"), text("a"), text("b"), text("\xff")},
		`{"type":"fixed","name":"D","size":16,"logicalType":"decimal","precision":38}`: {number(math.MinInt64), number(-1), number(-1), number(0), number(math.MaxInt64)},
		`{"type":"enum","name":"E","symbols":["B","A"]}`:                               {varint(1), varint(1), varint(0)},
	} {
		schema := `{"type":"record","name":"R","fields":[{"name":"v","type":` + typ + `}]}`
		sameRows(t, schema, rows, sorted)
		// These blocks have the strings, not codes of a dictionary.
		sameRows(t, schema, rows, map[string][]string{"sorted-by": {"v"}, "encoding": {"v=plain"}})
		last := len(rows) - 1
		rows = append([][]byte{rows[last]}, rows[:last]...)
		for _, ends := range [][]int{nil, {1}, {2}, {1, 2}, {last}} {
			err := convert(t, schema, rows, sorted, ends...)
			if !isDamageOf(err, damage.Unsupported, "column v", "row 1:", "less than the one in the row before", "--sorted-by") {
				t.Errorf("%s, blocks that end at %v: %v", typ, ends, err)
			}
		}
	}
	schema := `{"type":"record","name":"R","fields":[{"name":"v","type":"string"}]}`
	long := text(strings.Repeat("x", MaxKey+1))
	if err := convert(t, schema, [][]byte{text("a"), long}, sorted); !isDamageOf(err, damage.Unsupported, "column v", "row 1:") {
		t.Errorf("a long key: %v", err)
	}
}

// The largest value that fits a block can be read back. A larger one is refused.
func TestLargestValues(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"array","items":"bytes"}}]}`
	row := func(sizes ...int) []byte {
		b := binary.AppendVarint(nil, int64(len(sizes)))
		for _, n := range sizes {
			b = append(binary.AppendVarint(b, int64(n)), make([]byte, n)...)
		}
		return append(b, 0)
	}
	none := map[string][]string{"compression": {"none"}}
	sameRows(t, schema, [][]byte{row(1, MaxValue, 2), row(MaxValue)}, none)
	for _, encoding := range []string{"plain", "dict", "prefix"} {
		err := convert(t, schema, [][]byte{row(1), row(2, MaxValue+1)}, map[string][]string{"encoding": {"v=" + encoding}})
		if !isDamageOf(err, damage.Unsupported, "column v[]", "row 1:", fmt.Sprint(MaxValue)) {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

// A row may have more items than are converted at a time.
func TestHugeRows(t *testing.T) {
	const items = 1<<20 + 300_000
	for _, test := range []struct {
		items string
		item  func(b []byte, i int) []byte
	}{
		{`"long"`, func(b []byte, i int) []byte { return binary.AppendVarint(b, int64(i)*int64(i)) }},
		{`"string"`, func(b []byte, i int) []byte { return append(b, 4, 'a'+byte(i%20), 'a'+byte(i%7)) }},
		{`"string"`, func(b []byte, i int) []byte { return append(append(b, 16), fmt.Sprintf("%08d", i)...) }},
		{`{"type":"enum","name":"E","symbols":["A","B","C"]}`, func(b []byte, i int) []byte { return append(b, byte(i%3)*2) }},
		{`"boolean"`, func(b []byte, i int) []byte { return append(b, 1) }},
		{`{"type":"array","items":"int"}`, func(b []byte, i int) []byte { return append(b, 2, byte(i&0x7f), 0) }},
	} {
		b := binary.AppendVarint(nil, items)
		for i := range items {
			b = test.item(b, i)
		}
		schema := `{"type":"record","name":"R","fields":[{"name":"v","type":{"type":"array","items":` + test.items + `}}]}`
		sameRows(t, schema, [][]byte{{0}, append(b, 0), {0}}, nil)
	}
}

func isDamageOf(err error, kind damage.Kind, words ...string) bool {
	var d *damage.Error
	if !errors.As(err, &d) || d.Kind != kind {
		return false
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return false
		}
	}
	return true
}

// The bound of a large block includes the memory for encoding it.
func TestBoundOfLargeBlocks(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"v","type":"bytes"}]}`
	row := append(binary.AppendVarint(nil, MaxValue), make([]byte, MaxValue)...)
	s := formattest.Rows(t, Format, nil, schema, [][]byte{row}, 0)
	g, bufs, err := s.Begin(t)
	testenv.Must(t, err)
	s.Fill(bufs, 0)
	var b column.Block
	bufs.Cols[0].Finish(1, &b)
	job, err := g.Begin(0, &b)
	testenv.Must(t, err)
	dst := make([]byte, 0, job.Bound())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stored, err := job.Encode(dst)
	runtime.ReadMemStats(&after)
	const overhead = 4 << 20 // of blocks of any size
	if used := int64(after.TotalAlloc-before.TotalAlloc) + int64(len(stored)); err != nil || used > job.Bound()+overhead {
		t.Errorf("%d bytes used, want at most %d, %v", used, job.Bound(), err)
	}
}
