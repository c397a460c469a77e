package dataset

import (
	"fmt"
	"math"
	"sort"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// cursors move side by side over columns of a part, each child after its parent. The
// slices have one element per column.
type cursors struct {
	all     []column.Column // all columns of the dataset
	numbers []int           // indexes in all of the columns that are read, ascending, with their parents
	parents []int           // index in numbers of each column's parent, or -1 at the top

	part          *queryPart
	columnCursors []format.Cursor
	blocks        [][]format.Block // block tables
	at            int64            // row before which all cursors are; -1 if it is unknown
	fresh         bool             // the next move measures all columns
	extents       []extent
	moved         []int64 // items that the last move passed; -1 if the column sought
}

// extent is how far a column can be read without passing over a whole block: to the end
// of the block after the one that was read last.
type extent struct {
	end     int64 // the first row after the extent
	rowSize int64 // approximate bytes per row in the extent's block
}

func newCursors(all []column.Column, numbers []int) *cursors {
	n := len(numbers)
	c := &cursors{all: all, numbers: numbers, parents: make([]int, n), extents: make([]extent, n), moved: make([]int64, n)}
	index := make(map[int]int, n)
	for i, number := range numbers {
		c.parents[i], index[number] = -1, i
		if p := all[number].Parent; p >= 0 {
			c.parents[i] = index[p]
		}
	}
	return c
}

// bind moves to the start of a part.
func (c *cursors) bind(q *queryPart) (err error) {
	c.part, c.at = q, 0
	c.columnCursors, c.blocks = make([]format.Cursor, len(c.numbers)), make([][]format.Block, len(c.numbers))
	for i, col := range c.numbers {
		if c.columnCursors[i], err = q.Cursor(col); err != nil {
			return err
		}
		if c.blocks[i], err = q.blocksOf(col); err != nil {
			return err
		}
	}
	clear(c.extents)
	return c.checkMemory(q)
}

// checkMemory fails if one block of each column does not fit into memory, before any
// block is read. The error names the bytes that all these blocks need. At most
// largeBlock bytes of a block are counted, because its stated size may be damaged.
func (c *cursors) checkMemory(q *queryPart) error {
	need := int64(0)
	for _, blocks := range c.blocks {
		if len(blocks) > 0 {
			need += min(blocks[0].RawSize, largeBlock)
		}
	}
	if err := q.memory.Check(need); err != nil {
		return fmt.Errorf("a block of each of %d columns: %w", len(c.blocks), err)
	}
	return nil
}

// move moves all cursors to a row that is to be read. A child column skips as many items
// as its parent has in the rows between. A column seeks only if the row is before the
// cursor or after its extent, or if its parent sought.
func (c *cursors) move(row int64) (err error) {
	for i, cursor := range c.columnCursors {
		gap := row - c.at
		if p := c.parents[i]; p >= 0 {
			gap = c.moved[p]
		}
		if row >= c.extents[i].end {
			c.measure(i, c.at-1)
		}
		if c.at < 0 || row < c.at || row >= c.extents[i].end || gap < 0 {
			c.moved[i] = -1
			if err := cursor.SeekRow(row); err != nil {
				return err
			}
			c.measure(i, row)
		} else if c.moved[i], err = cursor.Skip(gap); err != nil {
			return err
		} else if c.fresh {
			c.measure(i, row)
		}
	}
	c.at, c.fresh = row, false
	return nil
}

// measure sets the extent of a column after row was read. row is -1 if no row was read.
func (c *cursors) measure(i int, row int64) {
	blocks := c.blocks[i]
	if len(blocks) == 0 {
		return
	}
	next := sort.Search(len(blocks), func(b int) bool { return blocks[b].FirstRow > row })
	b := &blocks[min(next, len(blocks)-1)]
	c.extents[i] = extent{b.FirstRow + b.Rows, b.RawSize/max(b.Rows, 1) + 1}
}

// extent returns the common extent of all columns.
func (c *cursors) extent() extent {
	all := extent{end: math.MaxInt64, rowSize: 1}
	for i, e := range c.extents {
		if len(c.blocks[i]) == 0 { // such as a branch of a union that no row has
			continue
		}
		all.end = min(all.end, e.end)
		all.rowSize += e.rowSize
	}
	return all
}
