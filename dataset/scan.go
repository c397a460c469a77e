package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// Scan reads rows one by one. It belongs to one goroutine.
type Scan struct {
	rows     *selection
	schema   *shred.Schema
	memory   *budget.Heap    // memory of rows and columns
	columns  int64           // bytes reserved for columns
	resolver *shred.Resolver // nil if rows are not resolved
	datum    []byte          // row in the writer's schema
	resolved int64           // bytes reserved for resolved rows

	file     *queryPart
	cursors  cursors
	assemble *shred.Assembler
	rest     []span // rows found, without the rows that are being read
	left     int64  // number of rows of the current span still to be read
	end      int64  // the row after the current span
	readEnd  int64  // the row after those that the assembler may read
	items    int64  // number of items without bytes in earlier rows of the file
	err      error
}

// A gap between rows that match is read, not skipped, if it has at most maxGap rows and
// approximately at most maxGapBytes bytes.
const (
	maxGap      = 16
	maxGapBytes = 4 << 10
)

// maxRow is the largest size of a resolved row, in bytes.
const maxRow = 1 << 30

// Scan checks the query and returns a scan of its rows. Next checks ctx from time
// to time, and fails if ctx has ended.
func (d *Dataset) Scan(ctx context.Context, q Query) (*Scan, error) {
	s := &Scan{schema: q.Schema}
	var err error
	if s.rows, err = d.newSelection(ctx, q, s.bind); err != nil {
		return nil, err
	}
	s.memory = d.list.memory.NewHeap()
	return s, nil
}

// bind prepares to read rows of the selection's section.
func (s *Scan) bind(rows *selection) (*shred.Schema, error) {
	s.schema, s.cursors, s.resolver = rows.mapping.Schema, newCursors(rows.section.mapping.Columns, rows.columns), nil
	if rows.query.Schema == nil {
		return s.schema, nil
	}
	reader, err := rows.withKeys(rows.query.Schema)
	if err != nil {
		return nil, err
	}
	by, err := shred.Resolve(s.schema, reader, shred.AllowChanges)
	if err != nil {
		return nil, in(rows.section.name, err)
	}
	if s.schema = reader; !by.Identity() {
		s.resolver = shred.NewResolver(by, maxRow)
	}
	return s.schema, nil
}

// wanted returns the fields of a section's record that a reader's record uses, and the
// section's keys. For other types it returns nil, which means all fields.
func (d *Dataset) wanted(s *section, reader *shred.Node) []string {
	writer := s.files.Schema.Root()
	if writer.Kind != shred.KindRecord || reader.Kind != shred.KindRecord {
		return nil
	}
	paths := []string{}
	for _, w := range writer.Fields {
		if slices.ContainsFunc(reader.Fields, func(r shred.Field) bool { return r.Name == w.Name || slices.Contains(r.Aliases, w.Name) }) {
			paths = append(paths, w.Name)
		}
	}
	for _, k := range s.keys {
		paths = append(paths, d.list.keys[k].name)
	}
	return paths
}

// withKeys adds the keys that the query chose to the reader's schema, if the schema can be
// extended. It leaves out a key whose name is that of a field.
func (s *selection) withKeys(reader *shred.Schema) (*shred.Schema, error) {
	var fields []shred.NewField
	for i, k := range s.section.keys {
		key := &s.dataset.list.keys[k]
		if slices.Contains(s.columns, len(s.section.files.Columns)+i) && !hasField(reader, key.name) {
			fields = append(fields, key.field())
		}
	}
	if len(fields) == 0 || !reader.Extensible() {
		return reader, nil
	}
	return reader.Extend(fields)
}

// Schema returns the schema of the rows that Next returns. If the dataset is an
// output that was made without inputs, Schema returns the schema of the query, which may
// be nil.
func (s *Scan) Schema() *shred.Schema { return s.schema }

// Stats returns the figures of the scan so far.
func (s *Scan) Stats() Stats { return s.rows.stats }

// Place returns the name of the part that the last row is from, and the row's number in that
// part. Next must have returned a row.
func (s *Scan) Place() (part string, row int64) {
	return s.file.name, s.file.first + s.end - s.left - 1
}

// Close ends the scan.
func (s *Scan) Close() {
	s.rows.end()
	s.memory.Close()
	if s.err == nil {
		s.err = errClosed
	}
}

var errClosed = errors.New("dataset: the scan is closed")

// checkEvery is the number of rows after which a scan checks its context.
const checkEvery = 1024

// Next appends the Avro bytes of the next row to dst. It returns io.EOF after the last
// row. After an error, every later call fails.
func (s *Scan) Next(dst []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	if s.left == 0 {
		if s.err = s.move(); s.err != nil {
			return dst, s.err
		}
	}
	if s.left%checkEvery == 0 {
		if s.err = s.rows.ctx.Err(); s.err != nil {
			return dst, s.err
		}
	}
	row, err := s.row(dst)
	if err != nil {
		s.err = s.located(err)
		return dst, s.err
	}
	s.left--
	s.rows.stats.Rows++
	return row, nil
}

// row appends the row at which the cursors are.
func (s *Scan) row(dst []byte) (_ []byte, err error) {
	if s.resolver == nil {
		if dst, err = s.assemble.Row(dst); err != nil {
			return dst, err
		}
		return dst, s.countItems()
	}
	if s.datum, err = s.assemble.Row(s.datum[:0]); err != nil {
		return dst, err
	}
	if err := s.countItems(); err != nil {
		return dst, err
	}
	for {
		s.resolver.Limit(cap(dst) - len(dst))
		row, _, err := s.resolver.Row(dst, s.datum)
		if !errors.Is(err, shred.ErrRoom) {
			if d := (*damage.Error)(nil); errors.As(err, &d) {
				d.Offset = -1 // the offset is in the row, not in the file
			}
			s.rows.stats.Inexact = s.rows.stats.Inexact.Plus(s.resolver.TakeInexact())
			return row, err
		}
		if dst, err = s.grow(dst); err != nil {
			return dst, err
		}
	}
}

// countItems adds the last row's items that take no bytes to the rows of its file, which
// damage.Growth limits.
func (s *Scan) countItems() error {
	items := s.assemble.EmptyItems()
	if items == s.items {
		return nil
	}
	more := items - s.items
	s.items = items
	return s.file.grow(more)
}

// leastRow is the least memory for resolved rows.
const leastRow = 64 << 10

// grow makes room for a larger row after dst.
func (s *Scan) grow(dst []byte) ([]byte, error) {
	size := len(dst) + max(2*(cap(dst)-len(dst)), leastRow)
	if err := s.memory.Reserve(int64(size)); err != nil {
		return dst, fmt.Errorf("a row of more than %d bytes: %w", cap(dst)-len(dst), err)
	}
	s.memory.Release(s.resolved)
	s.resolved = int64(size)
	return append(make([]byte, 0, size), dst...), nil
}

// move moves to the next rows that match.
func (s *Scan) move() (err error) {
	for len(s.rest) == 0 {
		s.rest, err = s.rows.next()
		if errors.Is(err, io.EOF) {
			if err = s.rows.follow(); err == nil {
				_, err = s.bind(s.rows)
			}
		}
		if err != nil {
			return err
		}
	}
	if s.file != s.rows.file {
		if err := s.open(s.rows.file); err != nil {
			return s.located(err)
		}
	}
	next := s.rest[0]
	if next.from < s.readEnd {
		err = s.assemble.Skip(int(next.from - s.end))
	} else {
		err = s.start()
	}
	s.rest, s.end, s.left = s.rest[1:], next.to, next.to-next.from
	if err != nil {
		return s.located(err)
	}
	return nil
}

// start moves the columns to the next span, and tells the assembler to read up to the first
// large gap, with the small gaps before it.
func (s *Scan) start() error {
	from := s.rest[0].from
	if err := s.cursors.move(from); err != nil {
		return err
	}
	s.readEnd = s.rest[0].to
	extent := s.cursors.extent()
	for _, next := range s.rest[1:] {
		gap := next.from - s.readEnd
		if gap > maxGap || gap*extent.rowSize > maxGapBytes || next.from >= extent.end {
			break
		}
		s.readEnd = next.to
	}
	s.assemble.Start(s.readEnd - from)
	s.cursors.at = s.readEnd // the position after the assembler has read these rows
	return nil
}

// open opens the columns of a part.
func (s *Scan) open(f *queryPart) error {
	s.file, s.end, s.readEnd, s.items = f, 0, 0, 0
	if err := s.cursors.bind(f); err != nil {
		return err
	}
	if more := int64(len(s.cursors.columnCursors))*shred.ColumnMemory - s.columns; more > 0 {
		if err := s.memory.Reserve(more); err != nil {
			return err
		}
		s.columns += more
	}
	values := make([]shred.Values, len(s.cursors.columnCursors))
	for i, c := range s.cursors.columnCursors {
		values[i] = c
	}
	before := s.assemble
	s.assemble = shred.NewAssembler(s.rows.mapping, values, s.memory)
	if before != nil {
		s.assemble.Follow(before)
	}
	return nil
}

// located adds the file and the row to an error.
func (s *Scan) located(err error) error {
	var d *damage.Error
	if errors.As(err, &d) && d.Row < 0 {
		d.Row = s.file.first + s.end - s.left
	}
	return s.rows.located(err)
}
