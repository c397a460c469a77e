package dataset

import (
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// mostFree is the most memory of blocks that are kept to be used again: that of a few ranges.
const mostFree = 4 * mostBlocks

// blockMemory has the stored blocks of Avro files that the ranges of a query hold. Blocks of
// ranges that have ended are used again.
type blockMemory struct {
	heap *budget.Heap

	mu     sync.Mutex
	free   []*ocf.Block
	bytes  int64 // memory of the free blocks, at most mostFree
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

// release says that nobody uses the blocks.
func (m *blockMemory) release(blocks ...*ocf.Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range blocks {
		switch size := int64(cap(b.Data)); {
		case m.closed:
		case m.bytes+size <= mostFree:
			m.free, m.bytes = append(m.free, b), m.bytes+size
		default:
			m.heap.Release(size)
		}
	}
}

// shrink frees the memory of the free blocks.
func (m *blockMemory) shrink() {
	m.mu.Lock()
	defer m.mu.Unlock()
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
