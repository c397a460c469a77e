package column

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	// LargeBlock is the size in bytes from which stored blocks get their own memory.
	LargeBlock = 1 << 20
	// KeptBlock is the memory in bytes that a reader keeps with blocks of any size.
	KeptBlock = 128 << 10
	// RoundBlock is the most bytes by which memory for a block is rounded up, so that a
	// block a few bytes larger than the last one needs no more memory.
	RoundBlock = 8 << 10
)

// Room is the memory of one decoded block after another.
type Room struct {
	Bytes []byte
	Held  int64 // bytes accounted for
}

// Make makes the room large enough for a block, and not much larger, because each of
// many columns may have had one large block.
func (r *Room) Make(of Account, size int64) error {
	if had := int64(cap(r.Bytes)); had >= size && had <= max(2*size, KeptBlock) {
		return nil
	}
	r.Release(of)
	round := min(int64(1)<<max(bits.Len64(uint64(size))-4, 0), RoundBlock)
	size = (size + round - 1) &^ (round - 1)
	if err := of.Reserve(size); err != nil {
		return err
	}
	r.Bytes, r.Held = make([]byte, 0, size), size
	return nil
}

// Release releases the memory.
func (r *Room) Release(of Account) {
	of.Release(r.Held)
	r.Bytes, r.Held = nil, 0
}

// storedBuffers hold stored bytes until they are decoded. A few of them serve the
// blocks of many columns and stay in the processor's caches.
var storedBuffers = sync.Pool{New: func() any { return new([]byte) }}

// StoredBuffer returns memory for a stored block; return it with ReleaseStored.
func StoredBuffer(of Account, n int64) (*[]byte, error) {
	if n >= LargeBlock {
		if err := of.Reserve(n); err != nil {
			return nil, err
		}
		buf := make([]byte, n)
		return &buf, nil
	}
	buf := storedBuffers.Get().(*[]byte)
	*buf = slices.Grow((*buf)[:0], int(n))[:n]
	return buf, nil
}

// ReleaseStored returns memory of StoredBuffer.
func ReleaseStored(of Account, buf *[]byte) {
	if n := len(*buf); n >= LargeBlock {
		of.Release(int64(n))
		return
	}
	storedBuffers.Put(buf)
}
