package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// judgedChunk is a column chunk of a file, as the file's own metadata describe it, and the
// entries that it must have. Its methods share no code with the writer.
type judgedChunk struct {
	testing.TB

	name          string
	physical      pq.Type
	decimal, text bool
	def, rep      int // the highest levels
	entries       []levelEntry
	rows          []int // where each row begins in entries, and where the last one ends
}

// checkChunks checks the statistics and the indexes of row group g of a file.
func checkChunks(t testing.TB, file []byte, meta *pq.FileMetaData, g int, ref *reference) {
	t.Helper()
	group := &meta.RowGroups[g]
	chunks := group.Columns
	leaves := slices.DeleteFunc(slices.Clone(meta.Schema), func(e pq.SchemaElement) bool { return !e.Type.Valid })
	total := int64(0)
	for i := range chunks {
		l, e := &ref.tree.leaves[i], &leaves[i]
		c := judgedChunk{TB: t, name: l.Name, physical: e.Type.V, def: l.def, rep: l.rep, entries: ref.entries[i]}
		_, c.decimal = e.LogicalType.Value.(*pq.DecimalType)
		_, c.text = e.LogicalType.Value.(*pq.StringType)
		for k := range c.entries {
			if c.entries[k].rep == 0 {
				c.rows = append(c.rows, k)
			}
		}
		c.rows = append(c.rows, len(c.entries))
		var index pq.ColumnIndex
		if n := int64(chunks[i].ColumnIndexLength); n > 0 {
			testenv.Must(t, thrift.Unmarshal(new(thrift.CompactProtocol), file[chunks[i].ColumnIndexOffset:][:n], &index))
		}
		var offsets pq.OffsetIndex
		testenv.Must(t, thrift.Unmarshal(new(thrift.CompactProtocol), file[chunks[i].OffsetIndexOffset:][:chunks[i].OffsetIndexLength], &offsets))
		c.check(&chunks[i].MetaData, &index, &offsets)
		total += chunks[i].MetaData.TotalCompressedSize
	}
	if group.TotalCompressedSize != total || int(group.Ordinal) != g {
		t.Errorf("row group %d of %d bytes, want row group %d of %d", group.Ordinal, group.TotalCompressedSize, g, total)
	}
}

// check checks what the footer and the indexes say about the chunk.
func (c *judgedChunk) check(m *pq.ColumnMetaData, index *pq.ColumnIndex, offsets *pq.OffsetIndex) {
	c.Helper()
	if m.NumValues != int64(len(c.entries)) {
		c.Errorf("column %s: %d entries, want %d", c.name, m.NumValues, len(c.entries))
	}
	c.checkSizes(&m.SizeStatistics)
	pages := c.pages(offsets)
	// Whether there must be an index, and bounds of the chunk if it has values.
	due, indexed := true, len(index.NullPages) > 0
	for k, page := range pages {
		values, nulls := present(page)
		bounded := c.bounded(values)
		due = due && (len(values) == 0 || bounded)
		if !indexed {
			continue
		}
		s := pq.Statistics{NullCount: index.NullCounts[k], MinValue: index.MinValues[k], MaxValue: index.MaxValues[k]}
		if index.NullPages[k] != (len(values) == 0) || s.NullCount != nulls {
			c.Errorf("column %s, page %d: %d nulls, a page of nulls: %v, want %d of %d", c.name, k, s.NullCount, index.NullPages[k], nulls, len(page))
		}
		c.checkBounds(fmt.Sprint("page ", k), values, &s, true)
	}
	if due && len(pages) > 0 && !indexed {
		c.Errorf("column %s: no column index", c.name)
	}
	if indexed {
		c.checkOrder(index)
	}
	values, nulls := present(c.entries)
	if m.Statistics.NullCount != nulls {
		c.Errorf("column %s: %d nulls, want %d", c.name, m.Statistics.NullCount, nulls)
	}
	if due && values != nil && (m.Statistics.MinValue == nil || m.Statistics.MaxValue == nil) {
		c.Errorf("column %s: no bounds of the chunk", c.name)
	}
	c.checkBounds("chunk", values, &m.Statistics, due && indexed)
}

// pages returns the entries of each page, and checks the offset index.
func (c *judgedChunk) pages(offsets *pq.OffsetIndex) (pages [][]levelEntry) {
	c.Helper()
	locations, rows := offsets.PageLocations, int64(len(c.rows)-1)
	sizes := offsets.UnencodedByteArrayDataBytes
	if (c.physical == pq.ByteArray) != (len(sizes) > 0) {
		c.Errorf("column %s: sizes of the values of %d pages", c.name, len(sizes))
	}
	for k := range locations {
		first, end := locations[k].FirstRowIndex, rows
		if k+1 < len(locations) {
			end = locations[k+1].FirstRowIndex
		}
		if k == 0 && first != 0 || first >= end || end > rows || end-first > 20_000 {
			c.Fatalf("column %s: page %d has the rows from %d to %d of %d", c.name, k, first, end, rows)
		}
		page := c.entries[c.rows[first]:c.rows[end]]
		pages = append(pages, page)
		if len(sizes) > 0 && sizes[k] != textSize(page) {
			c.Errorf("column %s, page %d: values of %d bytes, want %d", c.name, k, sizes[k], textSize(page))
		}
	}
	return pages
}

// checkSizes checks the size statistics. Histograms of levels may be missing if there are few
// or many levels.
func (c *judgedChunk) checkSizes(s *pq.SizeStatistics) {
	c.Helper()
	size := int64(0)
	if c.physical == pq.ByteArray {
		size = textSize(c.entries)
	}
	if s.UnencodedByteArrayDataBytes != size {
		c.Errorf("column %s: values of %d bytes, want %d", c.name, s.UnencodedByteArrayDataBytes, size)
	}
	defs, reps := make([]int64, c.def+1), make([]int64, c.rep+1)
	for _, e := range c.entries {
		defs[e.def]++
		reps[e.rep]++
	}
	if c.rep == 0 {
		reps = nil
	}
	if c.def < 2 && c.rep == 0 || max(c.def, c.rep) > 15 {
		defs, reps = nil, nil
	}
	if !slices.Equal(s.DefinitionLevelHistogram, defs) || !slices.Equal(s.RepetitionLevelHistogram, reps) {
		c.Errorf("column %s: histograms of levels %v and %v, want %v and %v", c.name, s.DefinitionLevelHistogram, s.RepetitionLevelHistogram, defs, reps)
	}
}

func textSize(entries []levelEntry) (n int64) {
	for i := range entries {
		n += int64(len(entries[i].value))
	}
	return n
}

// present returns the values of entries, and counts the entries without one.
func present(entries []levelEntry) (values [][]byte, nulls int64) {
	for i := range entries {
		if v := entries[i].value; v != nil {
			values = append(values, v)
		} else {
			nulls++
		}
	}
	return values, nulls
}

// isNaN reports whether a value is NaN, which has no place in the order of values.
func (c *judgedChunk) isNaN(v []byte) bool { return math.IsNaN(c.float(v)) }

// float returns the value of a FLOAT or a DOUBLE, and else 1.
func (c *judgedChunk) float(v []byte) float64 {
	switch c.physical {
	case pq.Float:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v)))
	case pq.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(v))
	}
	return 1
}

// compare compares values in the order that Parquet defines for their type.
func (c *judgedChunk) compare(a, b []byte) int {
	switch {
	case c.decimal:
		return twosComplement(a).Cmp(twosComplement(b))
	case c.physical == pq.Int32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case c.physical == pq.Int64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case c.physical == pq.Float || c.physical == pq.Double:
		return cmp.Compare(c.float(a), c.float(b)) // zeros are equal
	}
	return bytes.Compare(a, b)
}

// twosComplement returns a big-endian number.
func twosComplement(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] > 127 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// extremes returns the least and the greatest of values.
func (c *judgedChunk) extremes(values [][]byte) (least, most []byte) {
	return slices.MinFunc(values, c.compare), slices.MaxFunc(values, c.compare)
}

// bounded reports whether a page of values must have both bounds.
func (c *judgedChunk) bounded(values [][]byte) bool {
	if len(values) == 0 || slices.ContainsFunc(values, c.isNaN) {
		return false
	}
	least, most := c.extremes(values)
	if max(len(least), len(most)) <= 64 {
		return true
	}
	// Text of the last characters there are, or bytes of 0xff, have nothing above them.
	end := []byte{0xff}
	if c.text {
		end = []byte("\U0010ffff")
	}
	return !c.decimal && !bytes.HasPrefix(most, bytes.Repeat(end, 64/len(end)))
}

// checkBounds checks the bounds of values. If they are exact, a bound of at most 64 bytes is a
// value, and a longer one is cut.
func (c *judgedChunk) checkBounds(where string, values [][]byte, s *pq.Statistics, exact bool) {
	c.Helper()
	if len(values) == 0 || slices.ContainsFunc(values, c.isNaN) {
		if len(s.MinValue) > 0 || len(s.MaxValue) > 0 {
			c.Errorf("column %s, %s: bounds %x and %x of no values, or of NaN", c.name, where, s.MinValue, s.MaxValue)
		}
		return
	}
	least, most := c.extremes(values)
	if s.MinValue != nil && !c.isLeast(s.MinValue, least, exact) {
		c.Errorf("column %s, %s: the least value is %x, and its bound %x", c.name, where, least, s.MinValue)
	}
	if s.MaxValue != nil && !c.isMost(s.MaxValue, most, exact) {
		c.Errorf("column %s, %s: the greatest value is %x, and its bound %x", c.name, where, most, s.MaxValue)
	}
}

func (c *judgedChunk) isLeast(bound, v []byte, exact bool) bool {
	switch {
	case c.float(v) == 0:
		return c.float(bound) == 0 && math.Signbit(c.float(bound))
	case !exact:
		return len(bound) <= 64 && c.compare(bound, v) <= 0
	case len(v) <= 64:
		return c.compare(bound, v) == 0
	}
	return len(bound) > 60 && len(bound) <= 64 && bytes.HasPrefix(v, bound) && (!c.text || utf8.Valid(bound))
}

func (c *judgedChunk) isMost(bound, v []byte, exact bool) bool {
	switch {
	case c.float(v) == 0:
		return c.float(bound) == 0 && !math.Signbit(c.float(bound))
	case len(v) <= 64 && exact:
		return c.compare(bound, v) == 0
	case !exact || c.decimal:
		return len(bound) <= 64 && c.compare(bound, v) >= 0
	}
	last := 1
	if c.text {
		_, last = utf8.DecodeLastRune(bound)
	}
	return len(bound) <= 64 && c.compare(bound, v) > 0 && bytes.HasPrefix(v, bound[:len(bound)-last]) && (!c.text || utf8.Valid(bound))
}

// checkOrder checks what a column index says about the order of pages.
func (c *judgedChunk) checkOrder(index *pq.ColumnIndex) {
	c.Helper()
	var least, most [][]byte
	for k, null := range index.NullPages {
		if !null {
			least, most = append(least, index.MinValues[k]), append(most, index.MaxValues[k])
		}
	}
	want := pq.Unordered
	backwards := func(a, b []byte) int { return c.compare(b, a) }
	switch {
	case slices.IsSortedFunc(least, c.compare) && slices.IsSortedFunc(most, c.compare):
		want = pq.Ascending
	case slices.IsSortedFunc(least, backwards) && slices.IsSortedFunc(most, backwards):
		want = pq.Descending
	}
	if index.BoundaryOrder != want {
		c.Errorf("column %s: the order of pages is %v, want %v", c.name, index.BoundaryOrder, want)
	}
}
