package publishtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/publish"
	"github.com/rowtocol/rowtocol/store"
)

const (
	tasks   = 2 // the last makes a directory of two files, the others make a file
	maxFile = 1 << 20
)

// none is the request of no output.
const none = "none"

// way is how a run makes the output of a request.
type way int

const (
	overwrites way = iota // it converts, and replaces another output
	keeps                 // it converts, and does not
	commits               // it publishes what tasks left that ran elsewhere
)

// run is what a process does.
type run struct {
	name string // of the request
	how  way
}

func (r run) String() string { return [...]string{"", "keeping ", "commit of "}[r.how] + r.name }

// world is a destination, and what happened to it.
type world struct {
	st    store.Store
	dest  string
	plan  *manifest.Plan // the one whose tasks ran elsewhere, if any did
	alike bool           // all runs are of one request
	kept  []string       // requests whose runs replace nothing

	mu      sync.Mutex
	clock   time.Time
	claims  []run // that got the destination, in order
	done    []int // index in claims of those that published
	outputs []output
}

// output is what became the output of the destination.
type output struct{ id, name, plan string }

func newWorld(st store.Store, dest string) *world {
	w := &world{dest: dest, clock: time.Unix(0, 0)}
	w.st = witness{st, w}
	return w
}

// witness is a store that notes the outputs.
type witness struct {
	store.Store
	w *world
}

func (s witness) Rename(ctx context.Context, from, to string) error {
	err := s.Store.Rename(ctx, from, to)
	if err == nil && to == path.Join(s.w.dest, manifest.SuccessName) {
		if m, _ := s.w.success(ctx, s.Store); m != nil {
			s.w.mu.Lock()
			defer s.w.mu.Unlock()
			s.w.outputs = append(s.w.outputs, output{m.ID, m.Request.Inputs[0].Path, m.Plan})
		}
	}
	return err
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
	return manifest.Request{Inputs: []manifest.Input{{Path: name, Size: tasks}}, Options: manifest.Options{Format: "test"}}
}

func planOf(name string) (*manifest.Plan, error) {
	p := &manifest.Plan{Version: manifest.Version, Request: requestOf(name)}
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
	request := requestOf(r.name)
	s, err := d.Look(ctx)
	if err != nil {
		return err
	}
	if s.Finished(&request) && !s.Leftovers {
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
	unfinished := len(c.Runs()) > 0
	published, err := w.work(held, st, c, r)
	err = c.Judge(ctx, err)
	if published && err == nil {
		w.mu.Lock()
		w.done = append(w.done, mine)
		w.mu.Unlock()
	}
	_ = c.Release(ctx, err != nil && (unfinished || r.how != commits))
	return err
}

// allow is an error if a run must not fill the destination as it is.
func (w *world) allow(s *publish.State, r run) error {
	if r.how == commits {
		return s.AllowPlan(w.plan, true)
	}
	request := requestOf(r.name)
	return s.Allow(&request, r.how == overwrites)
}

func (w *world) work(ctx context.Context, st store.Store, c *publish.Claim, r run) (published bool, err error) {
	request := requestOf(r.name)
	if c.State().Finished(&request) {
		return false, nil
	}
	if err := w.allow(c.State(), r); err != nil {
		return false, err
	}
	var into *publish.Run
	if r.how == commits {
		into, err = c.Take(ctx, w.plan)
	} else {
		into, err = begin(ctx, c, r.name)
	}
	if err != nil {
		return false, err
	}
	results := make([]*manifest.TaskResult, tasks)
	for i := range results {
		if r.how == commits {
			results[i], err = result(ctx, st, into, i)
		} else {
			results[i], err = stage(ctx, st, into, r.name, i)
		}
		if err != nil {
			return false, err
		}
	}
	_, err = c.Publish(ctx, into, results, nil)
	return err == nil, err
}

// runTasks runs the tasks of a plan elsewhere, before anything happens.
func (w *world) runTasks(t *testing.T, name string) {
	t.Helper()
	d := w.destination(w.st)
	s, err := d.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.plan, err = planOf(name); err != nil {
		t.Fatal(err)
	}
	w.plan.Dest, w.plan.Base = w.dest, s.ID()
	if w.plan.ID, err = w.plan.Sum(); err != nil {
		t.Fatal(err)
	}
	dir, err := d.Staging(t.Context(), w.plan.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		if _, err := stage(t.Context(), w.st, &publish.Run{Dir: dir, Plan: w.plan}, name, i); err != nil {
			t.Fatal(err)
		}
	}
}

// mustRun is a run in no trouble.
func (w *world) mustRun(t *testing.T, r run) {
	t.Helper()
	if err := w.do(t.Context(), w.st, r); err != nil {
		t.Fatal(err)
	}
}

// begin goes on with a run of the same request, or starts one.
func begin(ctx context.Context, c *publish.Claim, name string) (*publish.Run, error) {
	p, err := planOf(name)
	if err != nil {
		return nil, err
	}
	for _, r := range c.Runs() {
		if r.Plan != nil && r.Plan.ID == p.ID {
			return r, nil
		}
	}
	return c.Begin(ctx, p)
}

// result is what a task left.
func result(ctx context.Context, st store.Store, r *publish.Run, task int) (*manifest.TaskResult, error) {
	text, err := st.ReadFile(ctx, path.Join(r.Dir, manifest.TaskName(task)), maxFile)
	if err != nil {
		return nil, err
	}
	return manifest.DecodeTaskResult(text, r.Plan.ID, task)
}

// stage does a task, unless it was done.
func stage(ctx context.Context, st store.Store, r *publish.Run, name string, task int) (*manifest.TaskResult, error) {
	if res, err := result(ctx, st, r, task); !errors.Is(err, store.ErrNotExist) {
		return res, err
	}
	part, err := stagePart(ctx, st, r.Dir, task, content(name, task))
	if err != nil {
		return nil, err
	}
	res := &manifest.TaskResult{
		Version: manifest.Version, Plan: r.Plan.ID, Task: task, RowsIn: 1,
		Parts: []manifest.Part{{Task: task, Rows: 1, Files: part}},
	}
	text, err := res.Encode()
	if err != nil {
		return nil, err
	}
	return res, st.WriteFile(ctx, path.Join(r.Dir, manifest.TaskName(task)), text, false)
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

// errChanging is what a reader is told while outputs change.
var errChanging = errors.New("the output changes")

// read reads the output as readers do, and returns whose it is: the request's
// name, or nothing if there is no output. An error other than errChanging is a
// fault of who published.
func (w *world) read(ctx context.Context, st store.Store) (string, error) {
	s, err := w.success(ctx, st)
	if s == nil || err != nil {
		return "", err
	}
	name := s.Request.Inputs[0].Path
	for _, part := range s.Parts {
		if err := w.readPart(ctx, st, s, part); err != nil {
			return "", err
		}
	}
	if len(s.Parts) != tasks {
		return "", fmt.Errorf("the output has %d parts", len(s.Parts))
	}
	return name, nil
}

// readPart reads the files of a part.
func (w *world) readPart(ctx context.Context, st store.Store, s *manifest.Success, part manifest.Part) error {
	want := content(s.Request.Inputs[0].Path, part.Task)
	if len(part.Files) != len(want) {
		return fmt.Errorf("part %d has %d files", part.Task, len(part.Files))
	}
	for i, f := range part.Files {
		data, err := st.ReadFile(ctx, path.Join(w.dest, f.Name), maxFile)
		if errors.Is(err, store.ErrNotExist) {
			now, err := w.success(ctx, st)
			if err == nil && (now == nil || now.ID != s.ID) {
				return errChanging
			}
			return fmt.Errorf("%s is missing (%v)", f.Name, err)
		}
		if err != nil {
			return err
		}
		if string(data) != want[i] {
			return fmt.Errorf("%s holds %q", f.Name, data)
		}
	}
	return nil
}

func (w *world) success(ctx context.Context, st store.Store) (*manifest.Success, error) {
	text, err := st.ReadFile(ctx, path.Join(w.dest, manifest.SuccessName), maxFile)
	if errors.Is(err, store.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return manifest.DecodeSuccess(text)
}

// harmless reports whether a run may end like this when others are at work.
func harmless(err error) bool {
	return err == nil || errors.Is(err, failure.Locked) || errors.Is(err, errLate) || errors.Is(err, errKilled)
}
