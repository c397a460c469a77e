package parquet

import (
	"fmt"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// rowGroup builds a row group of a file. It spills the data pages. The dictionaries and the
// indexes stay in memory.
type rowGroup struct {
	file    *file
	part    bool // the row group is the whole file
	sorting []pq.SortingColumn
	columns []groupColumn
	// columnOf has, for each column of the mapping, the index of its column chunk in columns,
	// or -1 for a column that other columns are below.
	columnOf  []int
	begunRows []int64 // by column of the mapping
	endedRows []int64
	size      int64 // the most bytes of the outputs
	growth    int64
	// free holds jobs that have ended, for later use. Only Begin and End use it, never at once.
	free format.FreeList[encodeJob]
}

// groupColumn is the state of a column chunk.
type groupColumn struct {
	*leaf
	leafOptions
	kind       valueKind
	order      order
	symbols    [][]byte // of an enum
	decimals   *decimalRange
	dictionary *dictionary
	turns      turns
	bound      sizeBound
	filter     *filter // nil if the column has no Bloom filter
	begunJobs  int64

	// The rest is the state after the blocks that have ended.

	wordBytes, words int // of the dictionary
	coded            int // number of pages that have numbers of the dictionary, or nulls alone
	pages            []pageEntry
	bounds           []byte // the bounds of pages, one after another
	histogram        []int64
	spilled          int64 // bytes of pages
	uncoded          int64 // number of values that are not words of the dictionary
}

// newPart returns the row group of a file of its own.
func newPart(o *options, schema string, cols []column.Column, blockSize int) (*rowGroup, error) {
	f, err := newFile(o, schema, column.Unlimited{})
	if err != nil {
		return nil, err
	}
	g, err := newRowGroup(o, f, cols, blockSize)
	if err != nil {
		return nil, err
	}
	g.part = true
	return g, nil
}

func newRowGroup(o *options, f *file, cols []column.Column, blockSize int) (*rowGroup, error) {
	t := f.tree
	//guard: refuses columns of another schema
	if len(cols) != len(t.mapping.Columns) {
		return nil, fmt.Errorf("parquet: %d columns, but the schema has %d", len(cols), len(t.mapping.Columns))
	}
	leaves, err := o.leaves(t.leaves)
	if err != nil {
		return nil, err
	}
	sorting, err := o.sorting(t.leaves)
	if err != nil {
		return nil, err
	}
	g := &rowGroup{
		file: f, sorting: sorting, columns: make([]groupColumn, len(t.leaves)), columnOf: make([]int, len(cols)),
		begunRows: make([]int64, len(cols)), endedRows: make([]int64, len(cols)), growth: 1,
	}
	for i := range g.columnOf {
		g.columnOf[i] = -1
	}
	limit := dictionaryLimit(len(cols), blockSize)
	for i := range g.columns {
		c := &g.columns[i]
		if leaves[i].filtered {
			c.filter = &filter{limit: filterLimit(len(o.BloomFilters), blockSize)}
		}
		c.symbols = f.symbolsOf(&t.leaves[i])
		c.init(&t.leaves[i], leaves[i], limit)
		g.columnOf[c.number] = i
		g.growth = max(g.growth, c.bound.growth())
		g.size += c.tablesBound()
	}
	fixed, err := g.fixedBound()
	g.size += fixed
	return g, err
}

func (c *groupColumn) init(l *leaf, o leafOptions, limit int) {
	c.leaf, c.leafOptions, c.kind, c.order = l, o, kindOf(l), orderOf(l)
	if c.order == orderSigned {
		c.decimals = newDecimalRange(c.Precision)
	}
	if c.encoding == pq.RLEDictionary {
		c.dictionary = newDictionary(l, c.kind, c.symbols, limit)
	}
	if n := c.histogramSize(); n > 0 {
		c.histogram = make([]int64, n)
	}
	c.bound = newSizeBound(c, limit)
}

// maxHistogram is the highest level for which a column chunk has histograms of levels.
const maxHistogram = 15

// histogramSize returns the number of levels that are counted. The counts of fewer levels
// follow from other statistics.
func (c *groupColumn) histogramSize() int {
	if c.def < 2 && c.rep == 0 || max(c.def, c.rep) > maxHistogram {
		return 0
	}
	return c.def + 1 + c.rep + 1
}

// Begin makes the job of a block.
func (g *rowGroup) Begin(col int, block *column.Block) (format.EncodeJob, error) {
	//guard: keeps the blocks of a column in order and without gaps
	if block.Rows <= 0 || block.FirstRow != g.begunRows[col] {
		return nil, fmt.Errorf("parquet: column %q: a block of %d rows begins with row %d, expected row %d", g.name(col), block.Rows, block.FirstRow, g.begunRows[col])
	}
	j := g.free.Take()
	j.begin(g.column(col), block)
	g.begunRows[col] += block.Rows
	if j.c != nil {
		j.c.begunJobs++
	}
	return j, nil
}

func (g *rowGroup) name(col int) string { return g.file.tree.mapping.Columns[col].Name }

// column returns the column chunk of a column, or nil if there is none.
func (g *rowGroup) column(col int) *groupColumn {
	if i := g.columnOf[col]; i >= 0 {
		return &g.columns[i]
	}
	return nil
}

// End adds the job's pages to their column chunk.
func (g *rowGroup) End(col int, job format.EncodeJob, stored int) error {
	j, ok := job.(*encodeJob)
	//guard: refuses blocks that do not end in the order of the rows
	if !ok || j.block.FirstRow != g.endedRows[col] {
		return fmt.Errorf("parquet: column %q: a block ends before that of row %d", g.name(col), g.endedRows[col])
	}
	if c := g.column(col); c != nil {
		grown, err := c.end(j, stored)
		if err != nil {
			return err
		}
		g.size += grown
	}
	g.endedRows[col] += j.block.Rows
	j.c, j.block = nil, nil
	g.free.Put(j)
	return nil
}

// end adds the pages of a job, and returns how much they add to the bound of the file's size.
func (c *groupColumn) end(j *encodeJob, stored int) (grown int64, err error) {
	size := 0
	for i := range j.pages {
		size += int(j.pages[i].stored)
	}
	//guard: refuses spilled pages that do not follow each other
	if size != stored {
		return 0, fmt.Errorf("parquet: column %q: a block of %d stored bytes, expected %d", c.Name, stored, size)
	}
	c.pages, c.bounds = append(c.pages, j.pages...), append(c.bounds, j.bounds...)
	for i, n := range j.histogram {
		c.histogram[i] += n
	}
	c.spilled += int64(stored)
	before := c.dictionaryBound() + c.filterBound()
	for i := range j.pages {
		if p := &j.pages[i]; p.coded {
			c.coded++
		} else {
			c.uncoded += int64(p.entries - p.nulls)
		}
	}
	if j.numbered {
		if c.wordBytes, c.words = j.size, j.words; j.ended {
			c.bound.end()
		}
	}
	return int64(stored+len(j.pages)*pageTables+len(j.bounds)) + c.dictionaryBound() + c.filterBound() - before, nil
}

// filterBound returns the most bytes of the Bloom filter without its header.
func (c *groupColumn) filterBound() int64 {
	if c.filter == nil {
		return 0
	}
	return c.filter.bound(int64(c.words) + c.uncoded)
}

// dictionaryBound returns the most bytes of the dictionary page.
func (c *groupColumn) dictionaryBound() int64 {
	if c.dictionary == nil {
		return 0
	}
	per, _ := compressRatio(c.codec)
	return int64(c.wordBytes) + int64(c.wordBytes)/per
}

// Size implements format.Group.
func (g *rowGroup) Size() int64 { return g.size }

// Bound implements format.RowGroup.
func (g *rowGroup) Bound(col int, rows int64, data, lengths int) int64 {
	if c := g.column(col); c != nil {
		return c.bound.block(rows, data, lengths)
	}
	return 0
}

// Growth implements format.RowGroup.
func (g *rowGroup) Growth() int64 { return g.growth }
