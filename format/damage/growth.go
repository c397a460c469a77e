package damage

import "math"

// A file may stand for freeGrowth bytes, plus mostGrowth bytes for each byte of the file. Each
// row, or item without bytes, is counted as leastRow bytes. With any compression, rows that
// differ need a larger file. A smaller file could only keep a reader busy for hours.
const (
	freeGrowth = 1 << 30
	mostGrowth = 4 << 10
	leastRow   = 4
)

// Growth is the size of the rows in a file, or in the part of it that was read.
type Growth struct {
	Stored int64 // bytes of the file
	Bytes  int64 // decompressed bytes of the rows
	Rows   int64 // number of rows, and of items of arrays that have no bytes
}

// Check returns an *Error of the kind Unsupported if the rows are too large for the file. The
// error has the given offset, which may be -1.
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
