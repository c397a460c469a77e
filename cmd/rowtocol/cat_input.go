package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowtocol/rowtocol/budget"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

// catInput is what cat reads: one dataset after another as if they were one.
type catInput struct {
	names  []string
	sets   []*dataset.Dataset
	query  dataset.Query
	schema *shred.Schema // of the rows as they are printed; nil if nothing has one
	stats  dataset.Stats
	memory *budget.Pool
	// progress is told now and then what was read; nil for nobody.
	progress func(dataset.Stats)
}

// openInput opens the inputs and checks the query on each, so that what is
// wrong with it shows before anything is written.
func (a *app) openInput(ctx context.Context, f *catFlags, names []string) (*catInput, error) {
	c := &catInput{names: names, memory: a.pool, query: dataset.Query{Where: f.where, Offset: f.offset, Limit: f.limit}}
	for _, list := range f.columns {
		c.query.Columns = append(c.query.Columns, strings.Split(list, ",")...)
	}
	text, err := a.readerSchema(ctx, f.schema)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if c.schema, err = shred.ParseSchema(text); err != nil {
			return nil, &usageError{in("--schema: "+f.schema, err)}
		}
		c.query.Schema = c.schema
	}
	for _, name := range names {
		at, err := a.resolve(name)
		if err == nil {
			err = c.add(ctx, at, dataset.Options{Formats: formats, Memory: a.pool, Partial: f.partial})
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// add opens another dataset.
func (c *catInput) add(ctx context.Context, at store.Location, o dataset.Options) error {
	d, err := dataset.Open(ctx, at.Store, at.Path, o)
	if err != nil {
		return err
	}
	c.sets = append(c.sets, d)
	c.stats.TotalRows += d.Rows()
	for _, p := range d.Parts() {
		c.stats.FileBytes += p.Bytes
	}
	if d.Schema() == nil {
		return nil // the output of no input, whatever is asked of it
	}
	s, err := d.Scan(ctx, c.query)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.schema == nil {
		c.schema = s.Schema()
	}
	//guard: rows of two schemas would be printed as of one
	if c.schema.Canonical() != s.Schema().Canonical() {
		return damage.New(damage.Schema, at.Path, -1, "the rows are of another schema than those before; --schema resolves them to one")
	}
	return nil
}

// each has one dataset after another read, with what remains of the query
// after those before. read returns what it read, also beside an error.
func (c *catInput) each(read func(*dataset.Dataset, dataset.Query) (dataset.Stats, error)) error {
	q := c.query
	for _, d := range c.sets {
		if d.Schema() == nil {
			continue
		}
		s, err := read(d, q)
		c.stats = c.with(s)
		if err != nil {
			return err
		}
		q.Offset -= s.Skipped
		if q.Limit >= 0 {
			q.Limit -= s.Rows
		}
	}
	return nil
}

// with returns what was read in all, s of the dataset that is being read.
func (c *catInput) with(s dataset.Stats) dataset.Stats {
	all := c.stats
	all.Rows += s.Rows
	all.BytesRead += s.BytesRead
	all.BlocksRead += s.BlocksRead
	all.Blocks += s.Blocks
	return all
}

// newRowWriter makes a writer of rows of a schema.
type newRowWriter func(io.Writer, *shred.Schema, *catFlags) (export.Writer, error)

// write writes all rows. Those before an error are written too.
func (n newRowWriter) write(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	w, err := n(out, c.schema, f)
	if err != nil {
		return err
	}
	err = c.each(func(d *dataset.Dataset, q dataset.Query) (dataset.Stats, error) { return c.copyRows(ctx, w, d, q) })
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// writeNothing is for outputs of no input, which have no schema and no rows.
func (c *catInput) writeNothing(f *catFlags) error {
	if f.to == "json" || f.to == "csv" {
		return nil
	}
	return damage.New(damage.Schema, c.names[0], -1, "the output of no input has no schema, which --to %s needs; --schema gives it one", f.to)
}

const (
	// largeRow is the size from which the memory is looked at that writing a row
	// takes.
	largeRow = 1 << 20
	// keptRow is the memory that is kept for the next row whatever that takes.
	keptRow = 1 << 20
)

// writeRow writes a row if there is memory for that.
func writeRow(w export.Writer, row []byte, memory *budget.Heap) error {
	if len(row) < largeRow {
		return w.Write(row)
	}
	need := w.Memory(len(row))
	if err := memory.Reserve(need); err != nil {
		return fmt.Errorf("a row of %d bytes: %w", len(row), err)
	}
	defer memory.Release(need)
	return w.Write(row)
}

// progressEvery is the number of rows after which the progress is told.
const progressEvery = 4096

func (c *catInput) copyRows(ctx context.Context, w export.Writer, d *dataset.Dataset, q dataset.Query) (dataset.Stats, error) {
	s, err := d.Scan(ctx, q)
	if err != nil {
		return dataset.Stats{}, err
	}
	defer s.Close()
	memory := c.memory.NewHeap()
	defer memory.Close()
	var row []byte
	for n := 1; ; n++ {
		if row, err = s.Next(row[:0]); err == nil {
			err = writeRow(w, row, memory)
		}
		if cap(row) > keptRow && len(row) < cap(row)/4 {
			row = nil // of an unusually large one
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return s.Stats(), err
		}
		if n%progressEvery == 0 && c.progress != nil {
			c.progress(c.with(s.Stats()))
		}
	}
}
