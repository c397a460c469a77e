package budget

import (
	"math"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// Pages returns n bytes of zeros from the system, past the heap, that are to be
// given to ReleasePages. Of a large piece only what is used becomes resident, and
// the collector does not let the heap grow as if it were in use there.
func Pages(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err == nil {
		take(n)
	}
	return memory, err
}

// ReleasePages gives memory of Pages back; it must not be touched any more.
func ReleasePages(memory []byte) error {
	if memory == nil {
		return nil
	}
	err := unix.Munmap(memory)
	if err == nil {
		take(-len(memory))
	}
	return err
}

// release is ReleasePages of what is known to be memory of Pages.
func release(memory []byte) { _ = ReleasePages(memory) } // fails only for other memory

// leastHeap is what the heap may have in any case: the program does not run with
// nothing, and the runtime takes no limit below zero.
const leastHeap = 4 << 20

var (
	mu    sync.Mutex // of what follows
	limit int64      = math.MaxInt64
	taken int64
)

// Headroom is how many bytes a process may have on its heap beside the pool: for
// what does not grow with its input, such as programs for schemas, documents and
// the clients of storage, and for garbage.
const Headroom = 16 << 20

// SetLimit bounds the heap and all memory of Pages together to so many bytes, so
// far as the collector can: see debug.SetMemoryLimit.
func SetLimit(bytes int64) {
	mu.Lock()
	defer mu.Unlock()
	limit = bytes
	apply()
}

// take notes that so many bytes more are taken.
func take(bytes int) {
	mu.Lock()
	defer mu.Unlock()
	taken += int64(bytes)
	apply()
}

// apply sets the limit of the heap, if there is one. mu is held.
func apply() {
	if limit != math.MaxInt64 {
		debug.SetMemoryLimit(max(limit-taken, leastHeap))
	}
}
