package jobtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// Open returns a store and an empty directory on it, which the caller removes.
type Open func(t *testing.T) (st store.Store, dir string)

var faults = []storetest.Fault{{Err: syscall.ENOSPC}, {Err: syscall.ENOSPC, Late: true}, {Err: syscall.EDQUOT}}

// faultsFor returns the faults that make a difference for an operation.
func faultsFor(op storetest.Op) []storetest.Fault {
	switch op {
	case storetest.Open, storetest.ReadAt, storetest.Stat, storetest.List, storetest.ReadFile:
		return faults[:1]
	}
	return faults
}

// forEachFault calls try for every stride-th of all single failures of a conversion,
// and for both states of the destination.
func forEachFault(t *testing.T, open Open, stride int, faults func(storetest.Op) []storetest.Fault, try func(t *testing.T, s *scene, fault storetest.Fault)) {
	for _, overwrite := range []bool{false, true} {
		st, dir := open(t)
		s := newScene(t, st, dir, overwrite)
		count := storetest.NewFaulty(st)
		if _, err := job.Convert(t.Context(), s.begin(t, count, "count")); err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, op := range storetest.Ops {
			for n := 1; n <= count.Calls(op); n++ {
				for _, fault := range faults(op) {
					if i++; i%stride != 0 {
						continue
					}
					fault.Op, fault.N = op, n
					try(t, s, fault)
					if t.Failed() {
						t.Fatalf("after %q %d failed (%v, late: %v, overwrite: %v)", op, n, fault.Err, fault.Late, overwrite)
					}
				}
			}
		}
	}
}

// Faults fails each call of each operation once, or every stride-th of these
// cases. The process continues and cleans up on a store that works again. The
// job must end with the right kind of error, or succeed, and a rerun must
// complete.
func Faults(t *testing.T, open Open, stride int) {
	kinds := map[error]error{syscall.ENOSPC: failure.Storage, syscall.EDQUOT: failure.Refused}
	forEachFault(t, open, stride, faultsFor, func(t *testing.T, s *scene, fault storetest.Fault) {
		r := s.begin(t, storetest.NewFaulty(s.st, fault), fmt.Sprint(fault.Op, fault.N, fault.Err, fault.Late))
		_, err := job.Convert(t.Context(), r)
		if err != nil && failure.KindOf(err) != kinds[fault.Err] {
			t.Errorf("error %v is of kind %v", err, failure.KindOf(err))
		}
		s.check(t, r.Dest)
		if left, _ := os.ReadDir(r.TempDir); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
		s.finish(t, r)
		s.checkComplete(t, r.Dest)
	})
}

// Patience fails each call of each operation once, or every stride-th of these
// cases, under a store that retries. The job must succeed.
func Patience(t *testing.T, open Open, stride int) {
	temporary := []storetest.Fault{{Err: syscall.ECONNRESET}, {Err: syscall.ECONNRESET, Late: true}}
	faultsFor := func(storetest.Op) []storetest.Fault { return temporary }
	forEachFault(t, open, stride, faultsFor, func(t *testing.T, s *scene, fault storetest.Fault) {
		st := store.WithRetry(storetest.NewFaulty(s.st, fault), store.Patience{Limit: time.Minute, Sleep: doNotSleep})
		r := s.begin(t, st, fmt.Sprint(fault.Op, fault.N, fault.Late))
		if _, err := job.Convert(t.Context(), r); err != nil {
			t.Error(err)
		}
		s.checkComplete(t, r.Dest)
	})
}

func doNotSleep(context.Context, time.Duration) error { return nil }

// Crashes simulates a crash of the process at each change that a job makes, or at
// every stride-th, before or after the change takes effect. A rerun must
// complete.
func Crashes(t *testing.T, open Open, stride int) {
	for _, overwrite := range []bool{false, true} {
		st, dir := open(t)
		s := newScene(t, st, dir, overwrite)
		for n, ended := 1, false; !ended; n += stride {
			for _, late := range []bool{false, true} {
				c := newCrash(st, n, late)
				r := s.begin(t, c, fmt.Sprint("crash", n, late))
				_, err := job.Convert(t.Context(), r)
				ended = !c.dead
				if err == nil && c.dead && !s.hasOutput(t, r.Dest) {
					t.Fatalf("change %d failed, and the job did not notice", n)
				}
				s.check(t, r.Dest)
				s.finish(t, r)
				s.checkComplete(t, r.Dest)
				if t.Failed() {
					t.Fatalf("after a crash at change %d (late: %v, overwrite: %v): %v", n, late, overwrite, err)
				}
			}
		}
	}
}

// CrashThenOther kills a job at each change, or at every stride-th. A second job
// with another input follows and is killed too, and then a third.
func CrashThenOther(t *testing.T, open Open, stride int) {
	for _, overwrite := range []bool{false, true} {
		st, dir := open(t)
		s := newScene(t, st, dir, overwrite)
		for n, ended := 1, false; !ended; n += stride {
			first := newCrash(st, n, false)
			r := s.begin(t, first, fmt.Sprint("other", n))
			_, _ = job.Convert(t.Context(), r)
			ended = !first.dead
			s.writeInput(t, 3, 5)
			second := s.request(t, newCrash(st, 5+n%10, false), fmt.Sprint("other", n))
			second.Overwrite = overwrite || ended
			_, _ = job.Convert(t.Context(), second)
			r = s.request(t, st, fmt.Sprint("other", n))
			r.Overwrite = second.Overwrite
			out, err := job.Convert(t.Context(), r)
			got := s.tree(t, r.Dest)
			committed := failure.KindOf(err) == failure.Foreign && s.hasOutput(t, r.Dest)
			if err != nil && !committed {
				t.Fatalf("crashes at changes %d and %d: %v", n, 5+n%10, err)
			}
			for name, sum := range got {
				// Clean removes work directories without a plan; conversions leave them.
				mayStay := name == manifest.SuccessName || committed || sum == empty || store.IsTemp(path.Base(name))
				if !mayStay && !hasPart(out.Manifest, name) {
					t.Errorf("crashes at changes %d and %d: %s is left over", n, 5+n%10, name)
				}
			}
			s.writeInput(t, 2, 12)
		}
	}
}

func hasPart(m *manifest.Success, name string) bool {
	return slices.ContainsFunc(m.Files(), func(f manifest.File) bool { return f.Name == name })
}

// Refusals checks that a job leaves nothing if the destination never works.
func Refusals(t *testing.T, open Open) {
	st, dir := open(t)
	s := newScene(t, st, dir, false)
	for errno, kind := range map[syscall.Errno]error{syscall.ENOSPC: failure.Storage, syscall.EDQUOT: failure.Refused, syscall.EROFS: failure.Refused} {
		for _, op := range []storetest.Op{storetest.Mkdir, storetest.WriteFile, storetest.Create, storetest.Write, storetest.Commit} {
			r := s.begin(t, storetest.NewFaulty(st, storetest.Fault{Op: op, Err: errno}), fmt.Sprint(op, errno))
			_, err := job.Convert(t.Context(), r)
			if failure.KindOf(err) != kind {
				t.Errorf("%s, %v: %v of kind %v", op, errno, err, failure.KindOf(err))
			}
			if _, err := st.Stat(t.Context(), r.Dest); !errors.Is(err, store.ErrNotExist) {
				t.Errorf("%s: the destination is left: %v, %v", op, err, s.tree(t, r.Dest))
			}
		}
	}
}

// Corruption checks that a job fails, and leaves nothing, if bytes change without an error while
// they are written.
func Corruption(t *testing.T, open Open) {
	st, dir := open(t)
	s := newScene(t, st, dir, false)
	r := s.begin(t, storetest.NewFaulty(st, storetest.Fault{Op: storetest.Write}), "out")
	_, err := job.Convert(t.Context(), r)
	if failure.KindOf(err) != failure.Storage || !errors.Is(err, store.ErrMismatch) {
		t.Errorf("the job ended with %v", err)
	}
	if _, err := st.Stat(t.Context(), r.Dest); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("the destination is left: %v, %v", err, s.tree(t, r.Dest))
	}
}
