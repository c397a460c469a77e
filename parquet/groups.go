package parquet

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"unsafe"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/damage"
)

// partGroup is a row group of an open part.
type partGroup struct {
	number int
	first  int64 // number of the first row in the part
	rows   int64
}

// partColumn is what the chunks of a leaf in an open part have in common.
type partColumn struct {
	leaf       *leaf
	annotation pq.LogicalType // of the leaf in the file
	encodings  encodingSet    // of the data pages
	ordered    bool           // bounds have the order of the type
	// shared is set if other columns read lengths from this leaf. Then all cursors share
	// the last pages that were loaded.
	shared bool

	mu         sync.Mutex
	pagesShelf shelf[*loadedPage]
	wordsShelf shelf[*words]
}

// chunk returns the column chunk of a leaf in a row group.
func (p *part) chunk(group, leaf int) *partChunk { return &p.chunks[group*len(p.columns)+leaf] }

// groupOf returns the number of the row group of a row, or of the last row group if the row is
// that after the last one.
func (p *part) groupOf(row int64) int {
	i := sort.Search(len(p.groups), func(i int) bool { return p.groups[i].first+p.groups[i].rows > row })
	return min(i, len(p.groups)-1)
}

// addGroups checks the row groups, and adds them and their column chunks. A file without row
// groups gets an empty one.
func (p *part) addGroups(meta *pq.FileMetaData) (err error) {
	if err := p.checkGroups(meta); err != nil {
		return err
	}
	leaves, groups := len(p.tree.leaves), max(len(meta.RowGroups), 1)
	need := int64(leaves)*int64(unsafe.Sizeof(partColumn{})) +
		int64(groups)*(int64(unsafe.Sizeof(partGroup{}))+int64(leaves)*int64(unsafe.Sizeof(partChunk{})))
	if err := p.memory.Reserve(need); err != nil {
		return fmt.Errorf("%s: %d row groups of %d column chunks: %w", p.file.Name(), groups, leaves, err)
	}
	defer func() {
		if err != nil {
			p.memory.Release(need)
		}
	}()
	p.addColumns(meta)
	p.groups, p.chunks = make([]partGroup, groups), make([]partChunk, groups*leaves)
	row, entries := int64(0), 0
	for g := range p.groups {
		group := &p.groups[g]
		group.number, group.first = g, row
		for i := range p.columns {
			c := p.chunk(g, i)
			c.partColumn, c.group = &p.columns[i], group
		}
		if len(meta.RowGroups) == 0 {
			break
		}
		group.rows = meta.RowGroups[g].NumRows
		row += group.rows
		for i := range p.columns {
			c := p.chunk(g, i)
			if err := p.addChunk(c, &meta.RowGroups[g].Columns[i]); err != nil {
				return err
			}
			c.firstEntry = entries
			entries += c.checksumsOf(c.columnIndex, c.offsetIndex, c.filter)
		}
	}
	p.chooseLengths()
	return p.checkTableSize(entries)
}

// checkGroups compares the row groups with the file and its schema.
func (p *part) checkGroups(meta *pq.FileMetaData) error {
	fail := func(reason string, args ...any) error {
		return damage.New(damage.Count, p.file.Name(), p.footerAt, reason, args...)
	}
	left := p.rows
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		//guard: rejects row groups with more rows than the file
		if g.NumRows < 0 || g.NumRows > left {
			return fail("row group %d has %d rows, the file has %d rows after the row groups before", i, g.NumRows, left)
		}
		left -= g.NumRows
		//guard: rejects other column chunks than the schema's
		if len(g.Columns) != len(p.tree.leaves) {
			return fail("row group %d has %d column chunks, the schema has %d leaves", i, len(g.Columns), len(p.tree.leaves))
		}
	}
	//guard: rejects rows without a row group
	if left != 0 {
		return fail("the file has %d rows, its row groups %d", p.rows, p.rows-left)
	}
	return nil
}

// addColumns adds the leaves.
func (p *part) addColumns(meta *pq.FileMetaData) {
	p.columns = make([]partColumn, len(p.tree.leaves))
	elements := leafElements(meta.Schema)
	for i := range p.columns {
		c := &p.columns[i]
		c.leaf, c.annotation = &p.tree.leaves[i], elements[i].LogicalType
		c.ordered = i < len(meta.ColumnOrders) && isTypeOrder(meta.ColumnOrders[i]) && sameOrder(c.leaf, elements[i])
	}
}

// chooseLengths chooses, for each column that has only lengths and columns below it, the leaf
// below it with the fewest bytes: all of these have its levels.
func (p *part) chooseLengths() {
	sizes := make([]int64, len(p.columns))
	for i := range p.chunks {
		c := &p.chunks[i]
		sizes[i%len(sizes)] += c.end - c.start
	}
	columns := p.tree.mapping.Columns
	p.lengths = slices.Clone(p.tree.leafOf)
	for i := len(columns) - 1; i >= 0; i-- { // a parent comes before its children
		parent := columns[i].Parent
		if parent >= 0 && sizes[p.lengths[i]] < sizes[p.lengths[parent]] {
			p.lengths[parent] = p.lengths[i]
		}
	}
	for col, leaf := range p.lengths {
		if p.tree.leaves[leaf].number != col {
			p.columns[leaf].shared = true
		}
	}
}

// checkTableSize checks that the table of checksums has that many entries.
func (p *part) checkTableSize(entries int) error {
	//guard: rejects a table of checksums for other pages
	if p.checksums.size >= 0 && p.checksums.size != 4*int64(entries) {
		return damage.New(damage.Header, p.file.Name(), p.footerAt, "a table of %d bytes, the column chunks have %d checksums", p.checksums.size, entries)
	}
	return nil
}

// checksumsOf returns the number of checksums of the chunk's pages, and of those sections that the
// file has.
func (c *partChunk) checksumsOf(sections ...section) int {
	n := c.pageCount
	for _, s := range sections {
		if s.size > 0 {
			n++
		}
	}
	return n
}
