package dataset

import (
	"fmt"
	"math"
	"sort"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// cursors go side by side over columns of a part, each child behind its
// parent.
type cursors struct {
	all     []column.Column // of the dataset
	numbers []int           // of these columns, ascending, parents included
	parents []int           // of each, as an index here; -1 at the top

	part    *queryPart
	each    []format.Cursor
	blocks  [][]format.Block // of each
	at      int64            // row before which they stand; -1: anywhere
	extents []extent         // of the block of each that holds a row up to at
	moved   []int64          // items that the last move passed; -1: not known
}

// extent is how far a column can be read on without passing over a whole block:
// to the end of the block behind the one that was read last.
type extent struct {
	end     int64 // the first row beyond
	rowSize int64 // bytes that a row takes in that block, about
}

func newCursors(all []column.Column, numbers []int) cursors {
	n := len(numbers)
	c := cursors{all: all, numbers: numbers, parents: make([]int, n), extents: make([]extent, n), moved: make([]int64, n)}
	index := make(map[int]int, n)
	for i, number := range numbers {
		c.parents[i], index[number] = -1, i
		if p := all[number].Parent; p >= 0 {
			c.parents[i] = index[p]
		}
	}
	return c
}

// bind goes to the begin of a part.
func (c *cursors) bind(q *queryPart) (err error) {
	c.part, c.at = q, 0
	c.each, c.blocks = make([]format.Cursor, len(c.numbers)), make([][]format.Block, len(c.numbers))
	for i, col := range c.numbers {
		if c.each[i], err = q.Cursor(col); err != nil {
			return err
		}
		if c.blocks[i], err = q.blocksOf(col); err != nil {
			return err
		}
	}
	clear(c.extents)
	return c.checkMemory(q)
}

// checkMemory finds out whether a block of each column fits into memory at a time,
// before the first is read: it says what all of them need. Of a large block it counts
// a part only, for its size may be damage.
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

// move goes to a row, which is to be read. The items between are skipped, as
// many as the parent's say; only where a whole block lies between, or where the
// parent sought, a column seeks.
func (c *cursors) move(row int64) (err error) {
	for i, cursor := range c.each {
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
		}
	}
	c.at = row
	return nil
}

// measure finds the extent of a column behind a row that has been read, -1 at
// the begin.
func (c *cursors) measure(i int, row int64) {
	blocks := c.blocks[i]
	if len(blocks) == 0 {
		return
	}
	next := sort.Search(len(blocks), func(b int) bool { return blocks[b].FirstRow > row })
	b := &blocks[min(next, len(blocks)-1)]
	c.extents[i] = extent{b.FirstRow + b.Rows, b.RawSize/max(b.Rows, 1) + 1}
}

// extent returns that of all columns.
func (c *cursors) extent() extent {
	all := extent{end: math.MaxInt64, rowSize: 1}
	for i, e := range c.extents {
		if len(c.blocks[i]) == 0 { // as of a branch that no row took
			continue
		}
		all.end = min(all.end, e.end)
		all.rowSize += e.rowSize
	}
	return all
}
