package dataset

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Query selects rows and fields.
type Query struct {
	// Columns are the paths of the fields to read, as for shred.Mapping.Project. If it is
	// nil, all fields are read.
	Columns []string
	// Where is a condition on the rows, in the language of package where. If it is empty,
	// all rows match.
	Where string
	// Only, if it is not nil, limits the query to some rows of some parts. Its keys are indexes
	// in Dataset.Parts. Its values are row numbers, ascending without repeats. Other parts are
	// not opened, and other blocks are not read. Avro files do not support Only.
	Only map[int][]int64
	// Offset is the number of matching rows that are skipped before the first returned row.
	Offset int64
	// Limit is the most rows that are returned. If it is negative, there is no limit.
	Limit int64
	// Schema is the reader's schema, to which rows of the chosen fields are resolved. If
	// Columns is nil, the fields that Schema uses are read. If Schema is nil, rows keep
	// their own schema. With a Schema, Batches reads rows and makes columns of them.
	Schema *shred.Schema
	// BatchRows is the most rows in a batch; 0 is the default. Scan ignores it.
	BatchRows int
	// Copies is the number of copies of each batch that the caller makes. Memory for them
	// is reserved. Scan ignores it.
	Copies int
}

// Stats is what a query has read so far.
type Stats struct {
	Rows       int64 // rows returned
	Skipped    int64 // rows skipped for the offset
	TotalRows  int64 // rows of the dataset
	BytesRead  int64 // bytes read from files: headers, block tables, and blocks, even those read ahead and not used
	FileBytes  int64 // size of all files of the dataset
	BlocksRead int64 // blocks read from files; a block that is read again from its file counts again
	// Blocks is the number of blocks of the query's columns in the files that it
	// opened.
	Blocks int64
	// Passed is the number of rows of the dataset before the current position, whether they
	// were read or not. Without a condition it may be too low.
	Passed int64
	// Inexact counts values that changed when resolved to Query.Schema.
	Inexact shred.Inexact
}

// Plus returns the sum of the figures of two queries of the same dataset.
func (s Stats) Plus(t Stats) Stats {
	t.Rows += s.Rows
	t.Skipped += s.Skipped
	t.BytesRead += s.BytesRead
	t.BlocksRead += s.BlocksRead
	t.Blocks += s.Blocks
	t.Passed += s.Passed
	t.Inexact = s.Inexact.Plus(t.Inexact)
	return t
}

// span is a range of rows of a part.
type span struct{ from, to int64 }

// after returns spans without their first rows. It changes the first span that remains.
func after(spans []span, rows int64) []span {
	for len(spans) > 0 && spans[0].to-spans[0].from <= rows {
		rows -= spans[0].to - spans[0].from
		spans = spans[1:]
	}
	if len(spans) > 0 {
		spans[0].from += rows
	}
	return spans
}

// before returns only the first rows of spans. It changes the last span that remains.
func before(spans []span, rows int64) []span {
	for i := range spans {
		s := &spans[i]
		if s.to = s.from + min(rows, s.to-s.from); s.from == s.to {
			return spans[:i]
		}
		rows -= s.to - s.from
	}
	return spans
}

// count returns the number of rows of spans.
func count(spans []span) (rows int64) {
	for _, s := range spans {
		rows += s.to - s.from
	}
	return rows
}

// selection finds the rows of a query, in order.
type selection struct {
	ctx     context.Context
	dataset *Dataset
	query   Query
	number  int // number of the current section
	section *section
	where   *where.Predicate // the condition on its rows, or nil
	mapping *shred.Mapping   // columns of the chosen fields
	columns []int            // for each column of mapping, its number in the section
	reread  []bool           // per column of the section, whether its blocks are read twice
	inFiles int              // number of columns that are read from the files

	skip  int64 // number of rows still to skip
	left  int64 // number of rows still to return
	stats Stats

	part   int     // index of the current part in Listing.Parts
	made   *chunks // makes in-memory parts from the current part's rows; nil if it stores columns
	before int64   // number of rows in earlier parts
	file   *queryPart
	rest   []span  // rows of the part not yet considered
	find   *filter // finds the matching rows of the part; nil without a condition
}

// newSelection checks a query on all sections, so that the query fails before it returns
// any row. It then begins with the first section. In each section it calls bind, which returns
// the schema of the rows that the caller makes there.
func (d *Dataset) newSelection(ctx context.Context, q Query, bind func(*selection) (*shred.Schema, error)) (*selection, error) {
	if q.Offset < 0 {
		return nil, queryf("offset %d is negative", q.Offset)
	}
	s := &selection{ctx: ctx, dataset: d, query: q, skip: q.Offset, left: q.Limit}
	if q.Limit < 0 {
		s.left = math.MaxInt64
	}
	s.stats.TotalRows = d.rows
	for i := range d.list.Parts {
		s.stats.FileBytes += d.list.Parts[i].Bytes
	}
	if len(d.sections) == 0 {
		if s.left = 0; q.Columns != nil {
			return nil, queryf("the dataset is an output of no inputs and has no columns")
		}
	}
	if err := d.checkOnly(q.Only); err != nil {
		return nil, err
	}
	var later *shred.Schema
	for i := len(d.sections) - 1; i >= 0; i-- {
		err := s.begin(i)
		if err != nil {
			return nil, err
		}
		schema, err := bind(s)
		if err != nil {
			return nil, err
		}
		//guard: refuses to mix rows of two schemas
		if later != nil && !later.Same(schema) {
			return nil, d.differs(i + 1)
		}
		later = schema
	}
	return s, nil
}

// begin moves to a section.
func (s *selection) begin(number int) (err error) {
	next := s.dataset.sections[number]
	s.number, s.section, s.part = number, next, next.first-1
	columns := s.query.Columns
	if columns == nil && s.query.Schema != nil {
		columns = s.dataset.wanted(next, s.query.Schema.Root())
	}
	if s.mapping, s.columns, err = next.project(columns); err != nil {
		return err
	}
	if s.query.Where != "" {
		if s.where, err = where.Parse(s.query.Where, next.mapping); err != nil {
			return &queryError{err}
		}
		s.reread = rereadColumns(next.mapping.Columns, s.columns, s.where.Columns())
	}
	s.inFiles = s.countInFiles()
	return nil
}

// countInFiles counts the columns that are read from files.
func (s *selection) countInFiles() (n int) {
	end := len(s.section.files.Columns)
	for _, col := range s.columns {
		if col < end {
			n++
		}
	}
	if s.where == nil {
		return n
	}
	for _, col := range s.where.Columns() {
		if col < end && !s.reread[col] {
			n++
		}
	}
	return n
}

// follow moves to the next section. It returns io.EOF if no rows of another section are
// needed.
func (s *selection) follow() error {
	if !s.more() {
		return io.EOF
	}
	return s.begin(s.number + 1)
}

// more reports whether rows of another section are needed.
func (s *selection) more() bool { return s.number+1 < len(s.dataset.sections) && s.left > 0 }

// rereadColumns finds the columns that are both chosen and used by the condition.
func rereadColumns(all []column.Column, chosen, condition []int) []bool {
	reread := make([]bool, len(all))
	for _, col := range condition {
		reread[col] = slices.Contains(chosen, col)
	}
	return reread
}

// next returns the next matching rows, at least one. All of them are in the part s.file. It
// returns io.EOF after the last row of the section. The caller may change the spans
// until the next call.
func (s *selection) next() ([]span, error) {
	for s.left > 0 {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		found := s.rest
		switch {
		case len(found) == 0:
			if err := s.nextPart(); err != nil {
				return nil, err
			}
			continue
		case s.find != nil:
			var err error
			if found, err = s.find.next(); errors.Is(err, io.EOF) {
				s.rest = nil
				continue
			} else if err != nil {
				return nil, s.located(err)
			}
			s.stats.Passed = s.before + found[len(found)-1].to
		default:
			s.rest = nil
		}
		n := min(s.skip, count(found))
		s.skipRows(n)
		if found = before(after(found, n), s.left); len(found) > 0 {
			s.left -= count(found)
			return found, nil
		}
	}
	s.close() // columns read ahead are no longer needed
	return nil, io.EOF
}

// skipRows counts rows that the offset skips.
func (s *selection) skipRows(rows int64) {
	s.skip -= rows
	s.stats.Skipped += rows
}

// nextPart opens the next part of the section that may have rows to return, or returns
// io.EOF.
func (s *selection) nextPart() error {
	if s.file != nil {
		s.before += s.file.Rows()
		s.stats.Passed = s.before
	}
	s.close()
	for s.file == nil {
		err := io.EOF
		if s.made != nil {
			err = s.nextMade()
		}
		if err == io.EOF {
			err = s.nextListed()
		}
		if err != nil {
			return err
		}
	}
	var err error
	s.file.prepare(s.reread, s.inFiles)
	s.rest = s.candidates()
	if s.where != nil {
		s.find, err = newFilter(s)
	}
	return err
}

// nextMade makes the next in-memory part of an Avro file, or of a part that stores
// rows. It returns io.EOF after the last one.
func (s *selection) nextMade() error {
	skip, most := s.skip, s.left
	if s.where != nil { // the number of matching rows is unknown
		skip, most = 0, math.MaxInt64
	}
	file, skipped, err := s.made.next(s.ctx, skip, most, &s.stats)
	s.skipRows(skipped)
	if s.file = file; err == io.EOF {
		s.made.close()
		s.made = nil
	}
	return err
}

// nextListed moves to the next part that may have rows to return, and opens it. For a
// part that stores rows, it starts to make in-memory parts. It returns io.EOF if the
// section has no more parts.
func (s *selection) nextListed() error {
	parts := s.dataset.Parts()
	for s.part++; s.part < s.section.end; s.part++ {
		if s.wants(&parts[s.part]) {
			break
		}
		s.before += max(parts[s.part].Rows, 0)
		s.stats.Passed = s.before
	}
	if s.part >= s.section.end {
		return io.EOF
	}
	var err error
	if p := &parts[s.part]; p.avro {
		s.made, err = s.dataset.makeParts(s.ctx, s.section, p)
	} else {
		s.file, err = s.dataset.openPart(s.ctx, s.section, s.part, s.inFiles > 0, &s.stats)
	}
	if err != nil || s.file == nil {
		return err
	}
	if rows, ok := s.file.Part.(format.RowPart); ok {
		opened := s.file
		s.file = nil
		s.made, err = s.dataset.makePartsOf(s.section, &parts[s.part], opened.OpenPart, rows)
	}
	return err
}

// wants reports whether a part may have rows to return. A part whose rows all lie before
// the offset has none, and wants counts its rows as skipped.
func (s *selection) wants(p *Part) bool {
	if s.query.Only != nil && len(s.query.Only[s.part]) == 0 {
		return false
	}
	switch {
	// A part without rows is opened to check that its file has none.
	case s.where == nil && s.query.Only == nil && p.Rows > 0 && s.skip >= p.Rows:
		s.skipRows(p.Rows)
		return false
	case s.where == nil || len(s.section.keys) == 0:
		return true
	}
	known := make(map[int]*column.Vector, len(s.section.keys))
	for i, c := range s.dataset.constants(s.section, p) {
		known[len(s.section.files.Columns)+i] = &c.value
	}
	return !s.where.Excludes(known)
}

// end ends the reading.
func (s *selection) end() {
	s.close()
	if s.made != nil {
		s.made.close()
		s.made = nil
	}
}

// close closes the file.
func (s *selection) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// located adds the file to an error.
func (s *selection) located(err error) error { return in(s.file.name, err) }
