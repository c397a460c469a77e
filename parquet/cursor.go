package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// enough is how many values of sequences Read appends at most in one call, so that they fit a
// processor's cache. The next call reads on.
const enough = 1 << 14

// enoughText is how many bytes of text Read appends at most in one call, unless one unit has more,
// if the index does not say how many the page has.
const enoughText = 1 << 20

// cursor implements format.Cursor. It counts in units, the entries that Read reads: lengths in
// an array column, else values. A unit begins at an entry of the leaf where the parent's item
// begins: the repetition level is at most that of the parent, and the definition level at least
// that of the parent's items.
type cursor struct {
	p      *part
	col    *column.Column
	number int
	own    bool // the leaf's values are those of the column
	around levelPair
	item   levelPair // of an array column's items

	pages  []partPage // of the chunk that reader reads; nil before they are read
	reader pageReader
	levels levelReader
	values valueReader

	page *loadedPage // nil if no page is loaded
	next int         // number of the next page to load
	left int         // units left in the page of a column without lengths
	past int         // values of the page that were passed
	most int         // values that one call of Read appends at most, unless one unit has more
	err  error

	passed []int32 // room for the lengths that Skip passes over
}

// levelPair is a repetition and a definition level.
type levelPair struct{ rep, def uint32 }

// cursor returns a cursor before the first row of a column.
func (p *part) cursor(number int) *cursor {
	chunk := p.chunk(0, p.lengths[number])
	c := &cursor{p: p, number: number, col: &p.tree.mapping.Columns[number]}
	c.own, c.most = chunk.leaf.number == number, math.MaxInt
	if parent := c.col.Parent; parent >= 0 {
		c.around = pairOf(&p.tree.mapping.Columns[parent])
	}
	c.item = levelPair{uint32(c.col.Rep), uint32(p.tree.itemLevel(number))}
	c.reader = pageReader{p: p, c: chunk}
	c.levels.repetition.most, c.levels.definition.most = uint32(chunk.leaf.rep), uint32(chunk.leaf.def)
	if c.own {
		c.values = newValueReader(chunk.leaf)
	}
	return c
}

func pairOf(c *column.Column) levelPair { return levelPair{uint32(c.Rep), uint32(c.Def)} }

// ready reads the places of the pages in the row group.
func (c *cursor) ready() (err error) {
	if c.pages == nil {
		c.pages, err = c.p.pagesOf(c.reader.c)
	}
	return err
}

func (c *cursor) SeekRow(row int64) error {
	if row < 0 || row > c.p.rows {
		return fmt.Errorf("parquet: seek to row %d of %d", row, c.p.rows)
	}
	c.err = nil
	if g := c.p.groupOf(row); g != c.reader.c.group.number {
		c.turn(g)
	}
	if err := c.ready(); err != nil {
		return c.fail(err)
	}
	if row == c.p.rows {
		c.page, c.next, c.left = nil, len(c.pages), 0
		return nil
	}
	i := sort.Search(len(c.pages), func(i int) bool { return c.pages[i].first+c.pages[i].rows > row })
	if err := c.begin(i); err != nil {
		return c.fail(err)
	}
	return c.fail(c.passRows(int(row - c.pages[i].first)))
}

// passRows passes over rows of the page, which begins.
func (c *cursor) passRows(n int) error {
	if n == 0 {
		return nil
	}
	least := c.item.def
	if !c.col.Array {
		least = c.around.def
	}
	passed, err := c.levels.passRows(n, least)
	if err != nil {
		return c.undecodable(err)
	}
	if !c.col.Array {
		c.left -= passed
	}
	return c.skipped(passed)
}

// skipped passes over values, if they are those of the column.
func (c *cursor) skipped(n int) error {
	if !c.own {
		return nil
	}
	c.past += n
	return c.locate(c.values.skip(n))
}

// begin moves to the start of page i. It loads the page unless it is loaded.
func (c *cursor) begin(i int) error {
	if c.page == nil || c.page.number != i {
		c.page = nil
		if i == 0 && c.own { // the dictionary and the first page follow each other
			if _, err := c.reader.dictionary(); err != nil {
				return err
			}
		}
		page, err := c.reader.load(i)
		if err != nil {
			return err
		}
		c.page = page
	}
	c.next = i + 1
	if err := c.levels.reset(c.page); err != nil {
		return c.undecodable(err)
	}
	if err := c.checkStart(); err != nil {
		return err
	}
	if c.own {
		if err := c.beginValues(); err != nil {
			return err
		}
	}
	if c.col.Array {
		return nil
	}
	n, err := c.levels.count(c.around.def)
	c.left = n
	return c.undecodable(err)
}

// beginValues moves to the first value of the page.
func (c *cursor) beginValues() error {
	var w *words
	if dictionaryCoded(c.page.encoding) {
		var err error
		if w, err = c.reader.dictionary(); err != nil {
			return err
		}
	}
	c.past = 0
	c.values.unsized = c.pages[c.page.number].text < 0
	err := c.values.reset(c.page, w, c.textOf(c.page.number))
	c.most = math.MaxInt
	if n := c.values.longest(); n > 0 && c.values.unsized {
		c.most = max(enoughText/n, 1)
	}
	return c.locate(err)
}

// checkStart checks that the page begins with a row.
func (c *cursor) checkStart() error {
	if c.levels.repetition.most == 0 || c.page.entries == 0 {
		return nil
	}
	//guard: refuses pages that divide a row
	if c.levels.repetition.level != 0 {
		return c.damaged(damage.Unsupported, "the page begins inside a row")
	}
	return nil
}

// textOf returns how many bytes the strings of a page may have.
func (c *cursor) textOf(i int) int64 {
	switch n := c.pages[i].text; {
	case !c.reader.c.leaf.textual() || c.col.Symbols != nil: // an enum's text is not counted
		return math.MaxInt64
	case n >= 0:
		return n
	default:
		return c.p.max
	}
}

// advance moves to the start of the next page, or returns io.EOF.
func (c *cursor) advance() error {
	if err := c.ready(); err != nil {
		return err
	}
	if c.page != nil && c.own {
		if err := c.locate(c.values.end()); err != nil {
			return err
		}
	}
	c.left = 0
	for c.next >= len(c.pages) {
		if err := c.nextChunk(); err != nil {
			return err
		}
	}
	return c.begin(c.next)
}

// nextChunk moves before the first page of the next row group, or returns io.EOF.
func (c *cursor) nextChunk() error {
	next := c.reader.c.group.number + 1
	if next == len(c.p.groups) {
		return io.EOF
	}
	c.turn(next)
	return c.ready()
}

// turn moves before the first page of a row group.
func (c *cursor) turn(group int) {
	c.reader.turn(c.p.chunk(group, c.p.lengths[c.number]))
	c.pages, c.page, c.next, c.left = nil, nil, 0, 0
}

// Skip passes over values or lengths.
func (c *cursor) Skip(n int64) (items int64, err error) {
	if c.err != nil && n > 0 {
		return 0, c.err
	}
	for n > 0 {
		var passed, more int64
		if c.col.Array {
			passed, more, err = c.skipLengths(n)
		} else {
			passed, err = c.skipValues(n)
			more = passed
		}
		if errors.Is(err, io.EOF) {
			err = c.damaged(damage.Count, "the column ends %d units early", n)
		}
		if err != nil {
			return 0, c.fail(err)
		}
		n, items = n-passed, items+more
	}
	return items, nil
}

// skipValues passes over up to n values of a column without lengths.
func (c *cursor) skipValues(n int64) (passed int64, err error) {
	if c.left == 0 {
		return c.nextPage(n)
	}
	passed = min(n, int64(c.left))
	c.left -= int(passed)
	return passed, c.skipped(int(passed))
}

// nextPage moves to the next page. If all of its values are to be skipped and their number is
// known, it passes over the page.
func (c *cursor) nextPage(n int64) (passed int64, err error) {
	if err := c.ready(); err != nil {
		return 0, err
	}
	switch i := c.next; {
	case i == len(c.pages):
		return 0, c.nextChunk()
	case c.col.Parent < 0 && c.pages[i].rows <= n:
		c.page, c.next = nil, i+1
		return c.pages[i].rows, nil
	}
	return 0, c.advance()
}

// skippedLengths is how many lengths are skipped at a time.
const skippedLengths = 512

// skipLengths passes over up to n sequences.
func (c *cursor) skipLengths(n int64) (passed, items int64, err error) {
	if err := c.toEntry(); err != nil {
		return 0, 0, err
	}
	if c.passed == nil {
		c.passed = make([]int32, 0, skippedLengths)
	}
	some, sum, err := c.lengths(c.passed, int(min(n, skippedLengths)), enough, math.MaxInt)
	if err == nil {
		err = c.skipped(sum)
	}
	return int64(len(some)), int64(sum), err
}

// toEntry moves to a page with entries that are left.
func (c *cursor) toEntry() error {
	for c.page == nil || c.levels.entries() == 0 {
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) Read(v *column.Vector, n int) (read, items int, err error) {
	if c.err != nil || n == 0 {
		return 0, 0, c.err
	}
	v.Encoded = false
	if c.col.Array {
		read, items, err = c.readSequences(v, n)
	} else {
		read, err = c.readValues(v, n)
		items = read
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, column.ErrFull) {
		c.err = err
	}
	return read, items, err
}

// readValues reads up to n values of a column without lengths.
func (c *cursor) readValues(v *column.Vector, n int) (read int, err error) {
	for c.left == 0 {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	_, room, _ := v.Room(c.col.Type)
	for n = min(n, c.left, room, c.most); n > 0; n /= 2 {
		if err := c.append(v, n); err == nil {
			c.left -= n
			return n, nil
		} else if !errors.Is(err, column.ErrFull) {
			return 0, err
		}
	}
	return 0, column.ErrFull
}

// append appends the next n values. If it fails, the vector and the cursor are as before.
func (c *cursor) append(v *column.Vector, n int) error {
	before := v.Values
	err := c.values.read(v, n)
	if err == nil {
		c.past += n
		return nil
	}
	if v.Values = before; c.col.Type != column.Null {
		v.Truncate(c.col.Type, before)
	}
	if !errors.Is(err, column.ErrFull) {
		return c.locate(err)
	}
	past := c.past
	if err := c.beginValues(); err != nil {
		return err
	}
	if err := c.skipped(past); err != nil {
		return err
	}
	return err
}

// readSequences reads up to n lengths and the values of each.
func (c *cursor) readSequences(v *column.Vector, n int) (read, items int, err error) {
	rooms, room, _ := v.Room(c.col.Type)
	if n = min(n, rooms); n == 0 {
		return 0, 0, column.ErrFull
	}
	had := len(v.Lengths)
	for n > 0 {
		if err := c.toEntry(); err != nil {
			return 0, 0, err
		}
		place := c.levels.place()
		v.Lengths, items, err = c.lengths(v.Lengths, n, min(enough, c.most), room)
		if err == nil && c.own {
			err = c.append(v, items)
		} else if err == nil {
			v.Values += items
		}
		if read = len(v.Lengths) - had; err == nil && read > 0 {
			return read, items, nil
		}
		v.Lengths = v.Lengths[:had]
		switch {
		case err == nil: // the page has no more units
			continue
		case !errors.Is(err, column.ErrFull):
			return 0, 0, err
		}
		if err := c.levels.move(place); err != nil {
			return 0, 0, c.undecodable(err)
		}
		n = read / 2
	}
	return 0, 0, column.ErrFull
}

// fail makes err, unless it is nil, the cursor's error until it seeks.
func (c *cursor) fail(err error) error {
	if err != nil {
		c.err = err
	}
	return err
}

// damaged returns damage in the page.
func (c *cursor) damaged(kind damage.Kind, reason string, args ...any) error {
	return c.locate(bad(kind, reason, args...))
}

// undecodable returns an error of levels as damage in the page.
func (c *cursor) undecodable(err error) error { return c.locate(badLevels(err)) }

// locate adds the page to damage that has no place.
func (c *cursor) locate(err error) error { return c.p.locate(err, c.reader.c, c.page) }
