package parquet

import (
	"github.com/rowtocol/rowtocol/format/column"
)

const (
	// maxPageRows is the most rows of a page.
	maxPageRows = 20_000
	// maxPageEntries and pageBytes end a page at the next row: a number of entries, and about
	// a number of bytes before compression.
	maxPageEntries = 1 << 20
	pageBytes      = 1 << 20
)

// page is a data page while its block is encoded.
type page struct {
	word, skip int // the page's entries begin with entry skip of this word of Block.Lengths
	entries    int
	rows       int
	values     int
	levels     int // offset of the page's levels in blockLevels.encoded
	reps, defs int // bytes of its repetition levels, and of its definition levels after them
	// If coded is set, the values are numbers of the dictionary: a range of scratch.codes.
	coded      bool
	first, end int
	width      int        // bits of a number
	size       int        // bytes of the values in the source of the numbers
	bounds     textBounds // of a coded page, except for numbers
	text       int64      // bytes of the values without lengths, if these have any size
}

// cutter divides a block into pages. A page begins with a row.
type cutter struct {
	pages  []page
	valued bool // entries of the highest level have values
	width  int  // bytes of each value, or 0
	// data are the values that are left. It is nil if a page need not end because of the
	// bytes of values.
	data []byte
	size int // bytes of the values of the last page
}

// cut divides the block of a column that has levels, or rows of one value each.
func (c *cutter) cut(l *leaf, block *column.Block) {
	c.begin(0, 0)
	if l.def == 0 && l.rep == 0 {
		for left := int(block.Rows); left > 0; {
			n := c.rows(left, true, 0, int(block.Rows)-left)
			left -= n
		}
		return
	}
	for i, word := range block.Lengths {
		rep, def, n := column.LevelRun(word)
		present := def == l.def && c.valued
		if rep > 0 {
			c.entries(n, present)
			continue
		}
		for done := 0; done < n; {
			done += c.rows(n-done, present, i, done)
		}
	}
}

// begin begins a page with an entry of a word.
func (c *cutter) begin(word, skip int) {
	c.pages = append(c.pages, page{word: word, skip: skip})
	c.size = 0
}

// rows adds up to n entries that each begin a row, and returns how many it added. They
// begin with an entry of a word.
func (c *cutter) rows(n int, present bool, word, skip int) int {
	p := &c.pages[len(c.pages)-1]
	if p.rows == maxPageRows || p.entries >= maxPageEntries || c.size >= pageBytes {
		c.begin(word, skip)
		p = &c.pages[len(c.pages)-1]
	}
	n = min(n, maxPageRows-p.rows, maxPageEntries-p.entries)
	if present {
		n = c.fit(n)
	}
	p.rows += n
	c.entries(n, present)
	return n
}

// entries adds n entries to the last page.
func (c *cutter) entries(n int, present bool) {
	p := &c.pages[len(c.pages)-1]
	p.entries += n
	if !present {
		return
	}
	p.values += n
	c.size += n * c.width
	for range n {
		if len(c.data) == 0 {
			return
		}
		c.size += c.next()
	}
}

// fit returns how many of n values, each in a row of its own, the last page takes.
func (c *cutter) fit(n int) int {
	if c.width > 0 {
		return min(n, (pageBytes-c.size+c.width-1)/c.width)
	}
	data, size := c.data, c.size
	for i := range n {
		if len(c.data) == 0 {
			break
		}
		if i > 0 && c.size >= pageBytes {
			n = i
			break
		}
		c.size += c.next()
	}
	c.data, c.size = data, size
	return n
}

// next passes over a string or bytes and returns its size. The caller finds damage later.
func (c *cutter) next() int {
	text, rest, err := cutText(c.data)
	if err != nil {
		c.data = nil
		return 0
	}
	c.data = rest
	return 4 + len(text)
}
