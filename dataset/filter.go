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
	match     []bool // of the rows looked at last
	found     []span // the same
}

func newFilter(s *selection) (*filter, error) {
	c := newColumns(s.dataset.mapping.Columns, s.where.Columns())
	if err := c.bind(s.file); err != nil {
		return nil, err
	}
	return &filter{selection: s, columns: c, spans: prune(s.where, s.file, c), match: make([]bool, defaultBatchRows)}, nil
}

// next returns the next rows in which the condition holds, as many as were
// looked at together. They are valid until the next call.
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

// evaluate looks at more rows.
func (f *filter) evaluate() error {
	f.selection.file.source.forget()
	f.columns.reset()
	first := f.spans[0].from
	n, err := f.columns.read(f.spans[:1], len(f.match))
	if err != nil {
		return err
	}
	f.spans = after(f.spans, int64(n))
	match := f.match[:n]
	if err := f.selection.where.Eval(f.columns.vectors, match); err != nil {
		return err
	}
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

// prune returns the rows of a part without those that the indexes of columns
// rule out.
func prune(p *where.Predicate, f *partFile, c *columns) []span {
	rows := span{0, f.RowCount()}
	for _, b := range p.Bounds() {
		if f.Columns()[b.Column].Ascending {
			within := allowed(b, c.of(b.Column).Blocks(), f.RowCount())
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
