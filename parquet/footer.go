package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
)

// magic begins and ends a file.
const magic = "PAR1"

const (
	// schemaKey has, in the footer's metadata, the Avro schema of the rows as they are stored,
	// for parquet-avro. It is left out if the file does not hold all of the rows' schema.
	schemaKey = "parquet.avro.schema"
	// rowsSchemaKey has the Avro schema of the rows if the file does not hold all of it, or
	// stores times otherwise.
	rowsSchemaKey = "rowtocol.avro.schema"
	// timesKey has the name of times if the file stores times otherwise.
	timesKey = "rowtocol.times"
)

// trailer is the size of what follows the footer: its length, and the magic.
const trailer = 4 + len(magic)

// newMetadata returns the footer without a row group and checksums.
func (g *rowGroup) newMetadata(rows int64) *pq.FileMetaData {
	m := &pq.FileMetaData{
		Version: 1, Schema: g.tree.elements, NumRows: rows, CreatedBy: createdBy,
		RowGroups:    []pq.RowGroup{},
		ColumnOrders: make([]pq.ColumnOrder, len(g.columns)),
	}
	pair := func(key, value string) {
		m.KeyValueMetadata = append(m.KeyValueMetadata, pq.KeyValue{Key: key, Value: value})
	}
	if g.stored != "" {
		pair(schemaKey, g.stored)
	}
	if g.tree.partial || g.tree.retimed {
		pair(rowsSchemaKey, g.schema)
	}
	if g.tree.retimed {
		pair(timesKey, g.tree.times.String())
	}
	for i := range m.ColumnOrders {
		m.ColumnOrders[i].Value = new(pq.TypeDefinedOrder)
	}
	return m
}

// fixedSize returns the most bytes of a file that has no column chunks.
func (g *rowGroup) fixedSize() (int64, error) {
	var s seals
	footer, err := s.seal(g.newMetadata(1 << 62))
	// The row group's own fields, and the length of the table of checksums, which is text.
	const sorting = 1 + binary.MaxVarintLen32 + 3 // a column by which rows are sorted
	return int64(len(magic)+len(footer)+trailer+len(g.sorting)*sorting) + 7 + 4*(1+binary.MaxVarintLen64) + 20 + 20, err
}

// tables returns the most bytes that a column chunk adds to the indexes, the checksums and the
// footer if it has no data pages, and the overhead of a dictionary page.
func (c *groupColumn) tables() int64 {
	const number = 1 + binary.MaxVarintLen64 // a field
	const list = 1 + 1 + binary.MaxVarintLen32
	n := int64(list) // names
	for _, name := range c.path {
		n += int64(len(name) + binary.MaxVarintLen32)
	}
	n += 17*number + // numbers of the chunk, its metadata and statistics
		4*list + 3 + 3*(3*number+1) + // lists of encodings, three of each; of histograms
		2*(1+binary.MaxVarintLen32+int64(c.boundSize())) + // statistics
		int64(len(c.histogram))*binary.MaxVarintLen64 +
		6*4 + // structures
		7*list + number + // the lists of the indexes
		2*4 // checksums of the indexes
	if c.dictionary != nil {
		_, overhead := compressRatio(c.codec)
		n += pageHeaderBound + overhead + 4
	}
	if c.filter != nil {
		n += 2*number + filterHeaderBound + c.filterBound() + 4
	}
	return n
}

// assembly collects the pieces of a file.
type assembly struct {
	pieces  []format.Piece
	literal []byte // the bytes after the pieces
	size    int64  // of all
	seals   seals
}

func (a *assembly) append(b []byte) {
	a.literal = append(a.literal, b...)
	a.size += int64(len(b))
}

// flush makes a piece of the literal bytes.
func (a *assembly) flush() {
	if len(a.literal) > 0 {
		a.pieces = append(a.pieces, format.Literal(a.literal))
		a.literal = nil
	}
}

// spilled adds all of a column's spill.
func (a *assembly) spilled(col int, size int64) {
	if size > 0 {
		a.flush()
		a.pieces = append(a.pieces, format.Spilled(col, 0, size))
		a.size += size
	}
}

// Finish returns the file.
func (g *rowGroup) Finish(rows int64) ([]format.Output, error) {
	for i := range g.begunRows {
		//guard: refuses a file in which a column has more or fewer rows
		if g.begunRows[i] != rows || g.endedRows[i] != rows {
			return nil, fmt.Errorf("parquet: column %q has %d of %d rows", g.name(i), g.endedRows[i], rows)
		}
	}
	a := new(assembly)
	a.append([]byte(magic))
	meta := g.newMetadata(rows)
	if rows > 0 {
		group, err := g.finishChunks(a, rows)
		if err != nil {
			return nil, err
		}
		meta.RowGroups = append(meta.RowGroups, group)
	}
	a.append(a.seals.table)
	footer, err := a.seals.seal(meta)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	a.append(footer)
	a.append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	a.append([]byte(magic))
	a.flush()
	g.size = a.size
	return []format.Output{{Role: "data", Size: a.size, Pieces: a.pieces}}, nil
}

// finishChunks adds the column chunks and their indexes to the file.
func (g *rowGroup) finishChunks(a *assembly, rows int64) (pq.RowGroup, error) {
	group := pq.RowGroup{Columns: make([]pq.ColumnChunk, len(g.columns)), NumRows: rows, FileOffset: a.size, SortingColumns: g.sorting}
	starts := make([]int64, len(g.columns)) // of the data pages
	sums := make([]uint32, len(g.columns))  // checksums of the headers of dictionary pages
	for i := range g.columns {
		c, chunk := &g.columns[i], &group.Columns[i]
		m := &chunk.MetaData
		*m = c.metadata()
		at := a.size
		if c.words > 0 {
			page, raw, sum, err := c.dictionaryPage()
			if err != nil {
				return group, err
			}
			m.DictionaryPageOffset, sums[i] = at, sum
			m.TotalUncompressedSize += raw
			a.append(page)
		}
		starts[i], m.DataPageOffset = a.size, a.size
		a.spilled(c.number, c.spilled)
		m.TotalCompressedSize = a.size - at
		group.TotalByteSize += m.TotalUncompressedSize
		group.TotalCompressedSize += m.TotalCompressedSize
	}
	return group, g.finishIndexes(a, group.Columns, starts, sums)
}

// dictionaryPage returns the dictionary page, its size before compression with the header, and
// the checksum of the header.
func (c *groupColumn) dictionaryPage() (page []byte, raw int64, sum uint32, err error) {
	body := c.dictionary.table.appendPlain(nil, c.words)
	if c.filter != nil {
		width := c.kind.width()
		if c.kind == fixed {
			width = c.size
		}
		c.filter.insert(appendHashes(nil, body, width))
	}
	stored, err := compress(nil, c.codec, body)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("parquet: column %q: %w", c.Name, err)
	}
	head := appendDictionaryHeader(nil, c.words, pageSizes{len(body), len(stored), crc32.ChecksumIEEE(stored)})
	return append(head, stored...), int64(len(head) + len(body)), crc32.Checksum(head, castagnoli), nil
}

// finishIndexes adds the Bloom filters to the file, then the column indexes, and then the offset
// indexes, as some readers expect them. starts are the offsets in the file of the data pages of each column chunk, and sums
// are the checksums of the headers of dictionary pages.
func (g *rowGroup) finishIndexes(a *assembly, chunks []pq.ColumnChunk, starts []int64, sums []uint32) error {
	indexes := make([][3][]byte, len(g.columns)) // column index, offset index, Bloom filter
	for i := range g.columns {
		c := &g.columns[i]
		var err error
		if x := c.columnIndex(); x != nil {
			indexes[i][0], err = marshal(x)
		}
		if err == nil {
			indexes[i][1], err = marshal(c.offsetIndex(starts[i]))
		}
		if err == nil && c.filter != nil {
			indexes[i][2], err = c.filter.finish(int64(c.words) + c.plain)
		}
		if err != nil {
			return fmt.Errorf("parquet: column %q: %w", c.Name, err)
		}
		c.seal(&a.seals, sums[i], indexes[i])
	}
	for i := range chunks {
		if b := indexes[i][2]; b != nil {
			chunks[i].MetaData.BloomFilterOffset, chunks[i].MetaData.BloomFilterLength = a.size, int32(len(b))
			a.append(b)
		}
	}
	for i := range chunks {
		if b := indexes[i][0]; b != nil {
			chunks[i].ColumnIndexOffset, chunks[i].ColumnIndexLength = a.size, int32(len(b))
			a.append(b)
		}
	}
	for i := range chunks {
		b := indexes[i][1]
		chunks[i].OffsetIndexOffset, chunks[i].OffsetIndexLength = a.size, int32(len(b))
		a.append(b)
	}
	return nil
}

// seal adds the checksums of the headers, the indexes and the Bloom filter of a column chunk.
func (c *groupColumn) seal(s *seals, dictionary uint32, indexes [3][]byte) {
	if c.words > 0 {
		s.table = binary.LittleEndian.AppendUint32(s.table, dictionary)
	}
	for i := range c.pages {
		s.table = binary.LittleEndian.AppendUint32(s.table, c.pages[i].header)
	}
	for _, b := range indexes {
		if b != nil {
			s.add(b)
		}
	}
}
