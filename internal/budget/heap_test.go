package budget

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestHeapAccountsForItsOwner(t *testing.T) {
	p := New(100)
	a, b := p.NewHeap(), p.NewHeap()
	for _, step := range []struct {
		of               *Heap
		reserve, release int64
		need             int64 // of the error; 0 for no error
		left             int64
	}{
		{of: a, reserve: 50, left: 50},
		{of: b, reserve: 30, left: 20},
		{of: b, reserve: 21, need: 101, left: 20},
		{of: a, release: 20, left: 40},
		{of: b, reserve: 21, left: 19},
		{of: b, release: 0, left: 19},
	} {
		if step.reserve > 0 {
			check, err := step.of.Check(step.reserve), step.of.Reserve(step.reserve)
			if step.need > 0 {
				wantError(t, check, step.need, 100)
				wantError(t, err, step.need, 100)
			} else if check != nil || err != nil {
				t.Fatalf("%+v: %v, %v", step, check, err)
			}
		}
		if step.of.Release(step.release); p.Available() != step.left {
			t.Errorf("%+v: left %d", step, p.Available())
		}
	}
	if a.Close(); p.Available() != 49 {
		t.Errorf("left %d after one Close, want 49", p.Available())
	}
	if b.Close(); p.Available() != 100 {
		t.Errorf("left %d after both Closes, want 100", p.Available())
	}
	if a.Close(); p.Available() != 100 {
		t.Errorf("left %d after a repeated Close, want 100", p.Available())
	}
}

func TestNilHeapHasNoLimit(t *testing.T) {
	h := (*Pool)(nil).NewHeap()
	if h != nil {
		t.Fatal("got a heap of a nil pool")
	}
	if err := h.Check(1 << 62); err != nil {
		t.Error(err)
	}
	if err := h.Reserve(1 << 62); err != nil {
		t.Error(err)
	}
	h.Release(1 << 62)
	h.Close()
}

// collections returns how often the collector has run.
func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

// Garbage is collected only if it does not fit the pool next to the reserved memory.
func TestGarbageIsCollectedInTime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 62))
	p := New(100)
	a, b := p.NewHeap(), p.NewHeap()
	for i, step := range []struct {
		of               *Heap
		reserve, release int64
		refused          bool
		collects         uint32
	}{
		{of: a, reserve: 100, release: 60},
		{of: b, reserve: 0},                 // 40 in use, garbage of 60: fits
		{of: b, reserve: 61, refused: true}, // a collection would not help
		{of: b, reserve: 1, collects: 1},    // 41 in use, garbage of 60: too much
		{of: b, reserve: 59},                // no garbage
		{of: a, release: 40},                // 60 in use, garbage of 40
		{of: a, reserve: 40, collects: 1},   // the garbage of all owners counts
		{of: b, reserve: 0, release: 30},    // 70 in use, garbage of 30
		{of: a, reserve: 0},                 // fits
		{of: a, reserve: 10, collects: 1},   // too much
		{of: a, reserve: 10, release: 10},   // 80 in use, garbage of 10
		{of: a, reserve: 10, release: 5},    // 85 in use, garbage of 15
		{of: b, reserve: 1, collects: 1},    // one byte too much
		{of: a, reserve: 14, release: 0},    // all in use, no garbage
		{of: a, reserve: 1, refused: true},  // nothing to collect
	} {
		before := collections()
		if err := step.of.Reserve(step.reserve); (err != nil) != step.refused {
			t.Fatalf("step %d: got error %v", i, err)
		}
		step.of.Release(step.release)
		if got := collections() - before; got != step.collects {
			t.Errorf("step %d: got %d collections, want %d", i, got, step.collects)
		}
	}
	a.Close()
	b.Close()
	if p.Available() != 100 {
		t.Errorf("left %d", p.Available())
	}
}
