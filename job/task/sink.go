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

// Sink takes rows along, whatever the format of the parts: each task leaves side
// files of its rows, and of those of all tasks the last step before an output is
// published makes an index. The same rows must give the same bytes. Tasks use a
// sink at the same time.
type Sink interface {
	// Name says what is made and how, and is not empty: what a sink of another name
	// left is not used, as if the tasks had not been done.
	Name() string
	// Begin begins an attempt at a task, which may keep spills in a folder.
	Begin(task int, local *spill.Folder) (AttemptSink, error)
	// Memory is how many bytes an attempt takes at most.
	Memory() int64
	// Merge makes an index of what all tasks left, and calls store with each of its
	// files. Files of one directory follow each other. local is as for Begin.
	Merge(ctx context.Context, of Output, local *spill.Folder, store func(NewFile) error) error
}

// AttemptSink is the sink of one attempt at a task.
type AttemptSink interface {
	mapper.RowSink
	// Finish returns the side files, after the last row. ctx bounds the work.
	Finish(ctx context.Context) ([]NewFile, error)
	// Close ends the use of the sink, and of the files that Finish returned. It
	// comes once, whether or not Finish did.
	Close() error
}

// NewFile is a file that a sink made and that is to be stored.
type NewFile struct {
	// Name is as manifest.IsFileName wants it, and one of its own. Of an index it may
	// be in a directory that has such a name: "id/00000".
	Name    string
	Content *io.SectionReader
	// Keys are those of a file of an index; nil if it does not say.
	Keys *manifest.KeyRange
}

// Output is what the tasks of a plan left.
type Output struct {
	// Fingerprint is manifest.Fingerprint of the parts.
	Fingerprint string
	// Side are the side files in the order of the tasks, and each task's as it
	// returned them.
	Side []SideFile
}

// SideFile is a stored side file.
type SideFile struct {
	Task int
	Name string // the sink's
	// Open opens it. The caller closes it.
	Open func(ctx context.Context) (store.File, error)
}

// beginSink gives the attempt its sink, if there is one. The caller calls end.
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

// storeAll stores files in a directory, under names that staged gives. After an
// error none is left.
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
		all = append(all, stored(ctx, st, w, ""))
	}
	return all, nil
}

// removeAll removes files that no result will name, also if ctx has ended. What
// cannot be removed is left.
func removeAll(ctx context.Context, st store.Store, dir string, files []manifest.File) {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, f := range files {
		//guard: removes the files of an attempt that failed
		_ = st.Remove(clean, path.Join(dir, f.Name))
	}
}

// Last carries out the last step before the output of a plan is published: of the side files
// of all tasks the sink of the options, if there is one, makes an index, which a result of
// its own describes. A step that was done is not done again, unless tasks were since: their
// rows may be elsewhere now. Of the options Sink, TempDir and Warn are used.
func (w *Work) Last(ctx context.Context, o Options) error {
	if o.Sink == nil {
		return nil
	}
	number := len(w.plan.Tasks)
	res, err := w.Finished(ctx, number)
	if err != nil && !errors.Is(err, failure.Foreign) {
		return err
	}
	of := outputOf(w.st, w.dir, w.Results)
	//guard: rejects an index that does not fit the output
	if res != nil && res.Fingerprint == of.Fingerprint {
		w.Results = append(w.Results, res)
		return nil
	}
	res = &manifest.TaskResult{Version: manifest.Version, Plan: w.plan.ID, Task: number, Sink: w.sink, Fingerprint: of.Fingerprint}
	if res.Index, err = merge(ctx, o, w.st, w.dir, of); err != nil {
		return fmt.Errorf("index of the output: %w", err)
	}
	if err := writeResult(ctx, w.st, w.dir, res); err != nil {
		return err
	}
	w.Results = append(w.Results, res)
	return w.Vouch(ctx, w.Results[number:])
}

// outputOf is what tasks left in a directory.
func outputOf(st store.Store, dir string, results []*manifest.TaskResult) (of Output) {
	var parts []manifest.Part
	for _, res := range results {
		parts = append(parts, res.Parts...)
		for _, f := range res.Side {
			name := path.Join(dir, f.Name)
			of.Side = append(of.Side, SideFile{
				Task: res.Task, Name: manifest.SideName(f.Name),
				Open: func(ctx context.Context) (store.File, error) { return st.Open(ctx, name) },
			})
		}
	}
	of.Fingerprint = manifest.Fingerprint(parts)
	return of
}

// merge makes and stores the index.
func merge(ctx context.Context, o Options, st store.Store, dir string, of Output) (_ []manifest.File, err error) {
	folder, err := openSpill(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	k := &indexKeeper{st: st, dir: dir, seen: make(map[string]bool)}
	err = o.Sink.Merge(ctx, of, folder, func(f NewFile) error { return k.keep(ctx, f) })
	if err != nil {
		k.removeAll(ctx)
		return nil, err
	}
	return k.files, nil
}

// indexKeeper stores the files of an index.
type indexKeeper struct {
	st    store.Store
	dir   string
	files []manifest.File
	seen  map[string]bool // names
	from  string          // directory of the last file, as the sink has it
	to    string          // and as it is staged
}

// keep stores a file.
func (k *indexKeeper) keep(ctx context.Context, f NewFile) error {
	dir, name, inside := strings.Cut(f.Name, "/")
	if !inside {
		dir, name = "", f.Name
	}
	//guard: rejects a file name with a path, or twice
	if !manifest.IsFileName(name) || inside && !manifest.IsFileName(dir) || k.seen[f.Name] {
		return fmt.Errorf("%q is no name of a file of an index, or is there twice", f.Name)
	}
	k.seen[f.Name] = true
	w, err := reducer.Copy(ctx, k.st, func() string { return path.Join(k.dir, manifest.StagedIndex(manifest.NewID(), name)) }, f.Content)
	if err != nil {
		return err
	}
	kept := stored(ctx, k.st, w, "")
	kept.Keys = f.Keys
	k.files = append(k.files, kept)
	if !inside {
		return nil
	}
	if dir != k.from {
		if k.to, err = makeDir(ctx, k.st, k.dir, func() string { return manifest.StagedIndex(manifest.NewID(), dir) }); err != nil {
			return err
		}
		k.from = dir
	}
	to := manifest.InPart(k.to, name)
	if err := store.Move(ctx, k.st, path.Join(k.dir, kept.Name), path.Join(k.dir, to)); err != nil {
		return err
	}
	k.files[len(k.files)-1].Name = to
	return nil
}

// removeAll removes what was stored, also if ctx has ended. What cannot be removed is left.
func (k *indexKeeper) removeAll(ctx context.Context) {
	removeAll(ctx, k.st, k.dir, k.files)
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	for _, f := range k.files {
		if dir := path.Dir(f.Name); dir != "." {
			//guard: removes the files of an attempt that failed
			_ = k.st.RemoveAll(clean, path.Join(k.dir, dir))
		}
	}
	if k.to != "" {
		_ = k.st.RemoveAll(clean, path.Join(k.dir, k.to))
	}
}
