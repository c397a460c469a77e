package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/avro/witness"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// verifyAgainst compares the columns with the inputs, row by row. If there is no memory to compare
// several blocks at the same time, it starts anew with one after another.
func (f *verifyCommand) verifyAgainst(ctx context.Context, l *dataset.Listing, r *verified) error {
	inputs, err := f.findCompared(ctx, l, f.against, r)
	if err != nil {
		return err
	}
	result, err := f.compare(ctx, l, r, inputs, f.Workers)
	if f.Workers > 1 && errors.As(err, new(*budget.Error)) {
		result, err = f.compare(ctx, l, r, inputs, 1)
	}
	if err != nil {
		return err
	}
	f.Run.Differences = result.Different
	f.tellChanges(r)
	return f.reportAgainst(r, &result)
}

// compare compares the columns with the inputs, with a number of workers.
func (f *verifyCommand) compare(ctx context.Context, l *dataset.Listing, r *verified, inputs []comparedInput, workers int) (witness.Result, error) {
	d, err := l.Dataset(ctx)
	if err != nil {
		return witness.Result{}, columnsDiffer(err)
	}
	rows, err := d.Scan(ctx, dataset.Query{Limit: -1, Workers: f.Workers})
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.Kind == damage.Schema {
		return witness.Result{}, cli.Usagef("--against takes outputs of one schema at a time, and the rows of %s are of another than those before them", e.File)
	}
	if err != nil {
		return witness.Result{}, columnsDiffer(err)
	}
	defer rows.Close()
	p, stop := f.StartProgress(ctx)
	defer stop()
	memory := f.Pool.NewHeap()
	defer memory.Close()
	schema, next := &outputSchema{schema: d.Schema()}, 0
	result, err := witness.Compare(ctx, rows, func() (witness.Input, error) {
		for ; next < len(inputs); next++ {
			in, err := f.openCompared(ctx, &inputs[next], schema)
			if err != nil {
				return in, fmt.Errorf("comparing with %s: %w", inputs[next].name, err)
			}
			if in.R != nil {
				next++
				return in, nil
			}
		}
		return witness.Input{}, io.EOF
	}, witness.Options{
		Workers: workers, Memory: memory, AnyOrder: r.sorted, ValidText: r.Inexact.Strings > 0,
		Progress: func(n int64) { p.SetOf(n, rows.Stats().BytesRead, n, r.Rows) },
	})
	if errors.Is(err, witness.ErrColumns) {
		err = columnsDiffer(err)
	}
	r.LeftOut, r.Changed = schema.leftOut, schema.changed
	return result, err
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
		if !f.JSON {
			f.Printf("%v\n", d)
		}
	}
	for _, n := range result.NotCompared {
		f.Log.Warn("not compared", "input", n.Input, "from_row", n.Row, "rows", n.Rows, "reason", n.Reason)
	}
	switch {
	case result.Different > 0:
		return failure.New(failure.Different, "%s from the inputs; the first: %v", differ(result.Different), result.First[0])
	case !complete && f.complete:
		return failure.As(failure.Different, lacking)
	case !complete:
		f.Status = "incomplete"
	}
	compared, skipped := len(result.NotCompared) == 0, result.Skipped()
	are := "are"
	if result.Compared == 1 {
		are = "is"
	}
	f.Summary("%s of %s %s equal in the columns: compared by goavro %d, by hamba %d, not compared %d\n",
		cli.Plural(result.Compared, "row"), cli.Plural(result.Inputs, "input"), are, result.ByGoavro, result.ByHamba, skipped)
	if !compared {
		f.Summary("WARNING: NOT compared, because no decoder can read them: %s of %s; only their number was checked\n",
			cli.Plural(skipped, "row"), cli.Plural(len(result.NotCompared), "input"))
	}
	return nil
}

const (
	acceptDifference = "; to accept the difference, run verify without `--require-complete`"
	// otherSchema is what to do if --schema, or the schema of an earlier output, does not fit the inputs.
	otherSchema = "convert with a `--schema` that fits all inputs, and with `--overwrite`" + acceptDifference
	// otherFormat is what to do if the format does not hold strings of the inputs.
	otherFormat = "convert with another `--format`, which keeps strings that are not UTF-8, and with `--overwrite`" + acceptDifference
)

// lacks returns the reason why the inputs must not be deleted although all compared rows
// are equal, or nil.
func lacks(r *verified, result *witness.Result) error {
	switch {
	//guard: reports rows that were not compared
	case len(result.NotCompared) > 0:
		return cli.Advise(fmt.Errorf("%s of %s could not be compared", cli.Plural(result.Skipped(), "row"), cli.Plural(len(result.NotCompared), "input")),
			"keep the named inputs: no library that verify has can check their rows; without `--require-complete` verify accepts that")
	//guard: reports files that the output does not contain
	case len(r.NotContained) > 0:
		return cli.Advise(fmt.Errorf("the output lacks %s of --against: %s (%s)",
			cli.Plural(len(r.NotContained), "file"), r.NotContained[0].Path, r.NotContained[0].Reason),
			"if a file is torn or was not there yet, put the whole file in its place and convert again with `--incremental`; if its rows are not wanted, move it out of the inputs")
	//guard: reports rows that the output lost
	case len(r.Losses) > 0:
		return cli.Advise(fmt.Errorf("not in the output: %s; the first is of %s", manifest.DescribeLosses(r.Losses), r.Losses[0].Input),
			"get a sound copy of the input and convert with `--overwrite`; to accept the losses, run verify without `--require-complete`")
	//guard: reports fields that the output left out
	case len(r.LeftOut) > 0:
		return cli.Advise(fmt.Errorf("the output lacks %s of the inputs; the first is %s of %s", cli.Plural(len(r.LeftOut), "field"), r.LeftOut[0].Field, r.LeftOut[0].Input), otherSchema)
	//guard: reports values that mean something else in the output
	case len(r.Changed) > 0:
		return cli.Advise(fmt.Errorf("values mean something else in the output: %s", r.Changed[0]), otherSchema)
	//guard: reports values that the output does not hold exactly
	case r.Inexact.Values() > 0:
		action := otherSchema
		if r.Inexact.Strings > 0 {
			action = otherFormat
		}
		return cli.Advise(fmt.Errorf("the output does not hold %s as the inputs have them: %v", cli.Plural(r.Inexact.Values(), "value"), r.Inexact), action)
	}
	return nil
}

// tellChanges warns of fields that the output lacks, and of values that differ from those of
// its inputs.
func (f *verifyCommand) tellChanges(r *verified) {
	listFirst(f.app, "the output lacks a field", r.LeftOut, func(l manifest.LeftOut) []any { return []any{"field", l.Field, "input", l.Input, "inputs", l.Inputs} })
	for _, change := range r.Changed[:min(len(r.Changed), cli.Listed)] {
		f.Log.Warn("values mean something else in the output: " + change)
	}
	if r.Inexact.Values() > 0 {
		f.Log.Warn("the output does not hold all values as the inputs have them: " + r.Inexact.String())
	}
}

// differ returns "1 row differs", or "N rows differ" for several rows.
func differ(rows int64) string {
	if rows == 1 {
		return "1 row differs"
	}
	return fmt.Sprintf("%d rows differ", rows)
}

// openCompared opens an input to compare the columns with. Its R is nil if there is nothing to
// compare. goavro and the own reader of blocks read it side by side, so each has an open file.
func (f *verifyCommand) openCompared(ctx context.Context, of *comparedInput, schema *outputSchema) (compared witness.Input, err error) {
	var files [2]store.File
	closeAll := func() {
		for _, file := range files {
			if file != nil {
				_ = file.Close() // only read
			}
		}
	}
	defer func() {
		if compared.R == nil {
			closeAll()
		}
	}()
	if of.whole {
		return witness.Input{}, nil // the output has no rows of it
	}
	for i := range files {
		if files[i], err = input.OpenNamed(ctx, f.Resolve, of.name); err != nil {
			return witness.Input{}, err
		}
		if files[i].Size() == 0 && of.empty {
			return witness.Input{}, nil // the output lost no rows
		}
	}
	in := files[0]
	compared = witness.Input{
		Name: of.name, R: in, Size: in.Size(), Lossy: len(of.lost) > 0, Schema: of.schema, Close: closeAll,
		Blocks: func() (witness.Blocks, error) { return newInputBlocks(files[1], of.name, of.lost, int64(f.maxBlock)) },
	}
	if err := schema.check(in, of, &compared); err != nil {
		compared.R = nil
		return compared, err
	}
	return compared, nil
}

// The measured memory of a block that is compared: copies of the block that the decoding libraries
// make, copies of the stored block, and more copies of a row with many items, because each item is
// an object.
const (
	witnessCopies = 5
	storedCopies  = 2
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

// inputBlocks are an input's blocks as rowtocol itself reads them.
type inputBlocks struct {
	name     string
	scanner  *ocf.Scanner
	decoders sync.Pool // of *ocf.Decoder
	lost     []ocf.Range
	sizes    *rowSizes // nil if the schema cannot be read
}

func newInputBlocks(in store.File, name string, lost []ocf.Range, maxBlock int64) (*inputBlocks, error) {
	h, err := ocf.ReadHeader(in, in.Size(), name)
	if err != nil {
		return nil, err
	}
	first, err := ocf.NewDecoder(h.Codec, maxBlock)
	if err != nil {
		return nil, err
	}
	b := &inputBlocks{name: name, lost: lost, scanner: ocf.NewScanner(in, in.Size(), name, h, ocf.Range{Start: 0, End: in.Size()})}
	b.scanner.LimitBlocks(maxBlock)
	b.decoders.New = func() any {
		d, _ := ocf.NewDecoder(h.Codec, maxBlock) // it succeeds as the first one did
		return d
	}
	b.decoders.Put(first)
	b.sizes, _ = newRowSizes(h.Schema) // the witnesses report the error
	return b, nil
}

// Next implements witness.Blocks. It skips damage in ranges that the conversion left out. Other
// damage is an error.
func (b *inputBlocks) Next(ctx context.Context, reserve func(int64) error) (witness.Block, error) {
	for {
		if err := b.reserveStored(ctx, reserve); err != nil {
			return witness.Block{}, err
		}
		block := new(ocf.Block)
		err := b.scanner.Next(ctx, block)
		var d *damage.Error
		if errors.As(err, &d) && len(b.lost) > 0 {
			lost, resyncErr := b.scanner.Resync(ctx)
			if resyncErr != nil {
				return witness.Block{}, resyncErr
			}
			if b.isLost(lost.Start) {
				continue
			}
		}
		if err != nil {
			return witness.Block{}, err
		}
		if b.isLost(block.Offset) {
			continue
		}
		at := block.Range()
		next := witness.Block{Start: at.Start, End: at.End, Rows: block.Rows, Decode: func() ([]byte, error) { return b.decode(block) }}
		next.Size, err = b.reserve(block, reserve)
		return next, err
	}
}

func (b *inputBlocks) isLost(offset int64) bool {
	return slices.ContainsFunc(b.lost, func(r ocf.Range) bool { return r.Start <= offset && offset < r.End })
}

func (b *inputBlocks) decode(block *ocf.Block) ([]byte, error) {
	d := b.decoders.Get().(*ocf.Decoder)
	defer b.decoders.Put(d)
	return d.Decode(nil, block, b.name)
}

// reserveStored reserves memory for the stored bytes of the next block. It leaves errors of the
// input to the scanner's Next.
func (b *inputBlocks) reserveStored(ctx context.Context, reserve func(int64) error) error {
	size, err := b.scanner.Peek(ctx)
	if err == nil {
		err = b.scanner.CheckEnd(ctx)
	}
	if err != nil {
		return nil
	}
	return refusedBlock(size, reserve(storedCopies*size))
}

// reserve reserves the memory that the libraries need for a block, and returns the size of its
// rows. It leaves damage to the decoding of the block.
func (b *inputBlocks) reserve(block *ocf.Block, reserve func(int64) error) (size int64, err error) {
	stored := storedCopies * int64(len(block.Data))
	d := b.decoders.Get().(*ocf.Decoder)
	defer b.decoders.Put(d)
	if size, err = d.Size(block, b.name); err != nil {
		return stored, nil
	}
	if err := reserve(stored + witnessCopies*size); err != nil || size <= largeRow || b.sizes == nil {
		return size, refusedBlock(size, err)
	}
	data, err := d.Decode(nil, block, b.name)
	if err != nil {
		return size, nil
	}
	return size, refusedBlock(size, reserve(stored+witnessCopies*size+witnessItems*b.sizes.most(block.Rows, data)))
}

// refusedBlock adds the size of a block to err, which refused memory for the block.
func refusedBlock(size int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("a block of %d bytes that other libraries decode: %w", size, err)
}
