package mapper

import (
	"context"
	"fmt"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// encodeBlock is a column block on its way to the spill.
type encodeBlock struct {
	col    int
	block  column.Block
	job    format.EncodeJob
	stored []byte
	room   []byte // memory of the task for stored; block.Data is then the task's, too
	err    error
	done   chan struct{}
}

// do encodes the block.
func (b *encodeBlock) do(*worker) {
	b.stored, b.err = b.job.Encode(b.stored[:0])
	b.done <- struct{}{}
}

// encoders let the workers encode blocks, and return them in the order in which they
// were begun. The number of blocks under way is fixed, and so is their memory.
type encoders struct {
	workers *workers
	queue   []*encodeBlock // begun, in order
	free    []*encodeBlock
}

// blocksPerWorker keeps the workers busy while the shredder walks a large input
// block.
const blocksPerWorker = 4

func newEncoders(p *workers, blocks int) *encoders {
	e := &encoders{workers: p, queue: make([]*encodeBlock, 0, blocks), free: make([]*encodeBlock, 0, blocks)}
	for range blocks {
		e.free = append(e.free, &encodeBlock{done: make(chan struct{}, 1)})
	}
	return e
}

// begun returns the blocks that were begun and not yet released, in order.
func (e *encoders) begun() []*encodeBlock { return e.queue }

// hasRoom reports whether take finds a block.
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
	e.workers.encode <- b
}

// firstReady reports whether first returns at once.
func (e *encoders) firstReady() bool {
	return len(e.queue) > 0 && len(e.queue[0].done) > 0
}

// first waits for the block that was begun first. It fails only if the workers' context
// ends.
func (e *encoders) first() (*encodeBlock, error) {
	b := e.queue[0]
	if _, ok := helpUntil(e.workers, &e.workers.states[0], b.done); !ok {
		return nil, context.Cause(e.workers.ctx)
	}
	return b, nil
}

// release takes the first block off the queue. It keeps the block's memory, or gives it
// back if it is the task's.
func (e *encoders) release(b *encodeBlock, m *memory) {
	if b.room != nil {
		m.Give(b.block.Data)
		m.Give(b.room)
		b.block.Data, b.stored, b.room = nil, nil, nil
	}
	copy(e.queue, e.queue[1:])
	e.queue = e.queue[:len(e.queue)-1]
	b.job = nil
	e.free = append(e.free, b)
}

// closeBlock hands the open block of a column to the encoders.
func (g *group) closeBlock(col int) error {
	e := g.t.encoders
	for !e.hasRoom() || e.firstReady() {
		if err := g.storeFirst(); err != nil {
			return err
		}
	}
	b := e.take(col)
	g.t.bufs.Cols[col].Finish(g.rows, &b.block)
	job, err := g.rg.Begin(col, &b.block)
	if err == nil {
		err = g.makeRoom(b, job.Bound())
	}
	if err != nil {
		return g.fail(err, &b.block)
	}
	e.begin(b, job)
	g.upper += g.rg.Bound(col, 0, 0, 0)
	return nil
}

// makeRoom takes memory for the encoded bytes of a block beyond the usual size.
func (g *group) makeRoom(b *encodeBlock, bound int64) (err error) {
	data, usual := len(b.block.Data), column.BlockMemory(g.t.cfg.BlockSize)
	if cap(b.block.Data) <= usual {
		return nil
	}
	if b.room, err = g.t.memory.take(int(bound)); err != nil {
		return fmt.Errorf("column %s: values of %d bytes: %w", g.t.cfg.Mapping.Columns[b.col].Name, data, err)
	}
	b.stored = b.room
	return nil
}
