package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// filter finds the rows of a part for which a condition holds. It belongs to one goroutine.
type filter struct {
	part    *queryPart
	where   *where.Predicate
	columns *columns
	allowed []span // rows of the part that its statistics do not exclude
	spans   []span // rows that were not evaluated yet and may match
	match   []bool // per row that was evaluated last, whether the condition holds
	found   []span // rows that were evaluated last and match
}

func newFilter(p *where.Predicate, all []column.Column, q *queryPart) (*filter, error) {
	c := newColumns(all, p.Columns(), vectorMemory{heap: q.memory})
	if err := c.bind(q); errors.As(err, new(*budget.Error)) {
		return nil, in(q.name, err)
	} else if err != nil {
		return nil, err
	}
	allowed, err := prune(p, q, []span{{0, q.Rows()}})
	if err != nil {
		return nil, err
	}
	return &filter{part: q, where: p, columns: c, allowed: allowed, match: make([]bool, defaultBatchRows)}, nil
}

// begin starts with the rows of spans, which follow those of the last call.
func (f *filter) begin(spans []span) { f.spans = intersect(f.allowed, spans) }

// next evaluates the next rows, and returns those for which the condition holds, at least
// one. The spans are valid until the next call.
func (f *filter) next(ctx context.Context) ([]span, error) {
	for {
		if len(f.spans) == 0 {
			return nil, io.EOF
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.evaluate(); err != nil {
			return nil, err
		}
		if len(f.found) > 0 {
			return f.found, nil
		}
	}
}

// evaluate evaluates more rows, and sets found.
func (f *filter) evaluate() error {
	f.found = f.found[:0]
	f.part.forget()
	f.columns.reset()
	first := f.spans[0].from
	n, err := f.columns.read(f.spans[:1], len(f.match))
	if err != nil {
		return err
	}
	f.spans = after(f.spans, int64(n))
	match := f.match[:n]
	f.where.Eval(f.columns.vectors, match)
	for i := 0; i < n; i++ {
		if !match[i] {
			continue
		}
		from := i
		for i < n && match[i] {
			i++
		}
		f.found = append(f.found, span{first + int64(from), first + int64(i)})
	}
	return nil
}

// prune returns spans of a part without the rows that cannot meet the condition, by what the part
// says of its blocks and row groups.
func prune(p *where.Predicate, q *queryPart, spans []span) ([]span, error) {
	demands := p.Demands()
	for i := range demands {
		blocks, err := q.boundsOf(demands[i].Column)
		if err != nil {
			return nil, err
		}
		spans = intersect(spans, allowed(&demands[i], blocks))
	}
	for i := range demands {
		var err error
		if spans, err = q.having(demands[i].Column, demands[i].Values(), spans); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// allowed returns the rows of a column's blocks that can meet a demand.
func allowed(d *where.Demand, blocks []format.Block) (spans []span) {
	for i := range blocks {
		k := &blocks[i]
		if d.Excludes(k) {
			continue
		}
		spans = appendSpan(spans, span{k.FirstRow, k.FirstRow + k.Rows})
	}
	return spans
}
