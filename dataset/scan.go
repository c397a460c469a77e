package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/trevni"
)

// Query says which rows are read, and what of them.
type Query struct {
	// Columns are paths of the fields to read, nil for all.
	Columns []string
	// Where is a condition on the rows, empty for all.
	Where string
	// Offset is how many of these rows are passed over.
	Offset int64
	// Limit is the most rows that are read; negative is no limit.
	Limit int64
	// Schema is the reader's, to which rows are resolved; nil for the
	// dataset's own.
	Schema *shred.Schema
}

// Stats say what a query has read so far.
type Stats struct {
	Rows      int64 // that it gave
	TotalRows int64 // of the dataset
	Bytes     int64 // that were read of files
	FileBytes int64 // of all files of the dataset
}

// Scan reads rows one after another. It belongs to one goroutine.
type Scan struct {
	ctx     context.Context
	dataset *Dataset
	mapping *shred.Mapping
	columns []int // of the dataset, one per column of mapping

	part    int // of file
	file    *partFile
	cursors []*trevni.Cursor
	rows    *shred.Assembler
	at      int64 // next row of the part
	skip    int64 // rows yet to be passed over
	left    int64 // rows yet to be given
	stats   Stats
	err     error
}

// Scan begins to read rows. ctx bounds the reads.
func (d *Dataset) Scan(ctx context.Context, q Query) (*Scan, error) {
	if q.Where != "" || q.Schema != nil {
		return nil, queryf("conditions and schemas are not read yet")
	}
	if q.Offset < 0 {
		return nil, queryf("offset %d is negative", q.Offset)
	}
	mapping, columns, err := d.project(q.Columns)
	if err != nil {
		return nil, err
	}
	s := &Scan{ctx: ctx, dataset: d, mapping: mapping, columns: columns, part: -1, skip: q.Offset, left: q.Limit}
	if q.Limit < 0 {
		s.left = d.rows
	}
	s.stats.TotalRows = d.rows
	for _, p := range d.Parts() {
		s.stats.FileBytes += p.Bytes
	}
	return s, nil
}

// Schema returns the schema of the rows that Next gives.
func (s *Scan) Schema() *shred.Schema {
	if s.mapping == nil {
		return nil
	}
	return s.mapping.Schema
}

// Stats returns what was read so far.
func (s *Scan) Stats() Stats {
	stats := s.stats
	if s.file != nil {
		stats.Bytes += s.file.source.bytes
	}
	return stats
}

// Close ends the scan.
func (s *Scan) Close() {
	if s.file != nil {
		s.stats.Bytes += s.file.source.bytes
		s.file.close()
		s.file = nil
	}
	s.err = errClosed
}

var errClosed = errors.New("dataset: the scan is closed")

// checkEvery is the number of rows after which a scan looks at its context.
const checkEvery = 1024

// Next appends the Avro bytes of the next row to dst; io.EOF after the last.
// After any other error it keeps failing.
func (s *Scan) Next(dst []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	if s.left == 0 {
		return dst, io.EOF
	}
	if s.file == nil || s.at == s.file.RowCount() {
		if s.err = s.nextPart(); s.err != nil {
			return dst, s.err
		}
	}
	if s.at%checkEvery == 0 && s.ctx.Err() != nil {
		s.err = s.ctx.Err()
		return dst, s.err
	}
	dst, err := s.rows.Row(dst)
	if err != nil {
		s.err = s.located(err)
		return dst, s.err
	}
	s.at++
	s.left--
	s.stats.Rows++
	return dst, nil
}

// nextPart goes to the next part that has rows to give.
func (s *Scan) nextPart() error {
	if s.file != nil {
		s.stats.Bytes += s.file.source.bytes
		s.file.close()
		s.file = nil
	}
	parts := s.dataset.Parts()
	for s.part++; s.part < len(parts) && s.skip >= parts[s.part].Rows; s.part++ {
		s.skip -= parts[s.part].Rows
	}
	if s.part >= len(parts) {
		return io.EOF
	}
	file, err := s.dataset.open(s.ctx, s.part)
	if err != nil {
		return err
	}
	s.file, s.at, s.skip = file, s.skip, 0
	if s.cursors, err = file.cursors(s.columns); err != nil {
		return err
	}
	readers := make([]*column.Reader, len(s.cursors))
	for i, c := range s.cursors {
		if s.at > 0 {
			if err := c.SeekRow(s.at); err != nil {
				return err
			}
		}
		readers[i] = c.Reader
	}
	s.rows = shred.NewAssembler(s.mapping, readers)
	return nil
}

// located says in which file and row an error is.
func (s *Scan) located(err error) error {
	var d *damage.Error
	if errors.As(err, &d) && d.Row < 0 {
		d.Row = s.at
	}
	return in(s.file.Name(), err)
}
