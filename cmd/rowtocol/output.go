package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/store"
)

// stdout is standard output for rows. A write fails when ctx ends, because the reader of a
// pipe may have stopped reading.
type stdout struct {
	ctx context.Context
	to  *cli.Screen
}

func (s stdout) Write(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := s.to.Write(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

// toStdout writes rows to standard output.
func (a *app) toStdout(ctx context.Context, write func(io.Writer) error) error {
	a.EndWithReader()
	return write(stdout{ctx, a.Stdout})
}

// newFile is WriteFile, and replaces no column file but one that cat wrote.
func (a *app) newFile(ctx context.Context, at store.Location, replace bool, write func(io.Writer) error) error {
	if err := checkFree(ctx, at, replace); err != nil {
		return err
	}
	return a.WriteFile(ctx, at, replace, write)
}

// standardOutput stands for standard output in place of the name of a file.
const standardOutput = "-"

// checkOutput refuses a location in one of the inputs that names lists, or in a destination.
func (a *app) checkOutput(ctx context.Context, at store.Location, names []string) error {
	if err := cli.CheckOutside(ctx, at); err != nil {
		return err
	}
	file := cli.InRealDirectory(at)
	for _, name := range names {
		if isStream(name) {
			continue
		}
		in, err := input.Locate(a.Resolve, asFile(name))
		if err != nil {
			return err
		}
		if in.Origin != at.Origin {
			continue
		}
		found, err := input.Match(ctx, in)
		if err != nil {
			return err
		}
		for _, info := range found {
			in.Path = info.Path
			//guard: refuses to write an input, or between the inputs
			if store.Within(file, cli.InRealDirectory(in)) || store.Within(file, store.RealPath(in.Store, in.Path)) {
				return failure.New(failure.Foreign, "%s is not written, because this command reads %s", at.Path, in.Path)
			}
		}
	}
	return nil
}

// checkFree is cli.IsFree, and refuses a column file, which may be an input that was misplaced on the
// command line, but not one that cat wrote.
func checkFree(ctx context.Context, at store.Location, replace bool) error {
	if free, err := cli.IsFree(ctx, at, replace); free || err != nil {
		return err
	}
	old, err := at.Store.Open(ctx, at.Path)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer func() { _ = old.Close() }() // only read
	head := make([]byte, format.HeadSize)
	n, _ := old.ReadAt(head, 0)
	//guard: refuses to replace a file that looks like an input
	if of := formats.OfFile(head[:n]); of != nil && (!slices.Contains(formatNames(), of.Name()) || !isExport(ctx, at)) {
		return fmt.Errorf("--output: %s is a column file, and is not replaced: %w", at.Path, store.ErrExist)
	}
	return nil
}

// isExport reports whether a file has the rows of a reader, as those of cat have, or is no column
// file of rows at all. A damaged file may be a column file.
func isExport(ctx context.Context, at store.Location) bool {
	l, err := dataset.List(ctx, []store.Location{at}, dataset.Options{Formats: formats})
	var part *dataset.OpenPart
	if err == nil {
		part, err = l.Open(ctx, &l.Parts[0])
	}
	if err != nil {
		var d *damage.Error
		return errors.As(err, &d) && d.Kind == damage.Unsupported
	}
	defer part.Close()
	return slices.ContainsFunc(part.Metadata(), func(m format.Metadata) bool { return m.Key == format.ExportKey })
}
