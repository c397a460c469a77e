package column

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	// LargeBlock is the size in bytes from which stored blocks get their own memory.
	LargeBlock = 1 << 20
	// KeptBlock is the size in bytes up to which a Room keeps its memory even if the next
	// blocks are much smaller.
	KeptBlock = 128 << 10
	// RoundBlock is the largest unit in bytes to which memory for a block is rounded up, so
	// that a block a few bytes larger than the last one needs no more memory.
	RoundBlock = 8 << 10
)

// Room is memory that holds one decoded block at a time, and is reused for the next.
type Room struct {
	Bytes []byte
	Held  int64 // bytes accounted for
}

// Make ensures capacity for a block of size bytes. It gives up memory of more than twice that
// size. Otherwise each of many columns would keep the memory of its largest block. New memory
// has the length 0, memory that is reused keeps its length.
func (r *Room) Make(account Account, size int64) error {
	if had := int64(cap(r.Bytes)); had >= size && had <= max(2*size, KeptBlock) {
		return nil
	}
	r.Release(account)
	// The unit is a power of two, and at most an eighth of the size.
	round := min(int64(1)<<max(bits.Len64(uint64(size))-4, 0), RoundBlock)
	size = (size + round - 1) &^ (round - 1)
	if err := account.Reserve(size); err != nil {
		return err
	}
	r.Bytes, r.Held = make([]byte, 0, size), size
	return nil
}

// Release releases the memory.
func (r *Room) Release(account Account) {
	account.Release(r.Held)
	r.Bytes, r.Held = nil, 0
}

// rooms hold the memory of rooms that were recycled.
var rooms sync.Pool

// Reuse gives an empty room memory that Recycle kept, if there is any.
func (r *Room) Reuse(account Account) {
	kept, _ := rooms.Get().(*[]byte)
	if kept != nil && account.Reserve(int64(cap(*kept))) == nil {
		r.Bytes, r.Held = *kept, int64(cap(*kept))
	}
}

// Recycle is Release for a room whose bytes nothing refers to. Memory of at most KeptBlock bytes is
// kept for another room.
func (r *Room) Recycle(account Account) {
	if r.Held > 0 && r.Held <= KeptBlock {
		kept := r.Bytes[:0]
		rooms.Put(&kept)
	}
	r.Release(account)
}

// storedBuffers hold stored bytes until they are decoded. A few of them serve the
// blocks of many columns and stay in the processor's caches.
var storedBuffers = sync.Pool{New: func() any { return new([]byte) }}

// StoredBuffer returns a buffer of n bytes for a stored block. The account is used only if n is at
// least LargeBlock. The caller gives the buffer back to ReleaseStored, and keeps its length.
func StoredBuffer(account Account, n int64) (*[]byte, error) {
	if n >= LargeBlock {
		if err := account.Reserve(n); err != nil {
			return nil, err
		}
		buf := make([]byte, n)
		return &buf, nil
	}
	buf := storedBuffers.Get().(*[]byte)
	*buf = slices.Grow((*buf)[:0], int(n))[:n]
	return buf, nil
}

// ReleaseStored takes back a buffer that StoredBuffer returned.
func ReleaseStored(account Account, buf *[]byte) {
	if n := len(*buf); n >= LargeBlock {
		account.Release(int64(n))
		return
	}
	storedBuffers.Put(buf)
}
