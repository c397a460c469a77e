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

// way is how a run makes the output of a request.
type way int

const (
	overwrites       way = iota // it converts, and replaces another output and all increments
	keeps                       // it converts, and does not
	commits                     // it publishes what tasks left that ran elsewhere
	adds                        // it converts, as an increment beside what is there
	commitsIncrement            // it publishes what tasks left, as an increment
)

// elsewhere reports whether the tasks of a run ran elsewhere.
func (w way) elsewhere() bool { return w == commits || w == commitsIncrement }

// isIncrement reports whether a run's output is to be beside others.
func (w way) isIncrement() bool { return w == adds || w == commitsIncrement }

// run is what a process does.
type run struct {
	name string // of the request
	how  way
}

func (r run) String() string {
	return [...]string{"", "keeping ", "commit of ", "increment of ", "commit of an increment of "}[r.how] + r.name
}

// world is a destination, and what happened to it.
type world struct {
	st    store.Store
	dest  string
	plan  *manifest.Plan // the one whose tasks ran elsewhere, if any did
	alike bool           // all runs do the same
	kept  []string       // requests whose runs replace nothing

	mu         sync.Mutex
	clock      time.Time
	claims     []run // that got the destination, in order
	done       []int // index in claims of those that published
	outputs    []output
	top        *manifest.Success            // of the output that is there
	increments map[string]*manifest.Success // that are there, by their names
	added      []string                     // the plans of all increments that came
	states     []string                     // what counted, one after the other
	faults     []string                     // what must not happen to increments
	present    map[string]string            // the requests of what came and was not replaced, by IDs
	seen       map[string][]string          // the IDs that processes saw before they planned, by processes
}

// output is what became the output of the destination.
type output struct {
	id, name, plan string
	beside         bool // an increment came beside it
}

func newWorld(st store.Store, dest string) *world {
	w := &world{dest: dest, clock: time.Unix(0, 0), increments: make(map[string]*manifest.Success), states: []string{""}, present: make(map[string]string), seen: make(map[string][]string)}
	w.st = witness{st, w}
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

// sleep does not wait: who watches a lock finds that nothing happened meanwhile.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
	return ctx.Err()
}

func (w *world) destination(st store.Store) *publish.Destination {
	return publish.At(store.Location{Store: st, Path: w.dest}, publish.Options{
		// One file is moved at a time, so that each run of a schedule makes the same
		// calls in the same order. What several at a time can leave behind, some
		// files in and others not, only differs in which ones those are.
		Movers: 1,
		// A waiter looks at a lock three times before it takes it over.
		Times: publish.Times{Heartbeat: 8 * time.Hour, Stale: 2 * time.Hour}, Now: w.now, Sleep: w.sleep,
	})
}

// requestOf is a request that is told from others by the path of its input.
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

// content is what is in the files that a task makes; it has the same length
// whatever the request.
func content(name string, task int) []string {
	text := fmt.Sprintf("task %d of %s", task, name)
	if task < tasks-1 {
		return []string{text}
	}
	return []string{text + ", a", text + ", b and more"}
}

// do is a run: it makes the destination hold the output of a request.
func (w *world) do(ctx context.Context, st store.Store, r run) (err error) {
	d := w.destination(st)
	s, err := d.Look(ctx)
	if err != nil {
		return err
	}
	saw := s.Holds()
	if r.how.elsewhere() {
		saw = w.plan.Replaces
	}
	me := w.sees("", saw)
	if w.nothing(s, r) && !s.Leftovers {
		return nil
	}
	if err := w.allow(s, r); err != nil {
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
	published, err := w.work(held, st, c, r, me)
	err = c.Judge(ctx, err)
	if published && err == nil {
		w.mu.Lock()
		w.done = append(w.done, mine)
		w.mu.Unlock()
	}
	_ = c.Release(ctx)
	return err
}

// nothing reports whether there is nothing to do for a run.
func (w *world) nothing(s *publish.State, r run) bool {
	request := requestOf(r.name)
	switch {
	case r.how == commitsIncrement:
		return s.Committed(w.plan) != nil
	case r.how == adds:
		return !s.Pending() && slices.ContainsFunc(s.Outputs(), func(o publish.Committed) bool { return nameOf(o.Success) == r.name })
	}
	return s.Finished(&request)
}

// allow is an error if a run must not fill the destination as it is.
func (w *world) allow(s *publish.State, r run) error {
	if r.how.elsewhere() {
		if w.nothing(s, r) {
			return nil
		}
		return s.AllowPlan(w.plan, true)
	}
	if r.how == adds {
		return s.AllowIncrement()
	}
	request := requestOf(r.name)
	return s.Allow(&request, r.how == overwrites)
}

// sees notes what a process saw before it planned, and returns its name; with an empty
// name it is a new one.
func (w *world) sees(process string, ids []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if process == "" {
		process = fmt.Sprint(len(w.seen))
	}
	w.seen[process] = ids
	return process
}

func (w *world) work(ctx context.Context, st store.Store, c *publish.Claim, r run, me string) (published bool, err error) {
	if w.nothing(c.State(), r) {
		return false, nil
	}
	// A conversion looks again if something came meanwhile; a commit is refused.
	w.mu.Lock()
	saw := &manifest.Plan{Increment: r.how.isIncrement(), Replaces: w.seen[me]}
	w.mu.Unlock()
	if !r.how.elsewhere() && len(c.State().Unseen(saw)) > 0 {
		w.sees(me, c.State().Holds())
	}
	if err := w.allow(c.State(), r); err != nil {
		return false, err
	}
	p := w.plan
	if !r.how.elsewhere() {
		if p, err = begin(ctx, c, r); err != nil {
			return false, err
		}
	}
	dir := c.StagingPath(p.ID)
	for i := range tasks {
		if r.how.elsewhere() {
			break
		}
		if err := stage(ctx, st, dir, p, r.name, i); err != nil {
			return false, err
		}
	}
	staged := task.WorkIn(p, nil, st, dir)
	if err := staged.Check(ctx, nil); err != nil {
		return false, err
	}
	_, err = c.Publish(ctx, p, staged, &manifest.Made{Run: me})
	return err == nil, err
}

// runTasks runs the tasks of a plan elsewhere, before anything happens.
func (w *world) runTasks(t *testing.T, r run) {
	t.Helper()
	d := w.destination(w.st)
	s, err := d.Look(t.Context())
	testenv.Must(t, err)
	if w.plan, err = planOf(r.name); err != nil {
		t.Fatal(err)
	}
	w.plan.Dest, w.plan.Base, w.plan.Increment = w.dest, s.ID(), r.how.isIncrement()
	if !w.plan.Increment {
		w.plan.Replaces = s.Holds()
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
		testenv.Must(t, stage(t.Context(), w.st, dir, w.plan, r.name, i))
	}
}

// mustRun is a run in no trouble.
func (w *world) mustRun(t *testing.T, r run) {
	t.Helper()
	testenv.Must(t, w.do(t.Context(), w.st, r))
}

// begin makes the directory for the work of a run's plan.
func begin(ctx context.Context, c *publish.Claim, r run) (*manifest.Plan, error) {
	p, err := planOf(r.name)
	if err != nil {
		return nil, err
	}
	p.Increment, p.Base = r.how.isIncrement(), c.State().ID()
	if !p.Increment {
		p.Replaces = c.State().Holds()
	}
	if p.ID, err = p.Sum(); err != nil {
		return nil, err
	}
	if _, _, err := c.Staging(ctx, p.ID); err != nil {
		return nil, err
	}
	return p, c.KeepPlan(ctx, p)
}

// stage does a task, unless it was done.
func stage(ctx context.Context, st store.Store, dir string, p *manifest.Plan, name string, number int) error {
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

// stagePart writes a file, or a directory of files, as a task does.
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

// harmless reports whether a run may end like this when others are at work.
func harmless(err error) bool {
	return err == nil || errors.Is(err, failure.Locked) || errors.Is(err, errLate) || errors.Is(err, errKilled)
}
