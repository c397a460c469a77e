package task

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// maxUploads is how many files of a row group are written at a time, as most of
// that is waiting; but no more than there is memory for: a buffer each, and as
// much as one for what their connections hold.
const maxUploads = min(8, (uploadMemory-spillMemory)/reducer.BufferSize-1)

// writePart writes the files of a row group: one, or a directory of them. After an
// error nothing is left.
func (a *attempt) writePart(ctx context.Context, rowGroup int, outs []format.Output, sp *spill.Spill) ([]manifest.File, error) {
	if len(outs) == 1 && outs[0].Name == "" {
		f, err := a.writeOutput(ctx, rowGroup, outs[0], sp)
		return []manifest.File{f}, err
	}
	if err := checkOutputs(outs); err != nil {
		return nil, fmt.Errorf("format %s: %w", a.format.Name(), err)
	}
	dir, err := makeDir(ctx, a.st, a.dir, func() string { return a.newName(rowGroup) })
	if err != nil {
		return nil, err
	}
	files := make([]manifest.File, len(outs))
	err = parallel.Do(ctx, len(outs), maxUploads, func(ctx context.Context, i int) (err error) {
		files[i], err = a.writeInto(ctx, dir, rowGroup, outs[i], sp)
		return err
	})
	if err != nil {
		clean, cancel := store.Cleanup(ctx)
		defer cancel()
		//guard: removes the files of an attempt that failed
		_ = a.st.RemoveAll(clean, path.Join(a.dir, dir))
	}
	return files, err
}

// checkOutputs refuses outputs that cannot be files of one directory.
func checkOutputs(outs []format.Output) error {
	//guard: rejects a part without a file
	if len(outs) == 0 {
		return errors.New("a row group without outputs")
	}
	names := make([]string, len(outs))
	for i, out := range outs {
		names[i] = out.Name
	}
	return checkNames(names)
}

// checkNames refuses names of outputs that cannot be beside each other.
func checkNames(names []string) error {
	seen := make(map[string]bool)
	for _, name := range names {
		//guard: rejects a file name with a path
		if !manifest.IsFileName(name) {
			return fmt.Errorf("%q is no name of an output among %d", name, len(names))
		}
		//guard: rejects two files of one name
		if seen[name] {
			return fmt.Errorf("two outputs have the name %q", name)
		}
		seen[name] = true
	}
	return nil
}

// makeDir makes a directory in dir under a name that newName gives. A try that failed may
// still land: the next has another name.
func makeDir(ctx context.Context, st store.Store, dir string, newName func() string) (name string, err error) {
	err = store.Retry(ctx, st, "make a directory in "+dir, func(ctx context.Context) error {
		name = newName()
		err := st.Mkdir(ctx, path.Join(dir, name))
		if err != nil {
			//guard: removes a directory whose answer was lost
			removeAll(ctx, st, dir, []manifest.File{{Name: name}})
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a directory in %s: %w", dir, err)
	}
	return name, nil
}

// writeInto writes a file of a row group and moves it to its place. It is not
// written there, because a try that failed may still land.
func (a *attempt) writeInto(ctx context.Context, dir string, rowGroup int, out format.Output, sp *spill.Spill) (manifest.File, error) {
	f, err := a.writeOutput(ctx, rowGroup, out, sp)
	if err != nil {
		return manifest.File{}, err
	}
	name := manifest.InPart(dir, out.Name)
	if err := store.Move(ctx, a.st, path.Join(a.dir, f.Name), path.Join(a.dir, name)); err != nil {
		//guard: removes a file that no result names
		a.remove(ctx, f.Name)
		return manifest.File{}, err
	}
	f.Name = name
	return f, nil
}

// writeOutput writes a file, under a name of its own.
func (a *attempt) writeOutput(ctx context.Context, rowGroup int, out format.Output, sp *spill.Spill) (manifest.File, error) {
	w, err := reducer.Write(ctx, a.st, func() string { return path.Join(a.dir, a.newName(rowGroup)) }, out, sp)
	if err != nil {
		return manifest.File{}, err
	}
	return stored(ctx, a.st, w, out.Role), nil
}

// newName is a name in the task's directory that nothing has had.
func (a *attempt) newName(rowGroup int) string {
	return manifest.StagedPart(a.task.ID, rowGroup, manifest.NewID(), a.format.Suffix())
}

// remove removes what no result will name, also if ctx has ended. What cannot be
// removed is left.
func (a *attempt) remove(ctx context.Context, name string) {
	removeAll(ctx, a.st, a.dir, []manifest.File{{Name: name}})
}

// stored describes a file that was written and read back.
func stored(ctx context.Context, st store.Store, w reducer.Written, role string) manifest.File {
	f := manifest.File{Name: path.Base(w.Path), Role: role, Bytes: w.Size, CRC32C: w.CRC32C}
	if checksum := store.CapabilitiesOf(st).Checksum; checksum != nil {
		f.StoreChecksum, _ = checksum(ctx, w.Path) // without it, who publishes the file reads it
	}
	return f
}
