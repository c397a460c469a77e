package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/witness"
)

// verifyAgainst compares the columns with the inputs, row by row.
func (a *app) verifyAgainst(ctx context.Context, f *verifyFlags, l *dataset.Listing, r *verified) error {
	for _, run := range l.Runs {
		if run.Success.Options.ReaderSchema {
			return usagef("--against: the rows of %s were resolved to the schema of convert --schema; such outputs cannot be compared with their inputs yet", l.Path)
		}
	}
	inputs, err := job.ExpandInputs(ctx, f.against, a.resolve)
	if err != nil {
		return err
	}
	lost := a.matchInputs(l, inputs)
	d, err := dataset.Open(ctx, l.Store, l.Path, dataset.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	rows, err := d.Scan(ctx, dataset.Query{Limit: -1})
	if err != nil {
		return err
	}
	defer rows.Close()
	p, stop := a.startProgress(ctx)
	defer stop()
	w := witness.New(rows)
	var done int64
	w.Progress = func(n int64) { p.set(n, done, 0) }
	for _, name := range inputs {
		n, err := a.compareInput(ctx, w, name, lost[name], int64(f.maxBlock))
		if err != nil {
			return fmt.Errorf("comparing with %s: %w", name, err)
		}
		done += n
	}
	result, err := w.End(ctx)
	if err != nil {
		return err
	}
	stop()
	return a.reportAgainst(f, r, &result)
}

// matchInputs warns if the inputs are not those that the output was made of,
// and returns the ranges of each that the conversion left out.
func (a *app) matchInputs(l *dataset.Listing, inputs []string) (lost map[string][]ocf.Range) {
	lost = map[string][]ocf.Range{}
	if len(l.Runs) == 0 {
		return lost
	}
	var made []string
	for _, run := range l.Runs {
		for _, in := range run.Success.Inputs {
			made = append(made, in.Path)
		}
		for _, r := range run.Success.Losses {
			lost[r.Input] = append(lost[r.Input], ocf.Range{Start: r.Start, End: r.End})
		}
	}
	slices.Sort(made)
	if !slices.Equal(made, inputs) {
		a.log.Warn("the inputs are not under the paths that the output was made from; they are compared in the order of their paths",
			"given", len(inputs), "made_from", len(made))
	}
	return lost
}

func (a *app) reportAgainst(f *verifyFlags, r *verified, result *witness.Result) error {
	complete := len(result.NotCompared) == 0
	r.Against, r.Complete = result, &complete
	for _, d := range result.First {
		if !a.json {
			a.printf("%v\n", d)
		}
	}
	for _, n := range result.NotCompared {
		a.log.Warn("not compared", "input", n.Input, "from_row", n.Row, "rows", n.Rows, "reason", n.Reason)
	}
	skipped := result.Skipped()
	switch {
	case result.Different > 0:
		return &differentError{fmt.Errorf("%d rows differ from the inputs; the first: %v", result.Different, result.First[0])}
	case !complete && f.complete:
		return &differentError{fmt.Errorf("%d rows of %d inputs could not be compared", skipped, len(result.NotCompared))}
	case !complete:
		a.status = "incomplete"
	}
	if a.json {
		return nil
	}
	a.printf("%d rows of %d inputs are equal in the columns, says goavro\n", result.Compared, result.Inputs)
	if !complete {
		a.printf("WARNING: %d rows of %d inputs were NOT compared, goavro cannot read them; only their number was checked\n",
			skipped, len(result.NotCompared))
	}
	return nil
}

// compareInput compares with one input and returns its size.
func (a *app) compareInput(ctx context.Context, w *witness.Comparer, name string, lost []ocf.Range, maxBlock int64) (int64, error) {
	at, err := a.resolve(name)
	if err != nil {
		return 0, err
	}
	in, err := at.Store.Open(ctx, at.Path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }() // only read
	return in.Size(), w.Input(ctx, witness.Input{
		Name: name, R: in, Size: in.Size(), Lossy: len(lost) > 0,
		Blocks: func() (witness.Blocks, error) { return newInputBlocks(in, name, lost, maxBlock) },
	})
}

// inputBlocks are an input's blocks as rowtocol itself reads them.
type inputBlocks struct {
	name    string
	scanner *ocf.Scanner
	decoder *ocf.Decoder
	lost    []ocf.Range
	block   ocf.Block
	data    []byte
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
	return &inputBlocks{name: name, scanner: s, decoder: d, lost: lost}, nil
}

// Next implements witness.Blocks. What the conversion left out is passed over;
// other damage is an error.
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
