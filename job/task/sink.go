package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// Sink gets all rows. It works with every format that stores columns. Each task stores
// side files of its rows. The last step, before an output is published, makes an index of
// the side files of all tasks. Equal rows must give equal bytes. Tasks use a sink
// concurrently.
type Sink interface {
	// Name identifies the contents and encoding of the files, and is not empty. A task
	// that ran with a sink of another name is run again.
	Name() string
	// Begin begins an attempt at a task. The attempt may keep spills in local.
	Begin(task int, local *spill.Folder) (AttemptSink, error)
	// Memory returns the maximum number of bytes of memory that an attempt takes.
	Memory() int64
	// Merge makes an index of the side files of all tasks, and calls store with each file
	// of the index. Files of one directory follow each other. Merge may keep spills in local.
	Merge(ctx context.Context, output Output, local *spill.Folder, store func(NewFile) error) error
}

// AttemptSink is the sink of one attempt at a task.
type AttemptSink interface {
	mapper.RowSink
	// Finish is called after the last row, and returns the side files.
	Finish(ctx context.Context) ([]NewFile, error)
	// Close ends the use of the sink, and of the files that Finish returned. It
	// is called once, whether or not Finish was called.
	Close() error
}

// NewFile is a file that a sink made, to be stored.
type NewFile struct {
	// Name is unique, and manifest.IsFileName accepts it. The file of an index may be in a
	// directory whose name IsFileName accepts, for example "id/00000".
	Name    string
	Content *io.SectionReader
	// Keys is the range of keys in a file of an index; nil if unknown.
	Keys *manifest.KeyRange
}

// Output describes the parts and side files that the tasks of a plan stored.
type Output struct {
	// Fingerprint is manifest.Fingerprint of the parts.
	Fingerprint string
	// Side are the side files in the order of the tasks, and within a task in the
	// order in which Finish returned them.
	Side []SideFile
}

// SideFile is a stored side file.
type SideFile struct {
	Task int
	Name string // the name that the sink gave the file
	// Open opens the file. The caller closes it.
	Open func(ctx context.Context) (store.File, error)
}

// beginSink begins the sink of the attempt, if there is one. The caller calls end.
func (a *attempt) beginSink() (end func() error, err error) {
	if a.options.Sink == nil {
		return func() error { return nil }, nil
	}
	if a.sink, err = a.options.Sink.Begin(a.task.ID, a.spill); err != nil {
		return nil, err
	}
	return a.sink.Close, nil
}

// storeSide stores the side files.
func (a *attempt) storeSide(ctx context.Context) error {
	if a.sink == nil {
		return nil
	}
	files, err := a.sink.Finish(ctx)
	if err == nil {
		a.side, err = storeAll(ctx, a.st, a.dir, files, func(name string) string {
			return manifest.StagedSide(manifest.NewID(), a.task.ID, name)
		})
	}
	if err != nil {
		return fmt.Errorf("side files of task %d: %w", a.task.ID, err)
	}
	return nil
}

// storeAll stores files in a directory, under the names that staged returns. After an error it
// removes them.
func storeAll(ctx context.Context, st store.Store, dir string, files []NewFile, staged func(name string) string) (all []manifest.File, err error) {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	for _, f := range files {
		w, err := reducer.Copy(ctx, st, func() string { return path.Join(dir, staged(f.Name)) }, f.Content)
		if err != nil {
			removeAll(ctx, st, dir, all)
			return nil, err
		}
		all = append(all, storedFile(ctx, st, w, ""))
	}
	return all, nil
}

// removeAll removes files that no result will name, even if ctx has ended. It
// ignores errors.
func removeAll(ctx context.Context, st store.Store, dir string, files []manifest.File) {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, f := range files {
		//guard: removes the files of an attempt that failed
		_ = st.Remove(clean, path.Join(dir, f.Name))
	}
}

// MakeIndex carries out the last step before the output of a plan is published. If the options
// have a sink, it makes an index of the side files of all tasks. The index has a result of its
// own. Check must have succeeded before. MakeIndex reuses an earlier index if it fits the row
// groups of the tasks. It uses only the options Sink, TempDir and Warn.
func (w *Work) MakeIndex(ctx context.Context, o Options) error {
	if o.Sink == nil {
		return nil
	}
	number := len(w.plan.Tasks)
	res, err := w.Finished(ctx, number)
	if err != nil && !errors.Is(err, failure.Foreign) {
		return err
	}
	output := outputOf(w.st, w.dir, w.Results)
	//guard: rejects an index that does not fit the output
	if res != nil && res.Fingerprint == output.Fingerprint {
		w.Results = append(w.Results, res)
		return nil
	}
	res = &manifest.TaskResult{Version: manifest.Version, Plan: w.plan.ID, Task: number, Sink: w.sink, Fingerprint: output.Fingerprint}
	if res.Index, err = merge(ctx, o, w.st, w.dir, output); err != nil {
		return fmt.Errorf("index of the output: %w", err)
	}
	if err := writeResult(ctx, w.st, w.dir, res); err != nil {
		return err
	}
	w.Results = append(w.Results, res)
	return w.AddResults(ctx, w.Results[number:])
}

// outputOf returns the output of tasks in a directory.
func outputOf(st store.Store, dir string, results []*manifest.TaskResult) (output Output) {
	var parts []manifest.Part
	for _, res := range results {
		parts = append(parts, res.Parts...)
		for _, f := range res.Side {
			name := path.Join(dir, f.Name)
			output.Side = append(output.Side, SideFile{
				Task: res.Task, Name: manifest.SideName(f.Name),
				Open: func(ctx context.Context) (store.File, error) { return st.Open(ctx, name) },
			})
		}
	}
	output.Fingerprint = manifest.Fingerprint(parts)
	return output
}

// merge makes and stores the index.
func merge(ctx context.Context, o Options, st store.Store, dir string, output Output) (_ []manifest.File, err error) {
	o.ensureDefaults()
	folder, err := openSpill(o.Environment)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	s := &indexStore{st: st, dir: dir, seen: make(map[string]bool)}
	err = o.Sink.Merge(ctx, output, folder, func(f NewFile) error { return s.add(ctx, f) })
	if err != nil {
		s.removeAll(ctx)
		return nil, err
	}
	return s.files, nil
}

// indexStore stores the files of an index.
type indexStore struct {
	st    store.Store
	dir   string
	files []manifest.File
	seen  map[string]bool // names
	named string          // directory of the last file, by the name that the sink gives it
	made  string          // staged name of that directory
}

// add stores a file.
func (s *indexStore) add(ctx context.Context, f NewFile) error {
	dir, name, inside := strings.Cut(f.Name, "/")
	if !inside {
		dir, name = "", f.Name
	}
	//guard: rejects a file name with a path, and a repeated name
	if !manifest.IsFileName(name) || inside && !manifest.IsFileName(dir) || s.seen[f.Name] {
		return fmt.Errorf("%q is not a valid name of a file of an index, or is repeated", f.Name)
	}
	s.seen[f.Name] = true
	w, err := reducer.Copy(ctx, s.st, func() string { return path.Join(s.dir, manifest.StagedIndex(manifest.NewID(), name)) }, f.Content)
	if err != nil {
		return err
	}
	stored := storedFile(ctx, s.st, w, "")
	stored.Keys = f.Keys
	s.files = append(s.files, stored)
	if !inside {
		return nil
	}
	if dir != s.named {
		if s.made, err = makeDir(ctx, s.st, s.dir, func() string { return manifest.StagedIndex(manifest.NewID(), dir) }); err != nil {
			return err
		}
		s.named = dir
	}
	moved := manifest.InPart(s.made, name)
	if err := store.Move(ctx, s.st, path.Join(s.dir, stored.Name), path.Join(s.dir, moved)); err != nil {
		return err
	}
	s.files[len(s.files)-1].Name = moved
	return nil
}

// removeAll removes all stored files, even if ctx has ended. It ignores errors.
func (s *indexStore) removeAll(ctx context.Context) {
	removeAll(ctx, s.st, s.dir, s.files)
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, f := range s.files {
		if dir := path.Dir(f.Name); dir != "." {
			//guard: removes the files of an attempt that failed
			_ = s.st.RemoveAll(clean, path.Join(s.dir, dir))
		}
	}
	if s.made != "" {
		_ = s.st.RemoveAll(clean, path.Join(s.dir, s.made))
	}
}
