package parquet

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// rewriter writes the pages of a file again, as other writers may do: in both versions, with any
// encoding and codec, without column indexes and without checksums of headers. The functions
// change what it writes.
type rewriter struct {
	t testing.TB
	r *rand.Rand
	p *part

	// chunk numbers the column chunks of all row groups.
	header func(chunk, page int, h *pq.PageHeader, body []byte) []byte
	index  func(chunk int, x *pq.OffsetIndex)
	footer func(m *pq.FileMetaData)

	out  []byte
	meta pq.FileMetaData
}

func newRewriter(t testing.TB, file []byte, r *rand.Rand) *rewriter {
	t.Helper()
	p, _, err := mustOpen(t, file).reopen()
	testenv.Must(t, err)
	return &rewriter{t: t, r: r, p: p, out: []byte(magic)}
}

// file returns the new file.
func (w *rewriter) file() []byte {
	w.t.Helper()
	w.meta = *w.p.footer
	w.meta.CreatedBy, w.meta.KeyValueMetadata = "another writer", nil
	for _, kv := range w.p.footer.KeyValueMetadata {
		if kv.Key != checksumsKey {
			w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, kv)
		}
	}
	for g := range w.meta.RowGroups {
		for i := range w.p.columns {
			w.chunk(g*len(w.p.columns)+i, &w.meta.RowGroups[g].Columns[i])
		}
	}
	if w.footer != nil {
		w.footer(&w.meta)
	}
	footer := w.marshal(&w.meta)
	w.out = append(w.out, footer...)
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(len(footer)))
	return append(w.out, magic...)
}

func (w *rewriter) marshal(v any) []byte {
	b, err := marshal(v)
	testenv.Must(w.t, err)
	return b
}

var anyCodec = []pq.CompressionCodec{pq.Uncompressed, pq.Snappy, pq.Gzip, pq.Zstd, pq.Lz4Raw}

func (w *rewriter) chunk(i int, to *pq.ColumnChunk) {
	c := &w.p.chunks[i]
	c.shared = false
	pages, err := w.p.pagesOf(c)
	testenv.Must(w.t, err)
	m := &to.MetaData
	m.Codec, m.DictionaryPageOffset, m.DataPageOffset, m.EncodingStats = anyCodec[w.r.IntN(len(anyCodec))], 0, int64(len(w.out)), nil
	to.ColumnIndexOffset, to.ColumnIndexLength = 0, 0
	cur := w.p.cursor(c.leaf.number)
	cur.turn(c.group.number)
	if c.leaf.presence {
		v := newValueVerifier(c.leaf)
		cur.values = newValueReader(&v.leaf)
	}
	index := new(pq.OffsetIndex)
	for k := range pages {
		cur.own = true
		testenv.Must(w.t, cur.ready(), cur.begin(k))
		n, err := cur.levels.count(uint32(c.leaf.def))
		testenv.Must(w.t, err)
		var v column.Vector
		testenv.Must(w.t, cur.values.read(&v, n))
		at := int64(len(w.out))
		w.page(i, k, cur.page, &v, n, m.Codec)
		index.PageLocations = append(index.PageLocations, pq.PageLocation{Offset: at, CompressedPageSize: int32(int64(len(w.out)) - at), FirstRowIndex: pages[k].first - c.group.first})
		if pages[k].text >= 0 {
			index.UnencodedByteArrayDataBytes = append(index.UnencodedByteArrayDataBytes, pages[k].text)
		}
	}
	m.TotalCompressedSize = int64(len(w.out)) - m.DataPageOffset
	if w.r.IntN(3) == 0 {
		index.UnencodedByteArrayDataBytes = nil
	}
	if w.index != nil {
		w.index(i, index)
	}
	b := w.marshal(index)
	to.OffsetIndexOffset, to.OffsetIndexLength = int64(len(w.out)), int32(len(b))
	w.out = append(w.out, b...)
	if c.filter.size > 0 {
		filter := make([]byte, c.filter.size)
		_, err := w.p.file.ReadAt(filter, c.filter.offset)
		testenv.Must(w.t, err)
		m.BloomFilterOffset = int64(len(w.out))
		w.out = append(w.out, filter...)
	}
}

// page writes a page with n values.
func (w *rewriter) page(chunk, number int, page *loadedPage, v *column.Vector, n int, codec pq.CompressionCodec) {
	l := w.p.chunks[chunk].leaf
	e, values := w.encode(l, v, n)
	compressed := func(b []byte) []byte {
		stored, err := compress(nil, codec, b)
		testenv.Must(w.t, err)
		return stored
	}
	h := &pq.PageHeader{Type: pq.DataPage}
	var body []byte
	if w.r.IntN(2) == 0 {
		for i, most := range []int{l.rep, l.def} {
			if levels := [][]byte{page.reps, page.defs}[i]; most > 0 {
				body = append(binary.LittleEndian.AppendUint32(body, uint32(len(levels))), levels...)
			}
		}
		body = append(body, values...)
		h.UncompressedPageSize, body = int32(len(body)), compressed(body)
		h.DataPageHeader.Set(pq.DataPageHeader{NumValues: int32(page.entries), Encoding: e, DefinitionLevelEncoding: pq.RLE, RepetitionLevelEncoding: pq.RLE})
	} else {
		h.Type = pq.DataPageV2
		v2 := pq.DataPageHeaderV2{
			NumValues: int32(page.entries), NumNulls: int32(page.entries - n), NumRows: int32(w.p.chunks[chunk].pages[number].rows), Encoding: e,
			RepetitionLevelsByteLength: int32(len(page.reps)), DefinitionLevelsByteLength: int32(len(page.defs)),
		}
		body = append(append(body, page.reps...), page.defs...)
		h.UncompressedPageSize = int32(len(body) + len(values))
		switch w.r.IntN(3) {
		case 0:
			v2.IsCompressed = thrift.New(false)
			body = append(body, values...)
		case 1:
			v2.IsCompressed = thrift.New(true)
			body = append(body, compressed(values)...)
		default:
			body = append(body, compressed(values)...)
		}
		h.DataPageHeaderV2.Set(v2)
	}
	h.CompressedPageSize, h.CRC = int32(len(body)), int32(crc32.ChecksumIEEE(body))
	if w.header != nil {
		body = w.header(chunk, number, h, body)
	}
	w.out = append(append(w.out, w.marshal(h)...), body...)
}

// encode encodes n values with any encoding that the type can have.
func (w *rewriter) encode(l *leaf, v *column.Vector, n int) (pq.Encoding, []byte) {
	if l.Type == column.Null && !l.presence {
		return pq.Plain, nil
	}
	text := *v
	if l.Symbols != nil {
		text = column.Vector{Offsets: []int32{0}}
		for _, i := range v.Ints {
			text.Data = append(text.Data, l.Symbols[i]...)
			text.Offsets = append(text.Offsets, int32(len(text.Data)))
		}
	}
	plain := plainOf(l, v, &text)
	choice := w.r.IntN(3)
	switch l.physical {
	case pq.Boolean:
		if choice > 0 {
			break
		}
		b := encoding.AppendHybridBools([]byte{0, 0, 0, 0}, plain, n)
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
		return pq.RLE, b
	case pq.ByteArray:
		switch choice {
		case 0:
			return pq.DeltaLengthByteArray, encoding.AppendDeltaLength(nil, plain, n)
		case 1:
			b, _ := encoding.AppendDeltaBytes(nil, plain, n, l.size, nil)
			return pq.DeltaByteArray, b
		}
	case pq.FixedLenByteArray:
		switch choice {
		case 0:
			return pq.ByteStreamSplit, encoding.AppendSplit(nil, plain, l.size)
		case 1:
			b, _ := encoding.AppendDeltaBytes(nil, plain, n, l.size, nil)
			return pq.DeltaByteArray, b
		}
	default:
		switch {
		case choice == 0:
			return pq.ByteStreamSplit, encoding.AppendSplit(nil, plain, l.width())
		case choice == 1 && l.physical == pq.Int32:
			return pq.DeltaBinaryPacked, encoding.AppendDeltaInt32(nil, plain)
		case choice == 1 && l.physical == pq.Int64:
			return pq.DeltaBinaryPacked, encoding.AppendDeltaInt64(nil, plain)
		}
	}
	return pq.Plain, plain
}

// plainOf returns PLAIN values.
func plainOf(l *leaf, v, text *column.Vector) (b []byte) {
	switch l.physical {
	case pq.Boolean:
		bytes := make([]byte, len(v.Bools))
		for i, x := range v.Bools {
			if x {
				bytes[i] = 1
			}
		}
		return encoding.AppendPlainBools(nil, bytes, len(bytes))
	case pq.Int32:
		for _, x := range v.Ints {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		}
	case pq.Int64:
		for _, x := range v.Longs {
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
	case pq.Float:
		for _, x := range v.Floats {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	case pq.Double:
		for _, x := range v.Doubles {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	case pq.FixedLenByteArray:
		return text.Data
	case pq.ByteArray:
		for i := 1; i < len(text.Offsets); i++ {
			value := text.Data[text.Offsets[i-1]:text.Offsets[i]]
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(value))), value...)
		}
	}
	return b
}

// levelPage replaces a page by one of version 1, which is not compressed, with other levels of up
// to 1 and 2, and n values of INT32.
func (w *rewriter) levelPage(h *pq.PageHeader, reps, defs []uint32, n int) (body []byte) {
	add := func(levels []uint32, width int) {
		b := encoding.AppendHybrid(nil, levels, width)
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(b))), b...)
	}
	add(reps, 1)
	add(defs, 2)
	body = append(body, make([]byte, 4*n)...)
	*h = pq.PageHeader{Type: pq.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
	h.DataPageHeader.Set(pq.DataPageHeader{NumValues: int32(len(defs)), DefinitionLevelEncoding: pq.RLE, RepetitionLevelEncoding: pq.RLE})
	return body
}
