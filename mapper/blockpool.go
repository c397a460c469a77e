package mapper

import (
	"context"
	"sync"
)

// blockPool gives input blocks to the scanner and so bounds how far it reads ahead
// of the shredder: in blocks, and in bytes of them, stored and decoded. While
// none is in use it gives one of any size.
type blockPool struct {
	limit int64 // bytes, of blocks in use, and again of free ones
	room  chan struct{}
	// large holds what the one block may be decoded into that is larger than the
	// limit. All tasks share it; nil sets no bound.
	large chan []byte

	mu       sync.Mutex
	hasLarge bool
	free     []*inputBlock // the one used last comes last
	kept     int64         // bytes of memory of the free blocks
	inUse    int
	held     int64 // bytes charged for blocks in use
	growth   int64 // decoded bytes per stored byte, rather too many; 0 is not known
	waiting  bool
}

func newBlockPool(blocks int, limit int64) *blockPool {
	p := &blockPool{limit: limit, room: make(chan struct{}, 1)}
	for range blocks {
		p.free = append(p.free, &inputBlock{ready: make(chan struct{}, 1)})
	}
	return p
}

// take waits for a block; nil is the end of the context.
func (p *blockPool) take(ctx context.Context) *inputBlock {
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

func (p *blockPool) try() *inputBlock {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = !p.hasRoom()
	if p.waiting {
		return nil
	}
	last := len(p.free) - 1
	b := p.free[last]
	p.free = p.free[:last]
	p.kept -= b.memory()
	p.inUse++
	return b
}

// hasRoom reports whether a block may be taken. A scanner that has to wait
// waits until half of the blocks and of the bytes are free, lest each block
// wakes it.
func (p *blockPool) hasRoom() bool {
	switch {
	case p.inUse == 0:
		return true
	case p.waiting:
		return p.inUse <= len(p.free) && p.held <= p.limit/2
	}
	return len(p.free) > 0 && p.held < p.limit
}

// admit waits, before a block is read that is larger than the limit as it is
// stored, until no other task has such a block; false is the end of the context.
func (p *blockPool) admit(ctx context.Context, b *inputBlock, stored int64) bool {
	if p.large == nil || stored <= p.limit {
		return true
	}
	select {
	case b.rows = <-p.large:
		p.mu.Lock()
		defer p.mu.Unlock()
		b.large, p.hasLarge = true, true
		return true
	case <-ctx.Done():
		return false
	}
}

// charge accounts for a block that was read. Its decoded size is guessed from
// those before it; the first has the limit for itself until it is known.
func (p *blockPool) charge(b *inputBlock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.charged = p.limit
	if p.growth > 0 {
		b.charged = int64(len(b.block.Data)) * (1 + p.growth)
	}
	p.held += b.charged
}

// settle corrects the charge of a block that was decoded.
func (p *blockPool) settle(b *inputBlock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stored, decoded := int64(len(b.block.Data)), int64(len(b.rows))
	// The guess rises at once and falls by an eighth of what it is too high, so
	// that one block does not keep all later ones apart. Where it has fallen too
	// low, that costs no more memory than the first wide block did, before which
	// it was as low.
	now := max((decoded+stored-1)/max(stored, 1), 1)
	p.growth = max(now, p.growth-(p.growth-now+7)/8)
	p.held += stored + decoded - b.charged
	b.charged = stored + decoded
	p.wake()
}

// giveBack makes a block free again.
func (p *blockPool) giveBack(b *inputBlock) {
	if b.src != nil {
		b.src.release()
		b.src = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.large {
		p.releaseLarge(b.rows)
		b.large, b.block.Data, b.rows = false, nil, nil
	}
	b.err, b.final = nil, false
	p.inUse--
	p.held -= b.charged
	b.charged = 0
	p.free = append(p.free, b)
	p.kept += b.memory()
	for i := 0; p.kept > p.limit && i < len(p.free)-1; i++ {
		p.kept -= p.free[i].memory()
		p.free[i].block.Data, p.free[i].rows = nil, nil
	}
	p.wake()
}

// abandon lets other tasks have large blocks, if one was not given back.
func (p *blockPool) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseLarge(nil)
}

func (p *blockPool) releaseLarge(memory []byte) {
	if p.hasLarge {
		p.hasLarge = false
		p.large <- memory
	}
}

func (p *blockPool) wake() {
	if !p.waiting || !p.hasRoom() {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
	}
}
