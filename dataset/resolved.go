package dataset

import (
	"context"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// resolvedBatches reads rows, resolves them to the schema of a query, and makes columns
// of them.
func (d *Dataset) resolvedBatches(ctx context.Context, q Query) (*Batches, error) {
	m, err := shred.Map(q.Schema, shred.Options{RecursiveBytes: true, Memory: d.list.memory.NewHeap()})
	if err != nil {
		return nil, in(d.list.Path, err)
	}
	scan, err := d.Scan(ctx, q)
	if err != nil {
		return nil, err
	}
	made, err := newChunks(d.list.Path, m, d.list, &scanRows{scan: scan}, nil)
	if err != nil {
		return nil, err
	}
	// The rows are read as the only part of a dataset of their own.
	list := *d.list
	list.Parts = []Part{{Name: list.Path}}
	resolved := &Dataset{list: &list, rows: -1, sections: []*section{{name: d.list.Path, schema: q.Schema.JSON(), files: m, mapping: m}}}
	rows, err := resolved.newSelection(ctx, Query{Limit: -1, Copies: q.Copies}, ownSchema)
	if err != nil {
		made.close()
		return nil, err
	}
	rows.part, rows.made = 0, made
	b, err := newBatches(rows, q)
	if err != nil {
		made.close()
		return nil, err
	}
	b.scan = scan
	return b, nil
}

// scanRows are the rows of a scan. It is a rowSource.
type scanRows struct {
	scan  *Scan
	row   []byte
	given int64 // bytes that bytesRead reported
}

func (r *scanRows) skip(context.Context, int64) (int64, error) { return 0, nil }

func (r *scanRows) fill(_ context.Context, c *chunk) (err error) {
	for !c.full() {
		if r.row, err = r.scan.Next(r.row[:0]); err != nil {
			return err
		}
		if _, err = c.add(r.row); err != nil {
			return in(c.name, err)
		}
		if cap(r.row) > keptRow && len(r.row) < cap(r.row)/4 {
			r.row = nil // frees an unusually large one
		}
	}
	return nil
}

// keptRow is the memory that is always kept for the next row.
const keptRow = 1 << 20

func (r *scanRows) bytesRead() int64 {
	n := r.scan.rows.stats.BytesRead - r.given
	r.given += n
	return n
}

func (r *scanRows) close() { r.scan.Close() }
