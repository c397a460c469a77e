package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/store"
)

// WriteFile writes a file under a temporary name, and renames it when it is complete. The
// name must be free, or replace be set: see IsFree.
func (a *App) WriteFile(ctx context.Context, at store.Location, replace bool, write func(io.Writer) error) (err error) {
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

// IsFree reports whether nothing has the name of a file. It refuses the name of an existing file
// or directory. If replace is set, it allows regular files.
func IsFree(ctx context.Context, at store.Location, replace bool) (bool, error) {
	info, err := at.Store.Stat(ctx, at.Path)
	switch {
	case errors.Is(err, store.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	//guard: refuses to replace a directory
	case info.Dir:
		return false, fmt.Errorf("--output: %s is a directory: %w", at.Path, store.ErrExist)
	//guard: refuses to replace a file unless told to
	case !replace:
		return false, fmt.Errorf("--output: %s is there already, --overwrite replaces it: %w", at.Path, store.ErrExist)
	}
	return false, nil
}
