package kway

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// numbers is a run of numbers that are not read yet.
type numbers []int

func (n *numbers) Before(other *numbers) bool { return (*n)[0] < (*other)[0] }

// TestHeap merges some runs.
func TestHeap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for runs := range 9 {
		var h Heap[*numbers]
		var want, got []int
		for range runs {
			run := make(numbers, 1+random.IntN(20))
			for i := range run {
				run[i] = random.IntN(50)
			}
			slices.Sort(run)
			want = append(want, run...)
			h = append(h, &run)
		}
		slices.Sort(want)
		h.Order()
		for len(h) > 0 {
			run := h[0]
			got = append(got, (*run)[0])
			*run = (*run)[1:]
			h.Advance(len(*run) > 0)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d runs are merged to %v, want %v", runs, got, want)
		}
	}
}
