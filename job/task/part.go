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

// maxUploads is the number of files of a row group that are written at a time. Writing mostly
// waits for storage, so several at a time are faster. uploadMemory has room for their buffers and
// for one more, which the connections need.
const maxUploads = min(8, (uploadMemory-spillMemory)/reducer.BufferSize-1)

// writePart writes the files of a row group: one file, or a directory of files. After an
// error it removes them.
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

// checkNames refuses names of outputs that cannot be in one directory.
func checkNames(names []string) error {
	seen := make(map[string]bool)
	for _, name := range names {
		//guard: rejects a file name with a path
		if !manifest.IsFileName(name) {
			return fmt.Errorf("%q is not a valid name for one of %d outputs", name, len(names))
		}
		//guard: rejects two files with the same name
		if seen[name] {
			return fmt.Errorf("two outputs have the name %q", name)
		}
		seen[name] = true
	}
	return nil
}

// makeDir makes a directory in dir with a name from newName. A failed call may still take effect
// later, so each call has a new name.
func makeDir(ctx context.Context, st store.Store, dir string, newName func() string) (name string, err error) {
	err = store.Retry(ctx, st, "make a directory in "+dir, func(ctx context.Context) error {
		name = newName()
		err := st.Mkdir(ctx, path.Join(dir, name))
		if err != nil {
			//guard: removes a directory that was made although the call failed
			removeAll(ctx, st, dir, []manifest.File{{Name: name}})
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a directory in %s: %w", dir, err)
	}
	return name, nil
}

// writeInto writes a file of a row group under a unique name and then moves it to its place. A
// failed call may still take effect later, and must not write to the place.
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

// writeOutput writes a file under a unique name.
func (a *attempt) writeOutput(ctx context.Context, rowGroup int, out format.Output, sp *spill.Spill) (manifest.File, error) {
	w, err := reducer.Write(ctx, a.st, func() string { return path.Join(a.dir, a.newName(rowGroup)) }, out, sp)
	if err != nil {
		return manifest.File{}, err
	}
	return storedFile(ctx, a.st, w, out.Role), nil
}

// newName returns a unique name in the task's directory.
func (a *attempt) newName(rowGroup int) string {
	return manifest.StagedPart(a.task.ID, rowGroup, manifest.NewID(), a.format.Suffix())
}

// remove removes a file that no result will name, even if ctx has ended. It ignores
// errors.
func (a *attempt) remove(ctx context.Context, name string) {
	removeAll(ctx, a.st, a.dir, []manifest.File{{Name: name}})
}

// storedFile describes a file that was written and read back.
func storedFile(ctx context.Context, st store.Store, w reducer.Written, role string) manifest.File {
	f := manifest.File{Name: path.Base(w.Path), Role: role, Bytes: w.Size, CRC32C: w.CRC32C}
	if checksum := store.CapabilitiesOf(st).Checksum; checksum != nil {
		f.StoreChecksum, _ = checksum(ctx, w.Path) // after an error, publishing reads the file
	}
	return f
}
