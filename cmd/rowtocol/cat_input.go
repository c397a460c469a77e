package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/task"
)

// catInput is the input of cat.
type catInput struct {
	data   *dataset.Dataset
	query  dataset.Query
	plan   *dataset.Plan // of query
	schema *shred.Schema // schema of the printed rows; nil if there is none
	stats  dataset.Stats
	memory *budget.Pool
	// environment is that of files that are written as tasks write their parts.
	environment task.Environment
	scan        *dataset.Scan // the rows that are being written
	// answer writes the rows of a lookup. It is nil if the rows of query are written.
	answer func(context.Context, export.Writer) error
	// by holds the rows that an index found for the condition. It is nil if all rows are read.
	by *lookup.Narrowed
	// progress is called from time to time with what was read. It may be nil.
	progress func(dataset.Stats)
}

// openInput opens the inputs and checks the query, so that the command fails before it
// writes any output.
func (f *catCommand) openInput(ctx context.Context, names []string) (*catInput, error) {
	c, err := f.openData(ctx, names)
	if err != nil {
		return nil, err
	}
	if c.data.Schema() == nil { // any query fits an output that was made without inputs
		c.schema = c.query.Schema
		c.plan, err = c.data.Plan(dataset.Query{Schema: c.schema})
		return c, err
	}
	if c.plan, err = c.data.Plan(c.query); err != nil {
		return nil, c.ofFiles(err)
	}
	c.schema, c.stats = c.plan.Schema(), c.plan.Totals()
	if c.query.Where == "" {
		return c, nil
	}
	// An index may find the rows for the condition. If there is no index, or if it cannot be
	// read, all rows are read.
	if c.by, err = lookup.Narrow(ctx, c.data, c.query.Where, c.memory); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f.Log.Warn("the index is not used, all rows are read: " + err.Error())
	} else if c.by != nil {
		if c.plan, err = c.plan.Only(c.by.Only); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// close releases the memory of the rows that an index found.
func (c *catInput) close() {
	if c.by != nil {
		c.by.Close()
	}
}

// ofFiles adds a remark to an error in a path or in the condition if --schema is given:
// --columns and --where take the names in the files.
func (c *catInput) ofFiles(err error) error {
	path, condition := (*shred.PathError)(nil), (*where.Error)(nil)
	if c.query.Schema == nil || !errors.As(err, &path) && !errors.As(err, &condition) {
		return err
	}
	return fmt.Errorf("%w (--columns and --where name the fields that the files have, not those of --schema)", err)
}

// openData opens the inputs.
func (f *catCommand) openData(ctx context.Context, names []string) (*catInput, error) {
	common := outcomes{f.app}
	c := &catInput{memory: f.Pool, query: f.query, environment: common.environment()}
	c.query.Workers = f.Workers
	for _, list := range f.columns {
		c.query.Columns = append(c.query.Columns, strings.Split(list, ",")...)
	}
	text, err := f.readerSchema(ctx, f.schema)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if c.query.Schema, err = shred.ParseSchema(text); err != nil {
			return nil, cli.AsUsage(in("--schema: "+f.schema, err))
		}
	}
	o := dataset.Options{Formats: formats, Memory: f.Pool, Partial: f.partial}
	at, err := f.resolveInputs(ctx, names, &o)
	if err != nil {
		return nil, err
	}
	c.data, err = dataset.Open(ctx, at, o)
	return c, err
}

// total returns the number of rows of the inputs, or nil if it is unknown.
func (c *catInput) total() *int64 {
	if c.stats.TotalRows < 0 {
		return nil
	}
	return &c.stats.TotalRows
}

// newEncoding returns the encoding of rows of a schema.
type newEncoding func(*shred.Schema, *catFlags) (export.Encoding, error)

// write writes all rows. After an error, the rows before it have been written.
func (n newEncoding) write(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	e, err := n(c.schema, f)
	switch {
	case err != nil:
		return err
	case c.answer == nil:
		return c.encode(ctx, e, out)
	}
	w, err := export.NewWriter(out, e)
	if err != nil {
		return err
	}
	return c.writeRows(ctx, w)
}

// writeTable writes all rows as a table.
func writeTable(ctx context.Context, c *catInput, f *catFlags, out io.Writer) error {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	return c.writeRows(ctx, newRowTable(out, c.schema, f.terminalWidth))
}

// writeRows writes all rows, and closes w.
func (c *catInput) writeRows(ctx context.Context, w export.Writer) error {
	err := c.copyRows(ctx, w)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// writeNothing writes the rows of an output that was made without inputs: it has no schema
// and no rows.
func (c *catInput) writeNothing(f *catFlags) error {
	if f.to == "json" || f.to == "csv" || f.to == "table" {
		return nil
	}
	return damage.New(damage.Schema, c.data.Path(), -1, "the output has no inputs and so no schema, which --to %s needs; name one with --schema", f.to)
}

const (
	// Memory is reserved for writing a row of at least largeRow bytes.
	largeRow = 1 << 20
	// keptRow is the memory that is kept for the next row.
	keptRow = 1 << 20
)

// writeRow writes a row of a scan if there is memory for it.
func writeRow(w export.Writer, row []byte, memory *budget.Heap, s *dataset.Scan) error {
	if len(row) < largeRow {
		return w.Write(row)
	}
	need := w.Memory(len(row))
	err := memory.Reserve(need)
	//guard: writes a row for which there is no memory next to workers
	if err != nil && s.Alone() {
		err = memory.Reserve(need)
	}
	if err != nil {
		return fmt.Errorf("a row of %d bytes: %w", len(row), err)
	}
	defer memory.Release(need)
	return w.Write(row)
}

// progressEvery is the number of rows between reports of progress.
const progressEvery = 4096

// copyRows writes the rows of a lookup, or those of the plan.
func (c *catInput) copyRows(ctx context.Context, w export.Writer) error {
	c.stats = dataset.Stats{} // without those of openInput: copyScan adds all
	if c.answer != nil {
		return c.answer(ctx, w)
	}
	return c.copyScan(c.plan.Scan(ctx), w)
}

// copyScan writes the rows of a scan, and adds its statistics to c.stats. It closes the scan.
func (c *catInput) copyScan(s *dataset.Scan, w export.Writer) (err error) {
	defer func() {
		s.Close()
		c.stats = c.stats.Plus(s.Stats())
	}()
	c.scan = s
	memory := c.memory.NewHeap()
	defer memory.Close()
	var row []byte
	for n := 1; ; n++ {
		if row, err = s.Next(row[:0]); err == nil {
			err = writeRow(w, row, memory, s)
		}
		if cap(row) > keptRow && len(row) < cap(row)/4 {
			row = nil // frees an unusually large row
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n%progressEvery == 0 && c.progress != nil {
			c.progress(s.Stats())
		}
	}
}
