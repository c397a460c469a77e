package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// sharedPageOf returns a page of n values of DELTA_BYTE_ARRAY.
func sharedPageOf(t *testing.T, n int, value []byte) *loadedPage {
	t.Helper()
	offsets := []uint32{0}
	for range n {
		offsets = append(offsets, offsets[len(offsets)-1]+uint32(len(value)))
	}
	b, err := (&delta.ByteArrayEncoding{}).EncodeByteArray(nil, bytes.Repeat(value, n), offsets)
	testenv.Must(t, err)
	return &loadedPage{entries: n, values: b, encoding: pq.DeltaByteArray}
}

// The text of an enum's values is decoded a few values at a time.
func TestTextOfEnums(t *testing.T) {
	symbol := strings.Repeat("a", 16<<10)
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["`+symbol+`"]}}]}`, timesExact)
	testenv.Must(t, err)
	for _, c := range []struct {
		value string
		kind  damage.Kind
	}{{symbol, ""}, {symbol + "a", damage.Value}} {
		v := newValueReader(&tree.leaves[0])
		const n = 500
		testenv.Must(t, v.reset(sharedPageOf(t, n, []byte(c.value)), nil, math.MaxInt64))
		var got column.Vector
		err := v.read(&got, n)
		if d, ok := err.(*damage.Error); ok != (c.kind != "") || ok && d.Kind != c.kind || !ok && got.Values != n {
			t.Errorf("%v, %d values", err, got.Values)
		}
		if cap(v.scratch.Data) > 4*len(symbol) {
			t.Errorf("%d bytes of text in memory", cap(v.scratch.Data))
		}
	}
}

// wordsFile returns a file of some columns, each with a large dictionary.
func wordsFile(t *testing.T, columns int) []byte {
	t.Helper()
	var fields []string
	for i := range columns {
		fields = append(fields, fmt.Sprintf(`{"name":"s%d","type":"string"}`, i))
	}
	var rows [][]byte
	for i := range 200 {
		word := bytes.Repeat([]byte{byte('a' + i%16)}, 2000)
		var row []byte
		for range columns {
			row = append(binary.AppendVarint(row, int64(len(word))), word...)
		}
		rows = append(rows, row)
	}
	return formattest.Rows(t, Format, nil, `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, rows, 1<<20).Files(t)[""]
}

// Verify releases the dictionary of a column before it reads the next column.
func TestVerifyReleasesDictionaries(t *testing.T) {
	var peaks []int64
	for _, columns := range []int{1, 10} {
		var memory formattest.Memory
		p, err := openFile(wordsFile(t, columns), format.OpenOptions{Memory: &memory})
		testenv.Must(t, err)
		before := memory.Held
		testenv.Must(t, p.Verify(t.Context(), nil))
		if c := &p.(*part).chunks[0]; c.start == c.dataAt {
			t.Fatal("the column has no dictionary")
		}
		peaks = append(peaks, memory.Peak-before)
	}
	if peaks[1] > peaks[0]+4*32000 {
		t.Errorf("%d bytes for one column, %d for ten", peaks[0], peaks[1])
	}
}

// Sizes in an index can be any numbers.
func TestHostileRawSize(t *testing.T) {
	c := partChunk{raw: math.MaxInt64, end: 10}
	for _, k := range []partPage{{size: 10, text: -1}, {size: 10, text: math.MaxInt64, rows: math.MaxInt64}, {size: 10, rows: math.MaxInt64}} {
		if n := c.rawSize(&k); n <= 0 || n > math.MaxInt64-1<<60 {
			t.Errorf("%+v: %d bytes", k, n)
		}
	}
}

// sharedFile returns a file of one page with n strings in DELTA_BYTE_ARRAY.
func sharedFile(t *testing.T, schema string, n int, value []byte, sizes []int64) []byte {
	t.Helper()
	row := map[byte][]byte{'"': {0}, '[': {2, 0}, '{': {2, 0, 0}}[schema[0]]
	file := formattest.Rows(t, Format, nil, `{"type":"record","name":"R","fields":[{"name":"s","type":`+schema+`}]}`, slices.Repeat([][]byte{row}, n), 1<<20).Files(t)[""]
	w := newRewriter(t, file, rand.New(rand.NewPCG(0, 0)))
	w.header = func(_, _ int, h *pq.PageHeader, _ []byte) (body []byte) {
		l := w.p.chunks[0].leaf
		for k, most := range []int{l.rep, l.def} {
			if most > 0 {
				b := encoding.AppendHybrid(nil, slices.Repeat([]uint32{uint32(k)}, n), 1)
				body = append(binary.LittleEndian.AppendUint32(body, uint32(len(b))), b...)
			}
		}
		body = append(body, sharedPageOf(t, n, value).values...)
		*h = pq.PageHeader{Type: pq.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
		h.DataPageHeader.Set(pq.DataPageHeader{NumValues: int32(n), Encoding: pq.DeltaByteArray, DefinitionLevelEncoding: pq.RLE, RepetitionLevelEncoding: pq.RLE})
		return body
	}
	w.footer = func(m *pq.FileMetaData) {
		to := &m.RowGroups[0].Columns[0].MetaData
		to.Codec, to.Statistics = pq.Uncompressed, pq.Statistics{}
	}
	w.index = func(_ int, x *pq.OffsetIndex) { x.UnencodedByteArrayDataBytes = sizes }
	return w.file()
}

// Without sizes in the index, a read ends when it has appended much text.
func TestTextWithoutSizes(t *testing.T) {
	const n, size = 60, 100 << 10
	for _, schema := range []string{`"string"`, `["null","string"]`, `{"type":"array","items":"string"}`} {
		for _, sizes := range [][]int64{nil, {n * size}} {
			file := sharedFile(t, schema, n, bytes.Repeat([]byte{'a'}, size), sizes)
			for _, limit := range []int64{64 << 20, 3 << 20} {
				p, err := openFile(file, format.OpenOptions{MaxBlock: limit})
				testenv.Must(t, err, p.Verify(t.Context(), nil))
				c := p.(*part).cursor(p.(*part).chunks[0].leaf.number)
				for units := 0; err == nil && units < n; {
					var v column.Vector
					var read int
					read, _, err = c.Read(&v, n)
					if units += read; len(v.Data) > 1<<20 && sizes == nil {
						t.Errorf("%s: %d bytes in one read", schema, len(v.Data))
					}
				}
				kind := damage.Kind("")
				if sizes == nil && limit < n*size {
					kind = damage.Unsupported
				}
				wantDamage(t, schema, err, kind, "more bytes than a page may have")
			}
		}
	}
}

// A dictionary knows its longest word.
func TestLongestWord(t *testing.T) {
	page := loadedPage{entries: 3, encoding: pq.Plain}
	for _, word := range []string{"a", "abc", "ab"} {
		page.values = append(binary.LittleEndian.AppendUint32(page.values, uint32(len(word))), word...)
	}
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"s","type":"string"}]}`, timesExact)
	testenv.Must(t, err)
	v := newValueReader(&tree.leaves[0])
	w, err := v.readDictionary(&page)
	testenv.Must(t, err, v.reset(&loadedPage{encoding: pq.RLEDictionary}, w, 0))
	if n := v.longest(); n != 3 {
		t.Errorf("%d bytes", n)
	}
}

// A page that cursors share is accounted for until the last cursor leaves it.
func TestSharedPagesStayAccounted(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":{"type":"record","name":"I",` +
		`"fields":[{"name":"s","type":"string"},{"name":"b","type":"boolean"}]}}}]}`
	rows := make([][]byte, 100_000)
	for i := range rows {
		rows[i] = []byte{2, 6, byte(i), byte(i >> 8), 'c', byte(i) & 1, 0}
	}
	var memory formattest.Memory
	p, err := openFile(formattest.Rows(t, Format, nil, schema, rows, 1<<10).Files(t)[""], format.OpenOptions{Memory: &memory})
	testenv.Must(t, err)
	lengths, values := p.(*part).cursor(0), p.(*part).cursor(2)
	testenv.Must(t, values.SeekRow(0), lengths.SeekRow(0))
	first := lengths.reader.held
	if first == nil || first != values.reader.held || first.holders != 2 || first.held == 0 || len(lengths.pages) < 4 {
		t.Fatalf("the cursors do not share a page: %+v", first)
	}
	for _, k := range lengths.pages {
		testenv.Must(t, lengths.SeekRow(k.first))
	}
	for range 2 { // the second time the cursor does not move
		before := memory.Held
		testenv.Must(t, values.SeekRow(p.Rows()-1))
		if freed := before - memory.Held; freed != first.held {
			t.Errorf("%d bytes released, expected %d", freed, first.held)
		}
		first = new(shelved[*loadedPage])
	}
	if last := lengths.reader.held; last.holders != 2 || lengths.reader.room.Bytes != nil {
		t.Errorf("the last page has %d holders", last.holders)
	}
}
