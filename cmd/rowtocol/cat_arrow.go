package main

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/internal/cli"

	arrowgo "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

var (
	unionsChoices = []string{"dense", "struct"}
	timesChoices  = []string{"exact", "spark"}
)

// formFlags adds the flags that choose the types of Arrow and Parquet.
func formFlags(cmd *cobra.Command, f *catFlags) {
	cmd.Flags().StringVar(&f.unions, "unions", "", "`type` of a union of several types in Arrow: dense (the default), or struct, with a field for each type, as in Parquet")
	cmd.Flags().StringVar(&f.times, "times", "exact", "`types` of timestamps and times of day in Arrow and Parquet: exact; or spark: timestamps in microseconds, and times of day as integers, as in Avro")
	cli.Complete(cmd, "unions", unionsChoices...)
	cli.Complete(cmd, "times", timesChoices...)
}

func (f *catFlags) checkForm() error {
	if err := cli.CheckChoice("times", f.times, timesChoices); err != nil {
		return err
	}
	if f.unions != "" {
		if err := cli.CheckChoice("unions", f.unions, unionsChoices); err != nil {
			return err
		}
	}
	switch columns := f.to == "arrow" || f.to == "parquet"; {
	case f.unions != "" && !columns:
		return cli.Usagef("--unions goes with --to arrow")
	case f.unions == "dense" && f.to == "parquet":
		return cli.Usagef("--unions: Parquet has no unions; there they are structs")
	case f.times != "exact" && !columns:
		return cli.Usagef("--times goes with --to arrow and --to parquet")
	}
	return nil
}

// form returns the form that the flags ask for.
func (f *catFlags) form() (form arrow.Form) {
	if f.unions == "struct" {
		form |= arrow.Structs
	}
	if f.times == "spark" {
		form |= arrow.Spark
	}
	return form
}

// writeArrow writes all rows as an Arrow stream. Workers make record batches where rows are read.
// After an error the output lacks its end, so readers know that it is not complete.
func writeArrow(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	heap := c.memory.NewHeap()
	defer heap.Close()
	err := c.streamArrow(ctx, f.form(), heap, out)
	if err != nil {
		damage.SetFile(err, c.data.Path()) // a batch can have rows of several files
	}
	return err
}

func (c *catInput) streamArrow(ctx context.Context, form arrow.Form, heap *budget.Heap, out io.Writer) error {
	p := c.plan.InBatches(arrow.BatchRows, arrow.Copies)
	m, err := p.Mapping()
	if err != nil {
		return err
	}
	schema, err := arrow.NewSchema(m, form, heap.Reserve)
	if err != nil {
		return err
	}
	r, err := dataset.BatchResults(ctx, p, func() func(*dataset.RangeBatches, func(arrowgo.RecordBatch) error) error {
		maker := schema.NewMaker(memory.DefaultAllocator)
		return func(b *dataset.RangeBatches, emit func(arrowgo.RecordBatch) error) error {
			return makeRecords(maker, b, emit)
		}
	})
	if err != nil {
		return err
	}
	defer func() {
		r.Close()
		c.stats = r.Stats()
	}()
	w := arrow.NewStream(out, schema.Arrow())
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.Close()
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
			c.progress(r.Stats())
		}
	}
}

// makeRecords makes record batches of the batches of a range.
func makeRecords(maker *arrow.Maker, b *dataset.RangeBatches, emit func(arrowgo.RecordBatch) error) error {
	for {
		if err := b.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		record, err := maker.Make(b, b.Keep())
		if err != nil {
			return err
		}
		if err := emit(record); err != nil {
			record.Release()
			return err
		}
	}
}
