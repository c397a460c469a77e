package budget

import (
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestLimitOfTheHeap(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer func() { limit = math.MaxInt64 }()
	for _, c := range []struct{ limit, with, without int64 }{
		{1 << 40, 1<<40 - 8<<20, 1 << 40},
		{12 << 20, leastHeap, 12 << 20},
		{10 << 20, leastHeap, 10 << 20}, // what is taken leaves less
		{6 << 20, leastHeap, 6 << 20},   // what is taken is more
	} {
		SetLimit(c.limit)
		memory, err := Pages(8 << 20)
		testenv.Must(t, err)
		if got := debug.SetMemoryLimit(-1); got != c.with {
			t.Errorf("limit %d with 8 MiB of %d taken, want %d", got, c.limit, c.with)
		}
		memory[len(memory)-1]++
		testenv.Must(t, ReleasePages(memory))
		if got := debug.SetMemoryLimit(-1); got != c.without {
			t.Errorf("limit %d with nothing taken, want %d", got, c.without)
		}
	}
	if memory, err := Pages(0); memory != nil || err != nil || ReleasePages(memory) != nil {
		t.Errorf("no memory: %v, %v", memory, err)
	}
}

// Who sets no limit has none.
func TestNoLimitOfTheHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	memory, err := Pages(1 << 20)
	testenv.Must(t, err)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("limit %d, want %d", got, before)
	}
	testenv.Must(t, ReleasePages(memory))
}

// Memory of the system is zero, of the size that was asked for, and what is not of it
// is neither released nor accounted for.
func TestPagesAreZero(t *testing.T) {
	for _, n := range []int{1, 4096, 4097, 1 << 20} {
		memory, err := Pages(n)
		if err != nil || len(memory) != n || cap(memory) != n {
			t.Fatalf("%d bytes in %d, want %d: %v", len(memory), cap(memory), n, err)
		}
		if i := slices.IndexFunc(memory, func(b byte) bool { return b != 0 }); i >= 0 {
			t.Errorf("byte %d of %d is %d", i, n, memory[i])
		}
		before := taken
		if err := ReleasePages(make([]byte, n)); err == nil || taken != before {
			t.Errorf("memory of the heap is released: %v", err)
		}
		if err := ReleasePages(memory); err != nil || taken != before-int64(n) {
			t.Errorf("%d bytes less are taken, want %d: %v", before-taken, n, err)
		}
	}
}
