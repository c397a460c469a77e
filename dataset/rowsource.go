package dataset

import "context"

// rowSource supplies rows to row blocks.
type rowSource interface {
	// skip passes over rows that it need not decode, at most most of them, and returns
	// their number.
	skip(ctx context.Context, most int64) (rows int64, err error)
	// fill adds rows to a row block until it is full. It returns io.EOF after the last row.
	// Rows that were added before an error stay in the block.
	fill(ctx context.Context, b *rowBlock) error
	close()
}

// rowParts makes in-memory parts of rows, some rows at a time, so that code that reads
// parts can read rows.
type rowParts struct {
	source rowSource
	block  *rowBlock
	keys   []*constant
	rows   int64 // number of the next part's first row
	end    int64 // number of rows up to the end of the source, which states it
	err    error // error that follows the rows of the last part
}

// next returns the next rows as a part. It passes over rows before from as far as the source can
// without decoding them, and reads no row from to on. It returns io.EOF after the last row.
func (m *rowParts) next(ctx context.Context, from, to int64) (*queryPart, error) {
	if m.err == nil && from > m.rows {
		var passed int64
		passed, m.err = m.source.skip(ctx, from-m.rows)
		m.rows += passed
	}
	if m.err != nil {
		return nil, m.err
	}
	b := m.block
	b.start(to - m.rows)
	if m.err = m.source.fill(ctx, b); b.rows == 0 {
		return nil, m.err
	}
	p := b.part(m.rows, m.keys)
	m.rows += b.rows
	return p, nil
}
