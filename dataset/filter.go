package dataset

import (
	"io"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/trevni"
)

// filter finds the rows of a part in which a condition holds.
type filter struct {
	selection *selection
	columns   *columns
	spans     []span // that can have such rows, not looked at
	first     int64  // row of match[0]
	match     []bool // what is not given of the rows looked at
	memory    []bool
}

func newFilter(s *selection) (*filter, error) {
	c := newColumns(s.dataset.mapping.Columns, s.where.Columns())
	if err := c.bind(s.file); err != nil {
		return nil, err
	}
	return &filter{selection: s, columns: c, spans: prune(s.where, s.file, c)}, nil
}

// next returns the next rows in which the condition holds.
func (f *filter) next() (span, error) {
	for {
		for len(f.match) > 0 && !f.match[0] {
			f.match, f.first = f.match[1:], f.first+1
		}
		if len(f.match) > 0 {
			break
		}
		if len(f.spans) == 0 {
			return span{}, io.EOF
		}
		if err := f.selection.ctx.Err(); err != nil {
			return span{}, err
		}
		if err := f.evaluate(); err != nil {
			return span{}, err
		}
	}
	found := span{f.first, f.first}
	for len(f.match) > 0 && f.match[0] {
		f.match, f.first = f.match[1:], f.first+1
	}
	found.to = f.first
	return found, nil
}

// evaluate looks at more rows.
func (f *filter) evaluate() error {
	f.selection.file.source.forget()
	at := &f.spans[0]
	f.columns.reset()
	n, err := f.columns.read(at.from, at.to, defaultBatchRows)
	if err != nil {
		return err
	}
	if cap(f.memory) < n {
		f.memory = make([]bool, defaultBatchRows)
	}
	f.first, f.match = at.from, f.memory[:n]
	if at.from += int64(n); at.from == at.to {
		f.spans = f.spans[1:]
	}
	return f.selection.where.Eval(f.columns.vectors, f.match)
}

// prune returns the rows of a part without those that the indexes of columns
// rule out.
func prune(p *where.Predicate, f *partFile, c *columns) []span {
	rows := span{0, f.RowCount()}
	for _, b := range p.Bounds() {
		if f.Columns()[b.Column].Ascending {
			within := allowed(b, c.cursor(b.Column).Blocks(), f.RowCount())
			rows.from, rows.to = max(rows.from, within.from), min(rows.to, within.to)
		}
	}
	if rows.from >= rows.to {
		return nil
	}
	return []span{rows}
}

// allowed returns the rows of those blocks of an ascending column that can
// hold what the bound allows.
func allowed(b where.Bound, blocks []trevni.Descriptor, rows int64) span {
	s := span{0, rows}
	for i := range blocks {
		if b.After(blocks[i].First) {
			s.to = blocks[i].FirstRow
			break
		}
		// A block ends with values up to the next one's first.
		if b.Before(blocks[i].First) {
			s.from = blocks[i].FirstRow
		}
	}
	return s
}
