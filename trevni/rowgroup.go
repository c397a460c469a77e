package trevni

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// rowGroup collects the block tables of a file while it is made.
type rowGroup struct {
	columns []columnState
	header  []byte // has zeros where Finish puts rows, starts, flags and CRCs
	crcsEnd int    // where, in the header, the CRCs of the header and of the blocks end
	size    int64
	// free holds jobs that have ended, for later use. Only Begin and End use it, never at once.
	free format.FreeList[encodeJob]
}

// columnState is the state of one column so far.
type columnState struct {
	typ      column.Type
	values   bool
	encoder  encoder
	checksum string
	table    []byte // block count and descriptors
	metaEnd  int    // end of the column's metadata in the header, whose last pairs Finish sets
	crcs     []byte // CRC-32Cs of the stored blocks, fixed32 each
	sorted   bool   // with an index: the values of the ended blocks ascend
	last     []byte // the last value of the ended blocks
	blocks   uint32 // number of ended blocks
	begun    int64  // rows in blocks that have begun
	rows     int64  // rows in ended blocks
	stored   int64  // bytes of ended blocks
}

func newRowGroup(o Options, schema string, cols []column.Column) (*rowGroup, error) {
	if err := o.Validate(cols); err != nil {
		return nil, err
	}
	g := &rowGroup{columns: make([]columnState, len(cols))}
	described := make([]Column, len(cols))
	for i := range cols {
		d := &described[i]
		d.Column = cols[i]
		d.Codec, d.Checksum = o.codec(cols[i].Name), o.checksum()
		d.Values = slices.Contains(o.Values, cols[i].Name)
		parent := ""
		if p := cols[i].Parent; p >= 0 {
			parent = cols[p].Name
		}
		d.Meta = columnMeta(d, parent)
		g.columns[i] = columnState{
			typ: cols[i].Type, values: d.Values, encoder: encoderOf(d.Codec), checksum: d.Checksum,
			table: make([]byte, 4), sorted: true,
		}
	}
	var ends []int
	g.header, g.crcsEnd, ends = newHeader(fileMeta(&o, schema), described)
	for i, end := range ends {
		g.columns[i].metaEnd = end
	}
	g.size = int64(len(g.header) + 4*len(cols))
	return g, nil
}

// fileMeta returns the file metadata without the CRCs.
func fileMeta(o *Options, schema string) Metadata {
	m := make(Metadata, 0, len(o.Meta)+3)
	if schema != "" {
		m = append(m, KeyValue{SchemaKey, []byte(schema)})
	}
	m = append(m, KeyValue{keyCodec, []byte(o.fileCodec())}, KeyValue{keyChecksum, []byte(o.checksum())})
	return append(m, o.Meta...)
}

// encodeJob is one block to encode.
type encodeJob struct {
	encoder  encoder
	checksum string
	block    *column.Block
	raw      int
	rows     int64
	col      int
	typ      column.Type
	values   bool
	crc      uint32 // CRC-32C of the stored block
	// If values is set: the block's first and last value, and whether its values ascend.
	// If they do not ascend, last is not the last value.
	first, last []byte
	sorted      bool
}

// Bound returns the codec's worst case.
func (j *encodeJob) Bound() int64 {
	return int64(j.encoder.bound(j.raw) + checksumSize(j.checksum))
}

// Encode appends the compressed block and its checksum.
func (j *encodeJob) Encode(dst []byte) ([]byte, error) {
	if j.values {
		if err := j.index(); err != nil {
			return dst, fmt.Errorf("trevni: column %d: %w", j.col, err)
		}
	}
	before := len(dst)
	dst, err := j.encoder.encode(dst, j.block.Data)
	if err != nil {
		return dst, err
	}
	dst = appendChecksum(dst, j.checksum, j.block.Data)
	j.crc = crc32.Checksum(dst[before:], castagnoli)
	return dst, nil
}

func (g *rowGroup) Begin(col int, block *column.Block) (format.EncodeJob, error) {
	c := &g.columns[col]
	//guard: keeps the blocks of a column in order and without gaps
	if block.Rows <= 0 || block.Rows > maxRows || block.FirstRow != c.begun {
		return nil, fmt.Errorf("trevni: column %d: a block of %d rows from row %d, expected row %d and at most %d rows",
			col, block.Rows, block.FirstRow, c.begun, maxRows)
	}
	//guard: refuses a block that does not fit its descriptor
	if len(block.Data) > maxRaw {
		return nil, fmt.Errorf("trevni: column %d: a block of %d bytes exceeds %d", col, len(block.Data), maxRaw)
	}
	j := g.free.Take()
	j.first, j.last = j.first[:0], j.last[:0]
	j.encoder, j.checksum = c.encoder, c.checksum
	j.block, j.raw, j.rows = block, len(block.Data), block.Rows
	j.col, j.typ, j.values = col, c.typ, c.values
	c.begun += block.Rows
	return j, nil
}

// index reads the block's values up to the first value that is less than the value before.
// This is most of the cost of an index, so the job does it on any goroutine. Only End, which
// is called in the order of the blocks, compares with the block before.
func (j *encodeJob) index() error {
	rest := j.block.Data
	n, err := column.ValueSize(j.typ, rest)
	if err != nil {
		return fmt.Errorf("first value: %w", err)
	}
	j.first = append(j.first, rest[:n]...)
	last := rest[:n]
	j.sorted = true
	for rest = rest[n:]; len(rest) > 0 && j.sorted; rest = rest[n:] {
		if n, err = column.ValueSize(j.typ, rest); err != nil {
			return err
		}
		j.sorted = compareValues(j.typ, last, rest[:n]) <= 0
		last = rest[:n]
	}
	j.last = append(j.last, last...)
	return nil
}

func (g *rowGroup) End(col int, job format.EncodeJob, stored int) error {
	c := &g.columns[col]
	j, ok := job.(*encodeJob)
	size := stored - checksumSize(c.checksum)
	//guard: refuses a block that does not fit its table
	if !ok || size < 0 || size > maxRaw {
		return fmt.Errorf("trevni: column %d: a block of %d stored bytes", col, stored)
	}
	n := len(c.table)
	c.table = binary.LittleEndian.AppendUint32(c.table, uint32(j.rows))
	c.table = binary.LittleEndian.AppendUint32(c.table, uint32(j.raw))
	c.table = binary.LittleEndian.AppendUint32(c.table, uint32(size))
	c.table = append(c.table, j.first...)
	c.crcs = binary.LittleEndian.AppendUint32(c.crcs, j.crc)
	if c.values {
		c.sorted = c.sorted && j.sorted && (c.blocks == 0 || compareValues(c.typ, c.last, j.first) <= 0)
		c.last, j.last = j.last, c.last
	}
	c.blocks++
	c.rows += j.rows
	c.stored += int64(stored)
	g.size += int64(len(c.table)-n) + int64(stored)
	j.block = nil
	g.free.Put(j)
	return nil
}

func (g *rowGroup) Size() int64 { return g.size }

func (g *rowGroup) Bound(col int, _ int64, data, _ int) int64 {
	c := &g.columns[col]
	n := int64(descriptorSize + c.encoder.bound(data) + checksumSize(c.checksum))
	if c.values {
		n += int64(data)
	}
	return n
}

// Growth returns 3: a byte of data may need two bytes in a codec's worst case, and one in the
// table as a part of a value.
func (g *rowGroup) Growth() int64 { return 3 }

func (g *rowGroup) Finish(rows int64) ([]format.Output, error) {
	for i := range g.columns {
		//guard: refuses a file in which a column has more or fewer rows
		if c := &g.columns[i]; c.rows != rows || c.begun != rows {
			return nil, fmt.Errorf("trevni: column %d has %d of %d rows", i, c.rows, rows)
		}
	}
	head := slices.Clone(g.header)
	binary.LittleEndian.PutUint64(head[4:], uint64(rows))
	at, starts := int64(len(head)), head[len(head)-8*len(g.columns):]
	var blocks uint32
	for i := range g.columns {
		c := &g.columns[i]
		if c.values && c.sorted {
			head[c.metaEnd-crcPair(TableCRCKey)-1] = 1
		}
		binary.LittleEndian.PutUint64(starts[8*i:], uint64(at))
		at += int64(len(c.table)) + c.stored
		binary.LittleEndian.PutUint32(c.table, c.blocks)
		binary.LittleEndian.PutUint32(head[c.metaEnd-crc32.Size:], crc32.Checksum(c.table, castagnoli))
		blocks = crc32.Update(blocks, castagnoli, c.crcs)
	}
	binary.LittleEndian.PutUint32(head[g.crcsEnd-crc32.Size:], blocks)
	crcAt := g.crcsEnd - crcPair(BlocksCRCKey) - crc32.Size
	binary.LittleEndian.PutUint32(head[crcAt:], crc32.Checksum(head, castagnoli))
	return []format.Output{{Role: "data", Size: at, Pieces: g.pieces(head)}}, nil
}

// pieces returns the pieces of the file, with adjacent literals joined.
func (g *rowGroup) pieces(head []byte) []format.Piece {
	pieces := make([]format.Piece, 0, 2*len(g.columns)+1)
	literal := head
	for i := range g.columns {
		c := &g.columns[i]
		literal = append(literal, c.table...)
		if c.stored > 0 {
			pieces = append(pieces, format.Literal(literal), format.Spilled(i, 0, c.stored))
			literal = nil
		}
	}
	if len(literal) > 0 {
		pieces = append(pieces, format.Literal(literal))
	}
	return pieces
}
