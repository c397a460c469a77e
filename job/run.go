package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// spillReserve is what spills leave free on their disk.
	spillReserve = 16 << 20
	// spillMemory is what holds a row group's blocks that are not yet on disk.
	spillMemory = 12 << 20
	// taskOverhead is the least memory, and maxTaskMemory the most, that a task
	// that maps takes beside its open column blocks and the spill.
	// uploadOverhead is all that a task takes that uploads.
	taskOverhead   = 12 << 20
	maxTaskMemory  = 64 << 20
	uploadOverhead = spillMemory + 4<<20
	copyBuffer     = 1 << 20
)

// onDamage translates the plan's word.
func onDamage(name string) (mapper.OnDamage, error) {
	switch name {
	case "fail":
		return mapper.Fail, nil
	case "skip":
		return mapper.Skip, nil
	case "quarantine":
		return mapper.Quarantine, nil
	}
	return 0, failf(ErrUsage, "on damage %q: it is one of fail, skip, quarantine", name)
}

// engine runs the tasks of a plan in this process.
type engine struct {
	*attempt
	resolutions resolutions
	format      format.Format
	spill       *spill.Folder
	damage      mapper.OnDamage
	workers     int   // of each task
	memory      int64 // of each task, beside its open blocks
	spaces      mapper.Workspaces
	// mapping is held by tasks that map: as many as workers keep busy. A task
	// that uploads gives it up, so that another maps meanwhile.
	mapping chan struct{}

	mu       sync.Mutex
	progress Progress
	lost     int64 // rows, of finished tasks
}

func taskName(id int) string { return fmt.Sprintf("task-%05d.json", id) }

func isTaskName(name string) bool {
	return strings.HasPrefix(name, "task-") && strings.HasSuffix(name, ".json")
}

// partName names an output of a row group of a task.
func partName(task, rowGroup int, suffix string) string {
	if rowGroup == 0 {
		return fmt.Sprintf("part-%05d%s", task, suffix)
	}
	return fmt.Sprintf("part-%05d-%d%s", task, rowGroup, suffix)
}

// run finishes all tasks and returns their results, and how many of them an
// earlier run had finished.
func (a *attempt) run(ctx context.Context) (results []*manifest.TaskResult, resumed int, err error) {
	doc, err := a.plan.Encode()
	if err != nil {
		return nil, 0, err
	}
	if err := a.st.WriteFile(ctx, path.Join(a.dir, planName), doc, false); err != nil {
		return nil, 0, fmt.Errorf("write the plan: %w", err)
	}
	e := &engine{attempt: a}
	results = make([]*manifest.TaskResult, len(a.plan.Tasks))
	var pending []int
	for _, t := range a.plan.Tasks {
		e.progress.TotalBytes += taskBytes(t)
		if results[t.ID], err = a.finished(ctx, t.ID); err != nil {
			return nil, 0, err
		}
		if results[t.ID] == nil {
			pending = append(pending, t.ID)
			continue
		}
		e.lost += lostRows(results[t.ID])
		e.progress.Tasks++
		e.progress.Bytes += taskBytes(t)
	}
	resumed = e.progress.Tasks
	e.progress.TotalTasks = len(a.plan.Tasks)
	if len(pending) > 0 {
		err = e.runAll(ctx, pending, results)
	}
	if err == nil {
		err = e.checkLost()
	}
	return results, resumed, err
}

func taskBytes(t manifest.Task) (n int64) {
	for _, p := range t.Pieces {
		n += p.End - p.Start
	}
	return n
}

// finished returns the result of a task that is done and whose parts are
// there, here or already published; else nil.
func (a *attempt) finished(ctx context.Context, id int) (*manifest.TaskResult, error) {
	b, err := a.st.ReadFile(ctx, path.Join(a.dir, taskName(id)), manifest.MaxSize)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	res, err := manifest.DecodeTaskResult(b)
	if err != nil || res.Plan != a.plan.ID || res.Task != id {
		return nil, nil // made again, and overwritten
	}
	for _, it := range items(res.Parts, res.Losses) {
		ok, err := a.present(ctx, it)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, nil
		}
	}
	return res, nil
}

// runAll runs tasks, as many at a time as workers and memory allow. As many
// again upload meanwhile, if there is memory for that; but not to local disk
// beside a single worker, which is busy with either.
func (e *engine) runAll(ctx context.Context, pending []int, results []*manifest.TaskResult) (err error) {
	if err := e.setUp(); err != nil {
		return err
	}
	perTask := openBlocks(e.plan.Options.BlockSize, e.plan.Columns) + spillMemory + taskOverhead
	mapping := max(min(len(pending), e.r.workers(), int(e.r.memory()/perTask)), 1)
	rest := e.r.memory() - int64(mapping)*perTask
	parallel := mapping
	if e.r.workers() > 1 || !store.CapabilitiesOf(e.st).Local {
		parallel += max(min(len(pending)-mapping, mapping, int(rest/uploadOverhead)), 0)
	}
	e.memory = min(taskOverhead+max(rest/2, 0)/int64(mapping), maxTaskMemory)
	e.mapping = make(chan struct{}, mapping)
	e.workers = (e.r.workers() + mapping - 1) / mapping
	if e.checkDisk(pending[:parallel]) != nil {
		parallel = mapping // uploads then wait for their turn
		if err := e.checkDisk(pending[:parallel]); err != nil {
			return err
		}
	}
	e.spill, err = spill.OpenFolder(e.r.tempDir())
	if errors.Is(err, store.ErrNotExist) {
		return failf(ErrUsage, "temporary directory %s does not exist", e.r.tempDir())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.spill.Close()) }()
	defer e.spaces.Close()
	e.report(0, 0, 0)
	return forEach(ctx, len(pending), parallel, func(ctx context.Context, i int) error {
		select {
		case e.mapping <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		mapped := sync.OnceFunc(func() { <-e.mapping })
		defer mapped()
		res, err := e.task(ctx, e.plan.Tasks[pending[i]], mapped)
		if err != nil {
			return err
		}
		results[pending[i]] = res
		e.mu.Lock()
		e.lost += lostRows(res)
		e.mu.Unlock()
		return e.checkLost()
	})
}

func (e *engine) setUp() (err error) {
	if e.plan.Options.ReaderSchema {
		e.resolutions.reader = e.columns.Schema
	}
	if e.format, err = e.r.format(e.plan.Options); err != nil {
		return err
	}
	e.damage, err = onDamage(e.plan.Options.OnDamage)
	return err
}

// checkDisk finds out whether the temporary directory has room for what the
// first tasks are expected to spill.
func (e *engine) checkDisk(first []int) error {
	need := int64(spillReserve)
	for _, id := range first {
		expected := float64(taskBytes(e.plan.Tasks[id])) * e.plan.Ratio
		need += int64(min(expected, float64(e.plan.Options.RowGroupSize)))
	}
	err := spill.CheckFree(e.r.tempDir(), need)
	if errors.Is(err, store.ErrNotExist) {
		return failf(ErrUsage, "temporary directory %s does not exist", e.r.tempDir())
	}
	return err
}

// task runs one task and writes its result. It calls mapped before the upload
// of its last row group.
func (e *engine) task(ctx context.Context, t manifest.Task, mapped func()) (*manifest.TaskResult, error) {
	sources, closeAll, err := e.sources(ctx, t)
	defer closeAll()
	if err != nil {
		return nil, err
	}
	o := e.plan.Options
	res := &manifest.TaskResult{Version: manifest.Version, Plan: e.plan.ID, Task: t.ID}
	inputs := make(map[string]int, len(t.Pieces))
	for _, p := range t.Pieces {
		inputs[e.plan.Inputs[p.Input].Path] = p.Input
	}
	var reported int64
	stats, err := mapper.Run(ctx, sources, mapper.Config{
		Mapping: e.columns, Format: e.format, RowGroupSize: o.RowGroupSize, BlockSize: o.BlockSize,
		MaxInputBlock: o.MaxInputBlock, OnDamage: e.damage, MaxLostRows: o.MaxLostRows,
		Workers: e.workers, Memory: e.memory, BlockMemory: e.r.blockMemory(), Workspaces: &e.spaces,
		Spill: e.spill, SpillOptions: spill.Options{Reserve: spillReserve, Memory: spillMemory},
		Quarantine: func(src mapper.Source, lost ocf.Range) error {
			return e.quarantine(ctx, src, quarantineFile(inputs[src.Name], src.Name, lost), lost)
		},
		Progress: func(rows, bytes int64) {
			reported += bytes
			e.report(rows, bytes, 0)
		},
	}, func(g mapper.RowGroup) error {
		if !g.More {
			mapped()
		}
		return e.emit(ctx, res, g)
	})
	if errors.Is(err, mapper.ErrMemory) {
		return nil, failf(ErrUsage, "%w: a block, or a row of another schema, can need three times its size and more, and there are %d MiB", err, e.r.memory()>>20)
	}
	if err != nil {
		return nil, err
	}
	res.RowsIn, res.InvalidUTF8 = stats.Rows, stats.InvalidUTF8
	for _, l := range stats.Losses {
		loss := manifest.Loss{Input: l.Source, Start: l.Range.Start, End: l.Range.End, Rows: l.Rows, Reason: l.Reason}
		if e.damage == mapper.Quarantine {
			loss.Quarantine = quarantineFile(inputs[l.Source], l.Source, l.Range)
		}
		res.Losses = append(res.Losses, loss)
	}
	doc, err := res.Encode()
	if err != nil {
		return nil, err
	}
	if err := e.st.WriteFile(ctx, path.Join(e.dir, taskName(t.ID)), doc, false); err != nil {
		return nil, fmt.Errorf("write the result of task %d: %w", t.ID, err)
	}
	e.mu.Lock()
	e.hasResults = true
	e.mu.Unlock()
	e.report(0, taskBytes(t)-reported, 1)
	return res, nil
}

// sources opens the pieces of a task. closeAll is to be called in any case.
func (e *engine) sources(ctx context.Context, t manifest.Task) (sources []mapper.Source, closeAll func(), err error) {
	var files []io.Closer
	closeAll = func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for _, p := range t.Pieces {
		in := e.plan.Inputs[p.Input]
		f, err := e.r.openInput(ctx, in.Path)
		if err != nil {
			return nil, closeAll, err
		}
		files = append(files, f)
		if f.Size() != in.Size {
			return nil, closeAll, failf(ErrInput, "input %s changed during the job: it had %d bytes and has %d", in.Path, in.Size, f.Size())
		}
		h, err := ocf.ReadHeader(f, in.Size, in.Path)
		if err != nil {
			return nil, closeAll, err
		}
		by, err := e.resolutions.of(in.Path, h.Schema)
		if err != nil {
			return nil, closeAll, err
		}
		sources = append(sources, mapper.Source{
			Name: in.Path, R: f, Size: in.Size, Header: h, Range: ocf.Range{Start: p.Start, End: p.End}, Resolution: by,
		})
	}
	return sources, closeAll, nil
}

// emit writes the outputs of a row group.
func (e *engine) emit(ctx context.Context, res *manifest.TaskResult, g mapper.RowGroup) (err error) {
	defer func() { err = errors.Join(err, g.Spill.Close()) }()
	group := 0
	if n := len(res.Parts); n > 0 {
		group = res.Parts[n-1].RowGroup + 1
	}
	if err := e.lock.check(ctx); err != nil {
		return err
	}
	for _, out := range g.Outputs {
		name := partName(res.Task, group, out.Suffix)
		if strings.Contains(name, "/") {
			if err := makeDir(ctx, e.st, path.Dir(path.Join(e.dir, name))); err != nil {
				return err
			}
		}
		w, err := reducer.Write(ctx, e.st, path.Join(e.dir, name), out, g.Spill)
		if err != nil {
			return err
		}
		res.Parts = append(res.Parts, manifest.Part{
			Name: name, Task: res.Task, RowGroup: group, Rows: g.Rows, Bytes: w.Size, CRC32C: w.CRC32C,
		})
	}
	return nil
}

// quarantineFile names the copy of a damaged range.
func quarantineFile(input int, name string, lost ocf.Range) string {
	return fmt.Sprintf("%s/%05d-%s@%d-%d", quarantineName, input, path.Base(name), lost.Start, lost.End)
}

// quarantine copies a damaged range into the attempt.
func (e *engine) quarantine(ctx context.Context, src mapper.Source, name string, lost ocf.Range) error {
	to := path.Join(e.dir, name)
	if info, err := e.st.Stat(ctx, to); err == nil && info.Size == lost.Len() {
		return nil
	}
	if err := makeDir(ctx, e.st, path.Dir(to)); err != nil {
		return err
	}
	return store.Retry(ctx, e.st, "write "+to, func(ctx context.Context) error {
		temp := store.TempName(to)
		w, err := e.st.Create(ctx, temp, store.CreateOptions{Size: lost.Len()})
		if err != nil {
			return err
		}
		_, err = copyContext(ctx, w, io.NewSectionReader(src.R, lost.Start, lost.Len()))
		if err == nil {
			err = w.Commit(ctx)
		}
		if err != nil {
			_ = w.Abort() // a temporary file is left at worst, and swept
			return err
		}
		if err = e.st.Rename(ctx, temp, to); err != nil {
			clean, cancel := store.Cleanup(ctx)
			defer cancel()
			_ = e.st.Remove(clean, temp)
		}
		return err
	})
}

// copyContext copies all that r holds from its start.
func copyContext(ctx context.Context, w io.Writer, r interface {
	io.ReaderAt
	Size() int64
}) (int64, error) {
	buf := make([]byte, min(copyBuffer, max(r.Size(), 1)))
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return off, err
		}
		n, err := r.ReadAt(buf, off)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return off, err
			}
			off += int64(n)
		}
		if err == io.EOF || err == nil && n == 0 {
			return off, nil
		}
		if err != nil {
			return off, err
		}
	}
}

func lostRows(res *manifest.TaskResult) (n int64) {
	for _, l := range res.Losses {
		n += max(l.Rows, 1)
	}
	return n
}

// checkLost holds the whole job to the limit that each task was held to.
func (e *engine) checkLost() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if limit := e.plan.Options.MaxLostRows; limit >= 0 && e.lost > limit {
		return failf(ErrInput, "%d rows were lost to damage, more than the %d allowed", e.lost, limit)
	}
	return nil
}

// report adds to the progress and tells the caller.
func (e *engine) report(rows, bytes int64, tasks int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.progress.Rows += rows
	e.progress.Bytes += bytes
	e.progress.Tasks += tasks
	if e.r.Progress != nil {
		e.r.Progress(e.progress)
	}
}
