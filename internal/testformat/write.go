package testformat

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// sums are the bytes of a stored block beside its payload.
	sums = 8
	// maxEntry is the most bytes of a block in the index.
	maxEntry = 4 + 4 + 8 + 4 + 4 + 4 + 8 + 2*(1+maxBound)
	// maxPayload is the most bytes of a payload: snappy takes no more.
	maxPayload = 1 << 31
)

// writer makes row groups with the same options.
type writer struct{ o options }

func (writer) Layout() column.Layout { return column.Split }

// Memory is that of the columns' names and counters; block tables take a few
// bytes per block.
func (writer) Memory(columns, _ int) int64 { return 256 * int64(columns) }

func (w writer) NewRowGroup(schema string, cols []column.Column, _ int) (format.RowGroup, error) {
	g := &rowGroup{codec: w.o.Codec, columns: make([]columnState, len(cols))}
	g.head = append(append(g.head, magic...), version)
	g.rowsAt = len(g.head)
	g.head = order.AppendUint64(g.head, 0)
	for _, text := range []string{w.o.Codec, w.o.Marker, schema} {
		g.head = appendText(g.head, text)
	}
	g.head = order.AppendUint32(g.head, uint32(len(cols)))
	g.size = int64(len(g.head)) + crc32.Size
	for i := range cols {
		g.columns[i].describe(&cols[i])
		g.size += int64(len(g.columns[i].index))
	}
	return g, nil
}

func appendText(dst []byte, text string) []byte {
	return append(order.AppendUint32(dst, uint32(len(text))), text...)
}

// rowGroup is the row group in the making.
type rowGroup struct {
	codec   string
	head    []byte // of the index, with zeros for the rows
	rowsAt  int
	size    int64
	columns []columnState
}

// columnState is what is known of a column so far.
type columnState struct {
	column.Column
	index    []byte // what the index says of it, with zeros for the number of blocks
	blocksAt int
	blocks   uint32
	begun    int64 // rows of blocks begun
	rows     int64 // rows of blocks ended
	stored   int64 // bytes of blocks ended
	sum      uint32
	last     uint64 // the last double
}

func (c *columnState) describe(of *column.Column) {
	c.Column = *of
	c.index = appendText(c.index, c.Name)
	array := byte(0)
	if c.Array {
		array = 1
	}
	c.index = append(c.index, byte(c.Type), array)
	c.index = order.AppendUint32(c.index, uint32(c.Parent+1))
	c.blocksAt = len(c.index)
	c.index = order.AppendUint32(c.index, 0)
}

// Begin does what depends on the blocks before: a sum and a double.
func (g *rowGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	c := &g.columns[col]
	//guard: a column's blocks could be out of order or leave out rows
	if b.FirstRow != c.begun || b.Rows <= 0 || b.Rows > 1<<31 {
		return nil, fmt.Errorf("split: column %d: a block of %d rows from row %d, expected row %d", col, b.Rows, b.FirstRow, c.begun)
	}
	raw := int64(len(b.Data)) + 4*int64(len(b.Lengths))
	//guard: a block's size would not fit the index
	if raw > maxPayload {
		return nil, fmt.Errorf("split: column %d: a block of %d bytes exceeds %d", col, raw, maxPayload)
	}
	j := &job{codec: g.codec, column: &c.Column, raw: b, block: block{rows: b.Rows, payload: raw, firstRow: b.FirstRow}}
	c.begun += b.Rows
	var length [4]byte
	for _, n := range b.Lengths {
		order.PutUint32(length[:], n)
		c.sum = crc32.Update(c.sum, castagnoli, length[:])
	}
	c.sum = crc32.Update(c.sum, castagnoli, b.Data)
	j.block.sum, j.block.before = c.sum, c.last
	if c.Type == column.Double && len(b.Data) > 0 {
		c.last = order.Uint64(b.Data[len(b.Data)-8:])
	}
	return j, nil
}

// job is one block on its way.
type job struct {
	codec  string
	column *column.Column
	raw    *column.Block
	block  block
}

func (j *job) Bound() int64 { return int64(sums + maxCompressed(j.codec, int(j.block.payload))) }

func (j *job) Encode(dst []byte) ([]byte, error) {
	b := &j.block
	count, least, greatest, err := bounds(j.column.Type, j.raw.Data)
	if err != nil {
		return dst, fmt.Errorf("split: column %q: %w", j.column.Name, err)
	}
	b.units, b.items, b.min, b.max = count, count, least, greatest
	if j.column.Array {
		b.units, b.items = int64(len(j.raw.Lengths)), sum(j.raw.Lengths)
	}
	payload := make([]byte, 0, b.payload)
	for _, n := range j.raw.Lengths {
		payload = order.AppendUint32(payload, n)
	}
	values := len(payload)
	payload = append(payload, j.raw.Data...)
	if j.column.Type == column.Double {
		difference(payload[values:], b.before)
	}
	from := len(dst)
	dst = compress(order.AppendUint32(dst, b.sum), j.codec, payload)
	return order.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli)), nil
}

func (g *rowGroup) End(col int, ended format.EncodeJob, stored int) error {
	c, b := &g.columns[col], &ended.(*job).block
	//guard: blocks could be stored in another order than the index says
	if b.firstRow != c.rows {
		return fmt.Errorf("split: column %d: the block of row %d ends before that of row %d", col, b.firstRow, c.rows)
	}
	b.stored = int64(stored) - sums
	n := len(c.index)
	c.index = b.append(c.index)
	c.blocks++
	c.rows += b.rows
	c.stored += int64(stored)
	g.size += int64(len(c.index)-n) + int64(stored)
	return nil
}

func (g *rowGroup) Size() int64 { return g.size }

func (g *rowGroup) Bound(_ int, _ int64, data, lengths int) int64 {
	return int64(maxEntry + sums + maxCompressed(g.codec, data+4*lengths))
}

func (g *rowGroup) Growth() int64 { return 2 }

func (g *rowGroup) Finish(rows int64) ([]format.Output, error) {
	index := slices.Clone(g.head)
	order.PutUint64(index[g.rowsAt:], uint64(rows))
	outputs := make([]format.Output, len(g.columns), len(g.columns)+1)
	for i := range g.columns {
		c := &g.columns[i]
		//guard: a part could be finished of which a column lacks rows
		if c.rows != rows {
			return nil, fmt.Errorf("split: column %d has %d of %d rows", i, c.rows, rows)
		}
		order.PutUint32(c.index[c.blocksAt:], c.blocks)
		index = append(index, c.index...)
		outputs[i] = format.Output{Name: columnName(i), Role: "column", Size: c.stored}
		if c.stored > 0 {
			outputs[i].Pieces = []format.Piece{format.Spilled(i, 0, c.stored)}
		}
	}
	index = order.AppendUint32(index, crc32.Checksum(index, castagnoli))
	return append(outputs, format.Output{
		Name: indexName, Role: "index", Size: int64(len(index)), Pieces: []format.Piece{format.Literal(index)},
	}), nil
}
