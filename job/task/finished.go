package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// The number of files, and of tasks, that are checked at a time. On local disk, a few checks
// keep the processors busy. On other storage, a check waits for a name node, which answers many
// calls at a time, and there may be 100,000 tasks.
const (
	localCheckers = 4
	checkers      = 32
)

// listShare decides when to list the directory with the work of all tasks. Listing is cheaper
// than looking up each task if at least 1/listShare of the plan's tasks are looked for.
const listShare = 8

// maxNamedTasks is the number of tasks that an error lists.
const maxNamedTasks = 10

// Work is the work of a plan's tasks in a directory: their results and files.
type Work struct {
	// Results has the result of each task, by task number, once its files were checked. A task
	// that is not done has nil. MakeIndex appends the result of the last step.
	Results []*manifest.TaskResult

	plan     *manifest.Plan
	sink     string // name of the sink; empty if there is none
	st       store.Store
	dir      string
	listed   map[string]store.Info // entries of dir, by name; nil if each file is to be looked up
	mu       sync.Mutex            // guards listed while AddResults runs
	slots    chan struct{}         // holds an entry for each file that is being checked
	listings sync.Map              // listingHash of each listed directory of a part, by name
}

// listingHash is a hash of a directory's listing. The listing itself would take too much
// memory, because a plan may have a thousand directories of a thousand files.
type listingHash [sha256.Size]byte

func hashListing(infos []store.Info) (sum listingHash) {
	h := sha256.New()
	for _, i := range infos {
		fmt.Fprintf(h, "%q %d %d %d %t\n", i.Name, i.FileID, i.Size, i.ModTime.UnixNano(), i.Link)
	}
	h.Sum(sum[:0])
	return sum
}

// NewWork returns the work of a plan's tasks in dir. It reads nothing yet. sink is nil if the
// tasks have none.
func NewWork(p *manifest.Plan, sink Sink, st store.Store, dir string) *Work {
	atOnce := checkers
	if store.CapabilitiesOf(st).Local {
		atOnce = localCheckers
	}
	w := &Work{Results: make([]*manifest.TaskResult, len(p.Tasks)), plan: p, st: st, dir: dir, slots: make(chan struct{}, atOnce)}
	if sink != nil {
		w.sink = sink.Name()
	}
	return w
}

// Unfinished returns the numbers of the tasks that are not done.
func (w *Work) Unfinished() (numbers []int) {
	for i, res := range w.Results {
		if res == nil {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// LostRows returns the number of rows that finished tasks lost to damage.
func (w *Work) LostRows() (n int64) {
	for _, res := range w.Results {
		if res != nil {
			n += res.LostRows()
		}
	}
	return n
}

// Add adds results of tasks that were run. It ignores nil, which stands for a task that did not
// finish.
func (w *Work) Add(results []*manifest.TaskResult) {
	for _, res := range results {
		if res != nil {
			w.Results[res.Task] = res
		}
	}
}

// Find looks for the results of the given tasks. It adds a result if it is valid and the inputs
// of the task still hold the same bytes; such a task need not run again. Find ignores numbers
// outside the plan.
func (w *Work) Find(ctx context.Context, resolve input.Resolve, numbers []int) error {
	if len(numbers)*listShare >= len(w.plan.Tasks) {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	return parallel.Do(ctx, len(numbers), cap(w.slots), func(ctx context.Context, i int) error {
		n := numbers[i]
		if n < 0 || n >= len(w.plan.Tasks) {
			return nil
		}
		res, err := w.Finished(ctx, n)
		if errors.Is(err, failure.Foreign) {
			return nil
		}
		if err != nil || res == nil {
			return err
		}
		same, err := input.StillRead(ctx, resolve, w.plan, res)
		if same {
			w.Results[n] = res
		}
		return err
	})
}

// Check lists the directory, reads the results of all tasks and checks their files. It keeps a
// result of before, an earlier Work, if the result and its files have not changed; before may
// be nil. The error is failure.Storage if tasks are not done.
func (w *Work) Check(ctx context.Context, before *Work) error {
	if err := w.list(ctx); err != nil {
		return err
	}
	err := parallel.Do(ctx, len(w.Results), cap(w.slots), func(ctx context.Context, i int) (err error) {
		if before != nil && before.Results[i] != nil && w.resultUnchanged(ctx, before, before.Results[i]) {
			w.Results[i] = before.Results[i]
			return nil
		}
		w.Results[i], err = w.Finished(ctx, i)
		return err
	})
	if err != nil {
		return err
	}
	left := w.Unfinished()
	//guard: refuses to publish without all tasks
	if n := len(left); n > 0 {
		named, more := strings.Trim(strings.ReplaceAll(fmt.Sprint(left[:min(n, maxNamedTasks)]), " ", ", "), "[]"), ""
		if n > maxNamedTasks {
			more = fmt.Sprintf(" and %d more", n-maxNamedTasks)
		}
		return failure.New(failure.Storage, "%d of %d tasks of plan %s are not done: %s%s", n, len(w.Results), w.plan.ID, named, more)
	}
	return nil
}

// CheckAt requires that the files of all results are intact in dir, to which w's directory was
// moved. Every task must have a result. CheckAt reads only files that changed since Check.
func (w *Work) CheckAt(ctx context.Context, dir string) error {
	now := &Work{st: w.st, dir: dir, slots: w.slots}
	if err := now.list(ctx); err != nil {
		return err
	}
	return parallel.Do(ctx, len(w.Results), cap(w.slots), func(ctx context.Context, i int) error {
		for _, e := range w.Results[i].Entries() {
			if now.entryUnchanged(ctx, w, e) {
				continue
			}
			err := now.checkEntry(ctx, e)
			if errors.Is(err, store.ErrNotExist) {
				return failure.As(failure.Storage, fmt.Errorf("the work of task %d is gone: %w", i, err))
			}
			if err != nil {
				return workError(i, err)
			}
		}
		return nil
	})
}

// list lists the directory once for all tasks, because looking up the files of each task takes
// one or more calls to the name node of a cluster. A task that has no result in the listing does
// not count as finished.
func (w *Work) list(ctx context.Context) error {
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

// resultUnchanged reports whether a result and the files that it names are the same as when
// before, an earlier Work, was listed. Without a FileID, it compares the content of the result.
func (w *Work) resultUnchanged(ctx context.Context, before *Work, res *manifest.TaskResult) bool {
	for _, e := range res.Entries() {
		if !w.entryUnchanged(ctx, before, e) {
			return false
		}
	}
	name := manifest.TaskName(res.Task)
	//guard: reads the result again unless its file is the same
	if now := w.listed[name]; now.FileID != 0 && infoUnchanged(before.listed[name], now) {
		return true
	}
	again, err := w.result(ctx, res.Task)
	return err == nil && reflect.DeepEqual(again, res)
}

// entryUnchanged reports whether a file, or a directory with its files, is the same as when
// before was listed. It lists the directory, because the directory's own entry does not change
// when a file in the directory is rewritten.
func (w *Work) entryUnchanged(ctx context.Context, before *Work, e manifest.Entry) bool {
	if !infoUnchanged(before.listed[e.Name], w.listed[e.Name]) {
		return false
	}
	if !e.Dir {
		return true
	}
	infos, _ := w.st.List(ctx, path.Join(w.dir, e.Name)) // nil after an error; no part has the hash of an empty listing
	was, _ := before.listings.Load(e.Name)
	//guard: rejects a part whose directory changed
	if was != hashListing(infos) {
		return false
	}
	w.listings.Store(e.Name, was)
	return true
}

// AddResults adds the results of tasks that this process ran after w listed the directory. A
// later Check with w as before does not read the files of these tasks if they have not changed
// since. Check, or Find for all tasks, must have listed the directory.
func (w *Work) AddResults(ctx context.Context, results []*manifest.TaskResult) error {
	w.Add(results)
	now := &Work{plan: w.plan, st: w.st, dir: w.dir}
	if err := now.list(ctx); err != nil {
		return err
	}
	return parallel.Do(ctx, len(results), cap(w.slots), func(ctx context.Context, i int) error {
		if results[i] == nil {
			return nil
		}
		for _, e := range results[i].Entries() {
			//guard: leaves a file that was cut short to Check
			if sized, err := now.hasLengths(ctx, e); !sized {
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range results[i].Entries() {
			w.listed[e.Name] = now.listed[e.Name]
			if was, known := now.listings.Load(e.Name); known {
				w.listings.Store(e.Name, was)
			}
		}
		name := manifest.TaskName(results[i].Task)
		w.listed[name] = now.listed[name]
		return nil
	})
}

// hasLengths reports whether a file, or each file of a directory, has its length.
func (w *Work) hasLengths(ctx context.Context, e manifest.Entry) (bool, error) {
	infos := w.listed
	if e.Dir {
		var err error
		infos, err = w.checkDirectory(ctx, e)
		if store.Absent(err) || errors.Is(err, failure.Foreign) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	for _, f := range e.Files {
		if info, there := infos[path.Base(f.Name)]; !there || info.Link || info.Size != f.Bytes {
			return false, nil
		}
	}
	return true, nil
}

// infoUnchanged reports whether a file is the same as before. A file that is written again
// gets another ID or time; a renamed file keeps both.
func infoUnchanged(before, now store.Info) bool {
	//guard: rejects a file that is gone
	if now.Name == "" {
		return false
	}
	return before.Link == now.Link && before.Dir == now.Dir && before.FileID == now.FileID && before.Size == now.Size && before.ModTime.Equal(now.ModTime)
}

// stat describes a file in the directory. It uses the listing if the file is in it.
func (w *Work) stat(ctx context.Context, name string) (store.Info, error) {
	if info, ok := w.listed[name]; ok {
		return info, nil
	}
	return w.st.Stat(ctx, path.Join(w.dir, name))
}

// Finished returns the result that an earlier attempt at a task left. It returns nil if there is
// no result, if the attempt had another sink, or if a file is missing. A missing file is no
// error, because a late attempt may write its result to a directory that was removed with its
// files and made again. The error is failure.Foreign if the result is invalid or of another task
// or plan, or if a file's length or CRC-32C differs from the result. Finished reads all of a file
// unless the checksum that the storage keeps is that of the result.
func (w *Work) Finished(ctx context.Context, number int) (*manifest.TaskResult, error) {
	res, err := w.result(ctx, number)
	if err != nil || res == nil {
		return nil, err
	}
	//guard: rejects the result of another sink
	if res.Sink != w.sink {
		return nil, nil
	}
	for _, e := range res.Entries() {
		err := w.checkEntry(ctx, e)
		if errors.Is(err, store.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, workError(number, err)
		}
	}
	return res, nil
}

// result reads the result of a task, and does not check its files. It returns nil if there is
// no result. The error is failure.Foreign if the result is invalid or of another task or plan.
func (w *Work) result(ctx context.Context, number int) (*manifest.TaskResult, error) {
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
		return nil, workError(number, err)
	}
	res, err := manifest.DecodeTaskResult(doc, w.plan.ID, number)
	if err != nil {
		return nil, invalidWork(number, err)
	}
	//guard: rejects parts from the last step, and an index from a task
	if last := number == len(w.plan.Tasks); last && len(res.Parts)+len(res.Losses)+len(res.Side) > 0 || !last && len(res.Index) > 0 {
		return nil, invalidWork(number, fmt.Errorf("%s is a result of the wrong step", name))
	}
	//guard: rejects a result for another number of pieces
	if number < len(w.plan.Tasks) && len(res.Reads) != len(w.plan.Tasks[number].Pieces) {
		return nil, invalidWork(number, fmt.Errorf("%s lists reads of %d pieces, want %d", name, len(res.Reads), len(w.plan.Tasks[number].Pieces)))
	}
	info, err := w.stat(ctx, base)
	//guard: rejects a link in place of a result
	if err == nil && info.Link {
		err = failure.New(failure.Foreign, "%s is a link", name)
	}
	if err != nil {
		return nil, workError(number, err)
	}
	return res, nil
}

// workError makes an error failure.Foreign if it is about the files of the task and not about
// the storage. Running the task again then helps.
func workError(number int, err error) error {
	if store.Absent(err) || errors.Is(err, failure.Foreign) {
		return invalidWork(number, err)
	}
	return err
}

func invalidWork(number int, err error) error {
	return failure.As(failure.Foreign, fmt.Errorf("the work of task %d is invalid: %w", number, err))
}
