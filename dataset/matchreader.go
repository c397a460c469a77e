package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// matchReader reads ranges, one after another, and finds their rows that match. If ranges follow each
// other in a part, the part stays open between them. It belongs to one goroutine.
type matchReader struct {
	ctx     context.Context
	plan    *Plan
	whole   bool  // rows that are stored whole are returned whole
	skip    int64 // number of matches still to skip; 0 without a condition
	left    int64 // number of matches still to return
	stats   Stats
	section *sectionPlan
	number  int              // number of the section
	where   *where.Predicate // the condition on its rows, or nil

	rows  *rowRange
	index int    // number of the current part in rows.parts, -1 before the first
	todo  []span // rows of the part that are not in file yet
	part  int    // index in Listing.Parts of the part of file and made, -1 without a part
	file  *queryPart
	held  *turnPart // the part of file during the turn of this reader
	block *rowBlock // memory of in-memory parts; nil before the first one of the section
	made  *rowParts // makes in-memory parts of the part's rows; nil if it stores columns
	find  *filter   // finds the matching rows of file; nil without a condition
	rest  []span    // rows of file that were not returned yet
}

func newMatchReader(ctx context.Context, p *Plan, whole bool) *matchReader {
	r := &matchReader{ctx: ctx, plan: p, whole: whole, number: -1, part: -1, left: math.MaxInt64}
	if p.query.Where != "" {
		r.skip, r.left = p.query.Offset, p.limit()
	}
	return r
}

// begin starts with a range. It reports whether the range is of another section than the one
// before.
func (r *matchReader) begin(rows *rowRange) (moved bool, err error) {
	r.rows, r.index, r.todo, r.rest = rows, -1, nil, nil
	if rows.section == r.number {
		return false, nil
	}
	r.close()
	r.number, r.section = rows.section, r.plan.sections[rows.section]
	if r.section.where != nil {
		// A predicate belongs to one goroutine. The text was parsed before, so it is valid.
		r.where, err = where.Parse(r.plan.query.Where, r.section.section.mapping)
	}
	return true, err
}

// done reports whether the limit of a query with a condition is reached.
func (r *matchReader) done() bool { return r.left == 0 }

// next returns the next matching rows, at least one. All of them are in r.file. It returns
// io.EOF after the last row of the range. The caller may change the spans until the next call.
func (r *matchReader) next() ([]span, error) {
	for r.left > 0 {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		found := r.rest
		switch {
		case len(found) == 0:
			if err := r.move(); err != nil {
				return nil, err
			}
			continue
		case r.find != nil:
			var err error
			if found, err = r.find.next(r.ctx); errors.Is(err, io.EOF) {
				r.rest = nil
				continue
			} else if err != nil {
				return nil, r.located(err)
			}
		default:
			r.rest = nil
		}
		n := min(r.skip, count(found))
		r.skip -= n
		r.stats.Skipped += n
		if found = before(after(found, n), r.left); len(found) > 0 {
			if r.where != nil {
				r.left -= count(found)
			}
			return found, nil
		}
	}
	return nil, io.EOF
}

// move moves to the next rows of the range: the next in-memory part, or the next part. It returns
// io.EOF after the last part.
func (r *matchReader) move() error {
	if len(r.todo) > 0 && r.made != nil {
		return r.nextMade()
	}
	if r.made != nil {
		if err := r.endMade(); err != nil {
			return err
		}
	}
	turn := r.rows.turn
	if r.index = min(r.index+1, len(r.rows.parts)); r.index == len(r.rows.parts) {
		r.passTurn()
		return io.EOF
	}
	p := &r.rows.parts[r.index]
	r.todo = slices.Clone(p.spans) // the range may be read again
	if p.found && len(p.spans) == 0 {
		return nil
	}
	if turn != nil && r.rows.parallel {
		r.closePart()
		r.part = p.part
		return r.takeTurn(turn)
	}
	if p.blocks == nil && p.part == r.part && r.file != nil && r.made == nil {
		return r.examineAll()
	}
	r.closePart()
	r.part = p.part
	var err error
	if part := &r.plan.dataset.Parts()[p.part]; p.blocks != nil {
		var rows *avroRows
		if rows, err = newAvroRows(part.Name, p, r.plan.dataset.list.memory.NewHeap()); err == nil {
			err = r.make(part, p.first, p.first+p.rows, rows)
		}
	} else {
		err = r.open(part)
	}
	return err
}

// open opens a part.
func (r *matchReader) open(part *Part) (err error) {
	if r.file, err = r.plan.openPart(r.ctx, r.section, r.part, &r.stats); err != nil {
		return err
	}
	if whole, ok := r.file.Part.(format.RowPart); ok {
		opened := r.file.OpenPart
		r.file = nil
		rows, err := whole.Read()
		if err != nil {
			opened.Close()
			return in(part.Name, err)
		}
		return r.make(part, 0, part.Rows, &partRows{part: opened, rows: rows})
	}
	r.file.prepare(r.section.reread, r.section.inFiles)
	return r.examineAll()
}

// make starts to make in-memory parts of the rows from first up to end.
func (r *matchReader) make(part *Part, first, end int64, rows rowSource) error {
	if r.block == nil {
		r.block = newRowBlock(r.section.files, r.section.wholeColumns(!r.whole), r.whole, r.plan.dataset.list.memory)
	}
	if err := r.block.begin(part.Name); err != nil {
		rows.close()
		return err
	}
	r.made = &rowParts{source: rows, block: r.block, keys: r.plan.dataset.constants(r.section.section, part), rows: first, end: end}
	return nil
}

// nextMade makes the next in-memory part.
func (r *matchReader) nextMade() error {
	r.closeFile()
	file, err := r.made.next(r.ctx, r.todo[0].from, r.todo[len(r.todo)-1].to)
	if err == io.EOF {
		return r.located(fmt.Errorf("the rows end before row %d: %w", r.todo[0].from, io.ErrUnexpectedEOF))
	}
	if err != nil {
		return err
	}
	r.file = file
	file.prepare(r.section.reread, r.section.inFiles)
	here := intersect(r.todo, []span{{file.first, file.first + file.rows}})
	r.todo = after(r.todo, count(here))
	for i := range here {
		here[i].from -= file.first
		here[i].to -= file.first
	}
	return r.examine(here)
}

// endMade ends the in-memory parts. If all rows of the part, or of its stored blocks, were read, it
// checks that there are no more. It decodes blocks without rows for that.
func (r *matchReader) endMade() error {
	part := &r.plan.dataset.Parts()[r.part]
	r.closeFile()
	err := r.made.err
	switch {
	case err == io.EOF:
		err = nil
	case err == nil && r.made.rows == r.made.end:
		var more *queryPart
		more, err = r.made.next(r.ctx, 0, math.MaxInt64)
		switch {
		case err == io.EOF:
			err = nil
		//guard: rejects rows that the part does not count
		case err == nil:
			more.Close()
			err = damage.New(damage.Count, part.Name, -1, "the file has rows after the %d that it states", part.Rows)
		}
	}
	r.made.source.close()
	r.made = nil
	return err
}

// examineAll starts with all rows of the range in the file.
func (r *matchReader) examineAll() error {
	spans := r.todo
	r.todo = nil
	r.announce(spans)
	return r.examine(spans)
}

// announce says which rows of the file are read next, if it is on remote storage. If only some rows of
// the file are read, it is not known what is worth reading ahead.
func (r *matchReader) announce(spans []span) {
	if r.file.ahead == nil {
		return
	}
	share := 0.0
	if len(spans) == 1 && r.rows.parts[r.index].whole {
		share = float64(spans[0].to-spans[0].from) / float64(r.file.rows-spans[0].from)
	}
	r.file.ahead.announce(share)
}

// examine starts with rows of the file.
func (r *matchReader) examine(spans []span) (err error) {
	r.rest = spans
	if r.where == nil || len(spans) == 0 || r.rows.parts[r.index].found {
		return nil
	}
	if r.find == nil {
		if r.find, err = newFilter(r.where, r.section.section.mapping.Columns, r.file); err != nil {
			return err
		}
	}
	r.find.begin(spans)
	return nil
}

// opened returns the part that has the rows that next returned last.
func (r *matchReader) opened() *queryPart { return r.file }

// at returns the place before a row of the file.
func (r *matchReader) at(row int64) place { return place{r.index, r.file.first + row} }

// note adds the origin of rows of the file to the origins of a batch. first is the number of the
// first of these rows in the batch.
func (r *matchReader) note(o *origins, first int, rows span) {
	o.add(first, r.part, r.file.first+rows.from)
}

// chosen returns the columns of the section, and the numbers of those that the query reads.
func (r *matchReader) chosen() (all []column.Column, numbers []int) {
	return r.section.section.mapping.Columns, r.section.columns
}

// takeStats returns the figures since the last call.
func (r *matchReader) takeStats() (since Stats) {
	since, r.stats = r.stats, Stats{}
	return since
}

// close ends the reading of the section.
func (r *matchReader) close() {
	r.closePart()
	if r.block != nil {
		r.block.close()
		r.block = nil
	}
}

// closePart closes the part.
func (r *matchReader) closePart() {
	r.closeFile()
	if r.made != nil {
		r.made.source.close()
		r.made = nil
	}
	r.part = -1
}

// closeFile closes the file.
func (r *matchReader) closeFile() {
	r.find, r.rest = nil, nil
	switch {
	case r.held != nil:
		r.stats = r.held.close().Plus(r.stats)
	case r.file != nil && r.file.turns == nil:
		r.file.Close()
	}
	r.file, r.held = nil, nil
}

// located adds the file to an error.
func (r *matchReader) located(err error) error { return in(r.plan.dataset.Parts()[r.part].Name, err) }
