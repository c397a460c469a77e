package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestRun checks that the files of a plan have the same bytes and different names with
// different workers and memory.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	a, rowsOfA := writeInput(t, dir, "a.avro", 30)
	b, rowsOfB := writeInput(t, dir, "b.avro", 1)
	p := newPlan(t, 16<<10, a, b)
	p.Request.Options.RowGroupSize = 12 << 10 // tasks then have several row groups
	seal(t, p)
	schema, err := shred.ParseSchema(p.Schema)
	testenv.Must(t, err)
	mapping, err := shred.Map(schema, shred.Options{})
	testenv.Must(t, err)
	var first []manifest.File
	seen := make(map[string]bool)
	for _, o := range []struct {
		workers int
		memory  int64
		mapping *shred.Mapping
	}{{2, 128 << 20, nil}, {1, 1 << 20, mapping}, {8, 1 << 30, nil}} {
		opts := options(t)
		opts.Workers, opts.Memory, opts.Mapping = o.workers, budget.New(o.memory), o.mapping
		var last Progress
		opts.Progress = func(p Progress) { last = p }
		dir, results := mustRun(t, p, opts)
		if got := readRows(t, store.Local(), dir, results); got != rowsOfA+rowsOfB {
			t.Errorf("%d workers: the rows differ", o.workers)
		}
		var size int64
		for _, in := range p.Request.Inputs {
			size += in.Size
		}
		if want := (Progress{Rows: 3100, Bytes: size, Tasks: len(p.Tasks)}); last != want {
			t.Errorf("%d workers: final progress %+v, want %+v", o.workers, last, want)
		}
		files := withoutNames(t, p, dir, results, seen)
		if first == nil {
			first = files
		}
		if !slices.Equal(files, first) || len(files) <= len(p.Tasks) {
			t.Errorf("%d workers: files are %v, want %v", o.workers, files, first)
		}
	}
}

// withoutNames returns the files of results without their names. It checks that the names are
// new, and that dir holds only these files and the results.
func withoutNames(t *testing.T, p *manifest.Plan, dir string, results []*manifest.TaskResult, seen map[string]bool) (files []manifest.File) {
	t.Helper()
	left := fileNames(t, dir)
	for i, res := range results {
		found, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), i)
		if err != nil || !reflect.DeepEqual(found, res) || res.Made.Program != "test" {
			t.Errorf("task %d: the result that was stored is %+v, %v; want %+v", i, found, err, res)
		}
		left = slices.DeleteFunc(left, func(name string) bool { return name == manifest.TaskName(i) })
		for _, f := range res.Files() {
			if seen[f.Name] || f.Role != "data" {
				t.Errorf("%+v has a name that was used, or no role", f)
			}
			seen[f.Name] = true
			left = slices.DeleteFunc(left, func(name string) bool { return name == f.Name })
			f.Name = ""
			files = append(files, f)
		}
	}
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	return files
}

// TestRunTwiceAtOnce checks that two Runners can run the same tasks in one directory.
func TestRunTwiceAtOnce(t *testing.T) {
	in, want := writeInput(t, t.TempDir(), "a.avro", 20)
	p := newPlan(t, 8<<10, in)
	dir := t.TempDir()
	var both [2][]*manifest.TaskResult
	var wg sync.WaitGroup
	for i := range both {
		r := mustOpen(t, p, options(t))
		wg.Go(func() {
			var err error
			if both[i], err = r.Run(t.Context(), store.Local(), dir, allTasks(p)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, results := range both {
		if got := readRows(t, store.Local(), dir, results); got != want {
			t.Error("the rows differ")
		}
	}
	for n := range p.Tasks {
		if res, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), n); res == nil || err != nil {
			t.Errorf("task %d is not finished, %v", n, err)
		}
	}
}

func TestNoTasks(t *testing.T) {
	p := newPlan(t, 1)
	o := options(t)
	dead := filepath.Join(o.TempDir, "rowtocol-spill-1")
	testenv.Must(t, os.Mkdir(dead, 0o777))
	r, err := Open(p, o)
	testenv.Must(t, err)
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the spills of a dead process remain: %v", err)
	}
	if results, err := r.Run(t.Context(), store.Local(), "/nowhere", nil); len(results) > 0 || err != nil {
		t.Errorf("%v, %v", results, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left := fileNames(t, o.TempDir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestRefusals(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 10)
	for name, tt := range map[string]struct {
		plan    func(*manifest.Plan)
		options func(*Options)
		kind    error
		text    string
	}{
		"on damage":       {func(p *manifest.Plan) { p.Request.Options.OnDamage = "ignore" }, nil, failure.Usage, "ignore"},
		"schema":          {func(p *manifest.Plan) { p.Schema = "{" }, nil, failure.Input, "plan"},
		"no columns":      {func(p *manifest.Plan) { p.Schema = `{"type":"record","name":"R","fields":[]}` }, nil, failure.Input, "plan"},
		"columns":         {func(p *manifest.Plan) { p.Columns = 1 }, nil, failure.Input, "2 columns, want 1"},
		"no block size":   {func(p *manifest.Plan) { p.BlockSize = 0 }, nil, failure.Input, "column blocks of 0 bytes"},
		"huge block size": {func(p *manifest.Plan) { p.BlockSize = 1<<30 + 1 }, func(o *Options) { o.Memory = budget.New(1 << 40) }, failure.Input, "column blocks of"},
		"no row groups":   {func(p *manifest.Plan) { p.Request.Options.RowGroupSize = 0 }, nil, failure.Input, "row groups of 0 bytes"},
		"memory":          {nil, func(o *Options) { o.Memory = budget.New(5 << 10) }, failure.Usage, "--memory 1MiB is needed"},
		"temporary":       {nil, func(o *Options) { o.TempDir += "/no" }, failure.Usage, "/no does not exist"},
		"disk": {func(p *manifest.Plan) { p.Ratio, p.Request.Options.RowGroupSize = 1e18, 1<<60 }, nil,
			failure.Storage, "are needed"},
		"format":  {func(p *manifest.Plan) { p.Request.Options.Format = "orc" }, nil, failure.Usage, `unknown format "orc"`},
		"options": {func(p *manifest.Plan) { p.Request.Options.FormatOptions = []byte(`{"codek":"null"}`) }, nil, failure.Usage, "codek"},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := newPlan(t, 1<<20, in), options(t)
			if tt.plan != nil {
				tt.plan(p)
				seal(t, p)
			}
			if tt.options != nil {
				tt.options(&o)
			}
			dir := t.TempDir()
			r, err := Open(p, o)
			if err == nil {
				_, err = r.Run(t.Context(), store.Local(), dir, allTasks(p))
				err = errors.Join(err, r.Close())
			}
			failuretest.Want(t, err, tt.kind, tt.text)
			if left := fileNames(t, dir); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestNumbersOutsideOfThePlan(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 1)
	p := newPlan(t, 1<<20, in)
	for _, n := range []int{-1, 1} {
		_, err := mustOpen(t, p, options(t)).Run(t.Context(), store.Local(), t.TempDir(), []int{n})
		failuretest.Want(t, err, failure.Usage, fmt.Sprintf("no task %d", n))
	}
}

func TestCanceled(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 30)
	p := newPlan(t, 4<<10, in)
	o, dir := options(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p Progress) {
		if p.Tasks == 2 {
			cancel()
		}
	}
	results, err := mustOpen(t, p, o).Run(ctx, store.Local(), dir, allTasks(p))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	stored := 0
	for n, res := range results {
		found, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), n)
		if err != nil || res != nil && found == nil {
			t.Errorf("task %d: result %v, stored %v, %v", n, res, found, err)
		}
		if found != nil {
			stored += 1 + len(found.Files())
		}
	}
	// A task leaves its files if writing the result failed, because the result may exist.
	if left := fileNames(t, dir); stored < 4 || len(left) < stored || len(left) > stored+2*o.Workers {
		t.Errorf("unfinished tasks left %v", left)
	}
}

// TestUploadsLetOthersMap checks that a task can map its input while another uploads, with a
// single worker.
func TestUploadsLetOthersMap(t *testing.T) {
	in, want := writeInput(t, t.TempDir(), "a.avro", 10)
	p := newPlan(t, 10<<10, in)
	o, dir := options(t), t.TempDir()
	o.Workers = 1
	creates, commits, second := atomic.Int64{}, atomic.Int64{}, make(chan struct{})
	st := storetest.Inject(store.Local(), func(c *storetest.Call) error {
		switch {
		case c.Op == storetest.Create && creates.Add(1) == 2:
			close(second)
		case c.Op == storetest.Commit && commits.Add(1) == 1:
			select {
			case <-second:
			case <-c.Ctx.Done():
				return c.Ctx.Err()
			}
		}
		return c.Do()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // otherwise a defect would hang
	defer cancel()
	results, err := mustOpen(t, p, o).Run(ctx, st, dir, allTasks(p))
	if err != nil || readRows(t, store.Local(), dir, results) != want {
		t.Errorf("error %v, or the rows differ", err)
	}
}

func TestDivide(t *testing.T) {
	const mib, open = 1 << 20, 6 << 20 // a task that maps then takes 30 MiB
	for _, tt := range []struct {
		tasks, workers int
		memory         int64
		remote         bool
		want           share // spill and reserved in MiB
	}{
		{1, 1, 30 * mib, false, share{1, 1, 1, 12 * mib, 12, 30, 0}},
		{1, 1, 1 * mib, false, share{1, 1, 1, 6 * mib, 3, 1, 0}}, // one task always runs
		{1, 1, 21 * mib, false, share{1, 1, 1, 10 * mib, 5, 21, 0}},
		{9, 1, 512 * mib, false, share{1, 1, 1, 64 * mib, 12, 82, 0}},
		{9, 1, 512 * mib, true, share{1, 2, 1, 64 * mib, 12, 98, 0}},
		{9, 2, 512 * mib, false, share{2, 4, 1, 64 * mib, 12, 196, 0}},
		{3, 2, 512 * mib, false, share{2, 3, 1, 64 * mib, 12, 180, 0}},
		{1, 8, 512 * mib, false, share{1, 1, 8, 64 * mib, 12, 82, 0}},
		{3, 8, 138 * mib, true, share{3, 3, 3, 16 * mib, 12, 102, 0}},
		{9, 8, 68 * mib, false, share{2, 2, 4, 13 * mib, 12, 62, 0}},
		{9, 2, 100 * mib, false, share{2, 3, 1, 15 * mib, 12, 82, 0}},
	} {
		tt.want.spill, tt.want.reserved = tt.want.spill*mib, tt.want.reserved*mib
		if got := divide(tt.tasks, tt.workers, tt.memory, open, tt.remote); got != tt.want {
			t.Errorf("%d tasks, %d workers, %d MiB, remote %v: %+v, want %+v", tt.tasks, tt.workers, tt.memory/mib, tt.remote, got, tt.want)
		}
	}
}

// TestLittleDisk checks that fewer tasks upload when the disk has no room for more.
func TestLittleDisk(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 10)
	p, o := newPlan(t, 4<<10, in), options(t)
	o.Workers = 1
	free := int64(1 << 20)
	for spill.CheckFree(o.TempDir, free*5/4) == nil {
		free = free * 5 / 4
	}
	for _, tt := range []struct {
		each int64
		want int
	}{{free / 4, 2}, {free / 4 * 3, 1}} {
		p.Ratio, p.Request.Options.RowGroupSize = 1e18, tt.each
		seal(t, p)
		s, err := mustOpen(t, p, o).share(allTasks(p), true)
		if err != nil || s.running != tt.want {
			t.Errorf("%d of %d bytes for each: %+v, %v", tt.each, free, s, err)
		}
	}
}

// TestPlanOfOneTask checks that a task gets the same memory and makes the same bytes if the
// plan lacks the other tasks and their inputs.
func TestPlanOfOneTask(t *testing.T) {
	st := memstore.New().Client()
	resolve := func(name string) (store.Location, error) {
		if name == "" {
			return store.Resolve(name)
		}
		return store.Location{Store: st, Path: name}, nil
	}
	for _, name := range []string{"/a.avro", "/b.avro"} {
		file := avroFile(t, avrotest.Schema, inputBlocks(name[1:], 5)...)
		testenv.Must(t, st.WriteFile(t.Context(), name, file, true))
	}
	p, o := newPlanOn(t, resolve, 1<<20, "/a.avro", "/b.avro"), options(t)
	o.Resolve = resolve
	reduced := *p
	reduced.Tasks, reduced.Request.Inputs = make([]manifest.Task, 2), make([]manifest.Input, 2)
	reduced.Tasks[1], reduced.Request.Inputs[1] = p.Tasks[1], p.Request.Inputs[1]
	var shares []share
	var crcs []uint32
	for _, p := range []*manifest.Plan{p, &reduced} {
		r := mustOpen(t, p, o)
		s, err := r.share([]int{1}, true)
		testenv.Must(t, err)
		results, err := r.Run(t.Context(), st, "/", []int{1})
		testenv.Must(t, err)
		shares, crcs = append(shares, s), append(crcs, results[0].Parts[0].Files[0].CRC32C)
		if found, err := NewWork(p, nil, st, "/").Finished(t.Context(), 1); err != nil || found == nil {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if shares[0] != shares[1] || crcs[0] != crcs[1] {
		t.Errorf("shares %+v and bytes %08x", shares, crcs)
	}
}
