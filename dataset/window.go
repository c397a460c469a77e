package dataset

import (
	"cmp"
	"io"
	"sync"
)

const (
	// windowGap is how many bytes are rather read for nothing than a request made.
	windowGap = 64 << 10
	// windowMost is the most bytes of a window.
	windowMost = 1 << 20
	// windowAfter is how many small reads must have followed each other closely: of
	// a few columns of many nothing else is to be read.
	windowAfter = 4
)

// window reads a file on remote storage by more than small reads ask for, once they
// follow each other closely: block tables and the blocks of small columns, where
// there are many of them, would each be a request of its own.
type window struct {
	mu     sync.Mutex // of what follows
	buf    []byte
	start  int64 // of buf in the file
	at     int64 // where the last read ended
	closed int   // reads that followed closely
}

// read fills p with what is at an offset of a file, and returns how many bytes it
// had to read for that.
func (w *window) read(in *file, p []byte, off int64) (n, read int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gap := off - w.at
	w.at = off + int64(len(p))
	if from := off - w.start; from >= 0 && from+int64(len(p)) <= int64(len(w.buf)) {
		return copy(p, w.buf[from:]), 0, nil
	}
	if w.closed++; gap < 0 || gap > windowGap {
		w.closed = 0
	}
	size := min(max(2*int64(len(w.buf)), windowGap), windowMost, in.Size()-off)
	if w.closed < windowAfter || size <= int64(len(p)) {
		w.buf = w.buf[:0]
		n, err = in.ReadAt(p, off)
		return n, n, err
	}
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	w.start = off
	read, err = in.ReadAt(w.buf[:size], off)
	w.buf = w.buf[:read]
	if n = copy(p, w.buf); n == len(p) {
		return n, read, nil // what lies farther fails when it is asked for
	}
	return n, read, cmp.Or(err, io.ErrUnexpectedEOF)
}
