package main

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format/damage"
)

var (
	unionsChoices = []string{"dense", "struct"}
	timesChoices  = []string{"exact", "spark"}
)

// formFlags adds the flags that choose the types of Arrow and Parquet.
func formFlags(cmd *cobra.Command, f *catFlags) {
	cmd.Flags().StringVar(&f.unions, "unions", "", "`type` of a union of several types in Arrow: dense (the default), or struct, with a field for each type, as in Parquet")
	cmd.Flags().StringVar(&f.times, "times", "exact", "`types` of timestamps and times of day in Arrow and Parquet: exact; or spark: timestamps in microseconds, and times of day as integers, as in Avro")
	complete(cmd, "unions", unionsChoices...)
	complete(cmd, "times", timesChoices...)
}

func (f *catFlags) checkForm() error {
	if err := checkChoice("times", f.times, timesChoices); err != nil {
		return err
	}
	if f.unions != "" {
		if err := checkChoice("unions", f.unions, unionsChoices); err != nil {
			return err
		}
	}
	switch columns := f.to == "arrow" || f.to == "parquet"; {
	case f.unions != "" && !columns:
		return usagef("--unions goes with --to arrow")
	case f.unions == "dense" && f.to == "parquet":
		return usagef("--unions: Parquet has no unions; there they are structs")
	case f.times != "exact" && !columns:
		return usagef("--times goes with --to arrow and --to parquet")
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

// writeArrow writes all rows as an Arrow stream, column by column. After an error the output lacks
// its end, so readers know that it is not complete.
func writeArrow(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	q := c.query
	q.BatchRows, q.Copies = arrow.BatchRows, arrow.Copies
	b, err := c.data.Batches(ctx, q)
	if err != nil {
		return err
	}
	defer b.Close()
	defer func() { c.stats = b.Stats() }()
	r, err := arrow.NewRecords(b, f.form(), memory.DefaultAllocator)
	if err != nil {
		damage.SetFile(err, c.data.Path())
		return err
	}
	w := arrow.NewStream(out, r.Schema())
	if err := c.copyBatches(w, r, b); err != nil {
		damage.SetFile(err, c.data.Path()) // a batch can have rows of several files
		return err
	}
	return w.Close()
}

func (c *catInput) copyBatches(w *ipc.Writer, r *arrow.Records, b *dataset.Batches) error {
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
