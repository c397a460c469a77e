package publishtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

const (
	tasks   = 2 // the last makes a directory of two files, the others make a file
	maxFile = 1 << 20
)

// mode is how a run makes the output of a request.
type mode int

const (
	overwrites       mode = iota // converts, and replaces another output and all increments
	keeps                        // converts, and replaces nothing
	commits                      // publishes the work of tasks that ran elsewhere
	adds                         // converts an increment
	commitsIncrement             // publishes the work of tasks that ran elsewhere as an increment
	replaces                     // like overwrites, but the files of what it replaces stay
)

// keepTime is how long files stay that are replaced in mode replaces. No schedule takes that long.
const keepTime = 24 * time.Hour

// tasksElsewhere reports whether the tasks of a run ran elsewhere.
func (w mode) tasksElsewhere() bool { return w == commits || w == commitsIncrement }

// replacesAll reports whether a run converts, and replaces another output and all increments.
func (w mode) replacesAll() bool { return w == overwrites || w == replaces }

// isIncrement reports whether a run makes an increment.
func (w mode) isIncrement() bool { return w == adds || w == commitsIncrement }

// run is a request and the mode in which a process makes its output.
type run struct {
	name string // name of the request
	mode mode
}

func (r run) String() string {
	return [...]string{"", "keeping ", "commit of ", "increment of ", "commit of an increment of ", "replacement by "}[r.mode] + r.name
}

// world is a destination and its history.
type world struct {
	st      store.Store
	dest    string
	plan    *manifest.Plan // plan of the tasks that ran elsewhere; nil if there are none
	sameRun bool           // whether both runs are the same
	kept    []string       // names of requests whose runs replace nothing

	mu         sync.Mutex
	clock      time.Time
	claims     []run // runs that got the destination, in order
	done       []int // indexes in claims of runs that published
	outputs    []output
	current    *manifest.Success            // the present output
	increments map[string]*manifest.Success // the present increments, by name
	added      []string                     // the plans of all increments so far
	states     []string                     // result of the method counted after each change
	violations []string                     // broken promises
	present    map[string]string            // the requests of outputs that were not replaced, by ID
	seen       map[string][]string          // the IDs that a process saw before it planned, by process
	keeping    map[string]bool              // the processes in mode replaces
	published  map[string]place             // all outputs so far, by ID
	promised   map[string]place             // the replaced outputs that stay, by ID
	later      time.Duration                // how far the clock of the storage went on since the files were written
}

// place is an output and the directory of its files.
type place struct {
	dir string
	*manifest.Success
}

// output is an output that the destination had.
type output struct {
	id, name, plan string
	hasIncrement   bool // whether the output got an increment
}

func newWorld(st store.Store, dest string) *world {
	w := &world{dest: dest, clock: time.Unix(0, 0), increments: make(map[string]*manifest.Success), states: []string{""}, present: make(map[string]string), seen: make(map[string][]string), keeping: make(map[string]bool), published: make(map[string]place), promised: make(map[string]place)}
	w.st = witness{st, w}
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

// sleep moves the clock and does not wait, so a waiting process finds that the holder did
// nothing.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
	return ctx.Err()
}

func (w *world) destination(st store.Store, m mode) *publish.Destination {
	var keep time.Duration
	if m == replaces {
		keep = keepTime
	}
	return publish.At(store.Location{Store: st, Path: w.dest}, publish.Options{
		// One file is moved at a time, so that each run of a schedule makes the same
		// calls in the same order. With several at a time, only other files would be
		// in place when a run is stopped.
		Movers: 1,
		// A waiting process reads a lock three times before it takes the lock over.
		Times: publish.Times{Heartbeat: 8 * time.Hour, Stale: 2 * time.Hour}, Now: w.now, Sleep: w.sleep,
		KeepReplaced: keep,
	})
}

// requestOf returns a request that differs from others by the path of its input.
func requestOf(name string) manifest.Request {
	return manifest.Request{Inputs: []manifest.Input{{Path: name, Size: tasks, CRC32C: new(uint32)}}, Options: manifest.Options{Format: "trevni"}}
}

func planOf(name string) (*manifest.Plan, error) {
	p := &manifest.Plan{Version: manifest.Version, Revision: manifest.Revision, Request: requestOf(name)}
	for i := range tasks {
		p.Tasks = append(p.Tasks, manifest.Task{ID: i, Pieces: []manifest.Piece{{Start: int64(i), End: int64(i) + 1}}})
	}
	var err error
	p.ID, err = p.Sum()
	return p, err
}

// content returns the contents of the files that a task makes. Their lengths are the same
// for all requests.
func content(name string, task int) []string {
	text := fmt.Sprintf("task %d of %s", task, name)
	if task < tasks-1 {
		return []string{text}
	}
	return []string{text + ", a", text + ", b and more"}
}

// execute does a run: it makes the destination hold the output of a request.
func (w *world) execute(ctx context.Context, st store.Store, r run) (err error) {
	d := w.destination(st, r.mode)
	s, err := d.ReadState(ctx)
	if err != nil {
		return err
	}
	saw := s.OutputIDs()
	if r.mode.tasksElsewhere() {
		saw = w.plan.Replaces
	}
	process := w.noteSeen("", saw)
	w.mu.Lock()
	w.keeping[process] = r.mode == replaces
	w.mu.Unlock()
	if w.isDone(s, r) && !s.Leftovers {
		return nil
	}
	if err := w.check(s, r); err != nil {
		return err
	}
	c, held, err := d.Claim(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.claims = append(w.claims, r)
	mine := len(w.claims) - 1
	w.mu.Unlock()
	published, err := w.publish(held, st, c, r, process)
	err = c.LockedOr(ctx, err)
	if published && err == nil {
		w.mu.Lock()
		w.done = append(w.done, mine)
		w.mu.Unlock()
	}
	_ = c.Release(ctx)
	return err
}

// isDone reports whether a run has nothing to do.
func (w *world) isDone(s *publish.State, r run) bool {
	request := requestOf(r.name)
	switch {
	case r.mode == commitsIncrement:
		return s.Committed(w.plan) != nil
	case r.mode == adds:
		return !s.Pending() && slices.ContainsFunc(s.Outputs(), func(o publish.Committed) bool { return nameOf(o.Success) == r.name })
	}
	return s.Finished(&request)
}

// check returns an error if a run must not fill the destination.
func (w *world) check(s *publish.State, r run) error {
	if r.mode.tasksElsewhere() {
		if w.isDone(s, r) {
			return nil
		}
		return s.CheckPlan(w.plan, true)
	}
	if r.mode == adds {
		return s.CheckIncrement()
	}
	request := requestOf(r.name)
	return s.CheckReplaceable(&request, r.mode.replacesAll())
}

// noteSeen records the IDs that a process saw before it planned, and returns the name of the
// process. With an empty name it returns a new one.
func (w *world) noteSeen(process string, ids []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if process == "" {
		process = fmt.Sprint(len(w.seen))
	}
	w.seen[process] = ids
	return process
}

func (w *world) publish(ctx context.Context, st store.Store, c *publish.Claim, r run, process string) (published bool, err error) {
	if w.isDone(c.State(), r) {
		return false, nil
	}
	// If another output came meanwhile, a conversion plans again, and a commit is refused.
	w.mu.Lock()
	saw := &manifest.Plan{Increment: r.mode.isIncrement(), Replaces: w.seen[process]}
	w.mu.Unlock()
	if !r.mode.tasksElsewhere() && len(c.State().NewSincePlan(saw)) > 0 {
		w.noteSeen(process, c.State().OutputIDs())
	}
	if err := w.check(c.State(), r); err != nil {
		return false, err
	}
	p := w.plan
	if !r.mode.tasksElsewhere() {
		if p, err = stagePlan(ctx, c, r); err != nil {
			return false, err
		}
	}
	dir := c.StagingPath(p.ID)
	for i := range tasks {
		if r.mode.tasksElsewhere() {
			break
		}
		if err := stageTask(ctx, st, dir, p, r.name, i); err != nil {
			return false, err
		}
	}
	staged := task.NewWork(p, nil, st, dir)
	if err := staged.Check(ctx, nil); err != nil {
		return false, err
	}
	_, err = c.Publish(ctx, p, staged, &manifest.Made{Run: process})
	return err == nil, err
}

// runTasks runs the tasks of a plan elsewhere, before the runs start.
func (w *world) runTasks(t *testing.T, r run) {
	t.Helper()
	d := w.destination(w.st, r.mode)
	s, err := d.ReadState(t.Context())
	testenv.Must(t, err)
	if w.plan, err = planOf(r.name); err != nil {
		t.Fatal(err)
	}
	w.plan.Dest, w.plan.Base, w.plan.Increment = w.dest, s.ID(), r.mode.isIncrement()
	if !w.plan.Increment {
		w.plan.Replaces = s.OutputIDs()
	}
	if w.plan.ID, err = w.plan.Sum(); err != nil {
		t.Fatal(err)
	}
	dir, _, err := d.Staging(t.Context(), w.plan.ID)
	if err == nil {
		err = d.KeepPlan(t.Context(), w.plan)
	}
	testenv.Must(t, err)
	for i := range tasks {
		testenv.Must(t, stageTask(t.Context(), w.st, dir, w.plan, r.name, i))
	}
}

// mustRun does a run without a fault.
func (w *world) mustRun(t *testing.T, r run) {
	t.Helper()
	testenv.Must(t, w.execute(t.Context(), w.st, r))
}

// stagePlan makes a run's plan and the directory for its work.
func stagePlan(ctx context.Context, c *publish.Claim, r run) (*manifest.Plan, error) {
	p, err := planOf(r.name)
	if err != nil {
		return nil, err
	}
	p.Increment, p.Base = r.mode.isIncrement(), c.State().ID()
	if !p.Increment {
		p.Replaces = c.State().OutputIDs()
	}
	if p.ID, err = p.Sum(); err != nil {
		return nil, err
	}
	if _, _, err := c.Staging(ctx, p.ID); err != nil {
		return nil, err
	}
	return p, c.KeepPlan(ctx, p)
}

// stageTask runs a task, unless its result is there.
func stageTask(ctx context.Context, st store.Store, dir string, p *manifest.Plan, name string, number int) error {
	file := path.Join(dir, manifest.TaskName(number))
	if _, err := st.Stat(ctx, file); !errors.Is(err, store.ErrNotExist) {
		return err
	}
	part, err := stagePart(ctx, st, dir, number, content(name, number))
	if err != nil {
		return err
	}
	res := &manifest.TaskResult{
		Version: manifest.Version, Plan: p.ID, Task: number, RowsIn: 1, Reads: make([]manifest.Read, 1),
		Parts: []manifest.Part{{Task: number, Rows: 1, Files: part}},
	}
	text, err := res.Encode()
	if err != nil {
		return err
	}
	return st.WriteFile(ctx, file, text, false)
}

// stagePart writes a part, a file or a directory of files, as a task does.
func stagePart(ctx context.Context, st store.Store, dir string, task int, content []string) (files []manifest.File, err error) {
	newName := func() string { return manifest.StagedPart(task, 0, manifest.NewID(), ".trv") }
	part := ""
	if len(content) > 1 {
		err := store.Retry(ctx, st, "make a part", func(ctx context.Context) error {
			part = newName()
			return st.Mkdir(ctx, path.Join(dir, part))
		})
		if err != nil {
			return nil, err
		}
	}
	for i, data := range content {
		f := manifest.File{Name: newName()}
		if err := st.WriteFile(ctx, path.Join(dir, f.Name), []byte(data), true); err != nil {
			return nil, err
		}
		if f.Bytes, f.CRC32C, err = store.Sum(ctx, st, path.Join(dir, f.Name), -1); err != nil {
			return nil, err
		}
		if part != "" {
			name := manifest.InPart(part, fmt.Sprint(i))
			if err := store.Move(ctx, st, path.Join(dir, f.Name), path.Join(dir, name)); err != nil {
				return nil, err
			}
			f.Name = name
		}
		files = append(files, f)
	}
	return files, nil
}

// isExpected reports whether a run may end with err while others run.
func isExpected(err error) bool {
	return err == nil || errors.Is(err, failure.Locked) || errors.Is(err, errLate) || errors.Is(err, errKilled)
}
