package budget

import (
	"fmt"
	"math"
	"sync"
)

// Pool is a number of bytes that is divided among all users of memory. Its methods are
// safe for concurrent use. A nil *Pool has no limit. Only Available, NewShare and NewHeap
// may be called on it.
type Pool struct {
	size int64
	turn chan struct{} // has an element while no share has the turn

	collecting sync.Mutex // is locked while garbage is collected, and memory on the heap is given

	mu      sync.Mutex
	used    int64
	garbage int64 // bytes on the heap that were released since the last collection
}

// New returns a pool of size bytes.
func New(size int64) *Pool {
	p := &Pool{size: size, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// Size returns the number of bytes of the pool.
func (p *Pool) Size() int64 { return p.size }

// Available returns the number of bytes that are not reserved.
func (p *Pool) Available() int64 {
	if p == nil {
		return math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size - p.used
}

// Reserve takes n bytes from the pool until Release returns them. It returns an *Error if the pool
// has fewer bytes left.
func (p *Pool) Reserve(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.checkFits(n)
	if err == nil {
		p.used += n
	}
	return err
}

// check returns the error that Reserve would return.
func (p *Pool) check(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checkFits(n)
}

// checkFits returns an *Error if fewer than n bytes are left. The caller holds p.mu.
func (p *Pool) checkFits(n int64) error {
	//guard: bounds the reserved memory
	if n > p.size-p.used {
		return &Error{Need: p.used + n, Have: p.size}
	}
	return nil
}

// Release returns n reserved bytes to the pool.
func (p *Pool) Release(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
}

// Error is returned when too little memory is left.
type Error struct {
	Need int64 // size in bytes of a pool that would have been large enough
	Have int64 // size of the pool
}

// Error implements error. It suggests one and a half times the size that was needed,
// because later steps need memory, too, and with a larger pool the tasks reserve more.
func (e *Error) Error() string {
	return fmt.Sprintf("too little memory: about --memory %dMiB is needed, the limit is %dMiB", mebibytes(e.Need+e.Need/2), e.Have>>20)
}

// TooLittle returns the message for a need of memory that is known before the work begins.
// need and have are in bytes.
func TooLittle(need, have int64) string {
	return fmt.Sprintf("too little memory: --memory %dMiB is needed, the limit is %dMiB", mebibytes(need), have>>20)
}

// mebibytes converts bytes to MiB, rounded up.
func mebibytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
