// Package pages takes memory from the system, past the heap. Of a large piece
// only what is used becomes resident, and the collector does not let the heap
// grow as if it were in use there. Where the heap has a limit, that is less by
// what was taken, so that both together keep to it.
package pages

import (
	"math"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// New returns n bytes of zeros that are to be given to Release.
func New(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err == nil {
		moveLimit(-n)
	}
	return memory, err
}

// Release gives memory of New back; it must not be touched any more.
func Release(memory []byte) error {
	if memory == nil {
		return nil
	}
	err := unix.Munmap(memory)
	if err == nil {
		moveLimit(len(memory))
	}
	return err
}

var limit sync.Mutex

// moveLimit changes the limit of the heap, if there is one.
func moveLimit(by int) {
	limit.Lock()
	defer limit.Unlock()
	if now := debug.SetMemoryLimit(-1); now != math.MaxInt64 {
		debug.SetMemoryLimit(now + int64(by))
	}
}
