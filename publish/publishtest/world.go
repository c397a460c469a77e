package publishtest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/publish"
	"github.com/rowtocol/rowtocol/store"
)

const (
	tasks   = 2
	maxFile = 1 << 20
)

// world is a destination, and what happened to it.
type world struct {
	dest string

	mu     sync.Mutex
	clock  time.Time
	claims []string // requests of the runs that got the destination, in order
	done   []int    // index in claims of those that published
}

func newWorld(dest string) *world { return &world{dest: dest, clock: time.Unix(0, 0)} }

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

// content is what a task makes; it has the same length whatever the request.
func content(name string, task int) string { return fmt.Sprintf("task %d of %s", task, name) }

// convert is a run: it makes the destination hold the output of a request.
func (w *world) convert(ctx context.Context, st store.Store, name string) (err error) {
	d := w.destination(st)
	request := requestOf(name)
	s, err := d.Look(ctx)
	if err != nil {
		return err
	}
	if s.Finished(&request) && !s.Leftovers {
		return nil
	}
	if err := s.Allow(&request, true); err != nil {
		return err
	}
	c, held, err := d.Claim(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.claims = append(w.claims, name)
	mine := len(w.claims) - 1
	w.mu.Unlock()
	published, err := w.work(held, st, c, name)
	err = c.Judge(ctx, err)
	if published && err == nil {
		w.mu.Lock()
		w.done = append(w.done, mine)
		w.mu.Unlock()
	}
	_ = c.Release(ctx, err != nil)
	return err
}

func (w *world) work(ctx context.Context, st store.Store, c *publish.Claim, name string) (published bool, err error) {
	request := requestOf(name)
	if c.State().Finished(&request) {
		return false, nil
	}
	if err := c.State().Allow(&request, true); err != nil {
		return false, err
	}
	r, err := begin(ctx, c, name)
	if err != nil {
		return false, err
	}
	results := make([]*manifest.TaskResult, tasks)
	for i := range results {
		if results[i], err = stage(ctx, st, r, name, i); err != nil {
			return false, err
		}
	}
	_, err = c.Publish(ctx, r, results, nil)
	return err == nil, err
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

// stage does a task, unless it was done.
func stage(ctx context.Context, st store.Store, r *publish.Run, name string, task int) (*manifest.TaskResult, error) {
	doc := path.Join(r.Dir, manifest.TaskName(task))
	text, err := st.ReadFile(ctx, doc, maxFile)
	if err == nil {
		return manifest.DecodeTaskResult(text, r.Plan.ID, task)
	}
	if !errors.Is(err, store.ErrNotExist) {
		return nil, err
	}
	data := content(name, task)
	file := manifest.StagedPart(task, 0, manifest.NewID(), ".trv")
	if err := st.WriteFile(ctx, path.Join(r.Dir, file), []byte(data), true); err != nil {
		return nil, err
	}
	size, crc, err := store.Sum(ctx, st, path.Join(r.Dir, file))
	if err != nil {
		return nil, err
	}
	res := &manifest.TaskResult{
		Version: manifest.Version, Plan: r.Plan.ID, Task: task, RowsIn: 1,
		Parts: []manifest.Part{{Task: task, Rows: 1, Files: []manifest.File{{Name: file, Bytes: size, CRC32C: crc}}}},
	}
	if text, err = res.Encode(); err != nil {
		return nil, err
	}
	return res, st.WriteFile(ctx, doc, text, false)
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
	for i, f := range s.Files() {
		data, err := st.ReadFile(ctx, path.Join(w.dest, f.Name), maxFile)
		if errors.Is(err, store.ErrNotExist) {
			now, err := w.success(ctx, st)
			if err == nil && (now == nil || now.ID != s.ID) {
				return "", errChanging
			}
			return "", fmt.Errorf("%s is missing (%v)", f.Name, err)
		}
		if err != nil {
			return "", err
		}
		if string(data) != content(name, i) {
			return "", fmt.Errorf("%s of %s holds %q", f.Name, name, data)
		}
	}
	if len(s.Parts) != tasks {
		return "", fmt.Errorf("the output has %d parts", len(s.Parts))
	}
	return name, nil
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

// mustRead requires that a reader finds one output, or is told why not.
func (w *world) mustRead(t *testing.T, st store.Store) string {
	t.Helper()
	name, err := w.read(t.Context(), st)
	if err != nil && !errors.Is(err, errChanging) {
		t.Errorf("a reader: %v", err)
	}
	return name
}

// settle requires that the last run that ended well is the one whose output is
// there, unless a later one began to replace it; that any run completes; and
// that it leaves its output and nothing else.
func (w *world) settle(t *testing.T, st store.Store) {
	t.Helper()
	name := w.mustRead(t, st)
	last := -1
	for _, i := range w.done {
		last = max(last, i)
	}
	if last >= 0 && last == len(w.claims)-1 && name != w.claims[last] {
		t.Errorf("the last run made the output of %s, but %q is there", w.claims[last], name)
	}
	if err := w.convert(t.Context(), st, "Z"); err != nil {
		t.Errorf("a run at the end: %v", err)
	}
	if name := w.mustRead(t, st); name != "Z" {
		t.Errorf("after a run at the end there is the output of %q", name)
	}
	infos, err := st.List(t.Context(), w.dest)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	if len(names) != tasks+1 || names[0] != manifest.SuccessName {
		t.Errorf("after a run at the end there are %s", strings.Join(names, " "))
	}
}

// harmless reports whether a run may end like this when others are at work.
func harmless(err error) bool {
	return err == nil || errors.Is(err, failure.Locked) || errors.Is(err, errLate) || errors.Is(err, errKilled)
}
