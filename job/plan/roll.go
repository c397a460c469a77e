package plan

import (
	"container/heap"
	"math"
)

// openBlock is the open block of a column. The counted size includes the bound of the block's size
// until the block is full and closed, and then its stored size.
type openBlock struct {
	closesAt float64 // bytes of input after which the block is closed
	input    float64 // bytes of input that fill a block
	drop     float64 // how much closing the block lowers the counted size
}

// openBlocks is a heap with the block that closes next first.
type openBlocks []openBlock

func (o openBlocks) Len() int           { return len(o) }
func (o openBlocks) Less(i, j int) bool { return o[i].closesAt < o[j].closesAt }
func (o openBlocks) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *openBlocks) Push(x any)        { *o = append(*o, x.(openBlock)) }
func (o *openBlocks) Pop() any          { panic("plan: an open block is removed") }

// rollsAfter returns how many bytes of input the mapper puts into a row group, at most end.
// The row group ends with the first row that makes its counted size exceed limit. Unlike fits,
// which is for cutting inputs, rollsAfter follows every block of every column and has no minimum.
func (f *filling) rollsAfter(limit, end float64) float64 {
	_, rolls := f.last(limit, end)
	return rolls
}

// last returns the last stretch of a row group that ends after at most end bytes of input, and
// after how many bytes it ends.
func (f *filling) last(limit, end float64) (stretch, float64) {
	s := stretch{}
	for {
		rolls := min(f.exceeds(s, limit, end), end)
		next, goesOn := f.goesOn(s, rolls, limit)
		if !goesOn || rolls == end {
			return s, rolls
		}
		s = next
	}
}

// exceeds returns after how many bytes of input the counted size exceeds the limit in a stretch.
// If that is more than end, the result is some number greater than end.
func (f *filling) exceeds(s stretch, limit, end float64) float64 {
	end -= s.from
	// The size counted at a position is size + slope × position. Between the ends of two
	// blocks it only rises, so it exceeds the limit just before a block is closed or at
	// the very end.
	size, slope, drops := float64(f.empty.Size())+s.stored, f.stored, 0.0
	blocks := make(openBlocks, 0, len(f.columns))
	for i := range f.columns {
		c, empty := &f.columns[i], f.openSize(i, 0)
		size += empty
		if c.fill == 0 {
			continue
		}
		slope += c.fill * c.table
		drop := f.openSize(i, 1) - empty - c.table - c.stored/c.fill
		if drop > 0 {
			blocks = append(blocks, openBlock{input: 1 / c.fill, drop: drop})
			drops += drop
		}
	}
	// Up to safe bytes of input, the limit holds even with full blocks in all columns.
	safe := max((limit-size-drops)/slope, 0)
	for i := range blocks {
		b := &blocks[i]
		closed := math.Floor(safe / b.input)
		b.closesAt = (closed + 1) * b.input
		size -= closed * b.drop
		slope += b.drop / b.input
	}
	heap.Init(&blocks)
	for len(blocks) > 0 && blocks[0].closesAt < end && size+slope*blocks[0].closesAt <= limit {
		size -= blocks[0].drop
		blocks[0].closesAt += blocks[0].input
		heap.Fix(&blocks, 0)
	}
	rolls := s.from + (limit-size)/slope
	if f.rows > 0 {
		rolls = (math.Floor(rolls*f.rows) + 1) / f.rows
	}
	return rolls
}
