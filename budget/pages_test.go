package budget

import (
	"math"
	"runtime/debug"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != c.with {
			t.Errorf("limit %d with 8 MiB of %d taken, want %d", got, c.limit, c.with)
		}
		memory[len(memory)-1]++
		if err := ReleasePages(memory); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("limit %d, want %d", got, before)
	}
	if err := ReleasePages(memory); err != nil {
		t.Fatal(err)
	}
}
