package main

import (
	"context"
	"errors"
	"io"

	arrowgo "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/budget"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
)

// newBatchWriter makes a writer of columns in a form.
type newBatchWriter struct {
	form   arrow.Form
	copies int // see dataset.Query
	open   func(io.Writer, *arrowgo.Schema, *catFlags, *budget.Pool) (arrow.Writer, error)
}

// write writes all rows, column by column. After an error the output stays
// without its end, so that nobody takes it for whole.
func (n newBatchWriter) write(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.data.Schema() == nil {
		return c.writeNothing(f)
	}
	q := c.query
	q.BatchRows, q.Copies = arrow.BatchRows, n.copies
	b, err := c.data.Batches(ctx, q)
	if err != nil {
		return err
	}
	defer b.Close()
	defer func() { c.stats = b.Stats() }()
	r, err := arrow.NewRecords(b, n.form, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	w, err := n.open(out, r.Schema(), f, c.memory)
	if err != nil {
		return err
	}
	if err := c.copyBatches(w, r, b); err != nil {
		damage.SetFile(err, c.data.Path()) // a batch can have rows of several files
		return err
	}
	return w.Close()
}

func (c *catInput) copyBatches(w arrow.Writer, r *arrow.Records, b *dataset.Batches) error {
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = w.Write(batch)
		batch.Release()
		if err != nil {
			return err
		}
		if c.progress != nil {
			c.progress(b.Stats())
		}
	}
}
