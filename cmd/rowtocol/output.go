package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/store"
)

// stdout is standard output for rows. A write fails when ctx ends, because the reader of a
// pipe may have stopped reading.
type stdout struct {
	ctx context.Context
	to  *screen
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
	return write(stdout{ctx, a.stdout})
}

// newFile writes a file under a temporary name, and renames it when it is complete. If the
// file exists and replace is not set, the error is store.ErrExist.
func (a *app) newFile(ctx context.Context, at store.Location, replace bool, write func(io.Writer) error) (err error) {
	if err := checkFree(ctx, at, replace); err != nil {
		return err
	}
	temp := store.TempName(at.Path)
	hidden := at
	hidden.Path = temp
	a.unfinished.add(hidden)
	defer a.unfinished.done(hidden)
	out, err := at.Store.Create(ctx, temp, store.CreateOptions{Size: -1})
	if errors.Is(err, store.ErrNoParent) {
		return fmt.Errorf("create %s: %w", at.Path, store.ErrNoParent) // the user does not know the temporary name
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	w := bufio.NewWriterSize(out, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := out.Commit(ctx); err != nil {
		return err
	}
	a.unfinished.done(hidden) // from here on, the hidden file may be the only copy
	return giveName(ctx, at, temp, replace)
}

// giveName gives a complete file its name. It first moves an old file of that name to another
// name, and moves it back after a failure, so that one of the two files always has a name.
func giveName(ctx context.Context, at store.Location, temp string, replace bool) error {
	clean, cancel := store.Cleanup(ctx) // so that a stopped run completes this step
	defer cancel()
	aside := ""
	if replace {
		aside = store.TempName(at.Path)
		err := at.Store.Rename(ctx, at.Path, aside)
		if errors.Is(err, store.ErrNotExist) {
			aside, err = "", nil
		}
		if err != nil {
			return errors.Join(err, at.Store.Remove(clean, temp))
		}
	}
	if err := at.Store.Rename(ctx, temp, at.Path); err != nil {
		if aside != "" {
			//guard: moves the user's file back
			err = errors.Join(err, at.Store.Rename(clean, aside, at.Path))
		}
		return errors.Join(err, at.Store.Remove(clean, temp))
	}
	if aside != "" {
		return at.Store.Remove(clean, aside)
	}
	return nil
}

// standardOutput stands for standard output in place of the name of a file.
const standardOutput = "-"

// checkOutput refuses a location in one of the inputs that names lists, or in a destination.
func (a *app) checkOutput(ctx context.Context, at store.Location, names []string) error {
	if err := checkOutside(ctx, at); err != nil {
		return err
	}
	file := inRealDirectory(at)
	for _, name := range names {
		if isStream(name) {
			continue
		}
		in, err := input.Locate(a.resolve, asFile(name))
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
			if store.Within(file, inRealDirectory(in)) || store.Within(file, store.RealPath(in.Store, in.Path)) {
				return failure.New(failure.Foreign, "%s is not written, because this command reads %s", at.Path, in.Path)
			}
		}
	}
	return nil
}

// inRealDirectory returns the path of a file after resolving the links of its directory. It
// does not resolve a link that is the file, because a written file replaces the link.
func inRealDirectory(at store.Location) string {
	return path.Join(store.RealPath(at.Store, path.Dir(at.Path)), path.Base(at.Path))
}

// checkFree refuses the name of an existing file or directory. If replace is set, it allows
// regular files. It still refuses a column file, which may be an input that was misplaced on
// the command line, but not one that cat wrote.
func checkFree(ctx context.Context, at store.Location, replace bool) error {
	info, err := at.Store.Stat(ctx, at.Path)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return nil
	case err != nil:
		return err
	//guard: refuses to replace a directory
	case info.Dir:
		return fmt.Errorf("--output: %s is a directory: %w", at.Path, store.ErrExist)
	//guard: refuses to replace a file unless told to
	case !replace:
		return fmt.Errorf("--output: %s is there already, --overwrite replaces it: %w", at.Path, store.ErrExist)
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
