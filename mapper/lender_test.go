package mapper

import (
	"context"
	"testing"
)

// read makes a block look as if so many bytes had been read and decoded.
func read(l *lender, b *inputBlock, stored, decoded int) {
	b.block.Data = make([]byte, stored)
	l.charge(b)
	b.rows = make([]byte, decoded)
	l.settle(b)
}

func TestReadingAheadIsBoundedByBytes(t *testing.T) {
	const limit = 1000
	for _, c := range []struct {
		name            string
		stored, decoded int
		most            int // blocks at a time
	}{
		{"small blocks, by their number", 1, 1, 16},
		{"until the limit is reached", 50, 150, 5},
		{"the block that passes the limit is the last", 90, 310, 3},
		{"one of any size", 500, 5000, 1},
	} {
		l := newLender(16, limit)
		for range 3 {
			var lent []*inputBlock
			for b := l.try(); b != nil; b = l.try() {
				read(l, b, c.stored, c.decoded)
				lent = append(lent, b)
			}
			if len(lent) != c.most {
				t.Errorf("%s: %d blocks lent, want %d", c.name, len(lent), c.most)
			}
			for _, b := range lent {
				l.giveBack(b)
			}
			if largest := int64(c.stored + c.decoded); l.kept > max(limit, largest) {
				t.Errorf("%s: %d bytes kept, the limit is %d", c.name, l.kept, limit)
			}
			if l.held != 0 || l.lent != 0 {
				t.Errorf("%s: %d bytes of %d blocks held when all are back", c.name, l.held, l.lent)
			}
		}
	}
}

func TestFirstBlockIsAloneUntilItsSizeIsKnown(t *testing.T) {
	l := newLender(16, 1000)
	b := l.try()
	b.block.Data = make([]byte, 10)
	l.charge(b)
	if l.try() != nil {
		t.Error("a second block before the first was decoded")
	}
	b.rows = make([]byte, 20)
	l.settle(b)
	if l.try() == nil {
		t.Error("no second block after the first was decoded")
	}
}

func TestGuessOfDecodedSizesFallsAgain(t *testing.T) {
	l := newLender(16, 1000)
	one := func(decoded int) {
		b := l.try()
		read(l, b, 10, decoded)
		l.giveBack(b)
	}
	one(5000)
	if l.growth != 500 {
		t.Fatalf("growth %d after a block of 500 times its stored size", l.growth)
	}
	one(20)
	if l.growth < 400 {
		t.Errorf("growth %d after one narrow block", l.growth)
	}
	for range 60 {
		one(20)
	}
	if l.growth != 2 {
		t.Errorf("growth %d after many blocks of twice their stored size", l.growth)
	}
}

func TestWaitingScannerIsWokenWhenHalfIsBack(t *testing.T) {
	l := newLender(8, 1<<20)
	var lent []*inputBlock
	for b := l.try(); b != nil; b = l.try() {
		read(l, b, 1, 1)
		lent = append(lent, b)
	}
	for i, b := range lent {
		l.giveBack(b)
		if woken := len(l.room) > 0; woken != (i+1 >= 4) {
			t.Errorf("after %d of 8 blocks: woken %v", i+1, woken)
		}
	}
	if l.take(context.Background()) == nil {
		t.Error("no block for the one who waited")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 8 {
		l.try()
	}
	if l.take(ended) != nil {
		t.Error("a block after the context had ended, with none free")
	}
}

// TestLargeBlocksAreTakenOneAtATime lets a task have a block of more than its
// limit only while no other has one, also when that other failed.
func TestLargeBlocksAreTakenOneAtATime(t *testing.T) {
	large := make(chan []byte, 1)
	large <- nil
	first, second := newLender(4, 1000), newLender(4, 1000)
	first.large, second.large = large, large
	take := func(l *lender, stored int) (*inputBlock, bool) {
		ctx, cancel := context.WithCancel(context.Background())
		if len(large) == 0 {
			cancel()
		}
		defer cancel()
		b := l.try()
		return b, l.admit(ctx, b, int64(stored))
	}
	b, ok := take(first, 1001)
	if !ok {
		t.Fatal("the first large block was not admitted")
	}
	if _, ok := take(second, 1000); !ok {
		t.Error("a block within the limit was not admitted")
	}
	if _, ok := take(second, 1001); ok {
		t.Error("two tasks have a large block")
	}
	read(first, b, 1001, 5000)
	first.giveBack(b)
	if b.block.Data != nil {
		t.Error("a large block is kept")
	}
	if b, ok := take(second, 1001); !ok || cap(b.rows) != 5000 {
		t.Error("a large block was not admitted after another was given back, with its memory")
	}
	second.abandon()
	if _, ok := take(first, 1001); !ok {
		t.Error("a large block was not admitted after another was abandoned")
	}
}
