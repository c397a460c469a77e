package dataset

import (
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// defaultBatchRows is the default of Query.BatchRows.
	defaultBatchRows = 4096
	// batchBytes bounds the bytes that the rows of a batch take in blocks, estimated from
	// the sizes of the blocks.
	batchBytes = 16 << 20
	// maxItems bounds the items of one column in a batch, and maxTotal the items of all
	// columns: a few bytes of repeats can stand for any number of items.
	maxItems = 1 << 24
	maxTotal = 1 << 26
)

// columns reads columns side by side into vectors.
type columns struct {
	*cursors
	vectors                []*column.Vector
	marks                  []mark
	window                 []stretch   // rows that are read together
	windowStart, windowEnd int64       // first row of the window, and the row after it
	items                  [][]stretch // per column, the window counted in items
	rows                   int         // number of rows in the vectors
	bytes                  int64       // approximate bytes of these rows in blocks
	memory                 vectorMemory
	groups                 []int        // ends of the groups of columns that are read one after another
	total                  atomic.Int64 // number of lengths and items that append read
	empty                  []bool       // per column, whether it is an array whose items take no bytes
	firm                   bool         // fewer rows are read for lack of space in vectors, but not for lack of memory
}

func newColumns(all []column.Column, numbers []int, memory vectorMemory) *columns {
	n := len(numbers)
	c := &columns{
		cursors: newCursors(all, numbers), vectors: make([]*column.Vector, n), marks: make([]mark, n), items: make([][]stretch, n),
		memory: memory,
	}
	c.memory.sizes = make([]vectorSize, n)
	c.groups = column.Groups(n, func(i int) bool { return c.parents[i] >= 0 })
	for i := range c.vectors {
		c.vectors[i] = new(column.Vector)
		col := &all[numbers[i]]
		c.empty = append(c.empty, col.Type == column.Null && col.Array && !col.Optional)
		if p := c.parents[i]; p >= 0 && (col.Type != column.Null || col.Array) {
			c.empty[p] = false
		}
	}
	return c
}

// swap replaces the vectors, and returns those before.
func (c *columns) swap(set vectorSet) (before vectorSet) {
	before = vectorSet{c.vectors, c.memory.sizes}
	c.vectors, c.memory.sizes = set.vectors, set.sizes
	return before
}

// renew makes new vectors that have room for as much as others hold.
func (c *columns) renew(others []mark) error {
	n := len(c.numbers)
	if err := c.memory.heap.Reserve(int64(n) * shred.ColumnMemory); err != nil {
		return fmt.Errorf("%d columns: %w", n, err)
	}
	c.vectors, c.memory.sizes = make([]*column.Vector, n), make([]vectorSize, n)
	for i, m := range others {
		c.vectors[i] = m.vector()
		if err := c.memory.update(i, c.vectors[i]); err != nil {
			return err
		}
	}
	return nil
}

// reset empties the vectors.
func (c *columns) reset() {
	for i, v := range c.vectors {
		c.memory.reset(i, v)
	}
	c.rows, c.bytes = 0, 0
}

// read appends the first rows of spans to the vectors, as many as fit, and returns how
// many it appended. most bounds the rows in the vectors. If the vectors are empty, at
// least one row is read, so a result of 0 means that the vectors are full.
func (c *columns) read(spans []span, most int) (n int, err error) {
	from := spans[0].from
	var refused error
	for room := most - c.rows; room > 0; room = n / 2 {
		if err := c.move(from); err != nil {
			return 0, err
		}
		extent := c.extent()
		if n = int(min(int64(room), (batchBytes-c.bytes)/extent.rowSize)); n <= 0 {
			if c.rows > 0 {
				return 0, nil
			}
			n = 1
		}
		var end int64
		n, end = c.plan(spans, n, extent.end)
		err := c.append()
		if err == nil {
			c.at = end
			c.rows += n
			c.bytes += extent.rowSize * int64(n)
			return n, c.growItems()
		}
		c.restore()
		switch {
		case errors.Is(err, column.ErrFull):
			refused = nil
		case errors.As(err, new(*budget.Error)) && !c.firm:
			refused = err
		default:
			return 0, err
		}
		if c.rows > 0 {
			return 0, nil
		}
	}
	if n == 0 {
		return 0, nil
	}
	if refused != nil {
		return 0, fmt.Errorf("row %d: %w", from, refused)
	}
	e := damage.New(damage.Unsupported, c.part.name, -1, "a row of more than %d items, or of more bytes than a batch can hold", maxItems)
	e.Row = from
	return 0, e
}

// plan makes the window: the first rows of spans, at most most rows. It returns their
// number, and the row after the last one. After a gap, no range begins at row beyond or
// later, so that a block that lies in the gap is not read.
func (c *columns) plan(spans []span, most int, beyond int64) (n int, end int64) {
	c.window = c.window[:0]
	end = spans[0].from
	c.windowStart = end
	for _, s := range spans {
		if n == most || n > 0 && s.from >= beyond {
			break
		}
		k := int(min(s.to-s.from, int64(most-n)))
		c.window = append(c.window, stretch{int(s.from - end), k})
		n, end = n+k, s.from+int64(k)
	}
	c.windowEnd = end
	return n, end
}

// append reads the window into the vectors. restore undoes it by the marks.
func (c *columns) append() error {
	for i, v := range c.vectors {
		c.marks[i] = markOf(v)
	}
	c.at = -1
	c.total.Store(0)
	if p := c.part.turns; p != nil {
		return p.do(len(c.groups), c.appendGroup)
	}
	for group := range c.groups {
		if err := c.appendGroup(group); err != nil {
			return err
		}
	}
	return nil
}

// appendGroup reads a group of columns.
func (c *columns) appendGroup(group int) error {
	first := 0
	if group > 0 {
		first = c.groups[group-1]
	}
	for i := first; i < c.groups[group]; i++ {
		items, err := c.appendAccounted(i)
		if err != nil {
			return err
		}
		//guard: bounds the memory for repeats
		if c.total.Add(int64(items+len(c.vectors[i].Lengths)-c.marks[i].lengths)) > maxTotal {
			return column.ErrFull
		}
		if err := c.check(i); err != nil {
			return err
		}
	}
	return nil
}

// growItems adds the items without bytes that append read to the growth of their file.
func (c *columns) growItems() error {
	items := int64(0)
	for i, empty := range c.empty {
		if empty {
			for _, n := range c.vectors[i].Lengths[c.marks[i].lengths:] {
				items += int64(n)
			}
		}
	}
	return c.part.grow(items)
}

// appendAccounted is appendColumn with memory reserved for it.
func (c *columns) appendAccounted(i int) (items int, err error) {
	v := c.vectors[i]
	expected, large := c.expected(i)
	if err := c.memory.prepare(i, v, c.all[c.numbers[i]].Type, expected, large); err != nil {
		return 0, err
	}
	v.Limit = v.Values + c.memory.values()
	items, err = c.appendColumn(i)
	if errors.Is(err, column.ErrFull) && c.firm {
		if refused := c.memory.heap.Check(valueMemory * maxItems); refused != nil {
			return 0, refused // for lack of memory, a vector may take fewer items
		}
	}
	if errors.Is(err, column.ErrFull) && v.Values <= c.memory.values() && c.rows == 0 && len(c.window) == 1 && c.window[0].n == 1 {
		// A single row does not fit. Each value may take a single byte of the block.
		if refused := c.memory.heap.Check(valueMemory * c.rawSize(i)); refused != nil {
			err = refused
		}
	}
	if err != nil {
		return 0, err
	}
	return items, c.memory.update(i, v)
}

// largeBlock is the size in bytes from which a block's memory is checked before it is
// read.
const largeBlock = 1 << 20

// rawSize returns the size of the blocks of a column that hold the window's first row.
func (c *columns) rawSize(i int) int64 {
	blocks := c.blocks[i]
	b := max(sort.Search(len(blocks), func(b int) bool { return blocks[b].FirstRow > c.windowStart })-1, 0)
	if b >= len(blocks) {
		return 0
	}
	return blocks[b].RawSize
}

// plausible is the largest ratio of raw to stored size at which a block's raw size is
// trusted before the block is read.
const plausible = 1100

// expected estimates an upper bound of the bytes that the window takes in blocks of a column,
// and how many of them are in large blocks.
func (c *columns) expected(i int) (bytes, large int64) {
	first, end := c.windowStart, c.windowEnd
	blocks := c.blocks[i]
	from := max(sort.Search(len(blocks), func(b int) bool { return blocks[b].FirstRow > first })-1, 0)
	for b := from; b < len(blocks) && blocks[b].FirstRow < end; b++ {
		col := &blocks[b]
		if col.RawSize/plausible > col.StoredSize {
			continue // reading the block shows whether its size is true
		}
		rows := min(end, col.FirstRow+col.Rows) - max(first, col.FirstRow)
		n := min(col.RawSize, 4*(col.RawSize/max(col.Rows, 1)+1)*max(rows, 0))
		bytes += n
		if col.RawSize >= largeBlock {
			large += n
		}
	}
	return bytes, large
}

// check checks that the values that append read into a column fit its type. Every user
// of vectors relies on this check.
func (c *columns) check(i int) error {
	col, v, m := &c.all[c.numbers[i]], c.vectors[i], &c.marks[i]
	if col.Optional {
		for _, n := range v.Lengths[m.lengths:] {
			//guard: rejects a branch with two values
			if n > 1 {
				return c.damaged(col, damage.Count, "length %d in a branch of a union", n)
			}
		}
	}
	if col.Symbols != nil {
		for _, n := range v.Ints[m.ints:] {
			//guard: rejects an ordinal without a symbol
			if uint32(n) >= uint32(len(col.Symbols)) {
				return c.damaged(col, damage.Value, "ordinal %d of an enum of %d symbols", n, len(col.Symbols))
			}
		}
	}
	if col.FixedSize > 0 {
		for k := m.values; k < v.Values; k++ {
			//guard: rejects a value of another size
			if n := int(v.Offsets[k+1] - v.Offsets[k]); n != col.FixedSize {
				return c.damaged(col, damage.Size, "%d bytes where a value has %d", n, col.FixedSize)
			}
		}
	}
	return nil
}

func (c *columns) damaged(col *column.Column, kind damage.Kind, reason string, args ...any) error {
	e := damage.New(kind, c.part.name, -1, reason, args...)
	e.Column = col.Name
	return e
}

// restore undoes append in the vectors.
func (c *columns) restore() {
	for i, v := range c.vectors {
		c.marks[i].restore(v)
		c.memory.restored(i, v)
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

// vector returns an empty vector that has room up to the mark.
func (m mark) vector() *column.Vector {
	return &column.Vector{
		Lengths: make([]int32, 0, m.lengths), Ints: make([]int32, 0, m.ints), Longs: make([]int64, 0, m.longs),
		Floats: make([]float32, 0, m.floats), Doubles: make([]float64, 0, m.doubles), Bools: make([]bool, 0, m.bools),
		Offsets: make([]int32, 0, m.offsets), Data: make([]byte, 0, m.data),
	}
}

func (m mark) restore(v *column.Vector) {
	v.Lengths, v.Ints, v.Longs = v.Lengths[:m.lengths], v.Ints[:m.ints], v.Longs[:m.longs]
	v.Floats, v.Doubles, v.Bools = v.Floats[:m.floats], v.Doubles[:m.doubles], v.Bools[:m.bools]
	v.Offsets, v.Data, v.Values = v.Offsets[:m.offsets], v.Data[:m.data], m.values
}
