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
	*matchReader
	memory   *budget.Heap    // memory of rows and columns
	reserved int64           // bytes reserved for columns
	resolver *shred.Resolver // nil if rows are not resolved
	project  *shred.Resolver // takes the chosen fields out of whole rows; nil if all are chosen
	datum    []byte          // row before it is resolved
	resolved int64           // bytes reserved for rows
	whole    int64           // bytes reserved for datum if it is of a whole row

	open     *queryPart // the part whose columns are open
	own      *cursors   // cursors over parts that are not used by turns
	cursors  *cursors
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
	return &rowReader{matchReader: newMatchReader(ctx, p, true), memory: p.dataset.list.memory.NewHeap()}
}

// begin starts with a range.
func (s *rowReader) begin(rows *rowRange) error {
	s.found, s.count, s.last = nil, 0, place{}
	moved, err := s.matchReader.begin(rows)
	if err != nil || !moved {
		return err
	}
	s.open, s.own = nil, newCursors(s.section.section.mapping.Columns, s.section.columns)
	s.resolver, s.project = newResolver(s.section.resolution), newResolver(s.section.projection)
	return nil
}

// newResolver returns a resolver of rows, or nil if by is nil.
func newResolver(by *shred.Resolution) *shred.Resolver {
	if by == nil {
		return nil
	}
	return shred.NewResolver(by, maxRow)
}

// close ends the reading.
func (s *rowReader) close() {
	s.matchReader.close()
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

// reached returns the place after the last row.
func (s *rowReader) reached() place { return s.last }

// origin returns the part of the last row, and the row's number in it.
func (s *rowReader) origin() (part int, row int64) { return s.part, s.file.first + s.end - s.count - 1 }

// row appends the row at which the cursors are.
func (s *rowReader) row(dst []byte) (_ []byte, err error) {
	switch {
	case s.open.whole != nil:
		return s.wholeRow(dst)
	case s.resolver == nil:
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
	return s.resolve(s.resolver, dst, s.datum, &s.resolved)
}

// wholeRow appends a row that is stored whole, reduced to the chosen fields, with the keys that are
// chosen.
func (s *rowReader) wholeRow(dst []byte) (_ []byte, err error) {
	row := s.open.whole.row(s.end - s.count)
	if s.resolver == nil {
		return s.projectRow(dst, row, &s.resolved)
	}
	if s.datum, err = s.projectRow(s.datum[:0], row, &s.whole); err != nil {
		return dst, err
	}
	return s.resolve(s.resolver, dst, s.datum, &s.resolved)
}

// projectRow appends the chosen fields of a row, and the chosen keys.
func (s *rowReader) projectRow(dst, row []byte, reserved *int64) (_ []byte, err error) {
	if s.project != nil {
		if dst, err = s.resolve(s.project, dst, row, reserved); err != nil {
			return dst, err
		}
	} else {
		if len(row) > max(cap(dst)-len(dst), leastRow) {
			if dst, err = s.grow(dst, len(row), reserved); err != nil {
				return dst, fmt.Errorf("a row of %d bytes: %w", len(row), err)
			}
		}
		dst = append(dst, row...)
	}
	for _, col := range s.section.columns {
		if i := col - s.open.inFiles; i >= 0 {
			dst = s.open.keys[i].append(dst)
		}
	}
	return dst, nil
}

// resolve appends a row that it resolves.
func (s *rowReader) resolve(by *shred.Resolver, dst, row []byte, reserved *int64) ([]byte, error) {
	for {
		by.Limit(cap(dst) - len(dst))
		resolved, _, err := by.Row(dst, row)
		if !errors.Is(err, shred.ErrRoom) {
			if d := (*damage.Error)(nil); errors.As(err, &d) {
				d.Offset = -1 // the offset is in the row, not in the file
			}
			s.stats.Inexact = s.stats.Inexact.Plus(by.TakeInexact())
			return resolved, err
		}
		room := cap(dst) - len(dst)
		if dst, err = s.grow(dst, max(2*room, leastRow), reserved); err != nil {
			return dst, fmt.Errorf("a row of more than %d bytes: %w", room, err)
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

// grow makes room for a row of n bytes after dst. reserved is the number of bytes that are reserved
// for the memory of dst.
func (s *rowReader) grow(dst []byte, n int, reserved *int64) ([]byte, error) {
	size := len(dst) + n
	if err := s.memory.Reserve(int64(size)); err != nil {
		return dst, err
	}
	s.memory.Release(*reserved)
	*reserved = int64(size)
	return append(make([]byte, 0, size), dst...), nil
}

// advance moves to the next rows that match.
func (s *rowReader) advance() (err error) {
	for len(s.found) == 0 {
		if s.found, err = s.matchReader.next(); err != nil {
			return err
		}
	}
	if s.file != s.open {
		if err := s.openColumns(s.file); err != nil {
			return s.located(err)
		}
	}
	next := s.found[0]
	if s.open.whole != nil {
		s.found, s.end, s.count = s.found[1:], next.to, next.to-next.from
		return nil
	}
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
	if s.held != nil && s.assemble.Load(s.held.do, loadedBytes) {
		s.passTurn()
	}
	return nil
}

// openColumns opens the columns of a part.
func (s *rowReader) openColumns(f *queryPart) (err error) {
	s.open, s.end, s.readEnd, s.items = f, 0, 0, 0
	if f.whole != nil {
		return nil
	}
	if s.cursors, err = bindCursors(s.own, f); err != nil {
		return err
	}
	need := int64(len(s.cursors.columnCursors)) * shred.ColumnMemory
	if f.turns != nil {
		need += loadedBytes
	}
	if more := need - s.reserved; more > 0 {
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
	return s.matchReader.located(err)
}
