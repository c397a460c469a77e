package budget

import (
	"math"
	"runtime"
	"sync"
)

// Heap accounts for what one owner has on the heap. What it releases is garbage
// until the collector has been there, so the pool has it collected before it gives
// as much to others. A nil Heap has memory without end. Its methods may be called
// concurrently.
type Heap struct {
	pool *Pool
	mu   sync.Mutex
	held int64
}

// NewHeap returns an account of nothing; of a nil pool, nil. Its owner closes it.
func (p *Pool) NewHeap() *Heap {
	if p == nil {
		return nil
	}
	return &Heap{pool: p}
}

// Reserve is to be called before so many bytes are allocated. It returns an *Error
// if there are not so many.
func (h *Heap) Reserve(n int64) error {
	if h == nil {
		return nil
	}
	if err := h.pool.reserveHeap(n); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held += n
	return nil
}

// Left is what can be reserved.
func (h *Heap) Left() int64 {
	if h == nil {
		return math.MaxInt64
	}
	return h.pool.Left()
}

// Check returns what Reserve would.
func (h *Heap) Check(n int64) error {
	if h == nil {
		return nil
	}
	return h.pool.check(n)
}

// Release is to be called when nothing refers any more to so many bytes.
func (h *Heap) Release(n int64) {
	if h == nil || n == 0 {
		return
	}
	h.mu.Lock()
	h.held -= n
	h.mu.Unlock()
	h.pool.releaseHeap(n)
}

// Close releases all that is left.
func (h *Heap) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	n := h.held
	h.mu.Unlock()
	h.Release(n)
}

// reserveHeap is Reserve for memory on the heap.
func (p *Pool) reserveHeap(n int64) error {
	if err := p.Reserve(n); err != nil {
		return err
	}
	p.mu.Lock()
	full := p.garbage > 0 && p.used+p.garbage > p.size
	if full {
		p.garbage = 0
	}
	p.mu.Unlock()
	//guard: collects garbage before memory is called full
	if full {
		runtime.GC()
	}
	return nil
}

func (p *Pool) releaseHeap(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	p.garbage += n
}
