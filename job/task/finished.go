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

// How many files, and tasks, are checked at a time: on local disk as many as keep the
// processors busy. Other storage takes a few calls for each file of perhaps 100,000 tasks,
// and its name node answers many calls at a time.
const (
	localCheckers = 4
	checkers      = 32
)

// listShare says when to list the directory of all tasks' work: for at least one task in so
// many of the plan's, that is cheaper than a few calls for each.
const listShare = 8

// namedTasks is how many tasks an error lists.
const namedTasks = 10

// Work is what tasks of a plan leave in a directory.
type Work struct {
	// Results are those that were found and whose files were checked: of each task, by its
	// number, nil for one that is not done; and after them that of the last step, once Last
	// was called.
	Results []*manifest.TaskResult

	plan   *manifest.Plan
	sink   string // name; empty without one
	st     store.Store
	dir    string
	listed map[string]store.Info // by name; nil if each file is to be looked up
	mu     sync.Mutex            // of listed, while Vouch runs
	places chan struct{}         // holds an entry for each file that is being checked
	inside sync.Map              // imprints of the directories of parts that were listed, by name
}

// imprint is a hash of a directory's listing. The listing itself would take too much memory:
// a plan may have a thousand directories of a thousand files.
type imprint [sha256.Size]byte

func imprintOf(infos []store.Info) (sum imprint) {
	h := sha256.New()
	for _, i := range infos {
		fmt.Fprintf(h, "%q %d %d %d %t\n", i.Name, i.FileID, i.Size, i.ModTime.UnixNano(), i.Link)
	}
	h.Sum(sum[:0])
	return sum
}

// WorkIn returns the work in a directory. The sink is the tasks'; nil if they have none.
func WorkIn(p *manifest.Plan, sink Sink, st store.Store, dir string) *Work {
	atOnce := checkers
	if store.CapabilitiesOf(st).Local {
		atOnce = localCheckers
	}
	w := &Work{Results: make([]*manifest.TaskResult, len(p.Tasks)), plan: p, st: st, dir: dir, places: make(chan struct{}, atOnce)}
	if sink != nil {
		w.sink = sink.Name()
	}
	return w
}

// Left are the numbers of the tasks that are not done.
func (w *Work) Left() (numbers []int) {
	for i, res := range w.Results {
		if res == nil {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// Lost is the number of rows that the tasks lost to damage that are done.
func (w *Work) Lost() (n int64) {
	for _, res := range w.Results {
		if res != nil {
			n += res.LostRows()
		}
	}
	return n
}

// Add adds results of tasks that were run; nil for those that were not done.
func (w *Work) Add(results []*manifest.TaskResult) {
	for _, res := range results {
		if res != nil {
			w.Results[res.Task] = res
		}
	}
}

// Find finds which of some tasks, by their numbers, need not be run again: they left a sound
// result, and their inputs hold the same bytes now.
func (w *Work) Find(ctx context.Context, resolve input.Resolve, numbers []int) error {
	if len(numbers)*listShare >= len(w.plan.Tasks) {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	return parallel.Do(ctx, len(numbers), cap(w.places), func(ctx context.Context, i int) error {
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
		still, err := input.StillRead(ctx, resolve, w.plan, res)
		if still {
			w.Results[n] = res
		}
		return err
	})
}

// Check finds the results of all tasks anew, in one listing, and checks all their files but
// those that are the same as when before was checked, which is nil if nothing was. Tasks that
// are not done are failure.Storage.
func (w *Work) Check(ctx context.Context, before *Work) error {
	if err := w.list(ctx); err != nil {
		return err
	}
	err := parallel.Do(ctx, len(w.Results), cap(w.places), func(ctx context.Context, i int) (err error) {
		if before != nil && before.Results[i] != nil && w.still(ctx, before, before.Results[i]) {
			w.Results[i] = before.Results[i]
			return nil
		}
		w.Results[i], err = w.Finished(ctx, i)
		return err
	})
	if err != nil {
		return err
	}
	left := w.Left()
	//guard: refuses to publish without all tasks
	if n := len(left); n > 0 {
		named, more := strings.Trim(strings.ReplaceAll(fmt.Sprint(left[:min(n, namedTasks)]), " ", ", "), "[]"), ""
		if n > namedTasks {
			more = fmt.Sprintf(" and %d more", n-namedTasks)
		}
		return failure.New(failure.Storage, "%d of %d tasks of plan %s are not done: %s%s", n, len(w.Results), w.plan.ID, named, more)
	}
	return nil
}

// CheckAt requires that the files of all results are what they were, in a directory that w's
// was moved to: it checks again those that are not the same as when w was checked.
func (w *Work) CheckAt(ctx context.Context, dir string) error {
	now := &Work{st: w.st, dir: dir, places: w.places}
	if err := now.list(ctx); err != nil {
		return err
	}
	return parallel.Do(ctx, len(w.Results), cap(w.places), func(ctx context.Context, i int) error {
		for _, e := range w.Results[i].Entries() {
			if now.stillEntry(ctx, w, e) {
				continue
			}
			err := now.checkEntry(ctx, e)
			if errors.Is(err, store.ErrNotExist) {
				return failure.As(failure.Storage, fmt.Errorf("what task %d left is gone: %w", i, err))
			}
			if err != nil {
				return unsound(i, err)
			}
		}
		return nil
	})
}

// list lists the directory once for all tasks: looking up the files of each takes one or
// more calls to the name node of a cluster. A task that leaves a result later does not count
// as finished.
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

// still reports whether a task that was finished when before was listed is still finished:
// whether its result and the files that this names are unchanged.
func (w *Work) still(ctx context.Context, before *Work, res *manifest.TaskResult) bool {
	for _, e := range res.Entries() {
		if !w.stillEntry(ctx, before, e) {
			return false
		}
	}
	name := manifest.TaskName(res.Task)
	//guard: rejects a result that was written again
	if now := w.listed[name]; now.FileID != 0 && unchanged(before.listed[name], now) {
		return true
	}
	again, err := w.result(ctx, res.Task)
	return err == nil && reflect.DeepEqual(again, res)
}

// stillEntry is still of a file, or of a directory and the files in it, whose writing does not
// change the directory.
func (w *Work) stillEntry(ctx context.Context, before *Work, e manifest.Entry) bool {
	if !unchanged(before.listed[e.Name], w.listed[e.Name]) {
		return false
	}
	if !e.Dir {
		return true
	}
	infos, _ := w.st.List(ctx, path.Join(w.dir, e.Name)) // nothing after an error, which no part is
	was, _ := before.inside.Load(e.Name)
	//guard: rejects a part whose directory changed
	if was != imprintOf(infos) {
		return false
	}
	w.inside.Store(e.Name, was)
	return true
}

// Vouch adds results of tasks that this process ran, and read back, since the directory was
// listed: from then on Check compares with what they left.
func (w *Work) Vouch(ctx context.Context, results []*manifest.TaskResult) error {
	w.Add(results)
	now := &Work{plan: w.plan, st: w.st, dir: w.dir}
	if err := now.list(ctx); err != nil {
		return err
	}
	return parallel.Do(ctx, len(results), cap(w.places), func(ctx context.Context, i int) error {
		if results[i] == nil {
			return nil
		}
		for _, e := range results[i].Entries() {
			//guard: rejects a file that was cut short
			if sized, err := now.sized(ctx, e); !sized {
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range results[i].Entries() {
			w.listed[e.Name] = now.listed[e.Name]
			if was, known := now.inside.Load(e.Name); known {
				w.inside.Store(e.Name, was)
			}
		}
		name := manifest.TaskName(results[i].Task)
		w.listed[name] = now.listed[name]
		return nil
	})
}

// sized reports whether a file, or each of a directory, has its length.
func (w *Work) sized(ctx context.Context, e manifest.Entry) (bool, error) {
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

// unchanged reports whether a file is the same as before. A file that is written again gets
// another ID or time, and one that is renamed keeps both.
func unchanged(before, now store.Info) bool {
	//guard: rejects a file that is gone or was not looked at before
	if now.Name == "" {
		return false
	}
	return before.Link == now.Link && before.Dir == now.Dir && before.FileID == now.FileID && before.Size == now.Size && before.ModTime.Equal(now.ModTime)
}

// stat describes a file in the directory, as it was listed if it was.
func (w *Work) stat(ctx context.Context, name string) (store.Info, error) {
	if info, ok := w.listed[name]; ok {
		return info, nil
	}
	return w.st.Stat(ctx, path.Join(w.dir, name))
}

// Finished returns the result that an earlier run of a task left; nil if it left none, if it
// had another sink, or if a file of it is missing, as a late result can come to a directory
// that was made again.
// An unsound result is failure.Foreign: it is not of this task of this plan, or its
// files do not have the length and the CRC-32C that it says. Every byte is read of files
// whose checksum the storage does not keep.
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
			return nil, unsound(number, err)
		}
	}
	return res, nil
}

// result reads the result of a task, and does not look at its files. It returns
// nil if there is none, and failure.Foreign if it is not of this task of this
// plan.
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
		return nil, unsound(number, err)
	}
	res, err := manifest.DecodeTaskResult(doc, w.plan.ID, number)
	if err != nil {
		return nil, altered(number, err)
	}
	//guard: rejects parts from the last step, and an index from a task
	if last := number == len(w.plan.Tasks); last && len(res.Parts)+len(res.Losses)+len(res.Side) > 0 || !last && len(res.Index) > 0 {
		return nil, altered(number, fmt.Errorf("%s is not of a task, or not of the last step", name))
	}
	//guard: rejects a result that read other pieces
	if number < len(w.plan.Tasks) && len(res.Reads) != len(w.plan.Tasks[number].Pieces) {
		return nil, altered(number, fmt.Errorf("%s says what was read for %d pieces, and there are %d", name, len(res.Reads), len(w.plan.Tasks[number].Pieces)))
	}
	info, err := w.stat(ctx, base)
	//guard: rejects a link in place of a result
	if err == nil && info.Link {
		err = failure.New(failure.Foreign, "%s is a link", name)
	}
	if err != nil {
		return nil, unsound(number, err)
	}
	return res, nil
}

// unsound makes an error failure.Foreign if it is about what the task left and not about the
// storage: running the task again mends that.
func unsound(number int, err error) error {
	if store.Absent(err) || errors.Is(err, failure.Foreign) {
		return altered(number, err)
	}
	return err
}

func altered(number int, err error) error {
	return failure.As(failure.Foreign, fmt.Errorf("what task %d left is not sound: %w", number, err))
}
