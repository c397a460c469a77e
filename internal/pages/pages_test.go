package pages

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitOfTheHeap(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct{ limit, taken int64 }{{1 << 40, 1<<40 - 1<<20}, {math.MaxInt64, math.MaxInt64}} {
		debug.SetMemoryLimit(c.limit)
		memory, err := New(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != c.taken {
			t.Errorf("limit %d with 1 MiB taken, want %d", got, c.taken)
		}
		memory[len(memory)-1]++
		if err := Release(memory); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != c.limit {
			t.Errorf("limit %d with nothing taken, want %d", got, c.limit)
		}
	}
	if memory, err := New(0); memory != nil || err != nil || Release(memory) != nil {
		t.Errorf("no memory: %v, %v", memory, err)
	}
}
