package dataset

import (
	"context"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/shred"
)

// queryPart is an open part of which a query counts what it reads. It belongs to
// one goroutine.
type queryPart struct {
	*OpenPart
	read   *Stats
	blocks [][]format.Block // by column; nil for those that are not counted
}

// openPart opens a part of a section and holds it against what is known of it.
func (d *Dataset) openPart(ctx context.Context, s *section, part int, read *Stats) (*queryPart, error) {
	p := &d.list.Parts[part]
	o, err := d.list.open(ctx, p, read)
	if err != nil {
		return nil, err
	}
	q := &queryPart{o, read, make([][]format.Block, len(o.Columns()))}
	//guard: a file could have other rows than were committed
	if o.Rows() != p.Rows {
		err = damage.New(damage.Count, p.Name, -1, "the file has %d rows, expected %d", o.Rows(), p.Rows)
	} else {
		err = s.checkSchema(o)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return q, nil
}

// checkSchema compares a part's schema and columns with the section's.
func (s *section) checkSchema(o *OpenPart) error {
	if !s.is(o.Schema()) {
		schema, err := shred.ParseSchema(o.Schema())
		if err != nil {
			return in(o.name, err)
		}
		//guard: rows of another schema would be given as the dataset's
		if schema.Canonical() != s.mapping.Schema.Canonical() {
			return damage.New(damage.Schema, o.name, -1, "the file is of another schema than the dataset")
		}
	}
	return checkColumns(o, s.mapping)
}

// prepare says which columns' blocks are read twice, and of how many columns
// they are read side by side.
func (q *queryPart) prepare(twice []bool, columns int) {
	for _, f := range q.files {
		f.twice = twice
	}
	if q.ahead != nil {
		q.ahead.wanted = columns
	}
}

// forget drops the blocks that were kept to be read twice.
func (q *queryPart) forget() {
	for _, f := range q.files {
		f.forget()
	}
}

// blocksOf returns the blocks of a column, and counts them once.
func (q *queryPart) blocksOf(col int) ([]format.Block, error) {
	if q.blocks[col] == nil {
		blocks, err := q.Blocks(col)
		if err != nil {
			return nil, err
		}
		q.read.Blocks += int64(len(blocks))
		q.blocks[col] = blocks
	}
	return q.blocks[col], nil
}
