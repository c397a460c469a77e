package dataset

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
)

const (
	// BufferSize is the size in bytes of a new Buffer.
	BufferSize = 256 << 10
	// mostWaiting bounds the bytes of the results of a worker that wait for their turn, and
	// waitingShare is the part of the free memory that the results of all workers may take.
	mostWaiting  = 128 << 20
	waitingShare = 4
)

// Waiting accounts for the results of one worker that wait for their turn. If there is no memory
// for more, the worker waits until one is released.
type Waiting struct {
	ctx    context.Context
	memory *budget.Heap
	free   chan *Buffer  // buffers to be used again
	freed  chan struct{} // has an element after a release

	most int64 // most bytes of all results, unless there is a single one

	mu   sync.Mutex
	held int64 // bytes of all results, and of free buffers
	work int64 // bytes for the work on a result
}

// newWaiting returns the account of one of several workers.
func newWaiting(ctx context.Context, pool *budget.Pool, workers int) *Waiting {
	memory := pool.NewHeap()
	most := min(memory.Available()/waitingShare/int64(workers), mostWaiting)
	return &Waiting{ctx: ctx, memory: memory, most: most, free: make(chan *Buffer, mostWaiting/BufferSize), freed: make(chan struct{}, 1)}
}

// try reserves n bytes, if possible. If no more is held than the buffer that the worker fills, an
// error of the pool is final.
func (w *Waiting) try(n int64) (ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.held > BufferSize
	if waits && w.held+n > w.most {
		return false, nil
	}
	if err := w.memory.Reserve(n); err != nil {
		if waits {
			return false, nil
		}
		return false, err
	}
	w.held += n
	return true, nil
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
	n = min(n, w.held) // 0 once the account is closed
	w.held -= n
	w.memory.Release(n)
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// Reserve reserves n bytes for the work on a result, until release is called. First pass on all
// buffers, because Reserve waits until they are released.
func (w *Waiting) Reserve(n int64) (release func(), err error) {
	for {
		w.dropFree()
		ok, err := w.tryWork(n)
		if ok || err != nil {
			return func() { w.releaseWork(n) }, err
		}
		select {
		case <-w.free:
			w.release(BufferSize)
		case <-w.freed:
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
}

// tryWork reserves n bytes, if possible. If no result is held, an error of the pool is final.
func (w *Waiting) tryWork(n int64) (ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.memory.Reserve(n); err != nil {
		if w.held > 0 {
			return false, nil
		}
		return false, err
	}
	w.work += n
	return true, nil
}

func (w *Waiting) releaseWork(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, w.work) // 0 once the account is closed
	w.work -= n
	w.memory.Release(n)
}

// dropFree frees the memory of buffers that are not used.
func (w *Waiting) dropFree() {
	for len(w.free) > 0 {
		<-w.free
		w.release(BufferSize)
	}
}

// Buffer is output of a worker. The worker fills Data, and the receiver calls Release at the end.
type Buffer struct {
	Data []byte
	of   *Waiting
	more int64 // bytes reserved beyond BufferSize
}

// Buffer returns an empty buffer.
func (w *Waiting) Buffer() (*Buffer, error) {
	for {
		select {
		case b := <-w.free:
			return b, nil
		default:
		}
		if ok, err := w.try(BufferSize); err != nil {
			return nil, err
		} else if ok {
			return &Buffer{Data: make([]byte, 0, BufferSize), of: w}, nil
		}
		select {
		case b := <-w.free:
			return b, nil
		case <-w.freed:
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
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
	w.held, w.work = 0, 0
	w.memory.Close()
}
