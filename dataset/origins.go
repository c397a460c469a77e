package dataset

import (
	"cmp"
	"slices"
)

// origins say where the rows of a batch come from.
type origins []origin

// origin says where consecutive rows of a batch come from. They end before the first row
// of the next origin.
type origin struct {
	first int   // number of the first of these rows in the batch
	part  int   // index of their part in Dataset.Parts
	row   int64 // number of the first of these rows in the part
}

// add says that the rows of the batch from number first on are those of a part from row on.
func (o *origins) add(first, part int, row int64) {
	if n := len(*o) - 1; n >= 0 {
		if last := &(*o)[n]; last.part == part && last.row+int64(first-last.first) == row {
			return
		}
	}
	*o = append(*o, origin{first, part, row})
}

// of returns the part that row i of the batch is from, and the row's number in that part.
func (o origins) of(i int) (part int, row int64) {
	// next is the first origin after row i.
	next, _ := slices.BinarySearchFunc(o, i+1, func(o origin, row int) int { return cmp.Compare(o.first, row) })
	at := o[next-1]
	return at.part, at.row + int64(i-at.first)
}
