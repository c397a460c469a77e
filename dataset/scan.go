package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// Scan reads rows one by one. It belongs to one goroutine.
type Scan struct {
	plan    *Plan
	rows    *sequence[*rowReader] // nil with several workers
	results *Results[*rowBatch]   // nil with one worker
	batch   *rowBatch             // rows of the last result
	at      int                   // number of the next row of batch
	count   int64                 // number of rows returned
	err     error
}

// Scan checks the query and returns a scan of its rows. Next checks ctx from time
// to time, and fails if ctx has ended.
func (d *Dataset) Scan(ctx context.Context, q Query) (*Scan, error) {
	p, err := d.Plan(q)
	if err != nil {
		return nil, err
	}
	return p.Scan(ctx), nil
}

// Scan returns a scan of the rows. Next checks ctx from time to time, and fails if ctx has ended.
func (p *Plan) Scan(ctx context.Context) *Scan {
	s := &Scan{plan: p}
	if p.workers() > 1 {
		s.results = rowBatches(ctx, p)
	} else {
		p = p.begin()
		s.rows = newSequence(ctx, p, newRowReader(ctx, p))
	}
	return s
}

// Schema returns the schema of the rows that Next returns: see Plan.Schema.
func (s *Scan) Schema() *shred.Schema { return s.plan.Schema() }

// Stats returns the figures of the scan so far.
func (s *Scan) Stats() (read Stats) {
	if s.results != nil {
		read = s.results.Stats()
	} else {
		read = s.rows.stats()
	}
	read.Rows = s.count
	return read
}

// Place returns the name of the part that the last row is from, and the row's number in that
// part. Next must have returned a row.
func (s *Scan) Place() (part string, row int64) {
	var number int
	if s.results != nil {
		number, row = s.batch.origins.of(s.at - 1)
	} else {
		number, row = s.rows.reader.origin()
	}
	return s.plan.dataset.Parts()[number].Name, row
}

// Close ends the scan.
func (s *Scan) Close() {
	if s.results != nil {
		s.results.Close()
	} else {
		s.rows.close()
	}
	if s.err == nil {
		s.err = errClosed
	}
}

// Alone frees memory of workers that read rows ahead: see Results.Alone. The last row stays valid.
func (s *Scan) Alone() bool { return s.results != nil && s.results.Alone() }

var errClosed = errors.New("dataset: the scan is closed")

// Next appends the Avro bytes of the next row to dst. It returns io.EOF after the last
// row. After an error, every later call fails.
func (s *Scan) Next(dst []byte) (row []byte, err error) {
	if s.err != nil {
		return dst, s.err
	}
	if s.results != nil {
		row, err = s.nextOfBatch(dst)
	} else {
		row, err = s.nextOfRange(dst)
	}
	if s.err = err; err != nil {
		return dst, err
	}
	s.count++
	return row, nil
}

// nextOfRange is Next with one worker.
func (s *Scan) nextOfRange(dst []byte) (row []byte, err error) {
	for {
		err = io.EOF
		if s.rows.rows != nil {
			row, err = s.rows.reader.next(dst)
		}
		if err != io.EOF {
			return row, err
		}
		if err := s.rows.next(); err != nil {
			return dst, err
		}
	}
}

// nextOfBatch is Next with several workers.
func (s *Scan) nextOfBatch(dst []byte) ([]byte, error) {
	for s.batch == nil || s.at == len(s.batch.ends) {
		if s.batch != nil {
			s.batch.Release()
			s.batch = nil
		}
		next, err := s.results.Next()
		if err != nil {
			return dst, err
		}
		s.batch, s.at = next, 0
	}
	s.at++
	return append(dst, s.batch.row(s.at-1)...), nil
}
