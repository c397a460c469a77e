package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/avro/witness"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// verifyAgainst compares the columns with the inputs, row by row.
func (f *verifyCommand) verifyAgainst(ctx context.Context, l *dataset.Listing, r *verified) error {
	inputs, err := f.findCompared(ctx, l, f.against, r)
	if err != nil {
		return err
	}
	d, err := l.Dataset(ctx)
	if err != nil {
		return columnsDiffer(err)
	}
	rows, err := d.Scan(ctx, dataset.Query{Limit: -1})
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Kind == damage.Schema {
		return usagef("--against takes outputs of one schema at a time, and the rows of %s are of another than those before them", e.File)
	}
	if err != nil {
		return columnsDiffer(err)
	}
	defer rows.Close()
	schema := &outputSchema{schema: d.Schema()}
	p, stop := f.startProgress(ctx)
	defer stop()
	w := witness.New(rows)
	w.AnyOrder, w.ValidText = r.sorted, r.Inexact.Strings > 0
	w.Progress = func(n int64) { p.setOf(n, rows.Stats().BytesRead, n, r.Rows) }
	for i := range inputs {
		err := f.compareInput(ctx, w, &inputs[i], schema, int64(f.maxBlock))
		if errors.Is(err, witness.ErrColumns) {
			return columnsDiffer(err)
		}
		if err != nil {
			return fmt.Errorf("comparing with %s: %w", inputs[i].name, err)
		}
	}
	result, err := w.End(ctx)
	if err != nil {
		return columnsDiffer(err)
	}
	stop()
	r.LeftOut, r.Changed = schema.leftOut, schema.changed
	f.tellChanges(r)
	return f.reportAgainst(r, &result)
}

// columnsDiffer turns damage in the columns into a difference. All blocks were checked
// before, but not that each row can be put together.
func columnsDiffer(err error) error {
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		return failure.New(failure.Different, "%w", err)
	}
	return err
}

func (f *verifyCommand) reportAgainst(r *verified, result *witness.Result) error {
	lacking := lacks(r, result)
	complete := lacking == nil
	r.Against, r.Complete = result, &complete
	for _, d := range result.First {
		if !f.json {
			f.printf("%v\n", d)
		}
	}
	for _, n := range result.NotCompared {
		f.log.Warn("not compared", "input", n.Input, "from_row", n.Row, "rows", n.Rows, "reason", n.Reason)
	}
	switch {
	case result.Different > 0:
		return failure.New(failure.Different, "%s from the inputs; the first: %v", differ(result.Different), result.First[0])
	case !complete && f.complete:
		return failure.As(failure.Different, lacking)
	case !complete:
		f.status = "incomplete"
	}
	compared, skipped := len(result.NotCompared) == 0, result.Skipped()
	are := "are"
	if result.Compared == 1 {
		are = "is"
	}
	f.summary("%s of %s %s equal in the columns: compared by goavro %d, by hamba %d, not compared %d\n",
		plural(result.Compared, "row"), plural(result.Inputs, "input"), are, result.ByGoavro, result.ByHamba, skipped)
	if !compared {
		f.summary("WARNING: NOT compared, because no decoder can read them: %s of %s; only their number was checked\n",
			plural(skipped, "row"), plural(len(result.NotCompared), "input"))
	}
	return nil
}

// lacks returns the reason why the inputs must not be deleted although all compared rows
// are equal, or nil.
func lacks(r *verified, result *witness.Result) error {
	switch {
	//guard: reports rows that were not compared
	case len(result.NotCompared) > 0:
		return fmt.Errorf("%s of %s could not be compared", plural(result.Skipped(), "row"), plural(len(result.NotCompared), "input"))
	//guard: reports files that the output does not contain
	case len(r.NotContained) > 0:
		return fmt.Errorf("--against names %s that the output does not hold; the first is %s: %s",
			plural(len(r.NotContained), "file"), r.NotContained[0].Path, r.NotContained[0].Reason)
	//guard: reports rows that the output lost
	case len(r.Losses) > 0:
		return fmt.Errorf("%s; the first is of %s", sumOfLosses(r.Losses), r.Losses[0].Input)
	//guard: reports fields that the output left out
	case len(r.LeftOut) > 0:
		return fmt.Errorf("the output lacks %s of the inputs; the first is %s of %s", plural(len(r.LeftOut), "field"), r.LeftOut[0].Field, r.LeftOut[0].Input)
	//guard: reports values that mean something else in the output
	case len(r.Changed) > 0:
		return fmt.Errorf("values mean something else in the output: %s", r.Changed[0])
	//guard: reports values that the output does not hold exactly
	case r.Inexact.Values() > 0:
		return fmt.Errorf("the output does not hold %s as the inputs have them: %v", plural(r.Inexact.Values(), "value"), r.Inexact)
	}
	return nil
}

// tellChanges warns of fields that the output lacks, and of values that differ from those of
// its inputs.
func (f *verifyCommand) tellChanges(r *verified) {
	listFirst(f.app, "the output lacks a field", r.LeftOut, func(l manifest.LeftOut) []any { return []any{"field", l.Field, "input", l.Input, "inputs", l.Inputs} })
	for _, change := range r.Changed[:min(len(r.Changed), listed)] {
		f.log.Warn("values mean something else in the output: " + change)
	}
	if r.Inexact.Values() > 0 {
		f.log.Warn("the output does not hold all values as the inputs have them: " + r.Inexact.String())
	}
}

// differ returns "1 row differs", or "N rows differ" for several rows.
func differ(rows int64) string {
	if rows == 1 {
		return "1 row differs"
	}
	return fmt.Sprintf("%d rows differ", rows)
}

// compareInput compares the columns with one input.
func (f *verifyCommand) compareInput(ctx context.Context, w *witness.Comparer, of *comparedInput, schema *outputSchema, maxBlock int64) error {
	in, err := input.OpenNamed(ctx, f.resolve, of.name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	if in.Size() == 0 && of.empty {
		return nil // the output lost no rows
	}
	compared := witness.Input{
		Name: of.name, R: in, Size: in.Size(), Lossy: len(of.lost) > 0, Schema: of.schema,
		Blocks: func() (witness.Blocks, error) { return newInputBlocks(in, of.name, of.lost, maxBlock) },
	}
	if err := schema.check(in, of, &compared); err != nil {
		return err
	}
	memory := f.pool.NewHeap()
	defer memory.Close()
	if err := reserveWitnesses(ctx, in, of.name, maxBlock, memory); err != nil {
		return err
	}
	return w.Input(ctx, compared)
}

// The measured memory of the decoding libraries: copies of the largest block, and more copies
// of a row with many items, because each item is an object.
const (
	witnessCopies = 5
	witnessItems  = 32
)

// rowSizes measures the arrays and maps of rows.
type rowSizes struct {
	columns  []column.Column
	shredder *shred.Shredder
	bufs     *column.Buffers
}

func newRowSizes(schema string) (*rowSizes, error) {
	s, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	m, err := shred.Map(s, shred.Options{RecursiveBytes: true})
	if err != nil {
		return nil, err
	}
	r := &rowSizes{columns: m.Columns, bufs: column.NewBuffers(m.Columns, column.Interleaved, 64<<10)}
	r.shredder = shred.NewShredder(m, r.bufs)
	return r, nil
}

// most returns about how many bytes of items the largest row of a block has. It stops at
// the first damaged row.
func (r *rowSizes) most(rows int64, data []byte) (most int64) {
	kept := 0
	for range rows {
		n, err := r.shredder.Row(data)
		if err != nil {
			break
		}
		data = data[n:]
		if kept += n; kept > largeRow {
			most = max(most, r.items())
			r.bufs.Reset()
			kept = 0
		}
	}
	most = max(most, r.items())
	r.bufs.Reset()
	return most
}

// items returns the bytes of arrays and maps in the buffers.
func (r *rowSizes) items() (bytes int64) {
	for i := range r.columns {
		if c := &r.columns[i]; c.Array || c.Parent >= 0 {
			n, _ := r.bufs.Cols[i].Size()
			bytes += int64(n)
		}
	}
	return bytes
}

// reserveWitnesses reserves memory for an input's largest block, which the libraries
// read whole.
func reserveWitnesses(ctx context.Context, in store.File, name string, maxBlock int64, memory *budget.Heap) error {
	b, err := newInputBlocks(in, name, nil, maxBlock)
	if err != nil {
		return nil // the comparison reports the error
	}
	sizes, err := newRowSizes(b.schema)
	if err != nil {
		return nil // the witnesses report it
	}
	reserved := int64(0)
	atLeast := func(need int64) (err error) {
		if more := need - reserved; more > largeRow {
			err = memory.Reserve(more)
			reserved += more
		}
		return err
	}
	for {
		size, err := b.reserve(ctx, sizes, atLeast)
		switch {
		case errors.As(err, new(*budget.Error)):
			return fmt.Errorf("a block of %d bytes that other libraries decode: %w", size, err)
		case err != nil: // end of the file, or damage
			return ctx.Err()
		}
	}
}

// reserve calls atLeast with the memory that the libraries need for the next block, and
// returns the size of the block.
func (b *inputBlocks) reserve(ctx context.Context, sizes *rowSizes, atLeast func(int64) error) (size int64, err error) {
	if size, err = b.scanner.Peek(ctx); err != nil {
		return 0, err
	}
	if err := b.scanner.CheckEnd(ctx); err != nil {
		return size, err
	}
	if err := atLeast(size); err != nil {
		return size, err
	}
	if err := b.scanner.Next(ctx, &b.block); err != nil {
		return size, err
	}
	if size, err = b.decoder.Size(&b.block, b.name); err != nil {
		return size, err
	}
	if err := atLeast(witnessCopies * size); err != nil || size <= largeRow {
		return size, err
	}
	data, err := b.decoder.Decode(nil, &b.block, b.name)
	if err != nil {
		return size, err
	}
	return size, atLeast(witnessCopies*size + witnessItems*sizes.most(b.block.Rows, data))
}

// inputBlocks are an input's blocks as rowtocol itself reads them.
type inputBlocks struct {
	name    string
	scanner *ocf.Scanner
	decoder *ocf.Decoder
	lost    []ocf.Range
	block   ocf.Block
	data    []byte
	schema  string
}

func newInputBlocks(in store.File, name string, lost []ocf.Range, maxBlock int64) (*inputBlocks, error) {
	h, err := ocf.ReadHeader(in, in.Size(), name)
	if err != nil {
		return nil, err
	}
	d, err := ocf.NewDecoder(h.Codec, maxBlock)
	if err != nil {
		return nil, err
	}
	s := ocf.NewScanner(in, in.Size(), name, h, ocf.Range{Start: 0, End: in.Size()})
	s.LimitBlocks(maxBlock)
	return &inputBlocks{name: name, scanner: s, decoder: d, lost: lost, schema: h.Schema}, nil
}

// Next implements witness.Blocks. It skips damage in ranges that the conversion left out. Other
// damage is an error.
func (b *inputBlocks) Next(ctx context.Context) (rows int64, data []byte, err error) {
	for {
		err = b.scanner.Next(ctx, &b.block)
		var d *damage.Error
		if errors.As(err, &d) && len(b.lost) > 0 {
			lost, resyncErr := b.scanner.Resync(ctx)
			if resyncErr != nil {
				return 0, nil, resyncErr
			}
			if b.isLost(lost.Start) {
				continue
			}
		}
		if err != nil {
			return 0, nil, err
		}
		if b.isLost(b.block.Offset) {
			continue
		}
		b.data, err = b.decoder.Decode(b.data[:0], &b.block, b.name)
		return b.block.Rows, b.data, err
	}
}

func (b *inputBlocks) isLost(offset int64) bool {
	return slices.ContainsFunc(b.lost, func(r ocf.Range) bool { return r.Start <= offset && offset < r.End })
}
