package dataset

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// findBlock bounds how many stored bytes of each column lie between the first and the last row of
	// a range whose rows were found before. A small part has up to findRanges such ranges of at least
	// a quarter of findBlock.
	findBlock  = 256 << 10
	findRanges = 4
)

// finding finds rows of a part with many columns that match, before they are divided into ranges. A
// range of such a part is smaller than a block. If few rows match, they are in all blocks, and
// readers of ranges that follow each other would each decode all of them. So a range has as many
// matches as another has rows, unless its rows lie too far apart.
type finding struct {
	*filter
	file  *queryPart
	read  *Stats // figures of the file
	ready []span // rows that match and are in no range yet
	end   int64  // the row after those that were evaluated
}

// findsRows reports whether the rows of a part that match are found before they are divided into
// ranges. stored is the number of bytes in the columns of the query: a part of one or two ranges is
// not opened twice. If a single reader counts matches, none is found that it does not need.
func (r *ranges) findsRows(p *Part, stored int64) bool {
	q, s := &r.plan.query, r.plan.sections[r.section]
	return q.Where != "" && q.Only == nil && !r.plan.oneReader() &&
		s.inFiles >= turnColumns && stored > 2*r.bytes(s) && p.format != nil && !keepsRows(p.format)
}

// openFinding opens the next part to find its rows.
func (r *ranges) openFinding(ctx context.Context, s *sectionPlan) error {
	condition, err := where.Parse(r.plan.query.Where, s.section.mapping)
	if err != nil {
		return err
	}
	read := new(Stats)
	file, err := r.plan.openPart(ctx, s, r.part, read)
	if err != nil {
		return err
	}
	file.prepare(nil, len(condition.Columns()))
	f, err := newFilter(condition, s.section.mapping.Columns, file)
	if err != nil {
		file.Close()
		return err
	}
	f.begin([]span{{0, file.rows}})
	r.finding = &finding{filter: f, file: file, read: read}
	return nil
}

// findRows returns the rows of the next range that match. to is the row after the range.
func (r *ranges) findRows(ctx context.Context, s *sectionPlan, p *Part, stored int64) (spans []span, to int64, err error) {
	if r.finding == nil {
		if err := r.openFinding(ctx, s); err != nil {
			return nil, 0, err
		}
	}
	f := r.finding
	perRow := stored/max(p.Rows, 1) + 1
	enough := max(r.bytes(s)/perRow, 1)
	perColumn := stored / int64(s.inFiles)
	parts := max(perColumn/findBlock, min(4*perColumn/findBlock, findRanges), 1)
	to = min(r.from+(p.Rows+parts-1)/parts, p.Rows)
	for f.end < to && count(f.ready) < enough {
		if err := f.more(ctx); errors.As(err, new(*budget.Error)) || err != nil && f.end == r.from {
			return nil, 0, in(p.Name, err)
		} else if err != nil {
			to = f.end // the next call returns the error
		}
	}
	spans = before(intersect(f.ready, []span{{r.from, to}}), enough)
	if count(spans) == enough {
		to = spans[len(spans)-1].to
	}
	f.ready = intersect(f.ready, []span{{to, p.Rows}})
	return spans, to, nil
}

// more finds more rows.
func (f *finding) more(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(f.spans) > 0 {
		if err := f.evaluate(); err != nil {
			return err
		}
		f.ready = append(f.ready, f.found...)
	}
	if f.end = f.file.rows; len(f.spans) > 0 {
		f.end = f.spans[0].from
	}
	return nil
}

// endFinding closes the part whose rows are found.
func (r *ranges) endFinding() {
	if r.finding != nil {
		r.finding.file.Close()
		read := r.finding.read
		read.Blocks = 0 // readers count the blocks of all columns of the query
		r.stats = read.Plus(r.stats)
		r.finding = nil
	}
}
