package dataset

import (
	"context"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Count returns, in Stats.Rows, the number of rows for which the condition of a query holds. Other
// fields of the query than Where and Workers are ignored. Without a condition, Count counts all
// rows. Their number is in manifests and headers, and for Avro files in the heads of blocks.
func (d *Dataset) Count(ctx context.Context, q Query) (Stats, error) {
	p, err := d.newPlan(Query{Where: q.Where, Limit: -1, Workers: q.Workers})
	if err != nil {
		return Stats{}, err
	}
	if q.Where == "" {
		return d.countAll(ctx, p.Totals())
	}
	for _, s := range p.sections {
		s.columns = nil // only the columns of the condition are read
		s.count()
	}
	p = p.begin()
	counts := newResults(ctx, p, newRanges(p, batchedBlock), func(ctx context.Context, _ int) resultMaker[int64] { return &counter{newMatchReader(ctx, p, false)} })
	defer counts.Close()
	for err == nil {
		_, err = counts.Next()
	}
	if err == io.EOF {
		err = nil
	}
	return counts.Stats(), err
}

// counter counts the rows of ranges. It is a resultMaker.
type counter struct{ *matchReader }

func (c *counter) make(rows *rowRange, emit func(*result[int64]) error) error {
	if _, err := c.begin(rows); err != nil {
		return err
	}
	n := int64(0)
	for {
		found, err := c.next()
		n += count(found)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	stats := c.takeStats()
	stats.Rows = n
	return emit(&result[int64]{n, stats, place{len(rows.parts), 0}})
}

func (c *counter) close() Stats {
	c.matchReader.close()
	return c.takeStats()
}

func (d *Dataset) countAll(ctx context.Context, s Stats) (Stats, error) {
	for i := range d.list.Parts {
		p := &d.list.Parts[i]
		rows := p.Rows
		if p.avro {
			var err error
			if rows, err = d.list.countRows(ctx, p, &s); err != nil {
				return s, err
			}
		}
		//guard: rejects a sum of rows beyond 64 bits
		if rows > math.MaxInt64-s.Rows {
			return s, damage.New(damage.Count, p.Name, -1, "with the rows before them, these are too many to be counted")
		}
		s.Rows += rows
	}
	s.TotalRows = s.Rows
	return s, nil
}
