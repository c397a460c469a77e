package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// indexes are the documents of a file with valid checksums.
type indexes struct {
	*pq.FileMetaData
	columns []*pq.ColumnIndex // by column chunk; nil without one
	offsets []*pq.OffsetIndex
	filters [][]byte // nil without one
	pages   []byte   // the file up to the end of its pages
	last    func()   // changes the footer after the places are known
}

func (x *indexes) chunk(i int) *pq.ColumnMetaData { return &x.RowGroups[0].Columns[i].MetaData }

// reindexed returns a file with other indexes and another footer. All checksums are valid.
func reindexed(t testing.TB, file []byte, change func(x *indexes)) []byte {
	t.Helper()
	p, memory, err := mustOpen(t, file).reopen()
	testenv.Must(t, err)
	x := &indexes{FileMetaData: p.footer}
	for i := range p.chunks {
		c := &p.chunks[i]
		x.columns, x.offsets = append(x.columns, nil), append(x.offsets, new(pq.OffsetIndex))
		if c.columnIndex.size > 0 {
			x.columns[i] = new(pq.ColumnIndex)
			testenv.Must(t, p.readIndex(c, columnIndexes, c.pageCount, x.columns[i], memory))
		}
		_, err := unmarshal("", 0, file[c.offsetIndex.offset:], x.offsets[i])
		testenv.Must(t, err)
		x.filters = append(x.filters, nil)
		if f := c.filter; f.size > 0 {
			x.filters[i] = bytes.Clone(file[f.offset:f.end()])
		}
		x.pages = file[:c.end:c.end]
	}
	x.KeyValueMetadata = slices.DeleteFunc(x.KeyValueMetadata, func(kv pq.KeyValue) bool { return kv.Key == checksumsKey })
	change(x)
	out, s := x.pages, checksums{}
	for i := range p.chunks[:min(len(x.RowGroups)*len(p.columns), len(p.chunks))] {
		c, to := &p.chunks[i], &x.RowGroups[i/len(p.columns)].Columns[i%len(p.columns)]
		for k := range c.pageCount {
			sum, err := p.checksum(c.firstEntry + k)
			testenv.Must(t, err)
			s.table = binary.LittleEndian.AppendUint32(s.table, sum)
		}
		to.ColumnIndexOffset, to.ColumnIndexLength, to.OffsetIndexOffset, to.OffsetIndexLength = 0, 0, 0, 0
		if x.columns[i] != nil {
			b, err := marshal(x.columns[i])
			testenv.Must(t, err)
			to.ColumnIndexOffset, to.ColumnIndexLength = int64(len(out)), int32(len(b))
			s.add(b)
			out = append(out, b...)
		}
		if x.offsets[i] != nil {
			b, err := marshal(x.offsets[i])
			testenv.Must(t, err)
			to.OffsetIndexOffset, to.OffsetIndexLength = int64(len(out)), int32(len(b))
			s.add(b)
			out = append(out, b...)
		}
		if b := x.filters[i]; b != nil {
			to.MetaData.BloomFilterOffset, to.MetaData.BloomFilterLength = int64(len(out)), int32(len(b))
			s.add(b)
			out = append(out, b...)
		}
	}
	if x.last != nil {
		x.last()
	}
	out = append(out, s.table...)
	footer, err := s.footer(x.FileMetaData)
	testenv.Must(t, err)
	out = binary.LittleEndian.AppendUint32(append(out, footer...), uint32(len(footer)))
	return append(out, magic...)
}

// The leaves of formattest.SmallSchema.
const (
	idLeaf, okLeaf, scoreLeaf, nameLeaf, suitLeaf, priceLeaf = 0, 1, 2, 3, 4, 5
	portLeaf, noneLeaf, tagsLeaf, hostLeaf                   = 6, 7, 8, 9
)

// wantDamage compares an error with the kind and a part of the reason. Without a kind there must
// be no error.
func wantDamage(t *testing.T, name string, err error, kind damage.Kind, reason string) {
	t.Helper()
	var d *damage.Error
	if errors.As(err, &d) != (kind != "") || d != nil && (d.Kind != kind || !strings.Contains(d.Reason, reason) || !isDamage(err)) {
		t.Errorf("%s: %v, want %s: %s", name, err, kind, reason)
	}
}

// Valid checksums do not make a footer valid.
func TestOpenRefuses(t *testing.T) {
	file := smallFile(t, "snappy")
	long := bytes.Clone(file)
	binary.LittleEndian.PutUint32(long[len(long)-trailer:], math.MaxUint32)
	for _, c := range []struct {
		name   string
		b      []byte
		kind   damage.Kind
		reason string
	}{
		{"nothing", nil, damage.Truncated, "0 bytes"},
		{"a magic alone", []byte("PAR1PAR1"), damage.Truncated, "8 bytes"},
		{"another file", make([]byte, 100), damage.Magic, "expected"},
		{"another beginning", append([]byte("PAR2"), file[4:]...), damage.Magic, "expected"},
		{"an encrypted footer", append(bytes.Clone(file[:len(file)-4]), "PARE"...), damage.Unsupported, "encrypted"},
		{"a footer before the file", long, damage.Truncated, "footer"},
		{"no footer", []byte("PAR1\x00\x00\x00\x00PAR1"), damage.Header, "Thrift"},
	} {
		_, err := openFile(c.b, smallPages)
		wantDamage(t, c.name, err, c.kind, c.reason)
	}
	for _, c := range []struct {
		name   string
		kind   damage.Kind
		reason string
		change func(x *indexes)
	}{
		{"nothing", "", "", func(*indexes) {}},
		{"no schema", damage.Unsupported, "no Avro schema", func(x *indexes) { x.KeyValueMetadata = nil }},
		{"no Avro schema", damage.Schema, "", func(x *indexes) { x.KeyValueMetadata[0].Value = "{" }},
		{"another Avro schema", damage.Schema, "elements", func(x *indexes) {
			x.KeyValueMetadata[0].Value = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`
		}},
		{"an optional element", damage.Schema, "element 1", func(x *indexes) { x.Schema[1].RepetitionType = thrift.New(pq.Optional) }},
		{"another type", damage.Schema, "element 1", func(x *indexes) { x.Schema[1].Type = thrift.New(pq.Int32) }},
		{"another name", damage.Schema, "element 1", func(x *indexes) { x.Schema[1].Name = "ID" }},
		{"another size", damage.Schema, "element 6", func(x *indexes) { x.Schema[6].TypeLength = thrift.New(int32(4)) }},
		{"another root", "", "", func(x *indexes) { x.Schema[0].Name = "spark_schema" }},
		{"negative rows", damage.Count, "-1 rows", func(x *indexes) { x.NumRows = -1 }},
		{"more rows", damage.Count, "its row groups 40", func(x *indexes) { x.NumRows++ }},
		{"two row groups", damage.Count, "row group 1 has 40 rows", func(x *indexes) { x.RowGroups = append(x.RowGroups, x.RowGroups[0]) }},
		{"a chunk more", damage.Count, "leaves", func(x *indexes) { x.RowGroups[0].Columns = append(x.RowGroups[0].Columns, x.RowGroups[0].Columns[0]) }},
		{"another file", damage.Unsupported, "in the file", func(x *indexes) { x.RowGroups[0].Columns[0].FilePath = "other" }},
		{"an encrypted column", damage.Unsupported, "encrypted", func(x *indexes) { x.RowGroups[0].Columns[0].EncryptedColumnMetadata = []byte{1} }},
		{"an encrypted file", damage.Unsupported, "encrypted", func(x *indexes) { x.EncryptionAlgorithm.Value = &pq.AesGcmV1{} }},
		{"an unknown codec", damage.Unsupported, "BROTLI", func(x *indexes) { x.chunk(0).Codec = pq.Brotli }},
		{"a chunk of another type", damage.Schema, "type", func(x *indexes) { x.chunk(0).Type = pq.Int32 }},
		{"a chunk of another column", damage.Schema, "path", func(x *indexes) { x.chunk(0).PathInSchema = []string{"other"} }},
		{"a chunk of a deeper column", damage.Schema, "path", func(x *indexes) { x.chunk(0).PathInSchema = []string{"id", "x"} }},
		{"a chunk of more values", damage.Count, "values", func(x *indexes) { x.chunk(0).NumValues++ }},
		{"a chunk of fewer entries than rows", damage.Count, "values", func(x *indexes) { x.chunk(portLeaf).NumValues = 39 }},
		{"a negative size", damage.Size, "bytes at", func(x *indexes) { x.chunk(0).TotalCompressedSize = -1 }},
		{"a chunk in the footer", damage.Size, "bytes at", func(x *indexes) { x.chunk(0).TotalCompressedSize = 1 << 40 }},
		{"a chunk before the file", damage.Size, "bytes at", func(x *indexes) { x.chunk(0).DataPageOffset, x.chunk(0).DictionaryPageOffset = 2, 0 }},
		{"negative uncompressed bytes", damage.Size, "uncompressed", func(x *indexes) { x.chunk(0).TotalUncompressedSize = -1 }},
		{"a negative number of pages", damage.Count, "pages", func(x *indexes) { x.chunk(0).EncodingStats[0].Count = -1 }},
		{"a filter in the footer", damage.Size, "bytes at", func(x *indexes) { x.last = func() { x.chunk(idLeaf).BloomFilterOffset += 1 << 20 } }},
		{"a filter of negative size", damage.Size, "bytes at", func(x *indexes) { x.last = func() { x.chunk(idLeaf).BloomFilterLength = -1 } }},
		{"a filter without a checksum", damage.Header, "checksums", func(x *indexes) { x.last = func() { x.chunk(idLeaf).BloomFilterLength = 0 } }},
		{"another number of pages", damage.Header, "checksums", func(x *indexes) { x.chunk(0).EncodingStats[0].Count++ }},
	} {
		b := reindexed(t, file, c.change)
		_, err := openFile(b, smallPages)
		wantDamage(t, c.name, err, c.kind, c.reason)
		if err == nil {
			testenv.Must(t, verifyFile(t, b))
		}
	}
	files := []format.File{formattest.NewFile("p.parquet", file), formattest.NewFile("q.parquet", file)}
	_, err := Format.Open(files, smallPages)
	wantDamage(t, "two files", err, damage.Unsupported, "2 files")
}

// filterHead is the size of the header of a small filter.
const filterHead = 15

// filterHeader returns the header of a filter of size bytes. change may be nil.
func filterHeader(t *testing.T, size int32, change func(h *pq.BloomFilterHeader)) []byte {
	t.Helper()
	h := pq.BloomFilterHeader{NumBytes: size}
	h.Algorithm.Value, h.Hash.Value, h.Compression.Value = &pq.SplitBlockAlgorithm{}, &pq.XxHash{}, &pq.BloomFilterUncompressed{}
	if change != nil {
		change(&h)
	}
	b, err := marshal(&h)
	testenv.Must(t, err)
	return b
}

// otherFilter returns a change of a file: a filter of one block with another header.
func otherFilter(t *testing.T, change func(h *pq.BloomFilterHeader)) func(x *indexes) {
	return func(x *indexes) {
		x.filters[idLeaf] = append(filterHeader(t, bloom.BlockSize, change), make([]byte, bloom.BlockSize)...)
	}
}

// Indexes and a footer that contradict the pages are damage, although all checksums are valid.
func TestVerifyFindsContradictions(t *testing.T) {
	file := smallFile(t, "snappy")
	le := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	for _, c := range []struct {
		name   string
		kind   damage.Kind
		reason string
		change func(x *indexes)
	}{
		{"nothing", "", "", func(*indexes) {}},
		{"no column index", damage.Header, "checksums", func(x *indexes) { x.RowGroups[0].Columns[0].MetaData.EncodingStats = nil }},
		{"no offset index", damage.Unsupported, "no offset index", func(x *indexes) { x.offsets[0] = nil }},
		{"fewer pages", damage.Count, "the offset index has", func(x *indexes) { x.offsets[0].PageLocations = x.offsets[0].PageLocations[:1] }},
		{"sizes of other pages", damage.Count, "sizes of", func(x *indexes) { x.offsets[nameLeaf].UnencodedByteArrayDataBytes = []int64{1} }},
		{"a negative size of strings", damage.Size, "bytes of values", func(x *indexes) { x.offsets[nameLeaf].UnencodedByteArrayDataBytes[0] = -2 }},
		{"a page outside the chunk", damage.Size, "expected it between", func(x *indexes) { x.offsets[nameLeaf].PageLocations[0].Offset = 4 }},
		{"a page of no bytes", damage.Size, "a page of 0 bytes", func(x *indexes) { x.offsets[0].PageLocations[0].CompressedPageSize = 0 }},
		{"rows that descend", damage.Count, "expected it to begin", func(x *indexes) { x.offsets[0].PageLocations[1].FirstRowIndex = 0 }},
		{"a first row", damage.Count, "expected it to begin", func(x *indexes) { x.offsets[0].PageLocations[0].FirstRowIndex = 1 }},
		{"rows of another page", damage.Count, "its index", func(x *indexes) { x.offsets[0].PageLocations[1].FirstRowIndex-- }},
		{"rows of another page in a list", damage.Count, "its index says", func(x *indexes) { x.offsets[portLeaf].PageLocations[1].FirstRowIndex-- }},
		{"more text", damage.Size, "the offset index says", func(x *indexes) { x.offsets[nameLeaf].UnencodedByteArrayDataBytes[0]++ }},
		{"a wrong minimum", damage.Value, "outside its bounds", func(x *indexes) { x.columns[idLeaf].MinValues[1] = le(30) }},
		{"a wrong maximum", damage.Value, "outside its bounds", func(x *indexes) { x.columns[idLeaf].MaxValues[0] = le(0) }},
		{"wide bounds", "", "", func(x *indexes) {
			x.columns[idLeaf].MinValues[0], x.chunk(idLeaf).Statistics.MinValue = le(-9), le(-10)
		}},
		{"a wrong minimum of the chunk", damage.Value, "outside its bounds", func(x *indexes) { x.chunk(idLeaf).Statistics.MinValue = le(1) }},
		{"a wrong maximum of text", damage.Value, "outside its bounds", func(x *indexes) { x.chunk(nameLeaf).Statistics.MaxValue = []byte("abc") }},
		{"a wrong maximum of symbols", damage.Value, "outside its bounds", func(x *indexes) { x.chunk(suitLeaf).Statistics.MaxValue = []byte("h") }},
		{"a wrong maximum of decimals", damage.Value, "outside its bounds", func(x *indexes) { x.chunk(priceLeaf).Statistics.MaxValue = []byte{0xff, 0, 0} }},
		{"a wrong maximum of booleans", damage.Value, "outside its bounds", func(x *indexes) { x.chunk(okLeaf).Statistics.MaxValue = []byte{0} }},
		{"a bound of another type", damage.Value, "a bound of 3 bytes", func(x *indexes) { x.columns[idLeaf].MinValues[0] = le(0)[:3] }},
		{"a bound of no number", "", "", func(x *indexes) { x.chunk(scoreLeaf).Statistics.MaxValue = le(int64(math.Float64bits(math.NaN()))) }},
		{"bounds in no order", damage.Value, "are not DESCENDING", func(x *indexes) { x.columns[idLeaf].BoundaryOrder = pq.Descending }},
		{"bounds without an order", "", "", func(x *indexes) {
			x.ColumnOrders = nil
			x.chunk(idLeaf).Statistics.MinValue = le(1)
			x.columns[idLeaf].MinValues[0] = nil
		}},
		{"a page of nulls", damage.Count, "only nulls", func(x *indexes) { x.columns[idLeaf].NullPages[0] = true }},
		{"other nulls in a page", damage.Count, "its column index says", func(x *indexes) { x.columns[scoreLeaf].NullCounts[0]++ }},
		{"other nulls", damage.Count, "nulls, the footer", func(x *indexes) { x.chunk(scoreLeaf).Statistics.NullCount++ }},
		{"bounds of fewer pages", damage.Count, "the column index has", func(x *indexes) { x.columns[idLeaf].MinValues = x.columns[idLeaf].MinValues[1:] }},
		{"other levels in a page", damage.Count, "other numbers of levels", func(x *indexes) { x.columns[portLeaf].DefinitionLevelHistogram = []int64{1, 2} }},
		{"other levels", damage.Count, "other numbers of levels", func(x *indexes) { x.chunk(hostLeaf).SizeStatistics.DefinitionLevelHistogram[0]++ }},
		{"other entries", damage.Count, "the footer says", func(x *indexes) { x.chunk(portLeaf).NumValues++ }},
		{"other bytes", damage.Size, "before compression", func(x *indexes) { x.chunk(portLeaf).TotalUncompressedSize++ }},
		{"other text", damage.Size, "the footer says", func(x *indexes) { x.chunk(nameLeaf).SizeStatistics.UnencodedByteArrayDataBytes++ }},
		{"another encoding", damage.Count, "pages of the type", func(x *indexes) {
			s := x.chunk(okLeaf).EncodingStats
			s[len(s)-1].Encoding = pq.RLE
		}},
		{"a filter without values", damage.Value, "does not have", func(x *indexes) { clear(x.filters[idLeaf][filterHead:]) }},
		{"a filter without words", damage.Value, "does not have", func(x *indexes) { clear(x.filters[nameLeaf][filterHead:]) }},
		{"a filter of another size", damage.Size, "its header says", func(x *indexes) { x.filters[idLeaf] = append(x.filters[idLeaf], make([]byte, 32)...) }},
		{"a filter without blocks", damage.Size, "its header says", func(x *indexes) { x.filters[idLeaf] = filterHeader(t, 0, nil) }},
		{"a filter of half a block", damage.Size, "its header says", func(x *indexes) {
			x.filters[idLeaf] = append(filterHeader(t, 16, nil), make([]byte, 16)...)
		}},
		{"a filter of another algorithm", damage.Unsupported, "the algorithm <nil>", otherFilter(t, func(h *pq.BloomFilterHeader) { h.Algorithm.Value = nil })},
		{"a filter of another hash", damage.Unsupported, "the hash <nil>", otherFilter(t, func(h *pq.BloomFilterHeader) { h.Hash.Value = nil })},
		{"a filter that is compressed", damage.Unsupported, "BloomFilterGzip", otherFilter(t, func(h *pq.BloomFilterHeader) { h.Compression.Value = &pq.BloomFilterGzip{} })},
		{"no filter", damage.Header, "Thrift", func(x *indexes) { x.filters[idLeaf] = []byte{0xff} }},
		{"bytes between", damage.Trailing, "belong to nothing", func(x *indexes) { x.pages = append(x.pages, 0) }},
		{"two uses of bytes", damage.Size, "overlaps", func(x *indexes) { x.chunk(hostLeaf).DataPageOffset--; x.chunk(hostLeaf).TotalCompressedSize++ }},
	} {
		b := reindexed(t, file, c.change)
		err := verifyFile(t, b)
		wantDamage(t, c.name, err, c.kind, c.reason)
		if p, err := openFile(b, smallPages); err == nil {
			var out bytes.Buffer
			if err := p.Dump(&out); err != nil && !isDamage(err) || !bytes.Equal(formattest.Dumped(out.Bytes()), b) {
				t.Errorf("%s: the dump: %v", c.name, err)
			}
		}
		_ = checkPart(t, b)
	}
}

// Pages that contradict their headers or the index are damage for Verify and for cursors, also
// without checksums.
func TestCursorsFindContradictions(t *testing.T) {
	file := smallFile(t, "none")
	for _, c := range []struct {
		name   string
		leaf   int
		kind   damage.Kind
		reason string
		change func(h *pq.PageHeader, body []byte) []byte
	}{
		{"nothing", idLeaf, "", "", func(_ *pq.PageHeader, b []byte) []byte { return b }},
		{"no checksum", idLeaf, "", "", func(h *pq.PageHeader, b []byte) []byte { h.CRC = 0; return b }},
		{"a checksum", idLeaf, damage.Checksum, "CRC-32", func(h *pq.PageHeader, b []byte) []byte { h.CRC++; return b }},
		{"another size", idLeaf, damage.Size, "its header says", func(h *pq.PageHeader, b []byte) []byte { h.CompressedPageSize++; return b }},
		{"a negative size", idLeaf, damage.Size, "before compression", func(h *pq.PageHeader, b []byte) []byte { h.UncompressedPageSize = -1; return b }},
		{"a huge size", idLeaf, damage.Unsupported, "exceeds", func(h *pq.PageHeader, b []byte) []byte { h.UncompressedPageSize = 5 << 20; return b }},
		{"another page", idLeaf, damage.Header, "expected a data page", func(h *pq.PageHeader, b []byte) []byte { h.Type = pq.IndexPage; return b }},
		{"a dictionary", idLeaf, damage.Header, "expected a data page", func(h *pq.PageHeader, b []byte) []byte { h.Type = pq.DictionaryPage; return b }},
		{"more rows", idLeaf, damage.Count, "rows", func(h *pq.PageHeader, b []byte) []byte { addValues(h, 1); return b }},
		{"negative values", idLeaf, damage.Count, "values", func(h *pq.PageHeader, b []byte) []byte { addValues(h, math.MinInt32); return b }},
		{"fewer entries than rows", portLeaf, damage.Count, "rows", func(h *pq.PageHeader, b []byte) []byte {
			addValues(h, 1-h.DataPageHeader.V.NumValues-h.DataPageHeaderV2.V.NumValues)
			return b
		}},
		{"an unknown encoding", idLeaf, damage.Unsupported, "encoding", func(h *pq.PageHeader, b []byte) []byte { setEncoding(h, 77); return b }},
		{"an encoding of other types", idLeaf, damage.Unsupported, "encoding", func(h *pq.PageHeader, b []byte) []byte { setEncoding(h, pq.DeltaByteArray); return b }},
		{"a missing dictionary", idLeaf, damage.Value, "", func(h *pq.PageHeader, b []byte) []byte { setEncoding(h, pq.RLEDictionary); return b }},
	} {
		for seed := range uint64(6) {
			w := newRewriter(t, file, rand.New(rand.NewPCG(seed, 8)))
			w.header = func(chunk, _ int, h *pq.PageHeader, body []byte) []byte {
				if chunk == c.leaf {
					return c.change(h, body)
				}
				return body
			}
			b := w.file()
			p := mustOpen(t, b)
			col := p.chunks[c.leaf].leaf.number
			wantDamage(t, c.name, readColumn(p, col, 0), c.kind, c.reason)
			wantDamage(t, c.name, p.Verify(t.Context(), nil), c.kind, c.reason)
			if p.Unverified() != (c.name == "no checksum") {
				t.Errorf("%s: unverified: %v", c.name, p.Unverified())
			}
		}
	}
}

func addValues(h *pq.PageHeader, n int32) {
	h.DataPageHeader.V.NumValues += n
	h.DataPageHeaderV2.V.NumValues += n
}

func setEncoding(h *pq.PageHeader, e pq.Encoding) {
	h.DataPageHeader.V.Encoding, h.DataPageHeaderV2.V.Encoding = e, e
}

// Bounds are not used if the annotation of the file gives them another order than the Avro type.
func TestBoundsInAnotherOrder(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"long"},{"name":"b","type":"bytes"},` +
		`{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":0}}]}`
	file := formattest.Rows(t, Format, nil, schema, [][]byte{{2, 2, 1, 2, 1}, {1, 2, 0xff, 2, 0xff}}, 1000).Files(t)[""]
	const nLeaf, bLeaf, dLeaf = 0, 1, 2
	for _, c := range []struct {
		name   string
		leaf   int
		change func(e *pq.SchemaElement)
	}{
		{"a converted decimal", bLeaf, func(e *pq.SchemaElement) { e.ConvertedType.Set(deprecated.Decimal) }},
		{"a decimal", bLeaf, func(e *pq.SchemaElement) { e.LogicalType.Value = &pq.DecimalType{Precision: 50} }},
		{"an interval", bLeaf, func(e *pq.SchemaElement) { e.ConvertedType.Set(deprecated.Interval) }},
		{"a short float", bLeaf, func(e *pq.SchemaElement) { e.LogicalType.Value = &pq.Float16Type{} }},
		{"bytes", dLeaf, func(e *pq.SchemaElement) {
			*e = pq.SchemaElement{Name: e.Name, Type: e.Type, RepetitionType: e.RepetitionType}
		}},
		{"a converted unsigned number", nLeaf, func(e *pq.SchemaElement) { e.ConvertedType.Set(deprecated.Uint64) }},
		{"an unsigned number", nLeaf, func(e *pq.SchemaElement) { e.LogicalType.Value = &pq.IntType{BitWidth: 64} }},
	} {
		p := mustOpen(t, reindexed(t, file, func(x *indexes) {
			c.change(&x.Schema[1+c.leaf])
			s := &x.chunk(c.leaf).Statistics
			s.MinValue, s.MaxValue = s.MaxValue, s.MinValue
			k := x.columns[c.leaf]
			k.MinValues, k.MaxValues = k.MaxValues, k.MinValues
		}))
		testenv.Must(t, p.Verify(t.Context(), nil))
		blocks, err := boundedBlocks(p, c.leaf)
		testenv.Must(t, err)
		if blocks[0].Min != nil || blocks[0].Max != nil {
			t.Errorf("%s: %+v", c.name, blocks[0])
		}
	}
	p := mustOpen(t, reindexed(t, file, func(x *indexes) { x.Schema[1].LogicalType.Value = &pq.IntType{BitWidth: 64, IsSigned: true} }))
	if !p.chunks[nLeaf].ordered {
		t.Error("signed numbers have no order")
	}
}

// A cursor of values in a list notices that its page has other rows than the index says.
func TestRowsOfItems(t *testing.T) {
	for _, change := range []int64{-1, 1} {
		w := newRewriter(t, smallFile(t, "none"), rand.New(rand.NewPCG(0, 0)))
		w.index = func(chunk int, x *pq.OffsetIndex) {
			if chunk == portLeaf {
				x.PageLocations[1].FirstRowIndex += change
			}
		}
		p := mustOpen(t, w.file())
		wantDamage(t, "values in a list", readColumn(p, p.chunks[portLeaf].leaf.number, 0), damage.Count, "its index says")
	}
}

// Levels that do not describe lists are damage.
func TestLevelsThatContradict(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":["null","int"]}},{"name":"n","type":"null"}]}`
	rows := [][]byte{{4, 2, 2, 0, 0, 0}, {0}, {2, 2, 4, 0}}
	file := formattest.Rows(t, Format, map[string][]string{optionCompression: {"none"}}, schema, rows, 1000).Files(t)[""]
	// The levels of the file are, by entry: 0/2 1/1 0/0 0/2.
	for _, c := range []struct {
		name       string
		reps, defs []uint32
		values     int
		kind       damage.Kind
		reason     string
	}{
		{"valid", []uint32{0, 1, 0, 0}, []uint32{2, 1, 0, 2}, 2, "", ""},
		{"a row that continues", []uint32{1, 0, 0, 0}, []uint32{2, 1, 0, 2}, 2, damage.Unsupported, "inside a row"},
		{"an item of no list", []uint32{0, 0, 1, 0}, []uint32{2, 0, 1, 2}, 2, damage.Value, "without a list"},
		{"an item that is a list", []uint32{0, 1, 0, 0}, []uint32{2, 0, 0, 2}, 2, damage.Value, "the definition level 0"},
		{"a level too high", []uint32{0, 1, 0, 0}, []uint32{2, 3, 0, 2}, 2, damage.Value, "levels"},
		{"a first level too high", []uint32{0, 1, 0, 0}, []uint32{3, 3, 0, 2}, 2, damage.Value, "levels"},
		{"fewer values", []uint32{0, 1, 0, 0}, []uint32{2, 1, 0, 2}, 1, damage.Value, "decoded"},
		{"more values", []uint32{0, 1, 0, 0}, []uint32{2, 1, 0, 2}, 3, damage.Count, "after the values"},
		{"more rows", []uint32{0, 0, 0, 0}, []uint32{2, 1, 0, 2}, 2, damage.Count, "its index says"},
		{"fewer rows", []uint32{0, 1, 0, 1}, []uint32{2, 1, 2, 1}, 2, damage.Count, "its index says"},
	} {
		w := newRewriter(t, file, rand.New(rand.NewPCG(0, 0)))
		w.header = func(chunk, _ int, h *pq.PageHeader, body []byte) []byte {
			if chunk > 0 {
				return body
			}
			return w.levelPage(h, c.reps, c.defs, c.values)
		}
		w.footer = func(m *pq.FileMetaData) {
			to := &m.RowGroups[0].Columns[0].MetaData
			to.Codec, to.Statistics = pq.Uncompressed, pq.Statistics{}
		}
		p := mustOpen(t, w.file())
		wantDamage(t, c.name, p.Verify(t.Context(), nil), c.kind, c.reason)
		var errs []error
		for col := range 2 { // the lengths of lists, and the items
			errs = append(errs, readColumn(p, col, 0))
			if errs[col] == nil && c.kind == damage.Count && c.values == 2 {
				t.Errorf("%s: the cursor of %s finds nothing", c.name, p.tree.mapping.Columns[col].Name)
			}
		}
		err := errors.Join(append(errs, readColumn(p, 2, 0))...)
		if err == nil && c.kind != "" {
			t.Errorf("%s: the cursors find nothing", c.name)
		}
		if err != nil && !isDamage(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
