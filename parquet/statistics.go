package parquet

import (
	"slices"

	pq "github.com/parquet-go/parquet-go/format"
)

// metadata returns the metadata of a column chunk, without the places of its pages.
func (c *groupColumn) metadata() pq.ColumnMetaData {
	m := pq.ColumnMetaData{
		Type: c.physical, PathInSchema: c.path, Codec: c.codec,
		Encoding: []pq.Encoding{pq.RLE},
	}
	coded, others, text := int32(0), int32(0), int64(0)
	for i := range c.pages {
		p := &c.pages[i]
		if p.coded {
			coded++
		} else {
			others++
		}
		m.NumValues += int64(p.entries)
		m.TotalUncompressedSize += int64(p.raw)
		m.Statistics.NullCount += int64(p.nulls)
		text += p.text
	}
	stat := func(t pq.PageType, e pq.Encoding, n int32) {
		if n > 0 {
			m.EncodingStats = append(m.EncodingStats, pq.PageEncodingStats{PageType: t, Encoding: e, Count: n})
		}
	}
	values, data := c.valuesEncoding(), c.pageType()
	if c.coded > 0 {
		m.Encoding = append(m.Encoding, pq.Plain, pq.RLEDictionary)
		stat(pq.DictionaryPage, pq.Plain, 1)
	}
	if others > 0 && !slices.Contains(m.Encoding, values) {
		m.Encoding = append(m.Encoding, values)
	}
	stat(data, pq.RLEDictionary, coded)
	stat(data, values, others)
	m.Statistics.MinValue, m.Statistics.MaxValue = c.chunkBounds()
	if c.physical == pq.ByteArray {
		m.SizeStatistics.UnencodedByteArrayDataBytes = text
	}
	if len(c.histogram) > 0 {
		m.SizeStatistics.DefinitionLevelHistogram = c.histogram[:c.def+1]
		if c.rep > 0 {
			m.SizeStatistics.RepetitionLevelHistogram = c.histogram[c.def+1:]
		}
	}
	return m
}

// chunkBounds returns the bounds of all values, or nil for those that are not known.
func (c *groupColumn) chunkBounds() (least, most []byte) {
	noLeast, noMost := false, false
	for i, r := 0, c.boundReader(); i < len(c.pages); i++ {
		p := &c.pages[i]
		low, high := r.next(p)
		if p.nulls == p.entries {
			continue
		}
		noLeast, noMost = noLeast || low == nil, noMost || high == nil
		if low != nil && (least == nil || c.order.compare(low, least) < 0) {
			least = low
		}
		if high != nil && (most == nil || c.order.compare(high, most) > 0) {
			most = high
		}
	}
	if noLeast {
		least = nil
	}
	if noMost {
		most = nil
	}
	return least, most
}

// boundReader returns the bounds of one page after another.
type boundReader struct{ bounds []byte }

func (c *groupColumn) boundReader() *boundReader {
	if c.bounds == nil { // all bounds that are known are empty, not nil
		return &boundReader{[]byte{}}
	}
	return &boundReader{c.bounds}
}

// next returns the bounds of the next page. A bound that is not known is nil.
func (r *boundReader) next(p *pageEntry) (least, most []byte) {
	return r.bound(p.min), r.bound(p.max)
}

func (r *boundReader) bound(size int8) []byte {
	if size < 0 {
		return nil
	}
	b := r.bounds[:size:size]
	r.bounds = r.bounds[size:]
	return b
}

// columnIndex returns the column index, or nil if a page with values has no bounds.
func (c *groupColumn) columnIndex() *pq.ColumnIndex {
	n := len(c.pages)
	x := &pq.ColumnIndex{
		NullPages: make([]bool, n), MinValues: make([][]byte, n), MaxValues: make([][]byte, n), NullCounts: make([]int64, n),
	}
	for i, r := 0, c.boundReader(); i < n; i++ {
		p := &c.pages[i]
		x.MinValues[i], x.MaxValues[i] = r.next(p)
		x.NullCounts[i] = int64(p.nulls)
		if x.NullPages[i] = p.nulls == p.entries; x.NullPages[i] {
			x.MinValues[i], x.MaxValues[i] = []byte{}, []byte{}
		}
		if x.MinValues[i] == nil || x.MaxValues[i] == nil {
			return nil
		}
	}
	x.BoundaryOrder = c.boundaryOrder(x)
	return x
}

// boundaryOrder returns how the bounds of pages that have values follow each other.
func (c *groupColumn) boundaryOrder(x *pq.ColumnIndex) pq.BoundaryOrder {
	switch ascend, descend := c.order.directions(x); {
	case ascend:
		return pq.Ascending
	case descend:
		return pq.Descending
	}
	return pq.Unordered
}

// directions reports whether the bounds of pages that have values ascend, and whether they
// descend.
func (o order) directions(x *pq.ColumnIndex) (ascend, descend bool) {
	ascend, descend = true, true
	last := -1
	for i, null := range x.NullPages {
		if null {
			continue
		}
		if last >= 0 {
			low := o.compare(x.MinValues[last], x.MinValues[i])
			high := o.compare(x.MaxValues[last], x.MaxValues[i])
			ascend = ascend && low <= 0 && high <= 0
			descend = descend && low >= 0 && high >= 0
		}
		last = i
	}
	return ascend, descend
}

// offsetIndex returns the offset index. The data pages begin at an offset of the file.
func (c *groupColumn) offsetIndex(start int64) *pq.OffsetIndex {
	x := &pq.OffsetIndex{PageLocations: make([]pq.PageLocation, len(c.pages))}
	row := int64(0)
	for i := range c.pages {
		p := &c.pages[i]
		x.PageLocations[i] = pq.PageLocation{Offset: start, CompressedPageSize: p.stored, FirstRowIndex: row}
		start, row = start+int64(p.stored), row+int64(p.rows)
		if c.physical == pq.ByteArray {
			x.UnencodedByteArrayDataBytes = append(x.UnencodedByteArrayDataBytes, p.text)
		}
	}
	return x
}
