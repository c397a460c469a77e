package arrow

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Schema is the rows of a mapping in Arrow: their schema, and what makes their arrays.
// Goroutines may share it.
type Schema struct {
	arrow   *arrow.Schema
	columns []column.Column
	makers  []maker
}

// NewSchema prepares the rows of a mapping. A nil mapping has no columns. reserve accounts
// for n bytes that the schema keeps. If the mapping has no Arrow schema, the error is a
// *damage.Error of kind damage.Unsupported. If there is too little memory for the
// dictionaries, it is that of reserve.
func NewSchema(m *shred.Mapping, form Form, reserve func(n int64) error) (*Schema, error) {
	if m == nil {
		return &Schema{arrow: arrow.NewSchema(nil, nil)}, nil
	}
	c := compiler{form: form, reserve: reserve, dictionaries: make(map[*shred.Node]*dictionary)}
	fields, makers, err := c.rows(m)
	if err != nil {
		return nil, err
	}
	return &Schema{arrow: arrow.NewSchema(fields, nil), columns: m.Columns, makers: makers}, nil
}

// rows returns the fields of a mapping's rows, with the makers of their arrays. If the rows
// are not records, they have one field, value.
func (c *compiler) rows(m *shred.Mapping) ([]arrow.Field, []maker, error) {
	root := m.Root()
	if root.Leaf() || root.Type().Kind != shred.KindRecord {
		field, value, err := c.field("value", root)
		return []arrow.Field{field}, []maker{value}, err
	}
	return c.fields(root, 0)
}

// Arrow returns the schema of the record batches.
func (s *Schema) Arrow() *arrow.Schema { return s.arrow }

// Source is some rows in columns. A *dataset.Batches is a Source: its current batch.
type Source interface {
	// Rows returns the number of rows.
	Rows() int
	// Vector returns the values of a column of the mapping.
	Vector(col int) *column.Vector
	// Origin returns the name of the part that a row is from, and the row's number there.
	Origin(row int) (part string, number int64)
	// ReserveBatch accounts for n bytes of arrays that are larger than the vectors.
	ReserveBatch(n int64) error
}

// Maker makes record batches. It belongs to one goroutine.
type Maker struct {
	schema *Schema
	batch  batch
}

// NewMaker returns a maker of record batches of the schema. Arrays that borrow no memory get
// it from mem.
func (s *Schema) NewMaker(mem memory.Allocator) *Maker {
	return &Maker{s, batch{columns: s.columns, mem: mem}}
}

// Make returns a record batch of all rows of a source, which the caller releases. The record
// batch borrows memory of the vectors. Make or a release of arrays, on any goroutine, calls
// returned once, as soon as the memory is no longer used: until then the vectors must not
// change. After an error, it was called. If columns contradict each other or the schema, the
// error is a *damage.Error that names the column.
func (m *Maker) Make(rows Source, returned func()) (arrow.RecordBatch, error) {
	b := &m.batch
	b.Source, b.loan = rows, newLoan(returned)
	defer b.loan.end()
	b.scratch.reset()
	data, err := b.children(m.schema.makers, all(rows.Rows()))
	if err != nil {
		return nil, b.locate(err)
	}
	arrays := make([]arrow.Array, len(data))
	for i, d := range data {
		arrays[i] = array.MakeFromData(d)
	}
	release(data)
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	return array.NewRecordBatch(m.schema.arrow, arrays, int64(rows.Rows())), nil
}

// locate adds the origin of the row to an error that names a row of the batch.
func (b *batch) locate(err error) error {
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Row >= 0 {
		e.File, e.Row = b.Origin(int(e.Row))
	}
	return err
}
