package plan

import (
	"container/heap"
	"math"
)

// openBlock is the open block of a column. Until it is full and closed, its size bound counts;
// then its stored size.
type openBlock struct {
	closes float64 // bytes of input at which it is closed
	every  float64 // bytes of input that fill a block
	drop   float64 // by how much closing it lowers the counted size
}

// openBlocks is a heap with the block that closes next first.
type openBlocks []openBlock

func (o openBlocks) Len() int           { return len(o) }
func (o openBlocks) Less(i, j int) bool { return o[i].closes < o[j].closes }
func (o openBlocks) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *openBlocks) Push(x any)        { *o = append(*o, x.(openBlock)) }
func (o *openBlocks) Pop() any          { panic("plan: an open block is removed") }

// rollsAfter returns how many bytes of input the mapper puts into a row group, which ends
// with the first row that makes its counted size exceed limit; at most end. Unlike fits, by
// which plans are cut, it follows every block of every column and has no lower bound.
func (f *filling) rollsAfter(limit, end float64) float64 {
	// The size counted at a position is size + slope × position. Between two ends of
	// blocks it only rises, so it passes the limit just before a block is closed or at
	// the very end.
	size, slope, drops := float64(f.empty.Size()), f.stored, 0.0
	blocks := make(openBlocks, 0, len(f.columns))
	for i := range f.columns {
		c, least := &f.columns[i], f.open(i, 0)
		size += least
		if c.fill == 0 {
			continue
		}
		slope += c.fill * c.table
		drop := f.open(i, 1) - least - c.table - c.stored/c.fill
		if drop > 0 {
			blocks = append(blocks, openBlock{every: 1 / c.fill, drop: drop})
			drops += drop
		}
	}
	// Up to here the limit holds even with full blocks in all columns.
	calm := max((limit-size-drops)/slope, 0)
	for i := range blocks {
		b := &blocks[i]
		closed := math.Floor(calm / b.every)
		b.closes = (closed + 1) * b.every
		size -= closed * b.drop
		slope += b.drop / b.every
	}
	heap.Init(&blocks)
	for len(blocks) > 0 && blocks[0].closes < end && size+slope*blocks[0].closes <= limit {
		size -= blocks[0].drop
		blocks[0].closes += blocks[0].every
		heap.Fix(&blocks, 0)
	}
	rolls := (limit - size) / slope
	if f.rows > 0 {
		rolls = (math.Floor(rolls*f.rows) + 1) / f.rows
	}
	return min(rolls, end)
}
