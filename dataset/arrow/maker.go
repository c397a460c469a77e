package arrow

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// maker makes the arrays of one place of the schema.
type maker interface {
	typ() arrow.DataType
	// data returns an array of the slots, which the caller releases. The columns have a
	// value for each slot with a value: package dataset checks that the columns of a batch
	// agree. It does not check which branches of a union have values.
	data(b *batch, s slots) (arrow.ArrayData, error)
}

// batch is the input of makers.
type batch struct {
	Source
	columns []column.Column
	mem     memory.Allocator
	loan    *loan
	scratch scratch
}

// damaged returns an error about a column.
func (b *batch) damaged(col int, kind damage.Kind, reason string, args ...any) error {
	e := damage.New(kind, "", -1, reason, args...)
	e.Column = b.columns[col].Name
	return e
}

// maxArray bounds the bytes of an array that can be larger than its values in columns: as
// strings, symbols are repeated, and absent values of fixed types take space.
const maxArray = 1 << 30

// bounded reserves memory for an array of n slots of size bytes. It refuses an array of more
// than maxArray bytes.
func (b *batch) bounded(col, n, size int) error {
	//guard: bounds the memory for absent values of a large fixed type
	if size > 0 && n > maxArray/size {
		return b.damaged(col, damage.Unsupported, "an array of %d times %d bytes in one batch; fewer rows may fit", n, size)
	}
	//guard: reserves memory for absent values of a large fixed type
	if err := b.ReserveBatch(int64(n) * int64(size)); err != nil {
		return fmt.Errorf("column %s: %w", b.columns[col].Name, err)
	}
	return nil
}

// branch returns the lengths of a union's branch, which are 0 or 1, and the number of ones.
func (b *batch) branch(col int) (lengths []int32, values int) {
	lengths = b.Vector(col).Lengths
	for _, l := range lengths {
		values += int(l)
	}
	return lengths, values
}

// newData returns array data, and takes ownership of buffers and children. The first
// buffer is the validity of the slots.
func (b *batch) newData(typ arrow.DataType, s slots, children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.ArrayData {
	validity, nulls := s.validity(b.mem)
	buffers = append([]*memory.Buffer{validity}, buffers...)
	d := array.NewData(typ, s.n, buffers, children, nulls, 0)
	for _, p := range buffers {
		if p != nil {
			p.Release()
		}
	}
	release(children)
	return d
}

func release(all []arrow.ArrayData) {
	for _, d := range all {
		d.Release()
	}
}

// children makes the arrays of several places with the same slots.
func (b *batch) children(makers []maker, s slots) ([]arrow.ArrayData, error) {
	all := make([]arrow.ArrayData, 0, len(makers))
	for _, m := range makers {
		d, err := m.data(b, s)
		if err != nil {
			release(all)
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// record makes structs.
type record struct {
	dataType arrow.DataType
	fields   []maker
}

func (m *record) typ() arrow.DataType { return m.dataType }

func (m *record) data(b *batch, s slots) (arrow.ArrayData, error) {
	fields, err := b.children(m.fields, s.below())
	if err != nil {
		return nil, err
	}
	return b.newData(m.dataType, s, fields), nil
}

// list makes lists, and maps: lists of pairs.
type list struct {
	dataType arrow.DataType
	col      int // column of the lengths
	items    []maker
	pairs    bool
}

func (m *list) typ() arrow.DataType { return m.dataType }

func (m *list) data(b *batch, s slots) (arrow.ArrayData, error) {
	lengths := b.Vector(m.col).Lengths
	offsets := newBuffer(b.mem, 4*(s.n+1))
	ending := arrow.GetData[int32](offsets.Bytes())
	inner := all(ends(ending, lengths, s.present))
	inner.around = func(i int) int {
		return s.row(sort.Search(s.n, func(k int) bool { return int(ending[k+1]) > i }))
	}
	items, err := b.children(m.items, inner)
	if err != nil {
		offsets.Release()
		return nil, err
	}
	if m.pairs {
		pairs := m.dataType.(*arrow.MapType).Elem()
		items = []arrow.ArrayData{b.newData(pairs, inner, items)}
	}
	return b.newData(m.dataType, s, items, offsets), nil
}

// ends sets offsets to 0 and the end of each slot's items, and returns the number of items.
// The number of items in a batch fits into 32 bits.
func ends(offsets, lengths, present []int32) int {
	end := int32(0)
	offsets[0] = 0
	if present == nil {
		for i, l := range lengths {
			end += l
			offsets[i+1] = end
		}
		return int(end)
	}
	j := 0
	for i, p := range present {
		if p != 0 {
			end += lengths[j]
			j++
		}
		offsets[i+1] = end
	}
	return int(end)
}

// optional makes the values of a union of null and one type, or of one type.
type optional struct {
	maker
	lengths int
	always  bool // the union has no null
}

func (m *optional) data(b *batch, s slots) (arrow.ArrayData, error) {
	lengths, values := b.branch(m.lengths)
	//guard: rejects null in a union without null
	if m.always && values < s.values {
		return nil, b.damaged(m.lengths, damage.Count, "no branch of a union without null has a value")
	}
	if m.always {
		return m.maker.data(b, s)
	}
	return m.maker.data(b, s.where(lengths, values, &b.scratch))
}

// nothing makes nulls.
type nothing struct{}

func (nothing) typ() arrow.DataType { return arrow.Null }

func (nothing) data(_ *batch, s slots) (arrow.ArrayData, error) {
	return array.NewData(arrow.Null, s.n, []*memory.Buffer{nil}, nil, s.n, 0), nil
}

// truth makes the booleans that mark records without fields.
type truth struct{}

func (truth) typ() arrow.DataType { return arrow.FixedWidthTypes.Boolean }

func (m truth) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := newBuffer(b.mem, (s.n+7)/8)
	for i := range values.Bytes() {
		values.Bytes()[i] = 0xff
	}
	return b.newData(m.typ(), s, nil, values), nil
}
