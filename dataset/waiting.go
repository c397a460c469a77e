package dataset

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// BufferSize is the size in bytes of a new Buffer.
	BufferSize = 256 << 10
	// mostWaiting bounds the bytes of the results of a worker that wait for others, and
	// waitingShare is the part of the free memory that the results of all workers may take.
	mostWaiting  = 128 << 20
	waitingShare = 4
	// aloneWaiting is mostWaiting for a single worker. Its results never wait for others, and few
	// buffers stay in the processor's caches.
	aloneWaiting = 4 * BufferSize
)

// Waiting accounts for the results of one worker that wait for others. If there is no memory
// for more, the worker waits until one is released.
type Waiting struct {
	ctx     context.Context
	workers int
	memory  *budget.Heap
	free    chan *Buffer // buffers to be used again
	buffers int          // number of buffers
	passed  bool         // a result with rows was passed on, after which reading can begin anew

	most int64 // most bytes of all results, except the first two buffers

	mu   sync.Mutex
	held int64 // bytes of all results, and of free buffers
}

// newWaiting returns the account of one of several workers.
func newWaiting(ctx context.Context, pool *budget.Pool, workers int) *Waiting {
	memory := pool.NewHeap()
	most := min(memory.Available()/waitingShare/int64(workers), mostWaiting)
	if workers == 1 {
		most = min(most, aloneWaiting)
	}
	return &Waiting{ctx: ctx, workers: workers, memory: memory, most: most, free: make(chan *Buffer, mostWaiting/BufferSize)}
}

// Retries reports whether the rows of a range that are not in its results yet are read again after an
// error, by a single worker: the error is for lack of memory, and there are several workers, or the
// results of the single one may take the memory. Then pass no result that only the error made
// necessary.
func (w *Waiting) Retries(err error) bool {
	return (w.workers > 1 || w.passed) && errors.As(err, new(*budget.Error))
}

// fits reports whether n bytes more may wait.
func (w *Waiting) fits(n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held+n <= w.most
}

// add reserves n bytes more for a result.
func (w *Waiting) add(n int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.memory.Reserve(n)
	if err == nil {
		w.held += n
	}
	return err
}

func (w *Waiting) release(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, w.held) // 0 once the account is closed
	w.held -= n
	w.memory.Release(n)
}

// Reserve reserves n bytes that the worker itself needs until it calls release. First pass on all
// buffers: if there is no memory, Reserve waits for buffers, and frees their memory.
func (w *Waiting) Reserve(n int64) (release func(), err error) {
	for {
		if err = w.memory.Reserve(n); err == nil {
			return func() { w.memory.Release(n) }, nil
		}
		if w.buffers == 0 {
			return nil, err
		}
		select {
		case <-w.free:
			w.buffers--
			w.release(BufferSize)
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
}

// Buffer is output of a worker. The worker fills Data, and the receiver calls Release at the end.
type Buffer struct {
	Data []byte
	of   *Waiting
	more int64 // bytes reserved beyond BufferSize
}

// Buffer returns an empty buffer. If there is none yet, it reserves the memory of two, so that a
// worker that has a buffer and needs another only waits. It does not run out of memory in the middle
// of a row.
func (w *Waiting) Buffer() (*Buffer, error) {
	if w.buffers == 0 {
		if err := w.add(2 * BufferSize); err != nil {
			return nil, err
		}
		w.free <- w.newBuffer()
		return w.newBuffer(), nil
	}
	select {
	case b := <-w.free:
		return b, nil
	default:
	}
	if w.fits(BufferSize) && w.add(BufferSize) == nil {
		return w.newBuffer(), nil
	}
	select {
	case b := <-w.free:
		return b, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

// newBuffer returns a buffer whose memory is reserved.
func (w *Waiting) newBuffer() *Buffer {
	w.buffers++
	return &Buffer{Data: make([]byte, 0, BufferSize), of: w}
}

// Grow makes sure that n more bytes fit into Data.
func (b *Buffer) Grow(n int) error {
	if n <= cap(b.Data)-len(b.Data) {
		return nil
	}
	size := int64(len(b.Data) + n)
	if err := b.of.add(size); err != nil {
		return fmt.Errorf("output of %d bytes: %w", size, err)
	}
	b.of.release(b.more)
	b.more = size
	b.Data = append(make([]byte, 0, size), b.Data...)
	return nil
}

// Release says that the buffer is no longer used.
func (b *Buffer) Release() {
	if b.more > 0 {
		b.of.release(b.more)
		b.more, b.Data = 0, make([]byte, 0, BufferSize)
	}
	b.Data = b.Data[:0]
	b.of.free <- b
}

// close releases the memory, even of results in use.
func (w *Waiting) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = 0
	w.memory.Close()
}
