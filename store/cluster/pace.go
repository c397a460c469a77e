package cluster

import (
	"fmt"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// leastRate is how many bytes a second a server must move, on average over the
// time for which it may be silent, to count as one that works.
const leastRate = 1 << 10

// Pace tells a server that is slow from one that drips, and would hold the
// program for ever though it is never silent for long. The time for which a
// server is waited for is cut into windows, each as long as it may be silent;
// a window ends early when enough bytes were moved in it, and the server failed
// when one ends without.
type Pace struct {
	limit time.Duration

	mu     sync.Mutex // of what follows, which is of the window
	waited time.Duration
	moved  int64
}

// NewPace returns the pace of a server that may be silent for a time.
func NewPace(limit time.Duration) *Pace { return &Pace{limit: limit} }

// Left returns for how long the server may still be waited for. 0 is a server
// that failed.
func (p *Pace) Left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.limit-p.waited, 0)
}

// Count notes for how long the server was waited for, and the bytes that it
// moved meanwhile.
func (p *Pace) Count(waited time.Duration, moved int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += waited
	p.moved += moved
	if float64(p.moved) >= p.limit.Seconds()*leastRate {
		p.waited, p.moved = 0, 0
	}
}

// Restart begins a window, for what comes next is another part.
func (p *Pace) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited, p.moved = 0, 0
}

// Err returns what a server did that failed.
func (p *Pace) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moved == 0 {
		return fmt.Errorf("no answer for %v: %w", p.limit, store.ErrUnavailable)
	}
	return fmt.Errorf("only %d bytes in %v: %w", p.moved, p.limit, store.ErrUnavailable)
}
