package shred

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// maxRow bounds the bytes of one assembled row. A few bytes of repeated lengths can stand
// for any number of items.
const maxRow = 1 << 30

// room is the free space, in bytes, that is kept after a row, because short values are
// copied together with the bytes after them.
const room = 64

// Assembler makes rows from columns: it is the inverse of a Shredder. It belongs to one
// goroutine and allocates nothing per row.
type Assembler struct {
	mapping *Mapping
	feeds   []feed
	joints  []joint
	start   int      // start of the row in dst
	limit   int      // most bytes of a row
	checker Shredder // checks data that is kept as Avro bytes
	skipped []int    // number of items of each column that Skip passed over
	empty   int64    // number of items so far that may take no bytes
	grow    grower
	loaders []loader // nil before Load
}

// ColumnMemory is the approximate memory of an assembler for a column, in bytes, without
// the column's blocks.
const ColumnMemory = 4 << 10

// NewAssembler returns an assembler that reads cols, one per column of the mapping and
// in that order. memory accounts for large rows; it may be nil. Call Start before the
// first row.
func NewAssembler(m *Mapping, cols []Values, memory column.Account) *Assembler {
	a := &Assembler{mapping: m, feeds: make([]feed, len(cols)), limit: maxRow, skipped: make([]int, len(cols))}
	if memory == nil {
		memory = column.Unlimited{}
	}
	a.grow.memory = memory
	c := joiner{cols: make([]*feed, len(cols))}
	for i := range cols {
		col := &m.Columns[i]
		a.feeds[i] = feed{in: cols[i], typ: col.Type, array: col.Array, index: i, grow: &a.grow}
		c.cols[i] = &a.feeds[i]
		if col.Parent >= 0 {
			a.feeds[col.Parent].children = append(a.feeds[col.Parent].children, &a.feeds[i])
		}
	}
	a.joints = c.joints(m.root)
	return a
}

// Follow takes over the memory of the assembler before, which had the same mapping and is no
// longer used: the reserved memory of its rows, and that of Load.
func (a *Assembler) Follow(before *Assembler) {
	a.grow.held, a.loaders = before.grow.held, before.loaders
}

// Start says that the columns are at the start of the next rows, and how many rows to
// read. It drops the values that were read ahead.
func (a *Assembler) Start(rows int64) {
	for i := range a.feeds {
		due := rows
		if a.mapping.Columns[i].Parent >= 0 {
			due = 0 // until the lengths are read
		}
		a.feeds[i].start(due)
	}
}

// Row appends the next row to dst, in Avro's encoding. Values have the encoding of the
// columns. Arrays and maps have one block with a positive count. If columns contradict each
// other or the schema, or a column ends before the rows of Start, the error is a
// *damage.Error that names the column. Other errors are errors of reading. If there is no
// memory for the row, the contents of dst are lost.
func (a *Assembler) Row(dst []byte) ([]byte, error) {
	if cap(dst)-len(dst) < room || a.grow.held > 0 {
		dst = a.grow.begin(dst)
	}
	a.start = len(dst)
	dst, err := a.run(dst, a.joints)
	//guard: stops a row for which no memory is left
	if a.grow.err != nil {
		err, a.grow.err = a.grow.err, nil
	}
	return dst, err
}

// EmptyItems returns the number of items so far that may take no bytes.
func (a *Assembler) EmptyItems() int64 { return a.empty }

// Skip passes over the next rows. Start must have been called with at least as many.
func (a *Assembler) Skip(rows int) error {
	for i := range a.feeds {
		n := rows
		if p := a.mapping.Columns[i].Parent; p >= 0 {
			n = a.skipped[p]
		}
		f := &a.feeds[i]
		if s := f.strip; s != nil {
			if s.cols[0].feed == f {
				s.skip(n)
			}
			n -= s.passed
		}
		var err error
		if a.skipped[i], err = f.skip(n); err != nil {
			return a.failed(f, err)
		}
	}
	return nil
}

// run appends the values of joints from their columns.
func (a *Assembler) run(dst []byte, joints []joint) ([]byte, error) {
	for i := range joints {
		j := &joints[i]
		var err error
		dst = a.grow.room(dst)
		switch j.code {
		case joinValue:
			if err = j.col.ready(); err == nil {
				dst = j.col.appendOne(dst)
			}
		case joinOptional:
			var n int
			if dst, n, err = j.col.appendOptional(dst, j.null); n > 1 {
				err = a.branchLength(j.col, n)
			}
		case joinStrip:
			if element, ok := j.strip.take(); ok {
				dst = a.grow.put(dst, element)
			} else {
				dst, err = a.run(dst, j.items)
			}
		case joinNullable:
			dst, err = a.nullable(dst, j)
		case joinValues:
			dst, err = a.values(dst, j)
		case joinPairs:
			dst, err = a.pairs(dst, j)
		case joinItems:
			dst, err = a.items(dst, j)
		case joinUnion:
			dst, err = a.union(dst, j)
		case joinEnum:
			dst, err = a.enum(dst, j)
		case joinFixed:
			dst, err = a.fixed(dst, j)
		case joinRaw:
			dst, err = a.raw(dst, j)
		}
		if err != nil {
			return dst, a.failed(j.col, err)
		}
	}
	return dst, nil
}

// failed turns the end of a column, and a row that exceeds memory, into their errors.
func (a *Assembler) failed(f *feed, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return a.damaged(f, damage.Count, "the column ends before the row is complete")
	case errors.Is(err, column.ErrFull):
		return a.tooLarge(f)
	}
	return err
}

func (a *Assembler) branchLength(f *feed, n int) error {
	return a.damaged(f, damage.Count, "length %d in a branch of a union", n)
}

// nullable appends a union of null and a branch that is not simple.
func (a *Assembler) nullable(dst []byte, j *joint) ([]byte, error) {
	n, err := j.col.next()
	switch {
	case err != nil:
		return dst, err
	case n == 0:
		return append(dst, j.null), nil
	//guard: rejects a branch with two values
	case n > 1:
		return dst, a.branchLength(j.col, n)
	}
	return a.run(append(dst, 2-j.null), j.items)
}

// count begins an array or a map.
func (a *Assembler) count(dst []byte, j *joint) (_ []byte, n int, err error) {
	if n, err = j.col.next(); err != nil || n == 0 {
		return dst, 0, err
	}
	switch {
	//guard: bounds the items without bytes that repeats can claim
	case j.least == 0 && n > maxEmptyItems:
		return dst, 0, a.damaged(j.col, damage.Count, "%d items that may take no bytes; at most %d are allowed", n, maxEmptyItems)
	//guard: bounds the items that repeats can claim
	case j.least > 0 && n > a.limit/j.least:
		return dst, 0, a.tooLarge(j.col)
	case j.least == 0:
		a.empty += int64(n)
	}
	return binary.AppendVarint(dst, int64(n)), n, nil
}

func (a *Assembler) tooLarge(f *feed) error {
	return a.damaged(f, damage.Size, "a row of more than %d bytes", a.limit)
}

// values appends an array whose items are in the column of its lengths.
func (a *Assembler) values(dst []byte, j *joint) ([]byte, error) {
	dst, n, err := a.count(dst, j)
	if err != nil {
		return dst, err
	}
	dst = j.col.append(dst, n)
	//guard: rejects a row larger than the limit
	if len(dst)-a.start > a.limit {
		return dst, a.tooLarge(j.col)
	}
	return append(a.grow.room(dst), 0), nil
}

// pairs appends a map whose values are in one column.
func (a *Assembler) pairs(dst []byte, j *joint) ([]byte, error) {
	dst, n, err := a.count(dst, j)
	key, value := &j.items[0], &j.items[1]
	for ; n > 0 && err == nil; n-- {
		dst = a.grow.room(dst)
		if err = key.col.ready(); err != nil {
			return dst, a.failed(key.col, err)
		}
		dst = key.col.appendOne(dst)
		if err = value.col.ready(); err != nil {
			return dst, a.failed(value.col, err)
		}
		dst = value.col.appendOne(dst)
		//guard: stops repeated lengths at the largest row
		if len(dst)-a.start > a.limit {
			err = a.tooLarge(j.col)
		}
	}
	return append(a.grow.room(dst), 0), err
}

// items appends an array or a map whose items have columns of their own.
func (a *Assembler) items(dst []byte, j *joint) ([]byte, error) {
	dst, n, err := a.count(dst, j)
	for ; n > 0 && err == nil; n-- {
		dst, err = a.run(dst, j.items)
		//guard: stops repeated lengths at the largest row
		if err == nil && len(dst)-a.start > a.limit {
			err = a.tooLarge(j.col)
		}
	}
	return append(a.grow.room(dst), 0), err
}

// union appends the branch whose length is 1, or null if there is no such branch.
func (a *Assembler) union(dst []byte, j *joint) ([]byte, error) {
	chosen, null := -1, -1
	for i := range j.branches {
		b := &j.branches[i]
		if b.col == nil {
			null = i
			continue
		}
		n, err := b.col.next()
		switch {
		case err != nil:
			return dst, a.failed(b.col, err)
		case n > 1:
			return dst, a.branchLength(b.col, n)
		//guard: rejects a union with two values
		case n == 1 && chosen >= 0:
			return dst, a.damaged(b.col, damage.Count, "a second branch of one union: column %s has a value too",
				a.mapping.Columns[j.branches[chosen].col.index].Name)
		case n == 1:
			chosen = i
		}
	}
	if chosen >= 0 {
		return a.run(binary.AppendVarint(dst, int64(chosen)), j.branches[chosen].joints)
	}
	//guard: rejects null in a union without null
	if null < 0 {
		return dst, a.damaged(j.branches[len(j.branches)-1].col, damage.Count, "no branch of a union without null has a value")
	}
	return binary.AppendVarint(dst, int64(null)), nil
}

func (a *Assembler) enum(dst []byte, j *joint) ([]byte, error) {
	if err := j.col.ready(); err != nil {
		return dst, err
	}
	//guard: rejects an ordinal without a symbol
	if n := j.col.int(); n < 0 || n >= len(j.node.Symbols) {
		return dst, a.damaged(j.col, damage.Value, "ordinal %d, but %s has %d symbols", n, j.node.Name, len(j.node.Symbols))
	}
	return j.col.appendOne(dst), nil
}

func (a *Assembler) fixed(dst []byte, j *joint) ([]byte, error) {
	value, err := j.col.bytes()
	//guard: rejects a fixed of another size
	if err == nil && len(value) != j.node.Size {
		err = a.damaged(j.col, damage.Size, "%d bytes, but %s has %d", len(value), j.node.Name, j.node.Size)
	}
	return a.grow.put(dst, value), err
}

// raw appends a datum that is kept as Avro bytes.
func (a *Assembler) raw(dst []byte, j *joint) ([]byte, error) {
	value, err := j.col.bytes()
	if err != nil {
		return dst, err
	}
	a.checker.b, a.checker.empty = value, 0
	//guard: rejects bytes that are not a datum
	if end := a.checker.skip(j.node, 0, 0); end != len(value) {
		return dst, a.damaged(j.col, damage.Value, "%d bytes that are not one datum of %s", len(value), j.node.Name)
	}
	return a.grow.put(dst, value), nil
}

func (a *Assembler) damaged(f *feed, kind damage.Kind, reason string, args ...any) error {
	e := damage.New(kind, "", -1, reason, args...)
	e.Column = a.mapping.Columns[f.index].Name
	return e
}
