package mapper

import (
	"context"
	"sync"
)

// lender lends input blocks to the scanner and so bounds how far it reads ahead
// of the shredder: in blocks, and in bytes of them, stored and decoded. While
// none is lent it lends one of any size.
type lender struct {
	limit int64 // bytes, of blocks that are lent and again of those that are not
	room  chan struct{}
	// large holds what the one block may be decoded into that is larger than the
	// limit. All tasks share it; nil sets no bound.
	large chan []byte

	mu       sync.Mutex
	hasLarge bool
	free     []*inputBlock // the one used last comes last
	kept     int64         // bytes of memory of the free blocks
	lent     int
	held     int64 // bytes charged for lent blocks
	growth   int64 // decoded bytes per stored byte, rather too many; 0 is not known
	waiting  bool
}

func newLender(blocks int, limit int64) *lender {
	l := &lender{limit: limit, room: make(chan struct{}, 1)}
	for range blocks {
		l.free = append(l.free, &inputBlock{ready: make(chan struct{}, 1)})
	}
	return l
}

// take waits for a block; nil is the end of the context.
func (l *lender) take(ctx context.Context) *inputBlock {
	for {
		if b := l.try(); b != nil {
			return b
		}
		select {
		case <-l.room:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lender) try() *inputBlock {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = !l.hasRoom()
	if l.waiting {
		return nil
	}
	last := len(l.free) - 1
	b := l.free[last]
	l.free = l.free[:last]
	l.kept -= b.memory()
	l.lent++
	return b
}

// hasRoom reports whether a block may be lent. Who has to wait waits until half
// of everything is back, lest each block wakes the scanner.
func (l *lender) hasRoom() bool {
	switch {
	case l.lent == 0:
		return true
	case l.waiting:
		return l.lent <= len(l.free) && l.held <= l.limit/2
	}
	return len(l.free) > 0 && l.held < l.limit
}

// admit waits, before a block is read that is larger than the limit as it is
// stored, until no other task has such a block; false is the end of the context.
func (l *lender) admit(ctx context.Context, b *inputBlock, stored int64) bool {
	if l.large == nil || stored <= l.limit {
		return true
	}
	select {
	case b.rows = <-l.large:
		l.mu.Lock()
		defer l.mu.Unlock()
		b.large, l.hasLarge = true, true
		return true
	case <-ctx.Done():
		return false
	}
}

// charge accounts for a block that was read. Its decoded size is guessed from
// those before it; the first has the limit for itself until it is known.
func (l *lender) charge(b *inputBlock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.charged = l.limit
	if l.growth > 0 {
		b.charged = int64(len(b.block.Data)) * (1 + l.growth)
	}
	l.held += b.charged
}

// settle corrects the charge of a block that was decoded.
func (l *lender) settle(b *inputBlock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored, decoded := int64(len(b.block.Data)), int64(len(b.rows))
	// The guess rises at once and falls by an eighth of what it is too high, so
	// that one block does not keep all later ones apart. Where it has fallen too
	// low, that costs no more memory than the first wide block did, before which
	// it was as low.
	now := max((decoded+stored-1)/max(stored, 1), 1)
	l.growth = max(now, l.growth-(l.growth-now+7)/8)
	l.held += stored + decoded - b.charged
	b.charged = stored + decoded
	l.wake()
}

// giveBack takes a block back.
func (l *lender) giveBack(b *inputBlock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.large {
		l.letGo(b.rows)
		b.large, b.block.Data, b.rows = false, nil, nil
	}
	b.err, b.final = nil, false
	l.lent--
	l.held -= b.charged
	b.charged = 0
	l.free = append(l.free, b)
	l.kept += b.memory()
	for i := 0; l.kept > l.limit && i < len(l.free)-1; i++ {
		l.kept -= l.free[i].memory()
		l.free[i].block.Data, l.free[i].rows = nil, nil
	}
	l.wake()
}

// abandon lets other tasks have large blocks, if one was not given back.
func (l *lender) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.letGo(nil)
}

func (l *lender) letGo(memory []byte) {
	if l.hasLarge {
		l.hasLarge = false
		l.large <- memory
	}
}

func (l *lender) wake() {
	if !l.waiting || !l.hasRoom() {
		return
	}
	select {
	case l.room <- struct{}{}:
	default:
	}
}
