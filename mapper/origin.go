package mapper

import (
	"errors"
	"fmt"
	"sort"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// origin is the origin of rows of a row group: consecutive rows of an input block.
type origin struct {
	first  int64  // number of the first of these rows in the row group
	source string // name of the input
	offset int64  // offset of the block
	before int64  // number of rows of the block in earlier row groups
}

// manyOrigins is the number of origins at which some are dropped.
const manyOrigins = 4 << 10

// enter records that the next rows are rows of an input block, beginning with row.
func (g *group) enter(source string, offset, row int64) {
	//guard: bounds the number of origins
	if len(g.origins) >= max(manyOrigins, g.fewest) {
		g.thin()
	}
	g.origins = append(g.origins, origin{g.rows, source, offset, row})
}

// thin drops every second origin, but keeps one of each input. Rows of a dropped origin
// are then counted from an earlier block of the same input.
func (g *group) thin() {
	kept := g.origins[:0]
	for i, o := range g.origins {
		if i%2 == 0 || o.source != kept[len(kept)-1].source {
			kept = append(kept, o)
		}
	}
	g.origins, g.fewest = kept, 2*len(kept)
}

// locate adds the place in the input to a format's error about a value. The error has the
// number of the row in the row group. For a value in a list it has only the block.
func (g *group) locate(err error, b *column.Block) error {
	var d *damage.Error
	if !errors.As(err, &d) || d.File != "" || len(g.origins) == 0 {
		return err
	}
	at, row := *d, d.Row
	if row < 0 {
		row = b.FirstRow
		at.Reason = fmt.Sprintf("%s (in one of %d rows from this one on)", d.Reason, b.Rows)
	}
	if g.gaps && g.fewest > 0 {
		at.Reason = fmt.Sprintf("%s (in this row or a later one)", at.Reason)
	}
	i := sort.Search(len(g.origins), func(i int) bool { return g.origins[i].first > row }) - 1
	from := &g.origins[i]
	at.File, at.Offset, at.Row = from.source, from.offset, from.before+row-from.first
	if at.OfBlock = from.offset >= 0; at.OfBlock && g.fewest > 0 {
		at.Reason += " (the row is counted on through the blocks after this one)"
	}
	return &at
}
