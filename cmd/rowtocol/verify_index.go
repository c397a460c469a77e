package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/job/index"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// verifyIndexes checks the key indexes of all outputs. If the rows are sound, it compares the
// indexes with the rows. found lists their defects; err is the error that stopped the work.
func (f *verifyCommand) verifyIndexes(ctx context.Context, l *dataset.Listing, r *verified, sound bool) (found []error, err error) {
	type outputIndex struct {
		output int
		index  index.Index
	}
	var all []outputIndex
	for i := range l.Outputs {
		of := &l.Outputs[i]
		for _, x := range index.IndexesOf(of.IndexFields, of.Index, of.Fingerprint) {
			all = append(all, outputIndex{i, x})
			r.Indexes++
			r.Files += len(x.Files)
		}
	}
	checks, err := f.checkAll(ctx, len(all), func(ctx context.Context, run format.Runner, i int) fileCheck {
		return f.verifyIndex(ctx, run, l, all[i].output, all[i].index, sound)
	})
	for i := range checks {
		r.Bytes += checks[i].bytes
		found = append(found, checks[i].found...)
	}
	return found, err
}

// verifyIndex checks an index of an output.
func (f *verifyCommand) verifyIndex(ctx context.Context, run format.Runner, l *dataset.Listing, output int, x index.Index, sound bool) fileCheck {
	of := &l.Outputs[output]
	files := make([]dataset.File, len(x.Files))
	for i := range x.Files {
		files[i] = dataset.File{Name: path.Join(of.Path, x.Files[i].Name), Bytes: x.Files[i].Bytes, Entry: &x.Files[i]}
	}
	check := f.checkStored(ctx, run, files, of.Store, func(name string, err error) error {
		return l.Lost(ctx, &dataset.Part{Output: output}, name, err)
	})
	if len(check.found) > 0 || check.failed != nil {
		return check // the defects of the files are reported
	}
	memory := f.Pool.NewHeap()
	defer memory.Close()
	v := index.Verifier{
		Index: x, Parts: partsOf(l, output), Memory: memory,
		Open: func(ctx context.Context, name string) (store.File, error) { return l.OpenListed(ctx, output, name) },
	}
	if sound {
		v.Rows = func(ctx context.Context) (index.Rows, error) { return keyRows(ctx, l.Of(output), x.Fields) }
	}
	check.add(v.Verify(ctx))
	return check
}

// keyRows reads some fields of the rows of a listing.
func keyRows(ctx context.Context, l *dataset.Listing, fields string) (index.Rows, error) {
	d, err := l.Dataset(ctx)
	if err != nil {
		return nil, err
	}
	return d.Scan(ctx, dataset.Query{Columns: strings.Split(fields, ","), Limit: -1})
}

// partsOf returns the row groups of an output, without their files.
func partsOf(l *dataset.Listing, output int) (parts []manifest.Part) {
	for i := range l.Parts {
		if p := &l.Parts[i]; p.Output == output {
			parts = append(parts, manifest.Part{Task: p.Task, RowGroup: p.RowGroup, Rows: p.Rows})
		}
	}
	return parts
}

// withIndexes returns the part of a summary about the number of indexes, or "".
func withIndexes(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 key index"
	}
	return fmt.Sprintf(", %d key indexes", n)
}
