package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/deprecated"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// partChunk is the column chunk of a leaf in a row group of an open part. The places of its pages
// are read when they are needed, once.
type partChunk struct {
	*partColumn
	group      *partGroup
	codec      pq.CompressionCodec
	entries    int64 // number of values and nulls
	raw        int64 // bytes of all pages before compression
	start, end int64 // offsets of the stored pages
	dataAt     int64 // offset of the first data page; start unless there is a dictionary

	columnIndex, offsetIndex section
	filter                   section // the Bloom filter
	coded                    bool    // by the footer, all data pages are coded by the dictionary
	firstEntry               int     // entry of the chunk's first page in the table of checksums
	pageCount                int     // number of pages by that table, the dictionary's included

	pages []partPage // guarded by the column's mutex
}

// section is a range of bytes in the file.
type section struct{ offset, size int64 }

func (s section) end() int64 { return s.offset + s.size }

// partPage is a data page of a chunk.
type partPage struct {
	offset      int64
	size        int64 // with the header
	first, rows int64 // the first row is counted from the start of the part
	text        int64 // bytes of BYTE_ARRAY values without lengths; -1 if unknown
}

// addChunk checks the column chunk of a leaf and adds it.
func (p *part) addChunk(c *partChunk, from *pq.ColumnChunk) error {
	m := &from.MetaData
	fail := func(kind damage.Kind, reason string, args ...any) error {
		return p.damaged(c, -1, kind, p.footerAt, reason, args...)
	}
	switch {
	//guard: refuses columns in other files
	case from.FilePath != "":
		return fail(damage.Unsupported, "the column is in the file %q", from.FilePath)
	//guard: refuses encrypted columns
	case from.CryptoMetadata.Value != nil || from.EncryptedColumnMetadata != nil:
		return fail(damage.Unsupported, "the column is encrypted")
	//guard: refuses codecs that cannot be decoded
	case codecOf(m.Codec).name == "":
		return fail(damage.Unsupported, "the codec %v (%d)", m.Codec, int32(m.Codec))
	//guard: rejects a chunk of another type
	case m.Type != c.leaf.physical:
		return fail(damage.Schema, "the column chunk has the type %v, the schema %v", m.Type, c.leaf.physical)
	//guard: rejects a chunk of another column
	case !slices.Equal(m.PathInSchema, c.leaf.path):
		return fail(damage.Schema, "the column chunk has the path %.200q, the schema %.200q", m.PathInSchema, c.leaf.path)
	//guard: rejects a chunk without an entry for each row
	case m.NumValues < c.group.rows || c.leaf.rep == 0 && m.NumValues != c.group.rows:
		return fail(damage.Count, "the column chunk has %d values and nulls, the row group %d rows", m.NumValues, c.group.rows)
	}
	c.codec, c.entries, c.raw, c.dataAt = m.Codec, m.NumValues, m.TotalUncompressedSize, m.DataPageOffset
	if c.start = c.dataAt; m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < c.dataAt {
		c.start = m.DictionaryPageOffset
	}
	c.end = c.start + m.TotalCompressedSize
	c.columnIndex = section{from.ColumnIndexOffset, int64(from.ColumnIndexLength)}
	c.offsetIndex = section{from.OffsetIndexOffset, int64(from.OffsetIndexLength)}
	c.filter = section{m.BloomFilterOffset, int64(m.BloomFilterLength)}
	c.coded = c.start < c.dataAt && len(m.EncodingStats) > 0
	for _, s := range m.EncodingStats {
		//guard: rejects a negative number of pages
		if s.Count < 0 {
			return fail(damage.Count, "%d pages of the type %v", s.Count, s.PageType)
		}
		c.pageCount += int(s.Count)
		if s.PageType == pq.DictionaryPage {
			continue
		}
		c.encodings.add(s.Encoding)
		//guard: takes a dictionary for all values only if all pages have its words
		if !dictionaryCoded(s.Encoding) {
			c.coded = false
		}
	}
	return p.checkPlaces(c)
}

// checkPlaces checks that the parts of a chunk are within the file.
func (p *part) checkPlaces(c *partChunk) error {
	for _, s := range []section{{c.start, c.end - c.start}, {c.dataAt, c.end - c.dataAt}, c.columnIndex, c.offsetIndex, c.filter} {
		//guard: rejects pages, indexes or filters outside the file
		if s.size < 0 || s.size > 0 && (s.offset < int64(len(magic)) || s.offset > p.footerAt-s.size) {
			return p.damaged(c, -1, damage.Size, p.footerAt, "%d bytes at %d, expected them between %d and %d", s.size, s.offset, len(magic), p.footerAt)
		}
	}
	//guard: rejects a negative size
	if c.raw < 0 {
		return p.damaged(c, -1, damage.Size, p.footerAt, "%d uncompressed bytes", c.raw)
	}
	return nil
}

// leafElements returns the elements of a schema's leaves.
func leafElements(all []pq.SchemaElement) (leaves []*pq.SchemaElement) {
	for i := range all {
		if all[i].Type.Valid {
			leaves = append(leaves, &all[i])
		}
	}
	return leaves
}

// sameOrder reports whether the values of a leaf have the same order by the annotation of the
// file and by the Avro type. Other writers annotate other columns than this package does.
func sameOrder(l *leaf, e *pq.SchemaElement) bool {
	decimal := false
	switch t := e.LogicalType.Value.(type) {
	case *pq.IntType:
		if !t.IsSigned {
			return false
		}
	case *pq.Float16Type, *pq.VariantType, *pq.GeometryType, *pq.GeographyType:
		return false
	case *pq.DecimalType:
		decimal = true
	}
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64, deprecated.Interval:
			return false
		case deprecated.Decimal:
			decimal = true
		}
	}
	return !l.textual() || decimal == (orderOf(l) == orderSigned)
}

func isTypeOrder(o pq.ColumnOrder) bool {
	_, ok := o.Value.(*pq.TypeDefinedOrder)
	return ok
}

// damaged returns damage in a chunk. page is the number of a data page, or -1.
func (p *part) damaged(c *partChunk, page int, kind damage.Kind, at int64, reason string, args ...any) *damage.Error {
	d := damage.New(kind, p.file.Name(), at, reason, args...)
	d.Column, d.Block = c.leaf.Name, int64(page)
	return d
}

// locate adds a page of a chunk, unless it is nil, to damage that has no place.
func (p *part) locate(err error, c *partChunk, page *loadedPage) error {
	if err == nil {
		return nil // before d, which needs memory
	}
	var d *damage.Error
	if !errors.As(err, &d) || d.File != "" {
		return err
	}
	if d.File, d.Column = p.file.Name(), c.leaf.Name; page != nil {
		d.Block, d.Offset = int64(page.number), c.pages[page.number].offset
	}
	return err
}

// checkBytes compares bytes at an offset with their CRC-32C in the table of checksums.
func (p *part) checkBytes(b []byte, want uint32, at int64, what string) error {
	//guard: detects changed bytes that Parquet's own checksums do not cover
	if got := crc32.Checksum(b, castagnoli); got != want {
		return damage.New(damage.Checksum, p.file.Name(), at, "the %s has the CRC-32C %08x, expected %08x", what, got, want)
	}
	return nil
}

// checkEntry checks bytes of a chunk, whose entry in the table of checksums is i, if the file
// has the table.
func (p *part) checkEntry(c *partChunk, i int, b []byte, at int64, what string) error {
	if p.checksums.size < 0 {
		return nil
	}
	want, err := p.checksum(c.firstEntry + i)
	if err == nil {
		err = p.checkBytes(b, want, at, what)
	}
	if d, ok := err.(*damage.Error); ok && d.Column == "" {
		d.Column = c.leaf.Name
	}
	return err
}

// readIndex reads an index of a chunk. entry is its entry in the table of checksums, from the
// chunk's first one. reserved accounts for the memory.
func (p *part) readIndex(c *partChunk, kind tableKind, entry int, v any, reserved *column.Reservation) error {
	s, what := c.columnIndex, "column index"
	if kind == offsetIndexes {
		s, what = c.offsetIndex, "offset index"
	}
	if err := reserved.Reserve(s.size); err != nil {
		return fmt.Errorf("%s: the %s of %d bytes: %w", p.file.Name(), what, s.size, err)
	}
	b := make([]byte, s.size)
	if err := p.readTable(b, s.offset, kind); err != nil {
		return err
	}
	if err := p.checkEntry(c, entry, b, s.offset, what); err != nil {
		return err
	}
	err := p.unmarshal(s.offset, b, v, reserved)
	if d, ok := err.(*damage.Error); ok {
		d.Column = c.leaf.Name
	}
	return err
}

// pagesOf returns the data pages of a chunk.
func (p *part) pagesOf(c *partChunk) ([]partPage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil && c.group.rows > 0 {
		reserved := &column.Reservation{Account: p.memory}
		defer reserved.ShrinkTo(0)
		pages, err := p.readPages(c, reserved)
		if err == nil {
			err = p.memory.Reserve(int64(len(pages)) * int64(unsafe.Sizeof(partPage{})))
		}
		if err != nil {
			return nil, err
		}
		c.pages = pages
	}
	return c.pages, nil
}

// readPages reads the offset index of a chunk.
func (p *part) readPages(c *partChunk, reserved *column.Reservation) ([]partPage, error) {
	//guard: refuses a chunk whose pages cannot be found by their rows
	if c.offsetIndex.size == 0 {
		return nil, p.damaged(c, -1, damage.Unsupported, p.footerAt, "the column has no offset index")
	}
	index, at := new(pq.OffsetIndex), c.offsetIndex.offset
	if err := p.readIndex(c, offsetIndexes, c.checksumsOf(c.columnIndex), index, reserved); err != nil {
		return nil, err
	}
	n := len(index.PageLocations)
	dictionary := 0
	if c.start < c.dataAt {
		dictionary = 1
	}
	switch {
	//guard: rejects pages without checksums of their headers
	case p.checksums.size >= 0 && n != c.pageCount-dictionary:
		return nil, p.damaged(c, -1, damage.Count, at, "the offset index has %d pages, the footer %d", n, c.pageCount-dictionary)
	//guard: rejects rows without a page
	case n == 0:
		return nil, p.damaged(c, -1, damage.Count, at, "no pages, but %d rows", c.group.rows)
	//guard: rejects sizes of other pages
	case index.UnencodedByteArrayDataBytes != nil && len(index.UnencodedByteArrayDataBytes) != n:
		return nil, p.damaged(c, -1, damage.Count, at, "sizes of %d pages, expected %d", len(index.UnencodedByteArrayDataBytes), n)
	}
	pages := make([]partPage, n)
	for i := range pages {
		l := &index.PageLocations[i]
		pages[i] = partPage{offset: l.Offset, size: int64(l.CompressedPageSize), first: c.group.first + l.FirstRowIndex, rows: c.group.rows - l.FirstRowIndex, text: -1}
		if i > 0 {
			pages[i-1].rows = pages[i].first - pages[i-1].first
		}
		if index.UnencodedByteArrayDataBytes != nil {
			pages[i].text = index.UnencodedByteArrayDataBytes[i]
		}
	}
	return pages, p.checkPages(c, pages)
}

// checkPages checks the places and the rows of pages.
func (p *part) checkPages(c *partChunk, pages []partPage) error {
	at, row := c.dataAt, c.group.first
	for i := range pages {
		k := &pages[i]
		//guard: rejects a page outside its chunk
		if k.offset < at || k.size <= 0 || k.size > c.end-k.offset {
			return p.damaged(c, i, damage.Size, c.offsetIndex.offset, "a page of %d bytes at %d, expected it between %d and %d", k.size, k.offset, at, c.end)
		}
		//guard: rejects pages whose rows do not follow each other
		if k.first != row || k.rows <= 0 {
			return p.damaged(c, i, damage.Count, c.offsetIndex.offset, "a page of %d rows from row %d on, expected it to begin with row %d", k.rows, k.first, row)
		}
		//guard: rejects a negative size
		if k.text < -1 {
			return p.damaged(c, i, damage.Size, c.offsetIndex.offset, "a page with %d bytes of values", k.text)
		}
		at, row = k.offset+k.size, row+k.rows
	}
	return nil
}
