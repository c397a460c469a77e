package mapper

import (
	"sync"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/format"
)

// encodeBlock is a block on its way through the encoders.
type encodeBlock struct {
	col    int
	block  column.Block
	job    format.EncodeJob
	stored []byte
	err    error
	done   chan struct{}
}

// encoders run encode jobs on goroutines of their own and give the blocks back
// in the order in which they were begun. The number of blocks under way is
// fixed, and with it the memory.
type encoders struct {
	jobs    chan *encodeBlock
	queue   []*encodeBlock // begun, in order
	free    []*encodeBlock
	workers sync.WaitGroup
}

// blocksPerEncoder keeps an encoder busy while the shredder walks a large
// input block.
const blocksPerEncoder = 4

func startEncoders(workers int) *encoders {
	n := workers * blocksPerEncoder
	e := &encoders{
		jobs:  make(chan *encodeBlock, n),
		queue: make([]*encodeBlock, 0, n),
		free:  make([]*encodeBlock, 0, n),
	}
	for range n {
		e.free = append(e.free, &encodeBlock{done: make(chan struct{}, 1)})
	}
	for range workers {
		e.workers.Go(func() {
			for b := range e.jobs {
				b.stored, b.err = b.job.Encode(b.stored[:0])
				b.done <- struct{}{}
			}
		})
	}
	return e
}

// stop ends the encoders after the jobs that were begun.
func (e *encoders) stop() {
	close(e.jobs)
	e.workers.Wait()
}

// begun returns the blocks that were begun and not yet released, in order.
func (e *encoders) begun() []*encodeBlock { return e.queue }

// hasRoom reports whether take would find a block.
func (e *encoders) hasRoom() bool { return len(e.free) > 0 }

// take returns a free block for a column, with the memory of an earlier one.
func (e *encoders) take(col int) *encodeBlock {
	last := len(e.free) - 1
	b := e.free[last]
	e.free = e.free[:last]
	b.col = col
	b.block.Reset()
	return b
}

// begin queues the block's job.
func (e *encoders) begin(b *encodeBlock, job format.EncodeJob) {
	b.job = job
	e.queue = append(e.queue, b)
	e.jobs <- b
}

// firstReady reports whether first would not wait.
func (e *encoders) firstReady() bool {
	return len(e.queue) > 0 && len(e.queue[0].done) > 0
}

// first waits for the block that was begun first.
func (e *encoders) first() *encodeBlock {
	b := e.queue[0]
	<-b.done
	return b
}

// release takes the first block off the queue and keeps its memory.
func (e *encoders) release(b *encodeBlock) {
	copy(e.queue, e.queue[1:])
	e.queue = e.queue[:len(e.queue)-1]
	b.job = nil
	e.free = append(e.free, b)
}
