package dataset

import (
	"context"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Count returns, in Stats.Rows, the number of rows for which a condition holds. If the
// condition is empty, it counts all rows. Their number is in manifests and headers, and
// for Avro files in the heads of blocks.
func (d *Dataset) Count(ctx context.Context, condition string) (Stats, error) {
	s, err := d.newSelection(ctx, Query{Where: condition, Limit: -1}, func(*selection) (*shred.Schema, error) {
		return d.Schema(), nil // the schema does not matter
	})
	if err != nil {
		return Stats{}, err
	}
	defer s.end()
	if s.where == nil {
		return d.countAll(ctx, s.stats)
	}
	for err == nil {
		s.chooseNone()
		err = s.count()
		if err == nil {
			err = s.follow()
		}
	}
	if err == io.EOF {
		err = nil
	}
	return s.stats, err
}

// chooseNone drops all columns except the columns of the condition.
func (s *selection) chooseNone() {
	s.columns = nil
	clear(s.reread)
	s.inFiles = s.countInFiles()
}

// count counts the rows of the section.
func (s *selection) count() error {
	for {
		found, err := s.next()
		s.stats.Rows += count(found)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
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
