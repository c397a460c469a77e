// Package pages takes memory from the system, past the heap. Of a large piece
// only what is used becomes resident, and the collector, which lets the heap
// grow to twice what is in use, does not count it.
package pages

import "golang.org/x/sys/unix"

// New returns n bytes of zeros that are to be given to Release.
func New(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

// Release gives memory of New back; it must not be touched any more.
func Release(memory []byte) error {
	if memory == nil {
		return nil
	}
	return unix.Munmap(memory)
}
