package mapper

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// admission lends input blocks to the reader. So it bounds how far the reader is ahead of
// the shredder: in blocks, and in their stored and decoded bytes. If no block is in use,
// admission lends a block of any size. There may be no memory for it: see inputBlock.
type admission struct {
	limit int64 // most bytes of blocks in use
	share *budget.Share
	room  chan struct{}

	mu      sync.Mutex
	free    []*inputBlock
	inUse   int
	held    int64 // bytes charged for blocks in use
	growth  int64 // decoded bytes per stored byte, a high estimate; 0 is unknown
	waiting bool
}

func newAdmission(blocks int, limit int64, share *budget.Share) *admission {
	p := &admission{limit: limit, share: share, room: make(chan struct{}, 1)}
	for range blocks {
		p.free = append(p.free, &inputBlock{ready: make(chan struct{}, 1)})
	}
	return p
}

// take waits for a block. It returns nil if the context ends.
func (p *admission) take(ctx context.Context) *inputBlock {
	for {
		if b := p.try(); b != nil {
			return b
		}
		select {
		case <-p.room:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *admission) try() *inputBlock {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = !p.hasRoom()
	if p.waiting {
		return nil
	}
	last := len(p.free) - 1
	b := p.free[last]
	p.free = p.free[:last]
	p.inUse++
	return b
}

// hasRoom reports whether a block may be taken. A waiting reader is woken only when half
// of the blocks and half of the bytes are free.
func (p *admission) hasRoom() bool {
	switch {
	case p.inUse == 0:
		return true
	case p.waiting:
		return p.inUse <= len(p.free) && p.held <= p.limit/2
	}
	return len(p.free) > 0 && p.held < p.limit
}

// leastGuess is the growth that is assumed before the first block is decoded.
const leastGuess = 4

// guess returns a high estimate of the bytes to which a block of stored bytes decodes.
func (p *admission) guess(stored int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := stored * max(p.growth, leastGuess)
	return n + n/4
}

// charge accounts for a block that was read, with a decoded size that is guessed from
// earlier blocks. The first block is charged the whole limit until its size is known.
func (p *admission) charge(b *inputBlock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.charged = p.limit
	if p.growth > 0 {
		b.charged = b.size * (1 + p.growth)
	}
	p.held += b.charged
}

// settle corrects the charge of a block whose decoded size is known.
func (p *admission) settle(b *inputBlock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stored, decoded := b.size, max(int64(len(b.rows)), b.need)
	// The guess rises at once and falls by an eighth of the excess, so that one block
	// does not slow down all later ones.
	now := max((decoded+stored-1)/max(stored, 1), 1)
	p.growth = max(now, p.growth-(p.growth-now+7)/8)
	p.held += stored + decoded - b.charged
	b.charged = stored + decoded
	p.wake()
}

// release frees a block and its memory.
func (p *admission) release(b *inputBlock) {
	if b.src != nil {
		b.src.release()
		b.src = nil
	}
	b.empty(p.share)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse--
	p.held -= b.charged
	b.charged = 0
	p.free = append(p.free, b)
	p.wake()
}

func (p *admission) wake() {
	if !p.waiting || !p.hasRoom() {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
	}
}
