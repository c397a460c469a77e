package arrow

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/damage"
)

// BatchRows is a batch size that suits readers of Arrow.
const BatchRows = 1 << 16

// Copies is the number of copies of a batch that Records and its writer have at the same
// time.
const Copies = 2

// Records turns the batches of a query into record batches. It belongs to one
// goroutine.
type Records struct {
	source *dataset.Batches
	schema *arrow.Schema
	makers []maker
	batch  batch
}

// NewRecords returns the record batches of b. The caller closes b. If the mapping has no
// Arrow schema, the error is a *damage.Error of kind damage.Unsupported. If there is too
// little memory for the dictionaries, it is a *budget.Error.
func NewRecords(b *dataset.Batches, form Form, mem memory.Allocator) (*Records, error) {
	r := &Records{source: b, schema: arrow.NewSchema(nil, nil)}
	m := b.Mapping()
	if m == nil {
		return r, nil
	}
	c := compiler{form: form, reserve: b.Reserve, dictionaries: make(map[*shred.Node]*dictionary)}
	fields, makers, err := c.rows(m)
	if err != nil {
		return nil, err
	}
	r.schema, r.makers = arrow.NewSchema(fields, nil), makers
	r.batch = batch{columns: m.Columns, vector: b.Vector, mem: mem, reserve: b.ReserveBatch}
	return r, nil
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

// Schema returns the schema of the record batches. It has no fields if the dataset is an
// output that was made without inputs.
func (r *Records) Schema() *arrow.Schema { return r.schema }

// Next returns the next record batch, or io.EOF after the last batch. The caller releases
// the record batch. It has copies of values, so it stays valid after further calls. If
// columns contradict each other or the schema, the error is a *damage.Error that names the
// column.
func (r *Records) Next() (arrow.RecordBatch, error) {
	if !r.source.Next() {
		if err := r.source.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	r.batch.scratch.reset()
	n := r.source.Rows()
	data, err := r.batch.children(r.makers, all(n))
	if err != nil {
		return nil, r.locate(err)
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
	return array.NewRecordBatch(r.schema, arrays, int64(n)), nil
}

// locate adds the origin of the row (see Batches.Origin) to an error that names a row of the batch.
func (r *Records) locate(err error) error {
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Row >= 0 {
		e.File, e.Row = r.source.Origin(int(e.Row))
	}
	return err
}
