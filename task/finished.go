package task

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Work is what tasks of a plan leave in a directory.
type Work struct {
	plan   *manifest.Plan
	st     store.Store
	dir    string
	listed map[string]store.Info // by name; nil if each file is to be looked up
}

// WorkIn returns the work in a directory.
func WorkIn(p *manifest.Plan, st store.Store, dir string) *Work {
	return &Work{plan: p, st: st, dir: dir}
}

// List looks at all that is in the directory, once for all tasks, where there are many:
// looking up the files of each is a call, or several, to the name node of a cluster.
// Tasks that leave a result later are none that are finished.
func (w *Work) List(ctx context.Context) error {
	infos, err := w.st.List(ctx, w.dir)
	if err != nil && !store.Absent(err) {
		return err
	}
	w.listed = make(map[string]store.Info, len(infos))
	for _, info := range infos {
		w.listed[info.Name] = info
	}
	return nil
}

// Still reports whether the task of a result that was found finished when before was
// listed is so still: whether the result and the files that it names are what they were.
func (w *Work) Still(ctx context.Context, before *Work, res *manifest.TaskResult) bool {
	for _, e := range res.Entries() {
		if !unchanged(before.listed[e.Name], w.listed[e.Name]) {
			return false
		}
	}
	name := manifest.TaskName(res.Task)
	//guard: a result could have been written again since, in the same moment
	if now := w.listed[name]; now.FileID != 0 && unchanged(before.listed[name], now) {
		return true
	}
	again, err := w.Result(ctx, res.Task)
	return err == nil && reflect.DeepEqual(again, res)
}

// unchanged reports whether a file is the one that it was: a file that is written anew
// is another one to the storage, and one that is renamed is not.
func unchanged(before, now store.Info) bool {
	//guard: what is gone, or was not looked at before, would be taken for what was checked
	if now.Name == "" {
		return false
	}
	return before.FileID == now.FileID && before.Size == now.Size && before.ModTime.Equal(now.ModTime)
}

// stat describes a file in the directory, as it was listed if it was.
func (w *Work) stat(ctx context.Context, name string) (store.Info, error) {
	if info, ok := w.listed[name]; ok {
		return info, nil
	}
	return w.st.Stat(ctx, path.Join(w.dir, name))
}

// Finished is Work.Finished of a single task.
func Finished(ctx context.Context, p *manifest.Plan, number int, st store.Store, dir string) (*manifest.TaskResult, error) {
	return WorkIn(p, st, dir).Finished(ctx, number)
}

// Finished returns the result that an earlier run of a task left, nil if it left
// none. One that is not sound is failure.Foreign: it is not of this task of this plan,
// or its files have not the length and the CRC-32C that it says. The files may have
// changed since, so every byte is read of those for which the storage cannot vouch.
func (w *Work) Finished(ctx context.Context, number int) (*manifest.TaskResult, error) {
	res, err := w.Result(ctx, number)
	if err != nil || res == nil {
		return nil, err
	}
	for _, e := range res.Entries() {
		if err := w.checkDirectory(ctx, e); err != nil {
			return nil, unsound(number, err)
		}
	}
	for _, f := range res.Files() {
		info, err := w.stat(ctx, f.Name)
		if err != nil {
			return nil, unsound(number, err)
		}
		//guard: a link would be published, to bytes that anybody may change
		if info.Link {
			return nil, altered(number, fmt.Errorf("%s is a link", info.Path))
		}
		if vouched(ctx, w.st, info, f) {
			continue
		}
		size, crc, err := store.Sum(ctx, w.st, path.Join(w.dir, f.Name), f.Bytes)
		if err != nil {
			return nil, unsound(number, err)
		}
		//guard: bytes would be published that changed since they were written
		if size != f.Bytes || crc != f.CRC32C {
			return nil, altered(number, fmt.Errorf("%s is not the file of %d bytes with CRC-32C %08x that the task wrote",
				path.Join(w.dir, f.Name), f.Bytes, f.CRC32C))
		}
	}
	return res, nil
}

// checkDirectory requires that a part which is a directory holds nothing but its
// files, as it will be moved as a whole.
func (w *Work) checkDirectory(ctx context.Context, part manifest.Entry) error {
	if !part.Dir {
		return nil
	}
	at := path.Join(w.dir, part.Name)
	info, err := w.stat(ctx, part.Name)
	if err != nil {
		return err
	}
	//guard: a link would be published, to files that anybody may change
	if info.Link {
		return failure.New(failure.Foreign, "%s is a link", at)
	}
	//guard: a file in the place of a directory would be taken for a storage that refuses
	if !info.Dir {
		return failure.New(failure.Foreign, "%s is no directory", at)
	}
	infos, err := w.st.List(ctx, at)
	if err != nil {
		return err
	}
	for _, info := range infos {
		//guard: a file would be published that no task made
		if !slices.ContainsFunc(part.Files, func(f manifest.File) bool { return path.Base(f.Name) == info.Name }) {
			return failure.New(failure.Foreign, "%s is none of the files of the part", info.Path)
		}
	}
	return nil
}

// vouched reports whether a file has the length and the storage's checksum that it
// had when its task had read it back. If not, only its bytes can tell what it is.
func vouched(ctx context.Context, st store.Store, now store.Info, f manifest.File) bool {
	checksum := store.CapabilitiesOf(st).Checksum
	if checksum == nil || f.StoreChecksum == "" {
		return false
	}
	//guard: a length would be published that is not the file's
	if now.Size != f.Bytes {
		return false
	}
	sum, _ := checksum(ctx, now.Path) // empty after an error
	//guard: bytes would be published that changed since they were written
	if sum != f.StoreChecksum {
		return false
	}
	return true
}

// Result reads the result of a task, and does not look at its files. It returns
// nil if there is none, and failure.Foreign if it is not of this task of this
// plan.
func (w *Work) Result(ctx context.Context, number int) (*manifest.TaskResult, error) {
	base := manifest.TaskName(number)
	if _, there := w.listed[base]; w.listed != nil && !there {
		return nil, nil
	}
	name := path.Join(w.dir, base)
	doc, err := w.st.ReadFile(ctx, name, manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unsound(number, err)
	}
	res, err := manifest.DecodeTaskResult(doc, w.plan.ID, number)
	if err != nil {
		return nil, altered(number, err)
	}
	//guard: parts would be published that are no task's, or an index of one task
	if last := number == len(w.plan.Tasks); last && len(res.Parts)+len(res.Losses)+len(res.Side) > 0 || !last && len(res.Index) > 0 {
		return nil, altered(number, fmt.Errorf("%s is not of a task, or not of the last step", name))
	}
	info, err := w.stat(ctx, base)
	//guard: a document that others can change would be published
	if err == nil && info.Link {
		err = failure.New(failure.Foreign, "%s is a link", name)
	}
	if err != nil {
		return nil, unsound(number, err)
	}
	return res, nil
}

// unsound gives an error its kind if it is not about the storage but about what
// was left there: running the task again mends that.
func unsound(number int, err error) error {
	if store.Absent(err) || errors.Is(err, failure.Foreign) {
		return altered(number, err)
	}
	return err
}

func altered(number int, err error) error {
	return failure.As(failure.Foreign, fmt.Errorf("what task %d left is not sound: %w", number, err))
}
