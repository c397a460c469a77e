package plan

import (
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/mapper"
)

const (
	// aim is the share of a row group's ceiling that tasks are to stay below, so
	// that input which is a little larger than the sample fits as well.
	aim = 0.93
	// least is the share that tasks are cut for if the head or the open blocks
	// alone fill the row group.
	least = 0.1
	// steps is the number of points at which the filling of a row group is
	// looked at.
	steps = 512
)

// filling simulates how a row group fills up with the blocks of its columns.
// Products that are added are converted to float64, which keeps processors from
// rounding them otherwise: the plan must not depend on them.
type filling struct {
	empty   format.Group // for its size and its bounds
	columns []rates
	rows    float64 // per byte of input
	stored  float64 // of all columns
	largest int64   // bytes of the largest input block
}

// rates are what a column takes per byte of input.
type rates struct {
	// fill is the part of a block: of its data, or of as many lengths as close
	// a block.
	fill          float64
	data, lengths float64
	stored        float64
	table         float64 // bytes per block, not of input
}

// lengthSize is the number of bytes that a split length counts for when blocks
// are closed.
const lengthSize = 4

// newFilling takes the rates from a sample. Of a sample without rows it takes
// that outputs are as large as inputs.
func newFilling(empty format.Group, blockSize int, sample *mapper.Sample, columns []mapper.SampleColumn) *filling {
	f := &filling{empty: empty, largest: sample.LargestBlock()}
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

// most returns how many bytes of input a row group of a ceiling takes without
// passing it before the last row.
func (f *filling) most(ceiling int64) int64 {
	fits := f.fits(float64(ceiling) * aim)
	if fits == maxSplit {
		return maxSplit
	}
	// A range of an input has blocks that begin in it, and so up to one more
	// than its size says.
	return max(int64(fits)-f.largest, int64(fits/2), minSplit)
}

// fits returns how many bytes of input a row group takes before it counts for more
// than limit, and no less than the share least of what its stored bytes have room for:
// rollsAfter does not stop there.
func (f *filling) fits(limit float64) float64 {
	// Stored bytes alone must not pass the limit, and count at any point.
	end := max(limit-float64(f.empty.Size()), limit*least) / f.stored
	if f.stored == 0 || end > maxSplit {
		return maxSplit
	}
	fits := end * least
	for i := 1; i <= steps; i++ {
		from, to := end*float64(i-1)/steps, end*float64(i)/steps
		if f.counted(from, to) > limit {
			break
		}
		fits = max(fits, to)
	}
	return fits
}

// counted bounds what the mapper counts for the outputs after any row between
// from and to bytes of input: the stored blocks, and the bounds of open ones.
// Columns whose block is closed between them have it full.
func (f *filling) counted(from, to float64) float64 {
	size := float64(f.empty.Size())
	for i := range f.columns {
		c := &f.columns[i]
		blocks := float64(c.fill * to)
		closed := max(math.Floor(c.fill*from), math.Floor(blocks)-1)
		if closed <= 0 {
			size += f.open(i, min(blocks, 1))
			continue
		}
		size += f.open(i, min(blocks-closed, 1)) + float64(closed*(c.table+c.stored/c.fill))
	}
	return size
}

// open bounds what the open block of a column is counted for, which is full to a
// part.
func (f *filling) open(col int, part float64) float64 {
	c := &f.columns[col]
	if part > 0 {
		part /= c.fill // bytes of input
	}
	return float64(bound(f.empty, col, int64(part*f.rows), int(part*c.data), int(part*c.lengths)))
}

// bound is RowGroup.Bound. Whole rows are in no open blocks.
func bound(g format.Group, col int, rows int64, data, lengths int) int64 {
	if columns, ok := g.(format.RowGroup); ok {
		return columns.Bound(col, rows, data, lengths)
	}
	return 0
}

// ratio returns the output bytes per input byte of a row group of so many.
func (f *filling) ratio(bytes int64) float64 {
	size := float64(f.stored * float64(bytes))
	for i := range f.columns {
		c := &f.columns[i]
		size += float64(c.table * math.Ceil(c.fill*float64(bytes)))
	}
	return math.Round(size/float64(bytes)*1e4) / 1e4
}
