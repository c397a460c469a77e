package damage

import "math"

// A file may stand for freeGrowth bytes, plus mostGrowth bytes for each of its own. A
// row counts as at least leastRow bytes. Rows that differ at all take more of a file
// with any compression; a smaller file could only keep a reader busy for hours.
const (
	freeGrowth = 1 << 30
	mostGrowth = 4 << 10
	leastRow   = 4
)

// Growth is the size of the rows in a file, or in the part of it that was read.
type Growth struct {
	Stored int64 // bytes of the file
	Bytes  int64 // of its rows, decompressed
	Rows   int64 // and items of arrays that take no bytes
}

// Check returns an *Error of kind Unsupported, at an offset of the file or -1, if the
// rows are too large for the file.
func (g *Growth) Check(file string, offset int64) error {
	most := freeGrowth + min(g.Stored, math.MaxInt64/(2*mostGrowth))*mostGrowth
	//guard: bounds the work that a few bytes can cause
	if g.Bytes > most || g.Rows > most/leastRow {
		return New(Unsupported, file, offset,
			"%d bytes of the file stand for %d rows of %d bytes; a file may stand for %d bytes and %d for each of its own, where a row, or an item without bytes, counts as %d",
			g.Stored, g.Rows, g.Bytes, freeGrowth, mostGrowth, leastRow)
	}
	return nil
}
