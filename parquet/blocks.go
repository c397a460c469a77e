package parquet

import (
	"encoding/binary"
	"math"
	"slices"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Blocks returns the pages of a column. A column that has only lengths, and columns below it, has
// no bytes of its own. The first page of a row group counts the bytes of the dictionary, too.
func (p *part) Blocks(col int) ([]format.Block, error) {
	var blocks []format.Block
	for g := range p.groups {
		c := p.chunk(g, p.lengths[col])
		pages, err := p.pagesOf(c)
		if err != nil {
			return nil, err
		}
		blocks = slices.Grow(blocks, len(pages))
		for i := range pages {
			k := &pages[i]
			block := format.Block{FirstRow: k.first, Rows: k.rows}
			if c.leaf.number == col {
				block.StoredSize, block.RawSize = k.size, c.rawSize(k)
				if i == 0 {
					block.StoredSize += c.dataAt - c.start
				}
			}
			blocks = append(blocks, block)
		}
	}
	return blocks, nil
}

// Bounds implements format.Searcher, by the column index. It is apart from Blocks because the
// index of a column of long text is large, and only conditions need it.
func (p *part) Bounds(col int, blocks []format.Block) error {
	leaf := p.lengths[col]
	if p.columns[leaf].leaf.number != col {
		return nil
	}
	for g := range p.groups {
		c := p.chunk(g, leaf)
		pages, err := p.pagesOf(c)
		if err == nil {
			err = p.bounds(c, blocks[:len(pages)])
		}
		if err != nil {
			return err
		}
		blocks = blocks[len(pages):]
	}
	return nil
}

// bounds is Bounds for the blocks of a chunk.
func (p *part) bounds(c *partChunk, blocks []format.Block) error {
	if len(blocks) == 0 || c.columnIndex.size == 0 {
		return nil
	}
	reserved := &column.Reservation{Account: p.memory}
	defer reserved.ShrinkTo(0)
	index, err := p.readBounds(c, len(blocks), reserved)
	if err != nil {
		return err
	}
	counted, ordered := len(index.NullCounts) == len(blocks), c.ordered && bounded(c.leaf)
	for i := range blocks {
		k := &blocks[i]
		switch {
		case index.NullPages[i]:
			k.Presence = format.NoValues
			continue
		case counted && index.NullCounts[i] == 0:
			k.Presence = format.OnlyValues
		}
		if ordered {
			k.Min, k.Max = boundOf(c.leaf, index.MinValues[i], true), boundOf(c.leaf, index.MaxValues[i], false)
		}
	}
	return nil
}

// rawSize returns about how many bytes a page has before compression: its share of the chunk,
// which includes the dictionary, but at least the strings that a dictionary stands for.
func (c *partChunk) rawSize(k *partPage) int64 {
	const most = math.MaxInt64 / 8 // so that sums and products fit
	share := int64(float64(min(c.raw, most)) * float64(k.size) / float64(max(c.end-c.dataAt, 1)))
	if k.text < 0 {
		return share
	}
	return max(share, min(k.text, most)+4*min(k.rows, most))
}

// readBounds reads the column index of a chunk, which must have one.
func (p *part) readBounds(c *partChunk, pages int, reserved *column.Reservation) (*pq.ColumnIndex, error) {
	index := new(pq.ColumnIndex)
	if err := p.readIndex(c, columnIndexes, c.pageCount, index, reserved); err != nil {
		return nil, err
	}
	//guard: rejects bounds of other pages
	if len(index.NullPages) != pages || len(index.MinValues) != pages || len(index.MaxValues) != pages {
		return nil, p.damaged(c, -1, damage.Count, c.columnIndex.offset, "the column index has %d pages, %d and %d bounds, expected %d",
			len(index.NullPages), len(index.MinValues), len(index.MaxValues), pages)
	}
	return index, nil
}

// bounded reports whether conditions use bounds of the leaf's values. Text of an enum and
// decimals have another order than the values of the column.
func bounded(l *leaf) bool {
	return l.Type != column.Null && l.Type != column.Boolean && l.Symbols == nil && l.Logical != column.LogicalDecimal
}

// boundOf returns a least or a greatest bound as an encoded value of the column, or nil if it is no
// bound.
func boundOf(l *leaf, b []byte, least bool) []byte {
	switch size := l.width(); {
	case size > 0 && len(b) != size:
		return nil
	case l.textual():
		return append(binary.AppendVarint(nil, int64(len(b))), b...)
	case l.physical == pq.Int32:
		return binary.AppendVarint(nil, int64(int32(binary.LittleEndian.Uint32(b))))
	case l.physical == pq.Int64:
		v, ok := l.unit.bound(int64(binary.LittleEndian.Uint64(b)), least)
		if !ok || l.Type == column.Int && v != int64(int32(v)) {
			return nil
		}
		return binary.AppendVarint(nil, v)
	case isNaN(l, b):
		return nil
	}
	return b
}

// isNaN reports whether the PLAIN value of a leaf is not a number.
func isNaN(l *leaf, b []byte) bool {
	switch l.physical {
	case pq.Float:
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return f != f
	case pq.Double:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return false
}

// width returns the size of each PLAIN value, or 0 for booleans and BYTE_ARRAY.
func (l *leaf) width() int {
	switch l.physical {
	case pq.Int32, pq.Float:
		return 4
	case pq.Int64, pq.Double:
		return 8
	}
	return l.size
}
