package budget

import (
	"math"
	"runtime"
	"sync"
)

// Heap accounts for the memory of one owner on the heap. Released memory is garbage until
// it is collected, so the pool runs the collector before it gives the memory to others.
// A nil Heap has no limit. The methods are safe for concurrent use.
type Heap struct {
	pool *Pool
	mu   sync.Mutex
	held int64
}

// NewHeap returns an empty account, or nil for a nil pool. Its owner must close it.
func (p *Pool) NewHeap() *Heap {
	if p == nil {
		return nil
	}
	return &Heap{pool: p}
}

// Reserve must be called before n bytes are allocated. It returns an *Error if the pool has fewer
// bytes left.
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

// Available returns how many bytes can be reserved.
func (h *Heap) Available() int64 {
	if h == nil {
		return math.MaxInt64
	}
	return h.pool.Available()
}

// Check returns the error that Reserve would return.
func (h *Heap) Check(n int64) error {
	if h == nil {
		return nil
	}
	return h.pool.check(n)
}

// Release must be called when n bytes are no longer referenced.
func (h *Heap) Release(n int64) {
	if h == nil || n == 0 {
		return
	}
	h.mu.Lock()
	h.held -= n
	h.mu.Unlock()
	h.pool.releaseHeap(n)
}

// Close releases all memory that is still reserved.
func (h *Heap) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	n := h.held
	h.mu.Unlock()
	h.Release(n)
}

var collect = runtime.GC // tests replace it

// reserveHeap reserves memory on the heap. If the pool has no room for it besides the garbage,
// reserveHeap runs the collector before it returns.
func (p *Pool) reserveHeap(n int64) error {
	if err := p.Reserve(n); err != nil {
		return err
	}
	//guard: waits while garbage is collected for another owner
	p.collecting.Lock()
	defer p.collecting.Unlock()
	p.mu.Lock()
	full := p.garbage > 0 && p.used+p.garbage > p.size
	if full {
		p.garbage = 0
	}
	p.mu.Unlock()
	//guard: collects garbage that would exceed the pool
	if full {
		collect()
	}
	return nil
}

func (p *Pool) releaseHeap(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	p.garbage += n
}
