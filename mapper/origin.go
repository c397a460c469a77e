package mapper

import (
	"errors"
	"fmt"
	"sort"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// origin is where rows of a row group come from: consecutive rows of an input block.
type origin struct {
	first  int64  // row of the row group
	source string // name of the input
	offset int64  // of the block
	before int64  // rows of the block that are in row groups before
}

// manyOrigins is how many origins are kept before some are dropped.
const manyOrigins = 4 << 10

// enter notes that the next rows are those of an input block, from a row on.
func (g *group) enter(source string, offset, row int64) {
	//guard: bounds what is remembered of small blocks
	if len(g.origins) >= max(manyOrigins, g.fewest) {
		g.thin()
	}
	g.origins = append(g.origins, origin{g.rows, source, offset, row})
}

// thin drops every other origin, but keeps one of each input. Rows are then counted from
// an earlier block of the same input.
func (g *group) thin() {
	kept := g.origins[:0]
	for i, o := range g.origins {
		if i%2 == 0 || o.source != kept[len(kept)-1].source {
			kept = append(kept, o)
		}
	}
	g.origins, g.fewest = kept, 2*len(kept)
}

// locate adds the place in the input to a format's error about a value. The format knows
// the row of the row group, or only the block if the value is in a list.
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
	i := sort.Search(len(g.origins), func(i int) bool { return g.origins[i].first > row }) - 1
	from := &g.origins[i]
	at.File, at.Offset, at.Row = from.source, from.offset, from.before+row-from.first
	return &at
}
