package parquet

import (
	"context"
	"math"
	"slices"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Verify decodes the whole file and checks it: the footer, the indexes, every checksum, page,
// level and value, all counts and sizes, and that bounds hold. It returns the first damage of each
// column, joined; errors.As finds a *damage.Error in it. A failing reader or a cancelled ctx ends
// it at once.
func (p *part) Verify(ctx context.Context, run format.Runner) error {
	again, memory, err := p.reopen()
	defer memory.ShrinkTo(0)
	if err != nil {
		return err
	}
	err = again.verify(ctx, run)
	if again.unverified.Load() {
		p.unverified.Store(true)
	}
	return err
}

func (p *part) verify(ctx context.Context, run format.Runner) error {
	var found damage.Found
	if err := found.Add(p.verifyRegions()); err != nil {
		return err
	}
	lists := make([][]int, len(p.columns)) // array columns by the leaf that has their lengths
	for col, leaf := range p.lengths {
		if p.tree.mapping.Columns[col].Array {
			lists[leaf] = append(lists[leaf], col)
		}
	}
	for i := range p.columns {
		p.columns[i].shared = false // its pages are read once
	}
	around := make([][]aroundSum, len(p.chunks))
	damaged, err := run.Check(ctx, len(p.chunks), func(ctx context.Context, i int) error {
		c, leaf := &p.chunks[i], i%len(p.columns)
		if c.group.rows == 0 {
			return nil
		}
		v := newChunkVerifier(p, c, &p.footer.RowGroups[c.group.number].Columns[leaf].MetaData, lists[leaf])
		defer v.close()
		around[i] = v.around
		return v.verify(ctx, run)
	})
	if err != nil {
		return err
	}
	var places map[int]placeSum
	for i, err := range damaged {
		if i%len(p.columns) == 0 {
			places = make(map[int]placeSum) // of another row group
		}
		if err == nil {
			err = p.verifyPlaces(&p.chunks[i], around[i], places)
		}
		_ = found.Add(err) // damage is kept
	}
	return found.Err()
}

// chunkVerifier verifies a column chunk.
type chunkVerifier struct {
	p       *part
	c       *partChunk
	columns []int // those whose lengths are in this chunk
	meta    *pq.ColumnMetaData
	index   *pq.ColumnIndex // nil if the chunk has no column index

	// A copy of the verifier for other pages has these fields of its own.
	reader pageReader
	levels levelReader
	around []aroundSum
	lists  []*cursor // of columns, without values
	values valueVerifier
	pages  map[pq.PageEncodingStats]int32 // numbers of pages by their kind
	row    int64                          // number of the page's first row
	page   pageCounts
	whole  pageCounts
	raw    int64 // bytes of all pages before compression, with their headers
	growth damage.Growth
}

// pageCounts counts the entries of a page, or of a chunk.
type pageCounts struct {
	entries, rows, nulls, text int64
	reps, defs                 []int64 // entries of each level
}

func (k *pageCounts) reset() {
	k.entries, k.rows, k.nulls, k.text = 0, 0, 0, 0
	clear(k.reps)
	clear(k.defs)
}

func (k *pageCounts) add(o *pageCounts) {
	k.entries, k.rows, k.nulls, k.text = k.entries+o.entries, k.rows+o.rows, k.nulls+o.nulls, k.text+o.text
	for i, n := range o.reps {
		k.reps[i] += n
	}
	for i, n := range o.defs {
		k.defs[i] += n
	}
}

// newChunkVerifier returns the verifier of a chunk, which has the lengths of columns.
func newChunkVerifier(p *part, c *partChunk, meta *pq.ColumnMetaData, columns []int) *chunkVerifier {
	l := c.leaf
	v := &chunkVerifier{
		p: p, c: c, columns: columns, meta: meta,
		reader: pageReader{p: p, c: c}, values: newValueVerifier(l), pages: make(map[pq.PageEncodingStats]int32),
	}
	v.growth.Stored = p.file.Size()
	v.levels.repetition.most, v.levels.definition.most = uint32(l.rep), uint32(l.def)
	for _, k := range []*pageCounts{&v.page, &v.whole} {
		k.reps, k.defs = make([]int64, l.rep+1), make([]int64, l.def+1)
	}
	for _, col := range columns {
		list := p.cursor(col)
		list.turn(c.group.number)
		list.own = false
		v.lists = append(v.lists, list)
	}
	mapped := p.tree.mapping.Columns
	for parent := l.Parent; parent >= 0; parent = mapped[parent].Parent {
		v.around = append(v.around, aroundSum{column: parent, levelPair: pairOf(&mapped[parent])})
	}
	return v
}

// close releases the memory of the page and of the dictionary.
func (v *chunkVerifier) close() {
	v.reader.close()
	if v.values.words != nil {
		v.p.memory.Release(v.values.words.held)
	}
}

func (v *chunkVerifier) fail(page int, kind damage.Kind, at int64, reason string, args ...any) error {
	return v.p.damaged(v.c, page, kind, at, reason, args...)
}

func (v *chunkVerifier) verify(ctx context.Context, run format.Runner) error {
	pages, err := v.p.pagesOf(v.c)
	if err != nil {
		return err
	}
	memory := &column.Reservation{Account: v.p.memory}
	defer memory.ShrinkTo(0)
	if v.c.columnIndex.size > 0 {
		if v.index, err = v.p.readBounds(v.c, len(pages), memory); err != nil {
			return err
		}
	}
	if v.c.filter.size > 0 {
		f, err := v.p.readFilter(v.c, memory)
		if err != nil {
			return err
		}
		v.values.filter = f.blocks()
	}
	if v.c.start < v.c.dataAt {
		if err := v.dictionary(); err != nil {
			return err
		}
	}
	if err := v.verifyRanges(ctx, run, pages); err != nil {
		return err
	}
	at := v.c.dataAt
	if n := len(pages); n > 0 {
		at = pages[n-1].offset + pages[n-1].size
	}
	//guard: rejects bytes after the pages
	if at != v.c.end {
		return v.fail(-1, damage.Trailing, at, "%d bytes belong to no page", v.c.end-at)
	}
	return v.verifyCounts()
}

// verifyRange is how many stored bytes of a chunk's pages are verified one after another.
var verifyRange = int64(1 << 20) // less in tests

// verifyRanges verifies ranges of the pages, and adds up what they have.
func (v *chunkVerifier) verifyRanges(ctx context.Context, run format.Runner, pages []partPage) error {
	starts, size := []int{0}, int64(0)
	for i := range pages {
		if size > verifyRange {
			starts, size = append(starts, i), 0
		}
		size += pages[i].size
	}
	ends, verifiers := append(starts[1:], len(pages)), make([]*chunkVerifier, len(starts))
	err := run.First(ctx, len(starts), func(ctx context.Context, i int) error {
		verifiers[i] = v
		if i > 0 {
			verifiers[i] = v.fork()
			defer verifiers[i].reader.close()
		}
		return verifiers[i].verifyPages(ctx, pages, starts[i], ends[i])
	})
	if err != nil {
		return err
	}
	for _, other := range verifiers[1:] {
		v.add(other)
	}
	return nil
}

// fork returns a verifier for other pages of the chunk.
func (v *chunkVerifier) fork() *chunkVerifier {
	other := newChunkVerifier(v.p, v.c, v.meta, v.columns)
	other.index, other.values.words, other.values.filter = v.index, v.values.words, v.values.filter
	return other
}

// add adds what a fork has found.
func (v *chunkVerifier) add(other *chunkVerifier) {
	v.whole.add(&other.whole)
	v.raw += other.raw
	for kind, n := range other.pages {
		v.pages[kind] += n
	}
	for i := range v.around {
		v.around[i].before += other.around[i].total()
	}
}

// verifyPages verifies the pages from start to end.
func (v *chunkVerifier) verifyPages(ctx context.Context, pages []partPage, start, end int) error {
	at := v.c.dataAt
	if start > 0 {
		at = pages[start-1].offset + pages[start-1].size
	}
	for i := start; i < end; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		//guard: rejects bytes between pages
		if k := &pages[i]; k.offset != at {
			return v.fail(i, damage.Trailing, at, "%d bytes belong to no page", k.offset-at)
		}
		at += pages[i].size
		if err := v.verifyPage(i); err != nil {
			return err
		}
	}
	return nil
}

// dictionary reads the dictionary.
func (v *chunkVerifier) dictionary() error {
	r := pageReader{p: v.p, c: v.c}
	defer r.close()
	page, err := r.read(-1, v.c.start, v.c.dataAt-v.c.start, 0)
	if err != nil {
		return err
	}
	v.count(page)
	v.values.words, err = (&pageReader{p: v.p, c: v.c}).readDictionary()
	return err
}

// count counts a page by its kind, and its bytes.
func (v *chunkVerifier) count(page *loadedPage) {
	v.raw += int64(page.headSize) + int64(page.head.Raw)
	v.pages[pq.PageEncodingStats{PageType: page.head.Type, Encoding: page.encoding}]++
}

// verifyPage decodes a page and compares it with the indexes.
func (v *chunkVerifier) verifyPage(i int) error {
	page, err := v.reader.load(i)
	if err != nil {
		return err
	}
	k := &v.c.pages[i]
	v.count(page)
	v.page.reset()
	v.row = k.first
	if err := v.verifyLevels(page); err != nil {
		return v.p.locate(err, v.c, page)
	}
	if err := v.verifyLists(page); err != nil {
		return err
	}
	v.values.bounds = v.values.bounds[:0]
	if v.c.ordered {
		v.values.bound(v.meta.Statistics.MinValue, v.meta.Statistics.MaxValue)
		if v.index != nil && !v.index.NullPages[i] {
			v.values.bound(v.index.MinValues[i], v.index.MaxValues[i])
		}
	}
	v.page.text, err = v.values.verify(page, int(v.page.entries-v.page.nulls))
	if err != nil {
		return v.p.locate(err, v.c, page)
	}
	//guard: rejects a wrong size of strings, by which readers reserve memory
	if k.text >= 0 && k.text != v.page.text {
		return v.fail(i, damage.Size, k.offset, "the values have %d bytes, the offset index says %d", v.page.text, k.text)
	}
	//guard: rejects a header with another number of nulls
	if h := &page.head.DataV2; h.Valid && int64(h.V.NumNulls) != v.page.nulls {
		return v.fail(i, damage.Count, k.offset, "the page has %d nulls, its header says %d", v.page.nulls, h.V.NumNulls)
	}
	v.whole.add(&v.page)
	return v.verifyIndex(i, k.offset)
}

// verifyIndex compares the page that was decoded with the column index.
func (v *chunkVerifier) verifyIndex(i int, at int64) error {
	x := v.index
	if x == nil {
		return nil
	}
	null := v.page.nulls == v.page.entries
	//guard: rejects an index that takes values for nulls, or the reverse
	if x.NullPages[i] != null {
		return v.fail(i, damage.Count, at, "the page has %d values, but its column index says that it has only nulls: %v", v.page.entries-v.page.nulls, x.NullPages[i])
	}
	//guard: rejects a wrong number of nulls
	if i < len(x.NullCounts) && x.NullCounts[i] != v.page.nulls {
		return v.fail(i, damage.Count, at, "the page has %d nulls, its column index says %d", v.page.nulls, x.NullCounts[i])
	}
	for _, h := range []struct {
		stated, counted []int64
	}{{x.RepetitionLevelHistogram, v.page.reps}, {x.DefinitionLevelHistogram, v.page.defs}} {
		n := len(h.counted)
		//guard: rejects wrong numbers of levels
		if len(h.stated) > 0 && ((i+1)*n > len(h.stated) || !slices.Equal(h.stated[i*n:(i+1)*n], h.counted)) {
			return v.fail(i, damage.Count, at, "the column index has other numbers of levels than the page")
		}
	}
	return nil
}

// verifyLevels counts the entries of a page.
func (v *chunkVerifier) verifyLevels(page *loadedPage) error {
	if err := v.levels.reset(page); err != nil {
		return badLevels(err)
	}
	l := &v.levels
	//guard: refuses pages that divide a row
	if l.repetition.most > 0 && page.entries > 0 && l.repetition.level != 0 {
		return bad(damage.Unsupported, "the page begins inside a row")
	}
	v.growth.Rows += int64(page.entries)
	//guard: bounds the work that a few bytes can cause
	if err := v.growth.Check("", -1); err != nil {
		return err
	}
	var zeros, some [levelWindow]uint32
	for l.repetition.most == 0 && l.left > 0 {
		defs := some[:min(l.left, levelWindow)]
		if err := l.next(defs); err != nil {
			return badLevels(err)
		}
		v.countLevels(zeros[:len(defs)], defs)
	}
	for l.entries() > 0 {
		if _, err := l.fill(); err != nil {
			return badLevels(err)
		}
		v.countLevels(l.reps, l.defs)
		l.at = len(l.reps)
	}
	most := v.c.leaf.def
	v.page.nulls = v.page.entries - v.page.defs[most]
	//guard: rejects values of a column that has only nulls
	if v.values.null && v.page.defs[most] > 0 {
		return bad(damage.Value, "%d values in a column of nulls", v.page.defs[most])
	}
	return nil
}

// verifyLists reads all lengths of a page.
func (v *chunkVerifier) verifyLists(page *loadedPage) error {
	var lengths [skippedLengths]int32
	for _, c := range v.lists {
		c.pages, c.page = v.c.pages, page
		if err := c.levels.reset(page); err != nil {
			return c.undecodable(err)
		}
		for c.levels.entries() > 0 {
			if _, _, err := c.lengths(lengths[:0], len(lengths), enough, math.MaxInt); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *chunkVerifier) countLevels(reps, defs []uint32) {
	k := &v.page
	first := uint64(v.row + k.rows)
	for i, def := range defs {
		k.reps[reps[i]]++
		k.defs[def]++
	}
	k.entries, k.rows = k.entries+int64(len(defs)), k.reps[0]
	for a := range v.around {
		v.around[a].add(reps, defs, first)
	}
}

// verifyCounts compares the chunk with the footer.
func (v *chunkVerifier) verifyCounts() error {
	m, at := v.meta, v.p.footerAt
	//guard: rejects a wrong number of entries
	if v.whole.entries != m.NumValues {
		return v.fail(-1, damage.Count, at, "the pages have %d values and nulls, the footer says %d", v.whole.entries, m.NumValues)
	}
	if v.p.checksums.size < 0 {
		return nil // other writers leave out numbers, which are then 0
	}
	//guard: rejects a wrong size
	if v.raw != m.TotalUncompressedSize {
		return v.fail(-1, damage.Size, at, "the pages have %d bytes before compression, the footer says %d", v.raw, m.TotalUncompressedSize)
	}
	//guard: rejects a wrong number of nulls
	if m.Statistics.NullCount != v.whole.nulls {
		return v.fail(-1, damage.Count, at, "the pages have %d nulls, the footer says %d", v.whole.nulls, m.Statistics.NullCount)
	}
	s := &m.SizeStatistics
	//guard: rejects a wrong size of strings
	if s.UnencodedByteArrayDataBytes != v.whole.text {
		return v.fail(-1, damage.Size, at, "the values have %d bytes, the footer says %d", v.whole.text, s.UnencodedByteArrayDataBytes)
	}
	//guard: rejects wrong numbers of levels
	if len(s.RepetitionLevelHistogram) > 0 && !slices.Equal(s.RepetitionLevelHistogram, v.whole.reps) ||
		len(s.DefinitionLevelHistogram) > 0 && !slices.Equal(s.DefinitionLevelHistogram, v.whole.defs) {
		return v.fail(-1, damage.Count, at, "the footer has other numbers of levels than the pages")
	}
	return v.verifyEncodings()
}

// verifyEncodings compares the numbers of pages and their encodings with the footer.
func (v *chunkVerifier) verifyEncodings() error {
	for _, s := range v.meta.EncodingStats {
		key := pq.PageEncodingStats{PageType: s.PageType, Encoding: s.Encoding}
		//guard: rejects a wrong number of pages
		if n := v.pages[key]; n != s.Count {
			return v.fail(-1, damage.Count, v.p.footerAt, "%d pages of the type %v with the encoding %v, the footer says %d", n, s.PageType, s.Encoding, s.Count)
		}
		delete(v.pages, key)
	}
	for key := range v.pages {
		//guard: rejects pages that the footer does not count
		return v.fail(-1, damage.Count, v.p.footerAt, "pages of the type %v with the encoding %v, which the footer does not count", key.PageType, key.Encoding)
	}
	if v.index == nil || !v.c.ordered {
		return nil
	}
	return v.verifyOrder()
}

// verifyOrder checks the order of the bounds in the column index.
func (v *chunkVerifier) verifyOrder() error {
	ascend, descend := v.values.order.directions(v.index)
	//guard: rejects an order that a search would rely on
	if o := v.index.BoundaryOrder; o == pq.Ascending && !ascend || o == pq.Descending && !descend {
		return v.fail(-1, damage.Value, v.c.columnIndex.offset, "the bounds of the pages are not %v", o)
	}
	return nil
}
