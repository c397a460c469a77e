package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// interrupt runs a job on local disk until the given number of tasks are done, and returns
// the results that it left.
func interrupt(t *testing.T, r Request, tasks int) (results []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.Workers = 1
	r.Progress = func(p Progress) {
		if p.Tasks == tasks {
			cancel()
		}
	}
	if _, err := Convert(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	// Another task may have been done while the last one was reported.
	results = staged(t, r.Dest, "task-*.json")
	if len(results) < tasks {
		t.Fatalf("only %q are left", results)
	}
	return results
}

// staged returns files in the work of plans.
func staged(t *testing.T, dest, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dest, manifest.WorkName, "plan-*", pattern))
	testenv.Must(t, err)
	return files
}

// newJob returns a request to convert an input of nine tasks or more, and the contents
// of its output.
func newJob(t *testing.T) (r Request, want []string) {
	t.Helper()
	dir := t.TempDir()
	writeInput(t, filepath.Join(dir, "in", "a.avro"), 1, 60)
	r = request(t, filepath.Join(dir, "out"), filepath.Join(dir, "in"))
	want = reference(t, store.Local(), r)
	if len(want) < 6 {
		t.Fatalf("there are only %d parts", len(want))
	}
	return r, want
}

func TestResume(t *testing.T) {
	r, want := newJob(t)
	done := interrupt(t, r, 3)
	for _, name := range fileNames(t, store.Local(), r.Dest) {
		if !strings.HasPrefix(name, manifest.WorkName+"/") || store.IsTemp(filepath.Base(name)) {
			t.Errorf("%s was left", name)
		}
	}
	if len(done) == len(want) {
		t.Fatal("all tasks were done")
	}
	if out := mustConvert(t, r); out.Resumed != len(done) || len(out.Plan.Tasks) != len(want) {
		t.Errorf("resumed %d of %d, %d were done", out.Resumed, len(out.Plan.Tasks), len(done))
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestResumeDamaged checks that tasks run again if their parts differ from their results, or
// if their results are invalid.
func TestResumeDamaged(t *testing.T) {
	r, want := newJob(t)
	for name, change := range map[string]func(b []byte) []byte{
		"a bit":   func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"cut off": func(b []byte) []byte { return b[:10] },
		"more":    func(b []byte) []byte { return append(b, 0) },
		"empty":   func([]byte) []byte { return nil },
		"gone":    nil,
	} {
		for _, pattern := range []string{"part-00001-*", "task-00001.json"} {
			t.Run(fmt.Sprint(pattern, " ", name), func(t *testing.T) {
				r := r
				r.Dest = filepath.Join(t.TempDir(), "out")
				done := interrupt(t, r, 3)
				files := staged(t, r.Dest, pattern)
				if len(files) != 1 {
					t.Fatalf("there are %q", files)
				}
				b, err := os.ReadFile(files[0])
				testenv.Must(t, err)
				if change == nil {
					err = os.Remove(files[0])
				} else {
					err = os.WriteFile(files[0], change(b), 0o666)
				}
				testenv.Must(t, err)
				if out := mustConvert(t, r); out.Resumed != len(done)-1 {
					t.Errorf("resumed %d of %d, want one less", out.Resumed, len(done))
				}
				wantContents(t, store.Local(), r.Dest, want)
			})
		}
	}
}

// TestResumeElsewhere checks that the stored plan is resumed with other memory, workers and
// program.
func TestResumeElsewhere(t *testing.T) {
	r, want := newJob(t)
	done := interrupt(t, r, 4)
	r.Memory, r.Workers, r.Program = budget.New(100<<20), 7, "newer"
	if out := mustConvert(t, r); out.Resumed != len(done) {
		t.Errorf("resumed %d of %d", out.Resumed, len(done))
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestResumeAfterTheEnd checks that the work of killed processes is resumed.
func TestResumeAfterTheEnd(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		first := newPlanned(t, overwrite)
		resumed := 0
		for at := 5; at < 100; at += 12 {
			s := first.fork(t)
			s.r.Workers = 1 // so that every run does the same until a point
			s.kill(t, s.r, at)
			done := 0
			for _, name := range fileNames(t, s.st, "/out/"+manifest.WorkName) {
				if strings.HasPrefix(path.Base(name), "task-") && !store.IsTemp(path.Base(name)) {
					done++
				}
			}
			r := s.r
			r.Memory, r.Workers = budget.New(100<<20), 3
			out := mustConvert(t, r)
			if out.Resumed != done {
				t.Errorf("killed at point %d: resumed %d of %d", at, out.Resumed, done)
			}
			resumed += out.Resumed
			s.checkComplete(t)
		}
		if resumed == 0 {
			t.Error("nothing was resumed")
		}
	}
}

// smallMemory is too little memory for the plan of newJob, which has two columns with
// blocks of 64 KiB.
const smallMemory = 128 << 10

// TestResumeWithLessMemory checks that a run with too little memory is refused and keeps the
// work. Restart makes a new plan.
func TestResumeWithLessMemory(t *testing.T) {
	r, _ := newJob(t)
	done := interrupt(t, r, 4)
	small := r
	small.Memory = budget.New(smallMemory)
	_, err := Convert(t.Context(), small)
	failuretest.Want(t, err, failure.Usage, "--memory 1MiB is needed", "--restart")
	if left := staged(t, r.Dest, "task-*.json"); len(left) != len(done) {
		t.Errorf("of %d tasks, %d are left", len(done), len(left))
	}
	small.Restart = true
	out := mustConvert(t, small)
	if out.Resumed != 0 || out.Plan.BlockSize >= 64<<10 {
		t.Errorf("resumed %d tasks, with blocks of %d bytes", out.Resumed, out.Plan.BlockSize)
	}
	if out := mustConvert(t, r); !out.Nothing {
		t.Error("with the first memory, the job was done again")
	}
	if datasetRows(t, r.Dest) != datasetRows(t, r.Dest+".reference") {
		t.Error("the rows differ")
	}
}

// TestRestart checks that Restart removes the work of the earlier plan and runs all tasks
// again.
func TestRestart(t *testing.T) {
	r, want := newJob(t)
	interrupt(t, r, 3)
	r.Restart = true
	r.Progress = func(Progress) {
		if plans := staged(t, r.Dest, manifest.PlanName); len(plans) != 1 {
			t.Errorf("there is work of the plans %q, want one", plans)
		}
	}
	if out := mustConvert(t, r); out.Resumed != 0 {
		t.Errorf("resumed %d tasks", out.Resumed)
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestOtherRequestResumesNothing checks that a conversion removes the work of another
// request's run.
func TestOtherRequestResumesNothing(t *testing.T) {
	r, _ := newJob(t)
	interrupt(t, r, 3)
	r.Output.FormatOptions = []byte(`{"codec":"deflate"}`)
	other := r
	other.Dest += ".deflate"
	want := reference(t, store.Local(), other)
	if out := mustConvert(t, r); out.Resumed != 0 {
		t.Errorf("resumed %d tasks", out.Resumed)
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestAlteredPlan checks that a new plan is made if the stored plan was changed.
func TestAlteredPlan(t *testing.T) {
	r, _ := newJob(t)
	interrupt(t, r, 3)
	plans := staged(t, r.Dest, manifest.PlanName)
	if len(plans) != 1 {
		t.Fatalf("there are %q", plans)
	}
	b, err := os.ReadFile(plans[0])
	testenv.Must(t, err)
	write(t, plans[0], []byte(strings.Replace(string(b), `"block_size": 65536`, `"block_size": 16384`, 1)))
	small := r
	small.Memory = budget.New(smallMemory)
	if out := mustConvert(t, small); out.Resumed != 0 || out.Plan.BlockSize >= 64<<10 {
		t.Errorf("resumed %d tasks, with blocks of %d bytes", out.Resumed, out.Plan.BlockSize)
	}
}

// TestFailuresKeepParts checks that a rerun resumes all other tasks after the last part failed
// with an error that may not recur.
func TestFailuresKeepParts(t *testing.T) {
	r, want := newJob(t)
	r.Workers = 1
	for errno, kind := range map[syscall.Errno]error{
		syscall.EACCES: failure.Refused, syscall.EDQUOT: failure.Refused, syscall.EROFS: failure.Refused,
		syscall.ENOSPC: failure.Storage, syscall.ECONNRESET: failure.Storage,
	} {
		for _, op := range []storetest.Op{storetest.Create, storetest.Commit} {
			t.Run(fmt.Sprint(op, " ", errno), func(t *testing.T) {
				r := r
				r.Dest = filepath.Join(t.TempDir(), "out")
				faulty := r
				faulty.Resolve = storetest.ResolveTo(localStore{storetest.NewFaulty(store.Local(), storetest.Fault{Op: op, N: len(want), Err: errno})})
				_, err := Convert(t.Context(), faulty)
				failuretest.Want(t, err, kind)
				if out := mustConvert(t, r); out.Resumed != len(want)-1 {
					t.Errorf("resumed %d of %d", out.Resumed, len(want))
				}
				wantContents(t, store.Local(), r.Dest, want)
			})
		}
	}
}

// TestFailedPublishingKeepsParts checks that parts are kept if the store refuses the manifest,
// or if the destination holds a foreign file.
func TestFailedPublishingKeepsParts(t *testing.T) {
	r, want := newJob(t)
	t.Run("quota", func(t *testing.T) {
		r := r
		r.Dest = filepath.Join(t.TempDir(), "out")
		faulty := r
		faulty.Resolve = storetest.ResolveTo(quotaStore{store.Local()})
		_, err := Convert(t.Context(), faulty)
		failuretest.Want(t, err, failure.Refused)
		if out := mustConvert(t, r); out.Resumed != len(want) {
			t.Errorf("resumed %d of %d", out.Resumed, len(want))
		}
		wantContents(t, store.Local(), r.Dest, want)
	})
	t.Run("foreign", func(t *testing.T) {
		r := r
		r.Dest = filepath.Join(t.TempDir(), "out")
		notes := filepath.Join(r.Dest, "notes.txt")
		disturbed := r
		disturbed.Progress = func(p Progress) {
			if p.Tasks == p.TotalTasks {
				write(t, notes, nil)
			}
		}
		_, err := Convert(t.Context(), disturbed)
		failuretest.Want(t, err, failure.Foreign, "notes.txt")
		testenv.Must(t, os.Remove(notes))
		// The output was being published, so the next run completed it.
		if out := mustConvert(t, r); !out.Nothing {
			t.Errorf("the job was done again: resumed %d of %d", out.Resumed, len(want))
		}
		wantContents(t, store.Local(), r.Dest, want)
	})
}

// TestUnreadableResultsEndTheRun checks that tasks do not run again if the storage fails when
// their results are read.
func TestUnreadableResultsEndTheRun(t *testing.T) {
	r, want := newJob(t)
	done := interrupt(t, r, 3)
	broken := r
	broken.Resolve = storetest.ResolveTo(unreadableStore{store.Local()})
	_, err := Convert(t.Context(), broken)
	failuretest.Want(t, err, failure.Storage)
	if out := mustConvert(t, r); out.Resumed != len(done) {
		t.Errorf("resumed %d of %d", out.Resumed, len(done))
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestLossesOfResumedTasks checks that the limit of lost rows includes the losses of resumed
// tasks.
func TestLossesOfResumedTasks(t *testing.T) {
	r, _ := newJob(t)
	in := filepath.Join(r.Inputs[0], "a.avro")
	b, err := os.ReadFile(in)
	testenv.Must(t, err)
	damageBlock(t, b, 1, 0)
	damageBlock(t, b, 1, len(b)-len(b)/20)
	write(t, in, b)
	r.Output.OnDamage, r.Output.MaxLostRows = "skip", 150
	interrupt(t, r, 3)
	_, err = Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "200 rows were lost to damage, more than the 150 allowed")
	r.Output.MaxLostRows = 200
	out, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Losses, "2 damaged ranges", "200 rows")
	if out == nil || len(out.Manifest.Losses) != 2 || slices.ContainsFunc(out.Manifest.Losses, func(l manifest.Loss) bool { return l.Rows != 100 }) {
		t.Errorf("%+v", out)
	}
}
