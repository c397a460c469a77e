package publish

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

var idPattern = regexp.MustCompile(`[0-9a-f]{16}`)

// fakeClock is a clock whose sleep returns at once.
type fakeClock struct{ time time.Time }

func (c *fakeClock) now() time.Time { return c.time }

func (c *fakeClock) sleep(ctx context.Context, d time.Duration) error {
	c.time = c.time.Add(d)
	return ctx.Err()
}

// at returns a destination with a fake clock, so that a silent holder is taken over without
// waiting.
func at(st store.Store, dest string) *Destination {
	c := &fakeClock{}
	return At(store.Location{Store: st, Path: dest}, Options{
		Times: Times{Heartbeat: time.Hour, Stale: time.Hour}, Now: c.now, Sleep: c.sleep,
	})
}

// inMemory returns a destination that does not exist yet.
func inMemory(t *testing.T) (*Destination, store.Store) {
	t.Helper()
	st := memstore.New().Client()
	testenv.Must(t, st.Mkdir(t.Context(), "/parent"))
	return at(st, "/parent/dest"), st
}

func requestOf(name string) *manifest.Request {
	return &manifest.Request{Inputs: []manifest.Input{{Path: name, Size: 2, CRC32C: new(uint32)}}, Options: manifest.Options{Format: "trevni"}}
}

func planOf(t *testing.T, name string) *manifest.Plan { return planOfTasks(t, name, 2) }

// planFor returns a plan that is made for the present state of a destination.
func planFor(t *testing.T, d *Destination, name string, tasks int) *manifest.Plan {
	t.Helper()
	p := planOfTasks(t, name, tasks)
	s := stateOf(t, d)
	p.Base, p.Replaces = s.ID(), s.OutputIDs()
	p.ID = newPlanID(t, p)
	return p
}

// newPlanID returns the ID of a plan that was changed.
func newPlanID(t *testing.T, p *manifest.Plan) string {
	t.Helper()
	id, err := p.Sum()
	testenv.Must(t, err)
	return id
}

// planOfTasks returns a plan of an input of two bytes. The first two tasks read one byte each,
// and the other tasks none.
func planOfTasks(t *testing.T, name string, tasks int) *manifest.Plan {
	t.Helper()
	p := &manifest.Plan{Version: manifest.Version, Revision: manifest.Revision, Request: *requestOf(name)}
	for i := range tasks {
		p.Tasks = append(p.Tasks, manifest.Task{ID: i, Pieces: []manifest.Piece{{Start: int64(min(i, 2)), End: int64(min(i+1, 2))}}})
	}
	var err error
	if p.ID, err = p.Sum(); err != nil {
		t.Fatal(err)
	}
	return p
}

// stageTasks writes the work of the tasks of a plan, and of the last step, into a
// directory. The second task lost bytes and keeps a copy of them, and its part is a
// directory of two files.
func stageTasks(t *testing.T, st store.Store, dir string, p *manifest.Plan) (results []*manifest.TaskResult) {
	t.Helper()
	write := func(name, text string) manifest.File {
		testenv.Must(t, st.WriteFile(t.Context(), path.Join(dir, name), []byte(text), true))
		size, crc, err := store.Sum(t.Context(), st, path.Join(dir, name), -1)
		testenv.Must(t, err)
		return manifest.File{Name: name, Bytes: size, CRC32C: crc}
	}
	keep := func(r *manifest.TaskResult) {
		doc, err := r.Encode()
		if err == nil {
			err = st.WriteFile(t.Context(), path.Join(dir, manifest.TaskName(r.Task)), doc, false)
		}
		testenv.Must(t, err)
		results = append(results, r)
	}
	for i := range p.Tasks {
		text := fmt.Sprintf("task %d of %s", i, p.Request.Inputs[0].Path)
		r := &manifest.TaskResult{Version: manifest.Version, Plan: p.ID, Task: i, RowsIn: 1, Reads: make([]manifest.Read, 1)}
		part := manifest.StagedPart(i, 0, manifest.NewID(), ".trv")
		if i == 1 {
			err := store.Retry(t.Context(), st, "make a part", func(ctx context.Context) error {
				part = manifest.StagedPart(i, 0, manifest.NewID(), ".trv")
				return st.Mkdir(ctx, path.Join(dir, part))
			})
			testenv.Must(t, err)
			files := []manifest.File{write(manifest.InPart(part, "a"), text), write(manifest.InPart(part, "retired-b"), text+", again")}
			r.Parts = []manifest.Part{{Task: i, Rows: 1, Files: files}}
		} else {
			r.Parts = []manifest.Part{{Task: i, Rows: 1, Files: []manifest.File{write(part, text)}}}
		}
		if i == 1 {
			f := write(manifest.StagedQuarantine(manifest.NewID(), 0, "a.avro", 0, 2), "in")
			r.Losses = []manifest.Loss{{Input: p.Request.Inputs[0].Path, End: 2, Rows: 1, Quarantine: &f}}
		}
		r.Side = []manifest.File{write(manifest.StagedSide(manifest.NewID(), i, "keys"), "keys of "+text)}
		keep(r)
	}
	keep(&manifest.TaskResult{
		Version: manifest.Version, Plan: p.ID, Task: len(p.Tasks),
		Index: []manifest.File{write(manifest.StagedIndex(manifest.NewID(), "id"), "index of "+p.Request.Inputs[0].Path)},
	})
	return results
}

// mustClaim claims the destination.
func mustClaim(t *testing.T, d *Destination) (*Claim, context.Context) {
	t.Helper()
	c, held, err := d.Claim(t.Context())
	testenv.Must(t, err)
	return c, held
}

// mustRelease releases a claim.
func mustRelease(t *testing.T, c *Claim) {
	t.Helper()
	testenv.Must(t, c.Release(t.Context()))
}

// claimAndStage claims the destination and stages the work of a plan.
func claimAndStage(t *testing.T, d *Destination, name string) (*Claim, context.Context, *work) {
	t.Helper()
	c, held := mustClaim(t, d)
	return c, held, stageWork(t, c, name)
}

// claimAndRelease claims and releases the destination, which clears it up.
func claimAndRelease(t *testing.T, d *Destination) {
	t.Helper()
	c, _ := mustClaim(t, d)
	mustRelease(t, c)
}

// mustPublish publishes the work of a plan.
func mustPublish(t *testing.T, c *Claim, r *work) *manifest.Success {
	t.Helper()
	s, err := c.Publish(c.held, r.Plan, r.Work, nil)
	testenv.Must(t, err)
	return s
}

// work is the work of the tasks of a plan and of the last step.
type work struct {
	Plan *manifest.Plan
	Dir  string
	*task.Work
}

// stageWork stages the work of a plan.
func stageWork(t *testing.T, c *Claim, name string) *work {
	t.Helper()
	return stageWorkOfTasks(t, c, name, 2)
}

func stageWorkOfTasks(t *testing.T, c *Claim, name string, tasks int) *work {
	t.Helper()
	return stagePlan(t, c.Destination, planFor(t, c.Destination, name, tasks))
}

func stagePlan(t *testing.T, d *Destination, p *manifest.Plan) *work {
	t.Helper()
	dir, _, err := d.Staging(t.Context(), p.ID)
	if err == nil {
		err = d.KeepPlan(t.Context(), p)
	}
	testenv.Must(t, err)
	stageTasks(t, d.st, dir, p)
	return checkedWork(t, d.st, dir, p)
}

// checkedWork returns the work of a plan in a directory, checked as a commit does.
func checkedWork(t *testing.T, st store.Store, dir string, p *manifest.Plan) *work {
	t.Helper()
	w := task.NewWork(p, nil, st, dir)
	testenv.Must(t, w.Check(t.Context(), nil))
	last, err := w.Finished(t.Context(), len(p.Tasks))
	testenv.Must(t, err)
	w.Results = append(w.Results, last)
	return &work{p, dir, w}
}

// withHooks returns a destination that does not exist yet, on a store with hooks.
func withHooks(t *testing.T) (*Destination, *hookStore) {
	t.Helper()
	_, inner := inMemory(t)
	st := &hookStore{Store: inner}
	return at(st, "/parent/dest"), st
}

// hookStore is a store that calls a hook, if it is set, instead of or before an operation.
type hookStore struct {
	store.Store
	rename func(from, to string, do func() error) error
	write  func(p string, do func() error) error
	read   func(p string) error
}

func (o *hookStore) Rename(ctx context.Context, from, to string) error {
	do := func() error { return o.Store.Rename(context.WithoutCancel(ctx), from, to) } // a request cannot be canceled
	if o.rename != nil {
		return o.rename(from, to, do)
	}
	return do()
}

func (o *hookStore) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	do := func() error { return o.Store.WriteFile(ctx, p, b, exclusive) }
	if o.write != nil {
		return o.write(p, do)
	}
	return do()
}

func (o *hookStore) ReadFile(ctx context.Context, p string, max int64) ([]byte, error) {
	if o.read != nil {
		if err := o.read(p); err != nil {
			return nil, err
		}
	}
	return o.Store.ReadFile(ctx, p, max)
}

func (o *hookStore) Open(ctx context.Context, p string) (store.File, error) {
	if o.read != nil {
		if err := o.read(p); err != nil {
			return nil, err
		}
	}
	return o.Store.Open(ctx, p)
}

// stageInDir stages the work of a plan, and returns its directory.
func stageInDir(t *testing.T, d *Destination, p *manifest.Plan) string {
	t.Helper()
	r := stagePlan(t, d, p)
	return r.Dir
}

// publishOutput makes the destination hold the output of a request.
func publishOutput(t *testing.T, d *Destination, st store.Store, name string) *manifest.Success {
	t.Helper()
	c, _ := mustClaim(t, d)
	r := stageWork(t, c, name)
	s := mustPublish(t, c, r)
	mustRelease(t, c)
	return s
}

// namesBelow returns the names in a directory and below it, with the text ID in place of IDs.
func namesBelow(t *testing.T, st store.Store, dir string) string {
	t.Helper()
	var all []string
	var walk func(dir, below string)
	walk = func(dir, below string) {
		infos, err := st.List(t.Context(), dir)
		testenv.Must(t, err)
		for _, info := range infos {
			all = append(all, path.Join(below, info.Name))
			if info.Dir && !info.Link {
				walk(info.Path, path.Join(below, info.Name))
			}
		}
	}
	walk(dir, "")
	for i := range all {
		all[i] = idPattern.ReplaceAllString(all[i], "ID")
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// wantOnlyOutput requires that the destination holds one output and nothing else.
func wantOnlyOutput(t *testing.T, st store.Store, dir string) {
	t.Helper()
	const whole = "_SUCCESS _index _index/ID _index/ID/id _quarantine _quarantine/ID _quarantine/ID/00000-a.avro@0-2 part-00000-0-ID.trv " +
		"part-00001-0-ID.trv part-00001-0-ID.trv/a part-00001-0-ID.trv/retired-b"
	if got := namesBelow(t, st, dir); got != whole {
		t.Errorf("got files %s, want %s", got, whole)
	}
}

// wantFinished requires that the next holder finds or completes an output, and leaves nothing
// else.
func wantFinished(t *testing.T, d *Destination, name string) {
	t.Helper()
	c, _ := mustClaim(t, d)
	if !c.State().Finished(requestOf(name)) {
		t.Errorf("output %s is not there", name)
	}
	mustRelease(t, c)
	wantOnlyOutput(t, d.st, d.path)
}
