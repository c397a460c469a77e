package budget

import (
	"fmt"
	"math"
	"sync"
)

// Pool is a number of bytes that are divided among all who need memory. Its
// methods may be called concurrently.
type Pool struct {
	size int64
	turn chan struct{} // holds a token while no share is exceeded

	mu      sync.Mutex
	used    int64
	garbage int64 // bytes on the heap that were released since the last collection
}

// New returns a pool of so many bytes.
func New(size int64) *Pool {
	p := &Pool{size: size, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// Size is the number of bytes of the pool.
func (p *Pool) Size() int64 { return p.size }

// Left is the number of bytes that are not reserved; of a nil pool all there are.
func (p *Pool) Left() int64 {
	if p == nil {
		return math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size - p.used
}

// Reserve takes bytes from the pool until they are given to Release, or returns
// an *Error if there are not so many.
func (p *Pool) Reserve(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.fits(n)
	if err == nil {
		p.used += n
	}
	return err
}

// check returns what Reserve would.
func (p *Pool) check(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fits(n)
}

// fits returns an *Error if there are not so many bytes. p.mu is held.
func (p *Pool) fits(n int64) error {
	//guard: bounds what is reserved
	if n > p.size-p.used {
		return &Error{Need: p.used + n, Have: p.size}
	}
	return nil
}

// Release gives back what was reserved.
func (p *Pool) Release(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
}

// Error is the refusal of memory.
type Error struct {
	Need int64 // size in bytes of a pool that would have had enough for this
	Have int64 // size of the pool
}

// Error names a size that is worth a try. It is half as much again as was needed,
// because what comes next takes memory too, and more is reserved where there is more.
func (e *Error) Error() string {
	return fmt.Sprintf("too little memory: it needs --memory %dMiB or so, and has %dMiB", mebibytes(e.Need+e.Need/2), e.Have>>20)
}

// TooLittle are the words for a need of memory that is known beforehand, in bytes.
func TooLittle(need, have int64) string {
	return fmt.Sprintf("too little memory: it needs --memory %dMiB, and has %dMiB", mebibytes(need), have>>20)
}

// mebibytes is how many MiB a size in bytes is, rounded up.
func mebibytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }
