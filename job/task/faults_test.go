package task

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// mixedFormats has a format that stores some row groups as files, and others as
// directories.
var mixedFormats = format.Registry{formattest.Split{Format: trevni.Format, Only: func(size int64) bool { return size%2 == 0 }}}

// damagedPlan returns a plan of two tasks, one of which loses a block.
func damagedPlan(t *testing.T) *manifest.Plan {
	t.Helper()
	in, _ := writeInput(t, t.TempDir(), "a.avro", 8)
	p := newPlan(t, 8<<10, in)
	p.Request.Options.OnDamage, p.Request.Options.RowGroupSize = "quarantine", 6<<10
	damageBlock(t, in)
	seal(t, p)
	return p
}

// TestFaults checks that a result is valid if it exists, and that a task without a result
// leaves nothing, after each call to the store failed in turn, before or after its effect.
func TestFaults(t *testing.T) {
	p, o := damagedPlan(t), options(t)
	o.Workers, o.Formats, o.Sink = 1, mixedFormats, newFirsts("")
	probe := storetest.NewFaulty(store.Local())
	testenv.Must(t, runInTurn(t, p, o, probe, t.TempDir()))
	if dirs, parts := countDirs(t, p); dirs == 0 || dirs == parts {
		t.Fatalf("%d of %d parts are directories", dirs, parts)
	}
	failed := 0
	for _, op := range storetest.Ops {
		for n := 1; n <= probe.Calls(op); n++ {
			for _, late := range []bool{false, true} {
				fault := storetest.Fault{Op: op, N: n, Err: syscall.EIO, Late: late}
				failed++
				dir, st := t.TempDir(), storetest.NewFaulty(store.Local(), fault)
				if err := runInTurn(t, p, o, st, dir); !errors.Is(err, syscall.EIO) {
					t.Errorf("%+v: error is %v", fault, err)
				}
				checkLeft(t, p, dir, fault)

				patient := store.WithRetry(storetest.NewFaulty(store.Local(), fault), store.Patience{
					Limit: time.Minute, Sleep: func(context.Context, time.Duration) error { return nil },
				})
				if err := runInTurn(t, p, o, patient, dir); err != nil {
					t.Errorf("%+v, with patience: %v", fault, err)
				}
			}
		}
	}
	if failed < 30 {
		t.Errorf("only %d faults were tried", failed)
	}
}

// countDirs returns how many of a plan's parts are directories.
func countDirs(t *testing.T, p *manifest.Plan) (dirs, parts int) {
	t.Helper()
	o := options(t)
	o.Formats = mixedFormats
	_, results := mustRun(t, p, o)
	for _, res := range results {
		for _, part := range res.Parts {
			if parts++; part.Entry().Dir {
				dirs++
			}
		}
	}
	return dirs, parts
}

// runInTurn runs the tasks of a plan one after another, until one fails.
func runInTurn(t *testing.T, p *manifest.Plan, o Options, st store.Store, dir string) error {
	t.Helper()
	r := mustOpen(t, p, o)
	for n := range p.Tasks {
		if _, err := r.Run(t.Context(), st, dir, []int{n}); err != nil {
			return err
		}
	}
	return nil
}

func checkLeft(t *testing.T, p *manifest.Plan, dir string, fault storetest.Fault) {
	t.Helper()
	left := fileNames(t, dir)
	known := []string{}
	for n := range p.Tasks {
		doc := manifest.TaskName(n)
		res, err := NewWork(p, newFirsts(""), store.Local(), dir).Finished(t.Context(), n)
		if err != nil || res == nil && slices.Contains(left, doc) {
			t.Errorf("%+v: an invalid result of task %d, %v", fault, n, err)
		}
		if res != nil {
			known = append(known, doc)
			for _, e := range res.Entries() {
				known = append(known, e.Name)
			}
		}
	}
	// No result names a file whose Create had an effect and failed. The files of a
	// result stay if writing it failed, because it may have been written.
	if fault.Op == storetest.Create && fault.Late || fault.Op == storetest.WriteFile {
		return
	}
	if len(left) != len(known) {
		t.Errorf("%+v: left %v, want %v", fault, left, known)
	}
}

// TestPowerCuts checks that a result is valid if it exists, and that the task can run, after
// the power was cut at each point of the task.
func TestPowerCuts(t *testing.T) {
	p, o := damagedPlan(t), options(t)
	o.Workers, o.Formats, o.Sink = 1, mixedFormats, newFirsts("")
	r := mustOpen(t, p, o)
	for n, stopped := 1, true; stopped; n++ {
		disk := memstore.New()
		c := disk.Client()
		c.StopAt(n)
		_, err := r.Run(t.Context(), c, "/", []int{0})
		if stopped = c.Stopped(); stopped != errors.Is(err, memstore.ErrStopped) {
			t.Fatalf("stopped at point %d: %v, error is %v", n, stopped, err)
		}
		disk.Cut(uint64(n))
		st := disk.Client()
		res, err := NewWork(p, newFirsts(""), st, "/").Finished(t.Context(), 0)
		if err != nil || res == nil && !stopped {
			t.Fatalf("after a cut at point %d: %v, %v", n, res, err)
		}
		if doc, err := st.ReadFile(t.Context(), filepath.Join("/", manifest.TaskName(0)), manifest.MaxSize); err == nil && res == nil {
			t.Fatalf("after a cut at point %d: an invalid result: %s", n, doc)
		}
		if _, err := r.Run(t.Context(), st, "/", []int{0}); err != nil {
			t.Fatalf("run after a cut at point %d: %v", n, err)
		}
		if res, err := NewWork(p, newFirsts(""), st, "/").Finished(t.Context(), 0); res == nil || err != nil {
			t.Fatalf("run after a cut at point %d: %v, %v", n, res, err)
		}
	}
}

// TestFinishedFails checks that Finished distinguishes errors of the storage from invalid
// results.
func TestFinishedFails(t *testing.T) {
	p := damagedPlan(t)
	dir, _ := mustRun(t, p, options(t))
	for _, fault := range []storetest.Fault{
		{Op: storetest.ReadFile, N: 1, Err: syscall.EIO},
		{Op: storetest.Open, N: 2, Err: syscall.EACCES},
		{Op: storetest.ReadAt, N: 1, Err: syscall.EIO},
	} {
		res, err := NewWork(p, nil, storetest.NewFaulty(store.Local(), fault), dir).Finished(t.Context(), 0)
		if res != nil || !errors.Is(err, fault.Err) {
			t.Errorf("%+v: %v, %v", fault, res, err)
		}
	}
	for _, fault := range []storetest.Fault{
		{Op: storetest.ReadFile, N: 1, Err: store.ErrTooLarge},
		{Op: storetest.Open, N: 1, Err: store.ErrBeingWritten},
	} {
		if res, err := NewWork(p, nil, storetest.NewFaulty(store.Local(), fault), dir).Finished(t.Context(), 0); res != nil || !errors.Is(err, failure.Foreign) {
			t.Errorf("%+v: %v, %v", fault, res, err)
		}
	}
}
