package dataset

import (
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// filter finds the rows of a part for which a condition holds.
type filter struct {
	selection *selection
	columns   *columns
	spans     []span // rows that were not evaluated yet and may match
	match     []bool // per row that was evaluated last, whether the condition holds
	found     []span // rows that were evaluated last and match
}

func newFilter(s *selection) (*filter, error) {
	c := newColumns(s.section.mapping.Columns, s.where.Columns(), vectorMemory{heap: s.file.memory})
	if err := c.bind(s.file); errors.As(err, new(*budget.Error)) {
		return nil, in(s.file.name, err)
	} else if err != nil {
		return nil, err
	}
	spans, err := prune(s.where, s.file, s.rest)
	if err != nil {
		return nil, err
	}
	return &filter{selection: s, columns: c, spans: spans, match: make([]bool, defaultBatchRows)}, nil
}

// next evaluates the next rows, and returns those for which the condition holds, at least
// one. The spans are valid until the next call.
func (f *filter) next() ([]span, error) {
	for f.found = f.found[:0]; len(f.found) == 0; {
		if len(f.spans) == 0 {
			return nil, io.EOF
		}
		if err := f.selection.ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.evaluate(); err != nil {
			return nil, err
		}
	}
	return f.found, nil
}

// evaluate evaluates more rows.
func (f *filter) evaluate() error {
	f.selection.file.forget()
	f.columns.reset()
	first := f.spans[0].from
	n, err := f.columns.read(f.spans[:1], len(f.match))
	if err != nil {
		return err
	}
	f.spans = after(f.spans, int64(n))
	match := f.match[:n]
	f.selection.where.Eval(f.columns.vectors, match)
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

// appendSpan appends rows after those of spans. Rows that follow the last ones make its span longer.
func appendSpan(spans []span, s span) []span {
	if s.from == s.to {
		return spans
	}
	if n := len(spans) - 1; n >= 0 && spans[n].to == s.from {
		spans[n].to = s.to
		return spans
	}
	return append(spans, s)
}

// intersect returns the rows that are in both a and b, which ascend.
func intersect(a, b []span) (both []span) {
	for len(a) > 0 && len(b) > 0 {
		if s := (span{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); s.from < s.to {
			both = append(both, s)
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return both
}
