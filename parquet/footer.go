package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

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

// fixedBound returns the most bytes of a file that has no column chunks, but a row group.
func (g *rowGroup) fixedBound() (int64, error) {
	var s checksums
	empty := *g.file
	empty.rows, empty.groups = 1<<62, nil
	footer, err := s.footer(empty.metadata())
	// The row group's own fields, and the length of the table of checksums, which is text.
	const sorting = 1 + binary.MaxVarintLen32 + 3 // a column by which rows are sorted
	return int64(len(magic)+len(footer)+trailer+len(g.sorting)*sorting) + 7 + 4*(1+binary.MaxVarintLen64) + 20 + 20, err
}

// tablesBound returns the most bytes that a column chunk adds to the indexes, the checksums and the
// footer if it has no data pages, and the overhead of a dictionary page.
func (c *groupColumn) tablesBound() int64 {
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

// Finish returns the next bytes of the file, and its end if the row group is a part.
func (g *rowGroup) Finish(rows int64) ([]format.Output, error) {
	for i := range g.begunRows {
		//guard: refuses a file in which a column has more or fewer rows
		if g.begunRows[i] != rows || g.endedRows[i] != rows {
			return nil, fmt.Errorf("parquet: column %q has %d of %d rows", g.name(i), g.endedRows[i], rows)
		}
	}
	a := g.file.assemble()
	var err error
	if rows > 0 {
		err = g.finishChunks(a, rows)
	}
	if err == nil && g.part {
		err = g.file.end(a)
	}
	if err != nil {
		return nil, err
	}
	out := a.output()
	g.size = out.Size
	return []format.Output{out}, nil
}

// finishChunks adds the row group to the file.
func (g *rowGroup) finishChunks(a *assembly, rows int64) error {
	//guard: refuses a row group whose number does not fit its field
	if len(g.file.groups) > math.MaxInt16 {
		return fmt.Errorf("parquet: more than %d row groups", math.MaxInt16+1)
	}
	group := pq.RowGroup{
		Columns: make([]pq.ColumnChunk, len(g.columns)), NumRows: rows, FileOffset: a.at(), Ordinal: int16(len(g.file.groups)),
		SortingColumns: g.sorting,
	}
	starts := make([]int64, len(g.columns))        // of the data pages
	dictionaries := make([]uint32, len(g.columns)) // checksums of the headers of dictionary pages
	for i := range g.columns {
		c, chunk := &g.columns[i], &group.Columns[i]
		m := &chunk.MetaData
		*m = c.metadata()
		at := a.at()
		if c.coded > 0 {
			page, raw, checksum, err := c.dictionaryPage()
			if err != nil {
				return err
			}
			m.DictionaryPageOffset, dictionaries[i] = at, checksum
			m.TotalUncompressedSize += raw
			a.append(page)
		}
		starts[i], m.DataPageOffset = a.at(), a.at()
		a.spilled(c.number, c.spilled)
		m.TotalCompressedSize = a.at() - at
		group.TotalByteSize += m.TotalUncompressedSize
		group.TotalCompressedSize += m.TotalCompressedSize
	}
	indexes, err := g.indexes(starts)
	if err != nil {
		return err
	}
	for i := range indexes {
		if b := indexes[i].filter; b != nil {
			m := &group.Columns[i].MetaData
			m.BloomFilterOffset, m.BloomFilterLength = a.at(), int32(len(b))
			a.append(b)
		}
	}
	return g.file.add(&group, indexes, g.checksums(dictionaries, indexes))
}

// dictionaryPage returns the dictionary page, its size before compression with the header, and
// the checksum of the header.
func (c *groupColumn) dictionaryPage() (page []byte, raw int64, checksum uint32, err error) {
	body := c.dictionary.table.appendPlain(nil, c.words)
	if c.filter != nil {
		c.filter.insert(appendHashes(nil, body, c.width()))
	}
	stored, err := compress(nil, c.codec, body)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("parquet: column %q: %w", c.Name, err)
	}
	head := appendDictionaryHeader(nil, c.words, pageSizes{len(body), len(stored), crc32.ChecksumIEEE(stored)})
	return append(head, stored...), int64(len(head) + len(body)), crc32.Checksum(head, castagnoli), nil
}

// chunkIndexes are the documents of a column chunk besides its pages. The column index and the
// Bloom filter are nil if the chunk has none.
type chunkIndexes struct{ columns, offsets, filter []byte }

// indexes returns the indexes of each column chunk. starts are the offsets in the file of the data
// pages.
func (g *rowGroup) indexes(starts []int64) ([]chunkIndexes, error) {
	all := make([]chunkIndexes, len(g.columns))
	for i := range g.columns {
		c := &g.columns[i]
		var err error
		if x := c.columnIndex(); x != nil {
			all[i].columns, err = marshal(x)
		}
		if err == nil {
			all[i].offsets, err = marshal(c.offsetIndex(starts[i]))
		}
		if err == nil && c.filter != nil {
			all[i].filter, err = c.filter.finish(int64(c.words) + c.uncoded)
		}
		if err != nil {
			return nil, fmt.Errorf("parquet: column %q: %w", c.Name, err)
		}
	}
	return all, nil
}

// checksums returns the checksums of the headers, the indexes and the Bloom filters. dictionaries
// are those of the headers of dictionary pages.
func (g *rowGroup) checksums(dictionaries []uint32, indexes []chunkIndexes) (s checksums) {
	for i := range g.columns {
		c, x := &g.columns[i], &indexes[i]
		if c.coded > 0 {
			s.table = binary.LittleEndian.AppendUint32(s.table, dictionaries[i])
		}
		for k := range c.pages {
			s.table = binary.LittleEndian.AppendUint32(s.table, c.pages[k].header)
		}
		for _, b := range [][]byte{x.columns, x.offsets, x.filter} {
			if b != nil {
				s.add(b)
			}
		}
	}
	return s
}
