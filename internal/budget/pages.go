package budget

import (
	"math"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// Pages returns n zero bytes from the system, outside the heap. The caller must pass the memory to
// ReleasePages. Only the parts that are used become resident. The collector does not count the
// memory as part of the heap.
func Pages(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err == nil {
		addTaken(n)
	}
	return memory, err
}

// ReleasePages returns memory of Pages to the system. The memory must not be used afterwards.
func ReleasePages(memory []byte) error {
	if memory == nil {
		return nil
	}
	err := unix.Munmap(memory)
	if err == nil {
		addTaken(-len(memory))
	}
	return err
}

// releasePages is ReleasePages for memory that certainly comes from Pages.
func releasePages(memory []byte) { _ = ReleasePages(memory) } // fails only for other memory

// minHeap is the least limit of the heap. The program needs some memory, and the runtime accepts no
// limit below zero.
const minHeap = 4 << 20

var (
	limitMu sync.Mutex // guards limit and taken
	limit   int64      = math.MaxInt64
	taken   int64      // bytes of Pages
)

// Headroom is how many bytes a process may have on its heap besides the pool. They are for garbage,
// and for data that does not grow with the input, such as documents and clients of storage.
const Headroom = 16 << 20

// SetLimit limits the sum of the heap and all memory of Pages, as far as the collector
// can: see debug.SetMemoryLimit.
func SetLimit(bytes int64) {
	limitMu.Lock()
	defer limitMu.Unlock()
	limit = bytes
	applyLimit()
}

// addTaken adds to the bytes of Pages.
func addTaken(bytes int) {
	limitMu.Lock()
	defer limitMu.Unlock()
	taken += int64(bytes)
	applyLimit()
}

// applyLimit sets the limit of the heap, if there is one. The caller holds limitMu.
func applyLimit() {
	if limit != math.MaxInt64 {
		debug.SetMemoryLimit(max(limit-taken, minHeap))
	}
}
