package publishtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Open returns a store and a directory for a destination, which is empty or does not exist.
// All stores that it returns for one test share their files.
type Open func(t *testing.T) (st store.Store, dir string)

// pair is two runs at the same time.
type pair struct {
	before       []run // done before, without faults
	first, other run
	everyNth     int // runs one of so many schedules, because other pairs have similar schedules
}

func (p pair) String() string { return fmt.Sprintf("%v, then %s and %s", p.before, p.first, p.other) }

var (
	outputP       = []run{{"P", overwrites}}
	withIncrement = []run{{"P", overwrites}, {"H", adds}}
	withKept      = []run{{"P", overwrites}, {"H", adds}, {"Q", replaces}, {"I", adds}}
)

var pairs = []pair{
	{nil, run{"P", overwrites}, run{"P", overwrites}, 1},
	{nil, run{"P", overwrites}, run{"Q", overwrites}, 2},
	{outputP, run{"Q", overwrites}, run{"Q", overwrites}, 4},
	{outputP, run{"Q", overwrites}, run{"P", overwrites}, 4},
	{outputP, run{"Q", overwrites}, run{"R", overwrites}, 4},
	{nil, run{"P", keeps}, run{"Q", keeps}, 4},
	{outputP, run{"Q", overwrites}, run{"R", keeps}, 4},
	{nil, run{"P", commits}, run{"P", commits}, 1},
	{nil, run{"P", commits}, run{"Q", keeps}, 2},
	{outputP, run{"Q", commits}, run{"R", overwrites}, 4},
	{outputP, run{"R", overwrites}, run{"Q", commits}, 4},
	{nil, run{"I", adds}, run{"I", adds}, 4},
	{withIncrement, run{"I", adds}, run{"J", adds}, 4},
	{withIncrement, run{"I", adds}, run{"Q", overwrites}, 4},
	{withIncrement, run{"Q", overwrites}, run{"I", adds}, 4},
	{[]run{{"H", adds}}, run{"Q", overwrites}, run{"I", adds}, 8},
	{outputP, run{"I", commitsIncrement}, run{"I", commitsIncrement}, 8},
	{withIncrement, run{"I", commitsIncrement}, run{"I", adds}, 8},
	{withIncrement, run{"I", commitsIncrement}, run{"Q", overwrites}, 8},
	{withIncrement, run{"Q", overwrites}, run{"I", commitsIncrement}, 8},
	{withIncrement, run{"I", adds}, run{"Q", commits}, 8},
	{withIncrement, run{"Q", commits}, run{"I", adds}, 8},
	{withIncrement, run{"Q", replaces}, run{"R", replaces}, 8},
	{withIncrement, run{"Q", replaces}, run{"I", adds}, 8},
	{withKept, run{"P", replaces}, run{"R", overwrites}, 8},
	{withKept, run{"R", overwrites}, run{"P", replaces}, 8},
}

// Pairs runs schedules of two runs: the first run has a fault at its n-th call, the other at its
// m-th call. Then the first run continues, then the other. Pairs runs one of stride schedules.
// With a stride of 1, it runs all schedules that differ.
func Pairs(t *testing.T, open Open, stride int) {
	for _, p := range pairs {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			all, done, stride := 0, 0, stride*p.everyNth
			for a := range faultKinds {
				for b := range faultKinds {
					s := schedule{pair: p, a: a, b: b}
					calls, others := s.countCalls(t, open)
					for gcd(others, stride) > 1 {
						others++ // otherwise some calls of the other run never have the fault
					}
					for at := all % stride; at < calls*others && !t.Failed(); at += stride {
						s.n, s.m, s.retry = 1+at/others, 1+at%others, done%2 == 0
						s.run(t, open)
						done++
					}
					if t.Failed() {
						t.Fatalf("in %s", s)
					}
					all += calls * others
				}
			}
			t.Logf("%d of %d schedules", done, all)
		})
	}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// schedule is a pair of runs with their faults, at the n-th and the m-th call.
type schedule struct {
	pair
	a, b  fault
	n, m  int
	retry bool // whether failed calls are retried
}

// noCall is the number of a call that no run makes.
const noCall = 1 << 30

// countCalls returns the number of calls that each run's fault affects. The number for the
// other run depends on the call at which the first run has its fault.
func (s schedule) countCalls(t *testing.T, open Open) (calls, others int) {
	s.n, s.m = noCall, noCall
	calls, others = s.run(t, open)
	for quarter := range 5 {
		s.n = max(calls*quarter/4, 1)
		_, found := s.run(t, open)
		others = max(others, found)
	}
	return calls, others
}

// run returns the number of calls of each run that its fault affects.
func (s schedule) run(t *testing.T, open Open) (calls, others int) {
	w := newWorld(open(t))
	for _, r := range s.before {
		w.mustRun(t, r)
	}
	for _, r := range []run{s.first, s.other} {
		if r.mode.tasksElsewhere() && w.plan == nil {
			w.runTasks(t, r)
		}
		if r.mode == keeps {
			w.kept = append(w.kept, r.name)
		}
	}
	w.sameRun = s.first == s.other
	first := w.start(t, s.first, s.a, s.n, s.retry)
	other := w.start(t, s.other, s.b, s.m, s.retry)
	w.finish(t, first)
	w.finish(t, other)
	w.checkEnd(t)
	return first.calls, other.calls
}

// process is a run with its own gate.
type process struct {
	*gate
	run
	done chan error
}

// start starts a run, and returns when it is frozen or has ended.
func (w *world) start(t *testing.T, r run, what fault, at int, patient bool) process {
	t.Helper()
	p := process{newGate(w.st, what, at), r, make(chan error, 1)}
	var seen store.Store = p.gate
	if patient {
		seen = store.WithRetry(p.gate, store.Patience{Limit: time.Minute, Sleep: func(context.Context, time.Duration) error { return nil }})
	}
	go func() { p.done <- w.execute(t.Context(), seen, r) }()
	select {
	case err := <-p.done:
		p.done <- err
	case <-p.frozen:
	}
	w.mustRead(t)
	return p
}

// finish continues a run that is frozen and waits for its end. Then it carries out the calls
// that the run still had under way.
func (w *world) finish(t *testing.T, p process) {
	t.Helper()
	close(p.wake)
	if err := <-p.done; !isExpected(err) && (w.sameRun || p.mode.replacesAll() || !errors.Is(err, failure.Foreign)) {
		t.Errorf("%s ended with %v", p.run, err)
	}
	w.mustRead(t)
	p.doLateCalls()
	w.mustRead(t)
}

// Random runs three runs at the same time, each with a random fault at a random call. They go
// on in a random order.
func Random(t *testing.T, open Open, schedules int) {
	for seed := range schedules {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		w := newWorld(open(t))
		requests := []string{"P", "Q", "R"}
		if r.IntN(4) > 0 {
			w.mustRun(t, run{"P", overwrites})
		}
		planned := run{"Q", commits}
		if r.IntN(2) == 0 {
			planned = run{"I", commitsIncrement}
		}
		if r.IntN(2) == 0 {
			w.runTasks(t, planned)
		}
		var runs []process
		for range 3 {
			what := fault(r.IntN(int(faultKinds)))
			at := 1 + r.IntN(80)
			if what != freeze {
				at = 1 + r.IntN(30)
			}
			does := run{requests[r.IntN(3)], []mode{overwrites, replaces}[r.IntN(2)]}
			if r.IntN(2) == 0 {
				does = run{[]string{"I", "J"}[r.IntN(2)], adds}
			}
			if w.plan != nil && r.IntN(4) == 0 {
				does = planned
			}
			runs = append(runs, w.start(t, does, what, at, r.IntN(2) == 0))
			for _, p := range runs {
				if r.IntN(4) == 0 {
					p.doLateCalls()
				}
			}
		}
		r.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		for _, p := range runs {
			w.finish(t, p)
		}
		w.checkEnd(t)
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
	}
}

// Readers freezes a reader at each of its calls and replaces outputs before the reader
// goes on.
func Readers(t *testing.T, open Open) {
	add, over := run{"I", adds}, run{"Q", overwrites}
	for _, between := range [][]run{
		{over}, {over, {"P", overwrites}}, {over, {"R", overwrites}, {"P", overwrites}},
		{add}, {add, over}, {over, add}, {add, {"J", adds}, over, {"I", adds}},
	} {
		for n, met := 1, true; met; n++ {
			w := newWorld(open(t))
			for _, r := range withIncrement {
				w.mustRun(t, r)
			}
			g := newGate(w.st, freeze, n)
			done, found, before := make(chan error, 1), "", len(w.states)-1
			go func() {
				var err error
				found, err = w.read(t.Context(), g)
				done <- err
			}()
			select {
			case err := <-done:
				done <- err
			case <-g.frozen:
				for _, r := range between {
					w.mustRun(t, r)
				}
			}
			close(g.wake)
			if err := <-done; err != nil && !errors.Is(err, errChanging) {
				t.Errorf("a reader frozen at call %d during %s: %v", n, between, err)
			} else if err == nil && !slices.Contains(w.states[before:], found) {
				t.Errorf("a reader frozen at call %d during %s found %q, want one of %q", n, between, found, w.states[before:])
			}
			met = g.occurred()
		}
	}
}

func (s schedule) String() string {
	return fmt.Sprintf("%v, then %s (%s at call %d) and %s (%s at call %d), retry: %v", s.before, s.first, s.a, s.n, s.other, s.b, s.m, s.retry)
}
