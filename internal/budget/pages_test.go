package budget

import (
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestHeapLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer func() { limit = math.MaxInt64 }()
	for _, c := range []struct{ limit, with, without int64 }{
		{1 << 40, 1<<40 - 8<<20, 1 << 40},
		{12 << 20, minHeap, 12 << 20},
		{10 << 20, minHeap, 10 << 20}, // less is left than minHeap
		{6 << 20, minHeap, 6 << 20},   // more is taken than the limit
	} {
		SetLimit(c.limit)
		memory, err := Pages(8 << 20)
		testenv.Must(t, err)
		if got := debug.SetMemoryLimit(-1); got != c.with {
			t.Errorf("with 8 MiB of %d taken: got limit %d, want %d", c.limit, got, c.with)
		}
		memory[len(memory)-1]++
		testenv.Must(t, ReleasePages(memory))
		if got := debug.SetMemoryLimit(-1); got != c.without {
			t.Errorf("with nothing taken: got limit %d, want %d", got, c.without)
		}
	}
	if memory, err := Pages(0); memory != nil || err != nil || ReleasePages(memory) != nil {
		t.Errorf("no bytes: got %v, %v", memory, err)
	}
}

// Without SetLimit the heap has no limit.
func TestNoHeapLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	memory, err := Pages(1 << 20)
	testenv.Must(t, err)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("got limit %d, want %d", got, before)
	}
	testenv.Must(t, ReleasePages(memory))
}

// Pages returns zeros of the requested size. ReleasePages rejects other memory.
func TestPagesAreZero(t *testing.T) {
	for _, n := range []int{1, 4096, 4097, 1 << 20} {
		memory, err := Pages(n)
		if err != nil || len(memory) != n || cap(memory) != n {
			t.Fatalf("got %d bytes of capacity %d, want %d: %v", len(memory), cap(memory), n, err)
		}
		if i := slices.IndexFunc(memory, func(b byte) bool { return b != 0 }); i >= 0 {
			t.Errorf("byte %d of %d is %d", i, n, memory[i])
		}
		before := taken
		if err := ReleasePages(make([]byte, n)); err == nil || taken != before {
			t.Errorf("memory of the heap: got error %v, %d bytes taken", err, taken)
		}
		if err := ReleasePages(memory); err != nil || taken != before-int64(n) {
			t.Errorf("released %d bytes, want %d: %v", before-taken, n, err)
		}
	}
}
