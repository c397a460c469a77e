package arrow

import (
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
)

// BatchRows is a batch size that suits readers of Arrow, and processor caches.
const BatchRows = 1 << 12

// Copies is the most copies of a batch that Records and its writer have at the same time.
const Copies = 1

// Records turns the batches of a query into record batches. It belongs to one
// goroutine.
type Records struct {
	source *dataset.Batches
	schema *Schema
	maker  *Maker
	lent   *atomic.Bool // whether the last record batch uses the memory of vectors
}

// NewRecords returns the record batches of b. The caller closes b. For errors see NewSchema.
func NewRecords(b *dataset.Batches, form Form, mem memory.Allocator) (*Records, error) {
	s, err := NewSchema(b.Mapping(), form, b.Reserve)
	if err != nil {
		return nil, err
	}
	return &Records{source: b, schema: s, maker: s.NewMaker(mem), lent: new(atomic.Bool)}, nil
}

// Schema returns the schema of the record batches. It has no fields if the dataset is an
// output that was made without inputs.
func (r *Records) Schema() *arrow.Schema { return r.schema.Arrow() }

// Next returns the next record batch, or io.EOF after the last batch. The caller releases
// the record batch, and may do so after further calls. It uses the memory of the batch's
// vectors: only if it is released before the next call is this memory used again. If
// columns contradict each other or the schema, the error is a *damage.Error that names the
// column.
func (r *Records) Next() (arrow.RecordBatch, error) {
	//guard: keeps the memory of a record batch that is in use
	if r.lent.Load() {
		r.detach()
	}
	if !r.source.Next() {
		if err := r.source.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	lent := new(atomic.Bool)
	lent.Store(true)
	r.lent = lent
	return r.maker.Make(r.source, func() { lent.Store(false) })
}

// detach leaves the memory of the vectors to the last record batch.
func (r *Records) detach() {
	for i := range r.schema.columns {
		*r.source.Vector(i) = column.Vector{}
	}
}
