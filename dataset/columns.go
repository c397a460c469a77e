package dataset

import (
	"errors"
	"sort"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/trevni"
)

const (
	// defaultBatchRows is the most rows of a batch.
	defaultBatchRows = 4096
	// batchBytes is how many bytes of blocks the rows of a batch may take, so
	// far as the blocks' sizes tell.
	batchBytes = 16 << 20
	// maxItems is the most items of a column in a batch, and maxTotal of all of
	// them: a few bytes of runs can stand for any number.
	maxItems = 1 << 24
	maxTotal = 1 << 26
)

// columns reads columns side by side, a few rows at a time, each child behind
// its parent.
type columns struct {
	all     []column.Column // of the dataset
	numbers []int           // of these columns, ascending, parents included
	parents []int           // of each, as an index here; -1 at the top
	vectors []*column.Vector
	marks   []mark
	items   []int
	rows    int   // in the vectors
	bytes   int64 // that they take in the blocks, about

	name    string // of the part
	cursors []*trevni.Cursor
	at      int64 // row before which the cursors stand; -1: anywhere
}

func newColumns(all []column.Column, numbers []int) *columns {
	n := len(numbers)
	c := &columns{all: all, numbers: numbers, parents: make([]int, n), vectors: make([]*column.Vector, n), marks: make([]mark, n), items: make([]int, n)}
	index := make(map[int]int, n)
	for i, number := range numbers {
		c.vectors[i], c.parents[i], index[number] = new(column.Vector), -1, i
		if p := all[number].Parent; p >= 0 {
			c.parents[i] = index[p]
		}
	}
	return c
}

// bind goes to the begin of a part. What the vectors hold stays there.
func (c *columns) bind(f *partFile) (err error) {
	c.name, c.at = f.Name(), 0
	c.cursors, err = f.cursors(c.numbers)
	return err
}

// cursor returns the cursor of a column of the dataset, which must be one of
// these.
func (c *columns) cursor(number int) *trevni.Cursor {
	return c.cursors[sort.SearchInts(c.numbers, number)]
}

// reset empties the vectors.
func (c *columns) reset() {
	for _, v := range c.vectors {
		v.Reset()
	}
	c.rows, c.bytes = 0, 0
}

// read appends rows from a row on to the vectors: as many as there are before
// to and fit, but one at least if the vectors are empty, so that none means
// that they are full. most is the most rows for the vectors.
func (c *columns) read(from, to int64, most int) (n int, err error) {
	n = int(min(to-from, int64(most-c.rows)))
	if n == 0 {
		return 0, nil
	}
	size := c.rowSize(from)
	if room := (batchBytes - c.bytes) / size; room < int64(n) {
		if n = int(max(room, 0)); n == 0 && c.rows == 0 {
			n = 1
		}
	}
	for n > 0 {
		err = c.append(from, n)
		if !errors.Is(err, column.ErrFull) {
			break
		}
		c.restore()
		if c.rows > 0 {
			return 0, nil
		}
		if n == 1 {
			e := damage.New(damage.Unsupported, c.name, -1, "a row of more than %d items, or of more bytes than a batch can hold", maxItems)
			e.Row = from
			return 0, e
		}
		n, err = n/2, nil
	}
	if err != nil {
		return 0, err
	}
	c.at = from + int64(n)
	c.rows += n
	c.bytes += size * int64(n)
	return n, nil
}

// rowSize is about the number of bytes that a row takes where a row is.
func (c *columns) rowSize(row int64) int64 {
	size := int64(1)
	for _, cursor := range c.cursors {
		blocks := cursor.Blocks()
		i := sort.Search(len(blocks), func(i int) bool { return blocks[i].FirstRow+blocks[i].Rows > row })
		if i < len(blocks) {
			size += blocks[i].RawSize/max(blocks[i].Rows, 1) + 1
		}
	}
	return size
}

// append reads n rows into the vectors, whose state before it is marked.
func (c *columns) append(from int64, n int) error {
	for i, v := range c.vectors {
		c.marks[i] = markOf(v)
	}
	seek, total := c.at != from, 0
	c.at = -1
	for i, cursor := range c.cursors {
		if seek {
			if err := cursor.SeekRow(from); err != nil {
				return err
			}
		}
		count := n
		if p := c.parents[i]; p >= 0 {
			count = c.items[p]
		}
		items, err := cursor.Read(c.vectors[i], count)
		if err != nil {
			return err
		}
		if total += items; items > maxItems || total > maxTotal {
			return column.ErrFull
		}
		if err := c.checkBranch(i); err != nil {
			return err
		}
		c.items[i] = items
	}
	return nil
}

// checkBranch checks what append read of the lengths of a branch of a union.
func (c *columns) checkBranch(i int) error {
	if !c.all[c.numbers[i]].Optional {
		return nil
	}
	for _, n := range c.vectors[i].Lengths[c.marks[i].lengths:] {
		if n > 1 {
			e := damage.New(damage.Count, c.name, -1, "length %d in a branch of a union", n)
			e.Column = c.all[c.numbers[i]].Name
			return e
		}
	}
	return nil
}

// restore drops from the vectors what append did.
func (c *columns) restore() {
	for i, v := range c.vectors {
		c.marks[i].restore(v)
	}
}

// mark is how far the slices of a vector are filled.
type mark struct{ lengths, ints, longs, floats, doubles, bools, offsets, data, values int }

func markOf(v *column.Vector) mark {
	return mark{
		len(v.Lengths), len(v.Ints), len(v.Longs), len(v.Floats), len(v.Doubles), len(v.Bools),
		len(v.Offsets), len(v.Data), v.Values,
	}
}

func (m mark) restore(v *column.Vector) {
	v.Lengths, v.Ints, v.Longs = v.Lengths[:m.lengths], v.Ints[:m.ints], v.Longs[:m.longs]
	v.Floats, v.Doubles, v.Bools = v.Floats[:m.floats], v.Doubles[:m.doubles], v.Bools[:m.bools]
	v.Offsets, v.Data, v.Values = v.Offsets[:m.offsets], v.Data[:m.data], m.values
}
