package hfile

import (
	"errors"
	"io"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// rowWriter implements format.RowWriter: it creates row groups with the same options.
type rowWriter struct{ o Options }

func (w rowWriter) Key() []string { return w.o.Key }

// writerMemory is about how much memory a Writer has besides the index, for its blocks, a chunk of
// HBase's Bloom filter and the state of the codec. hudiBloomMemory is for Hudi's filter.
const (
	writerMemory    = 2 << 20
	hudiBloomMemory = 14 << 20
)

func (w rowWriter) Memory(_, _ int) int64 {
	if w.o.Bloom == bloomHudi {
		return writerMemory + hudiBloomMemory
	}
	return writerMemory
}

func (w rowWriter) NewRows(schema string) (format.Rows, error) {
	codec, err := w.o.codec()
	if err != nil {
		return nil, err
	}
	g := &rowGroup{o: &w.o, codec: codec, schema: schema}
	empty, err := NewWriter(io.Discard, g.options())
	if err != nil {
		return nil, err
	}
	g.bound.fixed = empty.Bound(keyOverhead+len(w.o.Family)+len(w.o.Qualifier), 0)
	if empty.hudi != nil {
		g.bound.fixed -= empty.hudi.size() // sizeBound adds the filter's size for the number of rows
	}
	return g, nil
}

// rowGroup implements format.Rows: it writes a file of rows.
type rowGroup struct {
	o      *Options
	codec  Codec
	schema string
	bound  sizeBound
	out    *Writer
	key    Key
}

func (g *rowGroup) options() WriterOptions {
	return WriterOptions{
		Codec: g.codec, RowBloom: g.o.Bloom == bloomHBase, HudiBloom: g.o.Bloom == bloomHudi, HudiRange: true,
		Info: Info{{infoSchema, []byte(g.schema)}, {infoRows, []byte(strings.Join(g.o.Key, ","))}},
	}
}

// Admit refuses rows that no cell can hold.
func (g *rowGroup) Admit(key, datum []byte) error {
	//guard: refuses a key that is too long for the row of a cell
	if len(key) > MaxRow {
		return damage.New(damage.Unsupported, "", -1, "a key of %d bytes exceeds the limit of %d", len(key), MaxRow)
	}
	full := keyOverhead + len(key) + len(g.o.Family) + len(g.o.Qualifier)
	//guard: refuses a row that no block can hold
	if limit := MaxDataBlock - int(cellSize(full, 0)); len(datum) > limit {
		return damage.New(damage.Unsupported, "", -1, "a row of %d bytes exceeds the limit of %d", len(datum), limit)
	}
	g.bound.add(full, len(datum))
	return nil
}

// Size returns the bytes written, or a bound of the file's size before Start.
func (g *rowGroup) Size() int64 {
	if g.out != nil {
		return g.out.written
	}
	return g.bound.size(g.codec, g.o.Bloom)
}

// Start implements format.Rows.
func (g *rowGroup) Start(w io.Writer) (err error) {
	g.out, err = NewWriter(w, g.options())
	return err
}

// Append implements format.Rows.
func (g *rowGroup) Append(key, datum []byte) error {
	g.key = AppendKey(g.key[:0], key, []byte(g.o.Family), []byte(g.o.Qualifier), g.o.timestamp(), Put)
	err := g.out.Append(g.key, datum)
	if errors.Is(err, ErrBlock) {
		e := damage.New(damage.Unsupported, "", -1, "too many rows have equal keys; add fields to --key")
		e.Err = err
		return e
	}
	return err
}

// Finish implements format.Rows.
func (g *rowGroup) Finish(int64) ([]format.Output, error) {
	if err := g.out.Close(); err != nil {
		return nil, err
	}
	size := g.out.written
	return []format.Output{{Role: "rows", Size: size, Pieces: []format.Piece{format.Spilled(0, 0, size)}}}, nil
}

// sizeBound bounds the size of a file of some cells in any order.
type sizeBound struct {
	fixed      int64 // bytes of a file without cells
	rows       int64
	cells      int64 // bytes of all cells
	longestKey int64 // bytes of the longest key
}

func (b *sizeBound) add(key, value int) {
	b.rows++
	b.cells += cellSize(key, value)
	b.longestKey = max(b.longestKey, int64(key))
}

// size returns the bound. It has the cells, an entry in a leaf for each block, and for two entries
// at most one entry in the level above. It also has a filter of twice the bits that its keys need,
// in chunks. All blocks but the last have at least DefaultBlockSize.
func (b *sizeBound) size(codec Codec, bloom string) int64 {
	blocks := b.cells/DefaultBlockSize + 1
	entry := 4 + pointerSize + 9 + b.longestKey
	index := 3 * blocks * entry
	leaves := 2*index/DefaultIndexBlockSize + 2
	n := b.cells + index
	switch bloom {
	case bloomHBase:
		chunks := b.rows/int64(bloomChunkKeys) + 1
		n += min(chunks*bloomChunkSize, b.rows*8) + chunks*entry
		leaves += chunks
	case bloomHudi:
		n += hudiBloomSize(int(min(b.rows/hudiKeys+1, maxHudiFilters)))
	}
	n += (blocks + leaves) * (headerSize + checksumSize*maxChecksums)
	if codec == GZ {
		n += n/64 + (blocks+leaves)*256
	}
	return b.fixed + 4*b.longestKey + n
}
