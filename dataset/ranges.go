package dataset

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// rangeBytes is about how many stored bytes of the query's columns a range has. Each column
	// has at least batchedBlock, because two readers decode a block that both need. It has
	// rowsBlock in ranges of rows, because many rows wait as text.
	rangeBytes   = 4 << 20
	batchedBlock = 32 << 10
	rowsBlock    = 4 << 10
	// partCost is the number of bytes that take as long to read as a part takes to open.
	partCost = 256 << 10
	// firstBlocks and mostBlocks are the stored bytes of the first range of an Avro file, and of
	// its largest later range. The first range is small, so that a query of few rows is fast.
	firstBlocks = 64 << 10
	mostBlocks  = 1 << 20
	// ownRange is the cost of rows that are a range of their own.
	ownRange = math.MaxInt64 / 2
	// onlyRows is the least number of rows of Query.Only that make a range of a part.
	onlyRows = 512
)

// rowRange is consecutive rows of a section, in one or more parts, that one reader reads.
// Ranges depend on the dataset and the query, never on the number of readers.
type rowRange struct {
	section  int
	parts    []rangePart
	memory   *blockMemory // memory of the stored blocks; nil without blocks
	parallel bool         // other readers read the ranges before and after it
	turn     *turn        // unless nil, the range is read by turns if it is parallel
}

// rangePart is rows of a part.
type rangePart struct {
	part  int // index in Listing.Parts
	spans []span
	from  int64 // first row of the part from which the spans were chosen
	rows  int64 // number of these rows
	whole bool  // all rows of the part are read, in this range and in others
	found bool  // the spans are the rows that match
	// blocks are the stored blocks of an Avro file that have the rows, first is the number of
	// their first row, and codec is their codec. Of other files, blocks is nil.
	blocks []*ocf.Block
	first  int64
	codec  string
}

// place is a place in a range: before a row of a part, or after its last row.
type place struct {
	part int // index in rowRange.parts
	row  int64
}

// resume drops the rows before a place. The rest is not read by turns.
func (r *rowRange) resume(at place) {
	r.turn = nil
	r.releaseParts(at.part)
	if len(r.parts) > 0 {
		r.parts[0].spans = intersect(r.parts[0].spans, []span{{at.row, math.MaxInt64}})
	}
}

// count returns the number of rows from which those of the range were chosen.
func (r *rowRange) count() (rows int64) {
	for i := range r.parts {
		rows += r.parts[i].rows
	}
	return rows
}

// before returns how many rows of count are before a place in the range.
func (r *rowRange) before(at place) (rows int64) {
	for i := range r.parts[:at.part] {
		rows += r.parts[i].rows
	}
	if at.part < len(r.parts) {
		p := &r.parts[at.part]
		rows += max(min(at.row-p.from, p.rows), 0)
	}
	return rows
}

// stored returns the bytes of the stored blocks of the range, which may be nil.
func (r *rowRange) stored() (bytes int64) {
	if r == nil {
		return 0
	}
	for i := range r.parts {
		for _, b := range r.parts[i].blocks {
			bytes += int64(cap(b.Data))
		}
	}
	return bytes
}

// release drops the parts of the range, which may be nil.
func (r *rowRange) release() {
	if r != nil {
		r.releaseParts(len(r.parts))
	}
}

// releaseParts drops the first n parts, and releases their stored blocks.
func (r *rowRange) releaseParts(n int) {
	for i := range r.parts[:n] {
		if blocks := r.parts[i].blocks; len(blocks) > 0 {
			r.memory.release(blocks...)
		}
	}
	r.parts = r.parts[n:]
}

// ranges divides the rows that a query may return into ranges, in row order. Without a
// condition, it applies the offset and the limit.
type ranges struct {
	plan     *Plan
	block    int64          // least stored bytes of each column of a range
	turnRows int64          // most rows of a turn; 0 if no part is read by turns
	nextTurn chan *turnPart // the part of the next turn; nil if it is the first one of its part
	section  int
	part     int   // index of the next part in Listing.Parts
	from     int64 // row of this part at which the next range begins
	whole    bool  // all rows of this part are read
	skip     int64 // number of rows still to skip
	left     int64 // number of rows still to return
	blocks   *avroBlocks
	memory   *blockMemory
	finding  *finding // finds the rows of the part; nil before the first ones
	stats    Stats
	err      error // error after the last range
}

func newRanges(p *Plan, block int64) *ranges {
	r := &ranges{plan: p, block: block, left: p.limit(), memory: &blockMemory{heap: p.dataset.list.memory.NewHeap()}}
	if p.query.Where == "" {
		r.skip = p.query.Offset
	} else if r.left > 0 {
		r.left = math.MaxInt64
	}
	return r
}

// next returns the next range, or io.EOF after the last one.
func (r *ranges) next(ctx context.Context) (*rowRange, error) {
	g := &rowRange{section: -1}
	for cost, most := int64(0), int64(1); cost < most && r.err == nil; {
		var c int64
		if c, r.err = r.add(ctx, g); r.err == nil {
			cost += c
			most = r.bytes(r.plan.sections[g.section])
		}
		if errors.Is(r.err, errEnd) {
			r.err = nil
			break
		}
	}
	if len(g.parts) > 0 {
		return g, nil
	}
	return nil, r.err
}

// retry makes next go on after an error for lack of memory.
func (r *ranges) retry() {
	if errors.As(r.err, new(*budget.Error)) {
		r.err = nil
	}
	r.memory.shrink()
}

// errEnd is returned before rows that need another range: those of another section, and turns.
var errEnd = errors.New("the range ends")

// add adds rows of the next part to a range, and returns how many bytes it takes to read them.
func (r *ranges) add(ctx context.Context, g *rowRange) (cost int64, err error) {
	parts := r.plan.dataset.Parts()
	for ; r.left > 0 && r.part < len(parts); r.part, r.from = r.part+1, 0 {
		p := &parts[r.part]
		for r.part >= r.plan.sections[r.section].end {
			r.section++
		}
		if len(g.parts) > 0 && g.section != r.section {
			return 0, errEnd
		}
		g.section = r.section
		if p.avro {
			cost, err := r.addBlocks(ctx, g, p)
			if cost > 0 || err != nil {
				return cost, err
			}
			continue
		}
		if !r.wants(p) {
			r.stats.Passed += p.Rows
			continue
		}
		return r.addRows(ctx, g, p)
	}
	return 0, io.EOF
}

// wants reports whether a part may have rows to return. A part whose rows all lie before
// the offset has none, and wants counts its rows as skipped.
func (r *ranges) wants(p *Part) bool {
	only := r.plan.query.Only
	switch {
	case only != nil && len(only[r.part]) == 0, r.plan.sections[r.section].excludes(r.plan.dataset, p):
		return false
	// A part without rows is opened to check that its file has none.
	case only == nil && p.Rows > 0 && r.from == 0 && r.skip >= p.Rows:
		r.skipRows(p.Rows)
		return false
	}
	return true
}

// skipRows counts rows that the offset skips.
func (r *ranges) skipRows(rows int64) {
	r.skip -= rows
	r.stats.Skipped += rows
}

// bytes returns about how many stored bytes a range of a section has.
func (r *ranges) bytes(p *sectionPlan) int64 { return max(rangeBytes, int64(p.inFiles)*r.block) }

// addRows adds rows of a part to a range: all, those of one of equal ranges of a large part, or
// those of a turn.
func (r *ranges) addRows(ctx context.Context, g *rowRange, p *Part) (cost int64, err error) {
	s := r.plan.sections[r.section]
	stored := p.Bytes / max(int64(len(s.files.Columns)), 1) * int64(s.inFiles)
	if r.from == 0 {
		r.whole = r.skip == 0 && r.left >= p.Rows && r.plan.query.Only == nil && r.plan.query.Where == ""
	}
	to, turn := p.Rows, r.rowsOfTurn(p, stored)
	if turn > 0 {
		if len(g.parts) > 0 {
			return 0, errEnd
		}
		to = min(r.from+r.skip+turn, p.Rows)
	} else if n := (stored + r.bytes(s)/2) / r.bytes(s); n > 1 && !keepsRows(p.format) {
		to = r.end(p, n)
	}
	var spans []span
	finds := r.findsRows(p, stored)
	if finds {
		spans, to, err = r.findRows(ctx, s, p, stored)
	} else {
		spans = r.trim(r.candidates(to))
	}
	if err != nil {
		return 0, err
	}
	add := rangePart{part: r.part, from: r.from, rows: to - r.from, whole: r.whole, spans: spans, found: finds}
	g.parts = append(g.parts, add)
	cost = partCost + int64(float64(stored)*float64(to-r.from)/float64(max(p.Rows, 1)))
	if turn > 0 {
		r.addTurn(g, to == p.Rows || r.left == 0)
		cost = ownRange
	}
	if r.from = to; to == p.Rows {
		r.endFinding()
		r.part, r.from = r.part+1, 0
	}
	return cost, nil
}

// end returns the row at which the next of n ranges of a part ends. The ranges have equally many
// rows that the query examines.
func (r *ranges) end(p *Part, n int64) int64 {
	if r.plan.query.Only == nil {
		return min(r.from+max((p.Rows+n-1)/n, 1), p.Rows)
	}
	rows := r.plan.query.Only[r.part]
	next, _ := slices.BinarySearch(rows, r.from)
	next += max(len(rows)/int(n)+1, onlyRows)
	if next >= len(rows) {
		return p.Rows
	}
	return rows[next]
}

// keepsRows reports whether the parts of a format are read from their first row on.
func keepsRows(f format.Format) bool {
	_, ok := f.(format.RowFormat)
	return ok
}

// mayKeepRows reports whether whole rows may be read from a part.
func mayKeepRows(p Part) bool { return p.avro || p.format == nil || keepsRows(p.format) }

// candidates returns the rows of the next part up to the row to that the query examines.
func (r *ranges) candidates(to int64) (spans []span) {
	if r.plan.query.Only == nil {
		return []span{{r.from, to}}
	}
	rows := r.plan.query.Only[r.part]
	first, _ := slices.BinarySearch(rows, r.from)
	end, _ := slices.BinarySearch(rows, to)
	for _, row := range rows[first:end] {
		if n := len(spans) - 1; n >= 0 && spans[n].to == row {
			spans[n].to++
		} else {
			spans = append(spans, span{row, row + 1})
		}
	}
	return spans
}

// trim applies the offset and the limit.
func (r *ranges) trim(spans []span) []span {
	n := min(r.skip, count(spans))
	r.skipRows(n)
	spans = before(after(spans, n), r.left)
	if r.plan.query.Where == "" {
		r.left -= count(spans)
	}
	return spans
}

// addBlocks adds the next blocks of an Avro file to a range. It returns a cost of 0 at the end
// of the file.
func (r *ranges) addBlocks(ctx context.Context, g *rowRange, p *Part) (cost int64, err error) {
	if r.blocks == nil {
		if r.plan.sections[r.section].excludes(r.plan.dataset, p) {
			return 0, nil
		}
		if r.blocks, err = r.plan.dataset.list.openBlocks(ctx, p); err != nil {
			return 0, err
		}
	}
	b := r.blocks
	defer func() { r.stats.BytesRead += b.bytesRead() }()
	if r.skip > 0 {
		skipped, err := b.skip(ctx, r.skip)
		r.skipRows(skipped)
		r.stats.Passed += skipped
		if err == io.EOF {
			r.closeBlocks()
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
	g.memory = r.memory
	add, err := b.read(ctx, r.memory, r.skip+min(r.left, math.MaxInt64-r.skip))
	if len(add.blocks) > 0 {
		add.part, add.from, add.spans = r.part, add.first, r.trim([]span{{add.first, add.first + add.rows}})
		g.parts = append(g.parts, add)
	}
	switch {
	case err == io.EOF:
		r.closeBlocks()
		r.part++
		return partCost, nil
	case err != nil:
		return 0, err
	}
	return ownRange, nil
}

// closeBlocks closes the Avro file that is open.
func (r *ranges) closeBlocks() {
	if r.blocks != nil {
		r.blocks.close()
		r.blocks = nil
	}
}

// close ends the reading. No reader may use the ranges any more.
func (r *ranges) close() {
	r.endTurns()
	r.endFinding()
	r.closeBlocks()
	r.memory.close()
}
