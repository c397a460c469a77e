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

// Open returns a store, shared with all stores that it returned for the test,
// and an empty directory on it.
type Open func(t *testing.T) (st store.Store, dir string)

// pair is two runs that meet.
type pair struct {
	before       []run // what is there at first
	first, other run
	thin         int // one of so many schedules is enough, as other pairs have their like
}

func (p pair) String() string { return fmt.Sprintf("%v, then %s and %s", p.before, p.first, p.other) }

var (
	outputP       = []run{{"P", overwrites}}
	withIncrement = []run{{"P", overwrites}, {"H", adds}}
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
}

// Pairs runs pairs of troubles: the first run gets into trouble at its n-th call,
// the other at its m-th; then the first goes on, then the other. One of stride
// schedules is taken; with 1, all that differ.
func Pairs(t *testing.T, open Open, stride int) {
	for _, p := range pairs {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			all, done, stride := 0, 0, stride*p.thin
			for a := range troubles {
				for b := range troubles {
					s := schedule{pair: p, a: a, b: b}
					calls, others := s.measure(t, open)
					for gcd(others, stride) > 1 {
						others++ // else calls of the other are never tried
					}
					for at := all % stride; at < calls*others && !t.Failed(); at += stride {
						s.n, s.m, s.patient = 1+at/others, 1+at%others, done%2 == 0
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

// schedule is one way in which two runs meet.
type schedule struct {
	pair
	a, b    trouble
	n, m    int
	patient bool // calls that fail are tried again
}

// never is a call that no run makes.
const never = 1 << 30

// measure returns how many calls there are at which each run can get into its
// trouble. The other's depend on where the first got into its own.
func (s schedule) measure(t *testing.T, open Open) (calls, others int) {
	s.n, s.m = never, never
	calls, others = s.run(t, open)
	for quarter := range 5 {
		s.n = max(calls*quarter/4, 1)
		_, found := s.run(t, open)
		others = max(others, found)
	}
	return calls, others
}

// run returns how many calls each run made that matter to its trouble.
func (s schedule) run(t *testing.T, open Open) (calls, others int) {
	w := newWorld(open(t))
	for _, r := range s.before {
		w.mustRun(t, r)
	}
	for _, r := range []run{s.first, s.other} {
		if r.how.elsewhere() && w.plan == nil {
			w.runTasks(t, r)
		}
		if r.how == keeps {
			w.kept = append(w.kept, r.name)
		}
	}
	w.alike = s.first == s.other
	first := w.start(t, s.first, s.a, s.n, s.patient)
	other := w.start(t, s.other, s.b, s.m, s.patient)
	w.finish(t, first)
	w.finish(t, other)
	w.settle(t)
	return first.calls, other.calls
}

// process is a run in a process of its own.
type process struct {
	*gate
	run
	done chan error
}

// start runs until the trouble comes or the run has ended.
func (w *world) start(t *testing.T, r run, what trouble, at int, patient bool) process {
	t.Helper()
	p := process{newGate(w.st, what, at), r, make(chan error, 1)}
	var seen store.Store = p.gate
	if patient {
		seen = store.WithRetry(p.gate, store.Patience{Limit: time.Minute, Sleep: func(context.Context, time.Duration) error { return nil }})
	}
	go func() { p.done <- w.do(t.Context(), seen, r) }()
	select {
	case err := <-p.done:
		p.done <- err
	case <-p.frozen:
	}
	w.mustRead(t)
	return p
}

// finish wakes a run and waits for its end; then what it still had under way is
// done.
func (w *world) finish(t *testing.T, p process) {
	t.Helper()
	close(p.wake)
	if err := <-p.done; !harmless(err) && (w.alike || p.how == overwrites || !errors.Is(err, failure.Foreign)) {
		t.Errorf("%s ended with %v", p.run, err)
	}
	w.mustRead(t)
	p.land()
	w.mustRead(t)
}

// Random lets three runs meet, each in some trouble at some call, which go on in
// some order.
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
			what := trouble(r.IntN(int(troubles)))
			at := 1 + r.IntN(80)
			if what != freeze {
				at = 1 + r.IntN(30)
			}
			does := run{requests[r.IntN(3)], overwrites}
			if r.IntN(2) == 0 {
				does = run{[]string{"I", "J"}[r.IntN(2)], adds}
			}
			if w.plan != nil && r.IntN(4) == 0 {
				does = planned
			}
			runs = append(runs, w.start(t, does, what, at, r.IntN(2) == 0))
			for _, p := range runs {
				if r.IntN(4) == 0 {
					p.land()
				}
			}
		}
		r.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		for _, p := range runs {
			w.finish(t, p)
		}
		w.settle(t)
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
	}
}

// Readers freezes a reader at each of its calls, and lets outputs be replaced
// until it goes on.
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
				t.Errorf("a reader that stopped at call %d, while %s were made: %v", n, between, err)
			} else if err == nil && !slices.Contains(w.states[before:], found) {
				t.Errorf("a reader that stopped at call %d, while %s were made, found %q of %q", n, between, found, w.states[before:])
			}
			met = g.met()
		}
	}
}

func (s schedule) String() string {
	return fmt.Sprintf("%v, then %s (%s at call %d) and %s (%s at call %d), patient: %v", s.before, s.first, s.a, s.n, s.other, s.b, s.m, s.patient)
}
