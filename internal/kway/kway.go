// Package kway merges sorted runs: it finds, of many, the one whose record comes next.
package kway

// Run is a sorted run at one of its records.
type Run[R any] interface {
	// Before tells whether the run's record comes before that of another.
	Before(other R) bool
}

// Heap are runs in an order in which the first one has the first record.
type Heap[R Run[R]] []R

// Order orders runs that are not in the order of a heap.
func (h Heap[R]) Order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// Advance orders the heap after the first run has moved to its next record, or, if it has no
// more, takes it out.
func (h *Heap[R]) Advance(more bool) {
	if !more {
		last := len(*h) - 1
		(*h)[0] = (*h)[last]
		*h = (*h)[:last]
	}
	h.down(0)
}

// down moves the run at i after those that come before it.
func (h Heap[R]) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].Before(h[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}
