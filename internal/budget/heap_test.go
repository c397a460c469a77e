package budget

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// TestHeapsShareThePool checks what reservations and releases of two heaps leave in the pool.
func TestHeapsShareThePool(t *testing.T) {
	p := New(100)
	a, b := p.NewHeap(), p.NewHeap()
	for _, step := range []struct {
		heap             *Heap
		reserve, release int64
		wantNeed         int64 // Need of the error; 0 if Reserve succeeds
		wantLeft         int64
	}{
		{heap: a, reserve: 50, wantLeft: 50},
		{heap: b, reserve: 30, wantLeft: 20},
		{heap: b, reserve: 21, wantNeed: 101, wantLeft: 20},
		{heap: a, release: 20, wantLeft: 40},
		{heap: b, reserve: 21, wantLeft: 19},
		{heap: b, release: 0, wantLeft: 19}, // changes nothing
	} {
		if step.reserve > 0 {
			check, err := step.heap.Check(step.reserve), step.heap.Reserve(step.reserve)
			if step.wantNeed > 0 {
				wantError(t, check, step.wantNeed, 100)
				wantError(t, err, step.wantNeed, 100)
			} else if check != nil || err != nil {
				t.Fatalf("%+v: %v, %v", step, check, err)
			}
		}
		if step.heap.Release(step.release); p.Available() != step.wantLeft {
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

// TestGarbageIsCollectedInTime checks that Reserve runs the collector only if reserved memory and
// garbage together exceed the pool. No other test may run the collector at the same time, and the
// runtime does not run it by itself.
func TestGarbageIsCollectedInTime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 62))
	p := New(100)
	a, b := p.NewHeap(), p.NewHeap()
	for i, step := range []struct {
		heap             *Heap
		reserve, release int64
		refused          bool
		collects         uint32
	}{ // The comments have the bytes in use + garbage when Reserve decides.
		{heap: a, reserve: 100, release: 60},  // 100 + 0
		{heap: b, reserve: 0},                 // 40 + 60
		{heap: b, reserve: 61, refused: true}, // 101: no collection for a refused request
		{heap: b, reserve: 1, collects: 1},    // 41 + 60, the garbage of another owner
		{heap: b, reserve: 59},                // 100 + 0
		{heap: a, release: 40},                // 100 + 0
		{heap: a, reserve: 40, collects: 1},   // 100 + 40
		{heap: b, reserve: 0, release: 30},    // 100 + 0
		{heap: a, reserve: 0},                 // 70 + 30
		{heap: a, reserve: 10, collects: 1},   // 80 + 30
		{heap: a, reserve: 10, release: 10},   // 90 + 0
		{heap: a, reserve: 10, release: 5},    // 90 + 10
		{heap: b, reserve: 1, collects: 1},    // 86 + 15
		{heap: a, reserve: 14, release: 0},    // 100 + 0
		{heap: a, reserve: 1, refused: true},  // 101
	} {
		before := collections()
		if err := step.heap.Reserve(step.reserve); (err != nil) != step.refused {
			t.Fatalf("step %d: got error %v", i, err)
		}
		step.heap.Release(step.release)
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

// TestReserveWaitsForCollection checks that no owner gets memory before the garbage is collected.
func TestReserveWaitsForCollection(t *testing.T) {
	p := New(100)
	a, b := p.NewHeap(), p.NewHeap()
	for _, h := range []*Heap{a, b} {
		if err := h.Reserve(40); err != nil {
			t.Fatal(err)
		}
	}
	var waiting sync.WaitGroup
	collected, early := false, false
	defer func() { collect = runtime.GC }()
	collect = func() {
		waiting.Go(func() {
			_ = b.Reserve(1)
			early = !collected
		})
		for range 1000 {
			runtime.Gosched() // lets the other owner go on
		}
		collected = true
	}
	a.Release(40)
	if err := a.Reserve(50); err != nil { // 90 in use and 40 of garbage
		t.Error(err)
	}
	waiting.Wait()
	if !collected || early {
		t.Errorf("collected: %v, memory was given before: %v", collected, early)
	}
}
