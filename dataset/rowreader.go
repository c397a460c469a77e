package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// rowReader reads the rows of ranges one by one. It belongs to one goroutine.
type rowReader struct {
	*reader
	memory   *budget.Heap    // memory of rows and columns
	reserved int64           // bytes reserved for columns
	resolver *shred.Resolver // nil if rows are not resolved
	datum    []byte          // row in the writer's schema
	resolved int64           // bytes reserved for resolved rows

	open     *queryPart // the part whose columns are open
	cursors  cursors
	assemble *shred.Assembler
	found    []span // rows found, without the rows that are being read
	count    int64  // number of rows of the current span still to be read
	end      int64  // the row after the current span
	readEnd  int64  // the row after those that the assembler may read
	items    int64  // number of items without bytes in earlier rows of the file
	last     place  // place after the last row
}

// A gap between rows that match is read, not skipped, if it has at most maxGap rows and
// approximately at most maxGapBytes bytes.
const (
	maxGap      = 16
	maxGapBytes = 4 << 10
)

// maxRow is the largest size of a resolved row, in bytes.
const maxRow = 1 << 30

func newRowReader(ctx context.Context, p *Plan) *rowReader {
	return &rowReader{reader: newReader(ctx, p), memory: p.dataset.list.memory.NewHeap()}
}

// begin starts with a range.
func (s *rowReader) begin(rows *rowRange) error {
	s.found, s.count, s.last = nil, 0, place{}
	moved, err := s.reader.begin(rows)
	if err != nil || !moved {
		return err
	}
	s.open, s.cursors = nil, newCursors(s.section.section.mapping.Columns, s.section.columns)
	s.resolver = nil
	if by := s.section.resolution; by != nil {
		s.resolver = shred.NewResolver(by, maxRow)
	}
	return nil
}

// close ends the reading.
func (s *rowReader) close() {
	s.reader.close()
	s.memory.Close()
}

// checkEvery is the number of rows after which a reader checks its context.
const checkEvery = 1024

// next appends the Avro bytes of the next row to dst. It returns io.EOF after the last row of the
// range.
func (s *rowReader) next(dst []byte) ([]byte, error) {
	if s.count == 0 {
		if err := s.advance(); err != nil {
			return dst, err
		}
	}
	if s.count%checkEvery == 0 {
		if err := s.ctx.Err(); err != nil {
			return dst, err
		}
	}
	row, err := s.row(dst)
	if err != nil {
		return dst, s.located(err)
	}
	s.count--
	s.last = s.at(s.end - s.count)
	return row, nil
}

// origin returns the part of the last row, and the row's number in it.
func (s *rowReader) origin() (part int, row int64) { return s.part, s.file.first + s.end - s.count - 1 }

// row appends the row at which the cursors are.
func (s *rowReader) row(dst []byte) (_ []byte, err error) {
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
			s.stats.Inexact = s.stats.Inexact.Plus(s.resolver.TakeInexact())
			return row, err
		}
		if dst, err = s.grow(dst); err != nil {
			return dst, err
		}
	}
}

// countItems adds the last row's items that take no bytes to the rows of its file, which
// damage.Growth limits.
func (s *rowReader) countItems() error {
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
func (s *rowReader) grow(dst []byte) ([]byte, error) {
	size := len(dst) + max(2*(cap(dst)-len(dst)), leastRow)
	if err := s.memory.Reserve(int64(size)); err != nil {
		return dst, fmt.Errorf("a row of more than %d bytes: %w", cap(dst)-len(dst), err)
	}
	s.memory.Release(s.resolved)
	s.resolved = int64(size)
	return append(make([]byte, 0, size), dst...), nil
}

// advance moves to the next rows that match.
func (s *rowReader) advance() (err error) {
	for len(s.found) == 0 {
		if s.found, err = s.reader.next(); err != nil {
			return err
		}
	}
	if s.file != s.open {
		if err := s.openColumns(s.file); err != nil {
			return s.located(err)
		}
	}
	next := s.found[0]
	if next.from < s.readEnd {
		err = s.assemble.Skip(int(next.from - s.end))
	} else {
		err = s.start()
	}
	s.found, s.end, s.count = s.found[1:], next.to, next.to-next.from
	if err != nil {
		return s.located(err)
	}
	return nil
}

// start moves the columns to the next span, and tells the assembler to read up to the first
// large gap, with the small gaps before it.
func (s *rowReader) start() error {
	from := s.found[0].from
	if err := s.cursors.move(from); err != nil {
		return err
	}
	s.readEnd = s.found[0].to
	extent := s.cursors.extent()
	for _, next := range s.found[1:] {
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

// openColumns opens the columns of a part.
func (s *rowReader) openColumns(f *queryPart) error {
	s.open, s.end, s.readEnd, s.items = f, 0, 0, 0
	if err := s.cursors.bind(f); err != nil {
		return err
	}
	if more := int64(len(s.cursors.columnCursors))*shred.ColumnMemory - s.reserved; more > 0 {
		if err := s.memory.Reserve(more); err != nil {
			return err
		}
		s.reserved += more
	}
	values := make([]shred.Values, len(s.cursors.columnCursors))
	for i, c := range s.cursors.columnCursors {
		values[i] = c
	}
	before := s.assemble
	s.assemble = shred.NewAssembler(s.section.mapping, values, s.memory)
	if before != nil {
		s.assemble.Follow(before)
	}
	return nil
}

// located adds the file and the row to an error.
func (s *rowReader) located(err error) error {
	var d *damage.Error
	if errors.As(err, &d) && d.Row < 0 {
		d.Row = s.file.first + s.end - s.count
	}
	return s.reader.located(err)
}
