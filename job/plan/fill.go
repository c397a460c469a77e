package plan

import (
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/mapper"
)

const (
	// targetShare is the share of a row group's ceiling that a planned task stays below,
	// so that rows that are a little larger than those of the sample fit as well.
	targetShare = 0.93
	// minShare is the share that tasks are cut for if the header or the open blocks
	// alone fill the row group.
	minShare = 0.1
	// steps is the number of points at which the simulation computes the size of a
	// row group.
	steps = 512
)

// filling simulates how a row group fills up with the blocks of its columns.
// It converts products to float64 before it adds them. Otherwise some processors would
// round them differently, and the plan would depend on the machine.
type filling struct {
	empty   format.Group // an empty row group, for its size and its bounds
	columns []rates
	block   int     // size of column blocks
	rows    float64 // rows per byte of input
	stored  float64 // stored bytes of all columns per byte of input
	largest int64   // bytes of the largest input block
}

// rates are the sizes of a column per byte of input.
type rates struct {
	// fill is the share of a block that is filled: by data, or by lengths if these
	// fill the block first.
	fill          float64
	data, lengths float64
	stored        float64
	table         float64 // bytes of tables per block, not per byte of input
}

// lengthSize is the number of bytes that a split length counts for when blocks
// are closed.
const lengthSize = 4

// newFilling takes the rates from a sample. If the sample has no bytes, it assumes
// that outputs are as large as inputs.
func newFilling(empty format.Group, blockSize int, sample *mapper.Sample, columns []mapper.SampleColumn) *filling {
	f := &filling{empty: empty, block: blockSize, largest: sample.LargestBlock()}
	if sample.Bytes() == 0 {
		f.stored = 1
		return f
	}
	f.columns = make([]rates, len(columns))
	per := float64(sample.Bytes())
	f.rows = float64(sample.Rows()) / per
	for i, c := range columns {
		f.columns[i] = rates{
			fill: float64(max(c.Data, lengthSize*c.Lengths)) / per / float64(blockSize),
			data: float64(c.Data) / per, lengths: float64(c.Lengths) / per,
			stored: float64(c.Stored) / per,
			table:  float64(c.Tables) / float64(max(c.Blocks, 1)),
		}
		f.stored += f.columns[i].stored
	}
	return f
}

// maxInput returns how many bytes of input fit into a row group with the given ceiling.
// The size of the row group does not exceed the ceiling before the last row.
func (f *filling) maxInput(ceiling int64) int64 {
	fits := f.fits(float64(ceiling) * targetShare)
	if fits == maxSplit {
		return maxSplit
	}
	// A range of an input includes all blocks that begin in it, so it may exceed its
	// size by up to one block.
	return max(int64(fits)-f.largest, int64(fits/2), minSplit)
}

// fits returns how many bytes of input a row group takes before its counted size exceeds
// limit. The result is at least minShare of the input whose stored bytes fill the limit;
// rollsAfter has no such minimum.
func (f *filling) fits(limit float64) float64 {
	// The stored bytes alone must not pass the limit at any point.
	end := max(limit-float64(f.empty.Size()), limit*minShare) / f.stored
	if f.stored == 0 || end > maxSplit {
		return maxSplit
	}
	fits, s := end*minShare, stretch{}
	for i := 1; i <= steps; i++ {
		from, to := end*float64(i-1)/steps, end*float64(i)/steps
		if f.counted(s, from, to) > limit {
			next, goesOn := f.goesOn(s, from, limit)
			if !goesOn || f.counted(next, from, to) > limit {
				break
			}
			s = next
		}
		fits = max(fits, to)
	}
	return fits
}

// stretch is a part of a row group at whose beginning no column has an open block.
type stretch struct {
	from   float64 // bytes of input before it
	stored float64 // bytes of the row group before it, without those of an empty row group
}

// goesOn reports whether the mapper closes all open blocks instead of ending the row group, if
// the counted size exceeds the limit after to bytes of input: see mapper.GoesOn. It returns the
// stretch that then begins.
func (f *filling) goesOn(s stretch, to, limit float64) (stretch, bool) {
	open := 0.0
	for i := range f.columns {
		blocks := float64(f.columns[i].fill * (to - s.from))
		open += f.openSize(i, blocks-math.Floor(blocks)) - f.openSize(i, 0)
	}
	next := stretch{to, f.size(s, to)}
	return next, to > s.from && mapper.GoesOn(int64(open), int64(limit), len(f.columns), f.block)
}

// size returns the bytes of a row group that ends in a stretch, after to bytes of input, without
// those of an empty row group.
func (f *filling) size(s stretch, to float64) float64 {
	size := s.stored + float64(f.stored*(to-s.from))
	for i := range f.columns {
		c := &f.columns[i]
		size += float64(c.table * math.Ceil(c.fill*(to-s.from)))
	}
	return size
}

// counted returns an upper bound of the size that the mapper counts after any row between
// from and to bytes of input, in a stretch: the stored blocks, and the bounds of the open ones.
// A block that is closed between from and to is taken as full.
func (f *filling) counted(s stretch, from, to float64) float64 {
	size := float64(f.empty.Size()) + s.stored
	for i := range f.columns {
		c := &f.columns[i]
		blocks := float64(c.fill * (to - s.from))
		closed := max(math.Floor(c.fill*(from-s.from)), math.Floor(blocks)-1)
		if closed <= 0 {
			size += f.openSize(i, min(blocks, 1))
			continue
		}
		size += f.openSize(i, min(blocks-closed, 1)) + float64(closed*(c.table+c.stored/c.fill))
	}
	return size
}

// openSize returns an upper bound of the counted size of a column's open block. part is the
// share of the block that is filled.
func (f *filling) openSize(col int, part float64) float64 {
	c := &f.columns[col]
	if part > 0 {
		part /= c.fill // bytes of input
	}
	return float64(bound(f.empty, col, int64(part*f.rows), int(part*c.data), int(part*c.lengths)))
}

// bound returns g.Bound, or 0 if g stores whole rows, because such a format has no open blocks.
func bound(g format.Group, col int, rows int64, data, lengths int) int64 {
	if columns, ok := g.(format.RowGroup); ok {
		return columns.Bound(col, rows, data, lengths)
	}
	return 0
}

// ratio returns the output bytes per input byte of a row group of n input bytes, whose ceiling
// is limit.
func (f *filling) ratio(n int64, limit float64) float64 {
	s, _ := f.last(limit, float64(n))
	return math.Round(f.size(s, float64(n))/float64(n)*1e4) / 1e4
}
