package mapper

import (
	"context"
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// chargeAndSettle accounts for a block as if these bytes had been read and decoded.
func chargeAndSettle(p *admission, b *inputBlock, stored, decoded int) {
	b.size = int64(stored)
	p.charge(b)
	b.rows = make([]byte, decoded)
	p.settle(b)
}

func TestReadingAheadIsBoundedByBytes(t *testing.T) {
	const limit = 1000
	for _, c := range []struct {
		name            string
		stored, decoded int
		most            int // blocks at a time
	}{
		{"small blocks, limited by number", 1, 1, 16},
		{"blocks that reach the limit", 50, 150, 5},
		{"blocks that exceed the limit", 90, 310, 3},
		{"one block of any size", 500, 5000, 1},
	} {
		p := newAdmission(16, limit, budget.New(0).NewShare(1<<20))
		for range 3 {
			var taken []*inputBlock
			for b := p.try(); b != nil; b = p.try() {
				chargeAndSettle(p, b, c.stored, c.decoded)
				taken = append(taken, b)
			}
			if len(taken) != c.most {
				t.Errorf("%s: %d blocks in use, want %d", c.name, len(taken), c.most)
			}
			for _, b := range taken {
				p.release(b)
			}
			if p.held != 0 || p.inUse != 0 {
				t.Errorf("%s: %d bytes of %d blocks held, want none", c.name, p.held, p.inUse)
			}
		}
	}
}

func TestFirstBlockIsAloneUntilItsSizeIsKnown(t *testing.T) {
	p := newAdmission(16, 1000, budget.New(0).NewShare(1<<20))
	b := p.try()
	b.size = 10
	p.charge(b)
	if p.try() != nil {
		t.Error("got a second block before the first was decoded")
	}
	b.rows = make([]byte, 20)
	p.settle(b)
	if p.try() == nil {
		t.Error("got no second block after the first was decoded")
	}
}

func TestGuessOfDecodedSizesFallsAgain(t *testing.T) {
	p := newAdmission(16, 1000, budget.New(0).NewShare(1<<20))
	use := func(decoded int) {
		b := p.try()
		chargeAndSettle(p, b, 10, decoded)
		p.release(b)
	}
	use(5000)
	if p.growth != 500 {
		t.Fatalf("growth %d after a block of 500 times its stored size", p.growth)
	}
	use(20)
	if p.growth < 400 {
		t.Errorf("growth %d after one narrow block", p.growth)
	}
	for range 60 {
		use(20)
	}
	if p.growth != 2 {
		t.Errorf("growth %d after many blocks of twice their stored size", p.growth)
	}
}

func TestWaitingScannerIsWokenWhenHalfIsFree(t *testing.T) {
	p := newAdmission(8, 1<<20, budget.New(0).NewShare(1<<20))
	var taken []*inputBlock
	for b := p.try(); b != nil; b = p.try() {
		chargeAndSettle(p, b, 1, 1)
		taken = append(taken, b)
	}
	for i, b := range taken {
		p.release(b)
		if woken := len(p.room) > 0; woken != (i+1 >= 4) {
			t.Errorf("after %d of 8 blocks: woken %v", i+1, woken)
		}
	}
	if p.take(context.Background()) == nil {
		t.Error("no block for the waiting scanner")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 8 {
		p.try()
	}
	if p.take(ended) != nil {
		t.Error("got a block although the context has ended and none is free")
	}
}
