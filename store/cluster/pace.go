package cluster

import (
	"fmt"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// leastRate is how many bytes per second a working server must move, on average over the time for
// which it may be silent.
const leastRate = 1 << 10

// Pace finds servers that drip: they are never silent for long, but are so slow that the program
// would never end. The time spent waiting for a server is divided into windows. Each window is as
// long as the server may be silent. It ends early once enough bytes were moved in it. If it ends
// without enough bytes, the server has failed.
type Pace struct {
	limit time.Duration

	mu     sync.Mutex // guards the fields below, which describe the window
	waited time.Duration
	moved  int64
}

// NewPace returns the pace of a server that may be silent for limit.
func NewPace(limit time.Duration) *Pace { return &Pace{limit: limit} }

// Left returns how much longer to wait for the server. It is 0 if the server has failed.
func (p *Pace) Left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.limit-p.waited, 0)
}

// Count adds a time spent waiting for the server, and the bytes that were moved meanwhile.
func (p *Pace) Count(waited time.Duration, moved int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += waited
	p.moved += moved
	if float64(p.moved) >= p.limit.Seconds()*leastRate {
		p.waited, p.moved = 0, 0
	}
}

// Restart begins a new window for the next part.
func (p *Pace) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited, p.moved = 0, 0
}

// Err returns the error of a server that failed.
func (p *Pace) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moved == 0 {
		return fmt.Errorf("no answer for %v: %w", p.limit, store.ErrUnavailable)
	}
	return fmt.Errorf("only %d bytes in %v: %w", p.moved, p.limit, store.ErrUnavailable)
}
