package dataset

import (
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// mostFree is the most memory of blocks that are kept to be used again: that of a few ranges.
// mostFreeBlocks bounds their number.
const (
	mostFree       = 4 * mostBlocks
	mostFreeBlocks = 1 << 12
)

// blockMemory has the stored blocks of Avro files that the ranges of a query hold. Blocks of
// ranges that have ended are used again.
type blockMemory struct {
	heap *budget.Heap

	mu     sync.Mutex
	free   []*ocf.Block
	bytes  int64 // memory of their data, at most mostFree
	closed bool
}

// take returns a block for the caller to fill, with memory of the heap or without memory.
func (m *blockMemory) take() *ocf.Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.free)
	if n == 0 {
		return new(ocf.Block)
	}
	b := m.free[n-1]
	m.free = m.free[:n-1]
	m.bytes -= int64(cap(b.Data))
	return b
}

// release keeps blocks that are no longer used for take, or frees their memory.
func (m *blockMemory) release(blocks ...*ocf.Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	most := min(mostFree, m.heap.Available()/storedShare)
	for _, b := range blocks {
		switch size := int64(cap(b.Data)); {
		case m.closed:
		//guard: bounds the memory of blocks that are not used
		case m.bytes+size <= most && len(m.free) < mostFreeBlocks:
			m.free, m.bytes = append(m.free, b), m.bytes+size
		default:
			//guard: frees the memory although readers still know the block
			b.Data = nil
			m.heap.Release(size)
		}
	}
}

// shrink frees the memory of the free blocks.
func (m *blockMemory) shrink() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.free {
		b.Data = nil
	}
	m.heap.Release(m.bytes)
	m.free, m.bytes = nil, 0
}

// close frees the memory of all blocks.
func (m *blockMemory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free, m.bytes, m.closed = nil, 0, true
	m.heap.Close()
}
