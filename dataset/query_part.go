package dataset

import (
	"context"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// queryPart is an open part that a query reads, with counts of the reads. It belongs to
// one goroutine.
type queryPart struct {
	*OpenPart
	first   int64 // number in the file of the part's first row; not 0 for a later in-memory part
	rows    int64
	inFiles int // number of columns in the files
	keys    []*constant
	whole   *rowBlock // the rows, if they are kept whole; else nil
	read    *Stats
	turns   *turnPart        // unless nil, readers use the part by turns
	blocks  [][]format.Block // by column; nil if not counted yet
	bounded []bool           // by column: whether blocks have what the part says of their values
}

// openPart opens a part of a section, and compares it with the section's schema and the
// listed number of rows. It opens no file if the query needs no column of the files.
func (p *Plan) openPart(ctx context.Context, planned *sectionPlan, part int, read *Stats) (*queryPart, error) {
	d, s := p.dataset, planned.section
	listed := &d.list.Parts[part]
	n := len(s.files.Columns)
	q := &queryPart{rows: listed.Rows, inFiles: n, keys: d.constants(s, listed), read: read, blocks: make([][]format.Block, n), bounded: make([]bool, n)}
	if planned.inFiles == 0 {
		q.OpenPart = d.list.unopened(listed)
		return q, nil
	}
	o, err := d.list.open(ctx, listed, p.files, read)
	if err != nil {
		return nil, err
	}
	q.OpenPart = o
	//guard: rejects a file with other rows than were committed
	if o.Rows() != listed.Rows {
		err = damage.New(damage.Count, listed.Name, -1, "the file has %d rows, expected %d", o.Rows(), listed.Rows)
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
		//guard: rejects a file with another schema
		if !schema.Same(s.files.Schema) {
			return damage.New(damage.Schema, o.name, -1, "the file has a different schema than the dataset")
		}
	}
	return checkColumns(o, s.files)
}

// constants returns the key columns of a part.
func (d *Dataset) constants(s *section, p *Part) []*constant {
	if len(s.keys) == 0 {
		return nil
	}
	keys := d.list.Sets[p.Set].Keys
	all := make([]*constant, len(s.keys))
	for i, k := range s.keys {
		all[i] = newConstant(&d.list.keys[k], &keys[k])
	}
	return all
}

// Rows returns the number of rows.
func (q *queryPart) Rows() int64 { return q.rows }

// Cursor returns a cursor before the first row of a column.
func (q *queryPart) Cursor(col int) (format.Cursor, error) {
	if col < q.inFiles {
		return q.OpenPart.Cursor(col)
	}
	return q.keys[col-q.inFiles].cursor(q.rows)
}

// prepare sets the columns whose blocks are read twice, and the number of columns that
// are read side by side.
func (q *queryPart) prepare(reread []bool, columns int) {
	for _, f := range q.files {
		f.reread = reread
	}
	if q.ahead != nil {
		q.ahead.wanted = columns
	}
}

// forget drops the blocks that were kept for a second read.
func (q *queryPart) forget() {
	for _, f := range q.files {
		f.forget()
	}
}

// blocksOf returns the blocks of a column. It counts the blocks in the files once.
func (q *queryPart) blocksOf(col int) ([]format.Block, error) {
	if col >= q.inFiles {
		return q.keys[col-q.inFiles].blocks(q.rows), nil
	}
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

// boundsOf is blocksOf, with what the part says of the values of each block.
func (q *queryPart) boundsOf(col int) ([]format.Block, error) {
	blocks, err := q.blocksOf(col)
	if err != nil || col >= q.inFiles || q.bounded[col] {
		return blocks, err
	}
	if s, ok := q.Part.(format.Searcher); ok {
		err = s.Bounds(col, blocks)
	}
	q.bounded[col] = err == nil
	return blocks, err
}

// having returns spans without the rows that are known to have none of the values in a column. If
// there are no values to look for, it returns all spans.
func (q *queryPart) having(col int, values [][]byte, spans []span) ([]span, error) {
	s, ok := q.Part.(format.Searcher)
	if !ok || len(values) == 0 || col >= q.inFiles {
		return spans, nil
	}
	var may []span // rows that may have one of the values
	for i, end := 0, int64(0); i < len(spans); {
		row := max(spans[i].from, end)
		if row >= spans[i].to {
			i++
			continue
		}
		lacks, until, err := s.Lacks(col, values, row)
		if err != nil {
			return nil, err
		}
		if end = until; !lacks {
			may = appendSpan(may, span{row, end})
		}
	}
	return intersect(spans, may), nil
}
