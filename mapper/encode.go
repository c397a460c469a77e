package mapper

import (
	"context"
	"fmt"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// encodeBlock is a column block that is being encoded for the spill.
type encodeBlock struct {
	col    int
	block  column.Block
	job    format.EncodeJob
	stored []byte
	room   []byte // memory that the task took for stored, or nil
	large  bool   // block.Data is memory that the task took, too
	err    error
	done   chan struct{}
}

// do encodes the block.
func (b *encodeBlock) do(*worker) {
	b.stored, b.err = b.job.Encode(b.stored[:0])
	b.done <- struct{}{}
}

// encoders let the workers encode blocks, and return the blocks in the order in which
// they were begun. The number of blocks is fixed, and so is their memory.
type encoders struct {
	workers *workers
	queue   []*encodeBlock // blocks that were begun and not released, in order
	free    []*encodeBlock
}

// blocksPerWorker is the number of blocks per worker. It keeps the workers busy while
// the shredder walks a large input block.
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

// hasRoom reports whether take can return a block.
func (e *encoders) hasRoom() bool { return len(e.free) > 0 }

// take returns a free block, which keeps its memory, for a column.
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

// firstReady reports whether first would return without waiting.
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

// release removes the first block from the queue. The block keeps its memory, except
// memory that the task took for it.
func (e *encoders) release(b *encodeBlock, m *memory) {
	if b.room != nil {
		m.Give(b.room)
		b.stored, b.room = nil, nil
	}
	if b.large {
		m.Give(b.block.Data)
		b.block.Data, b.large = nil, false
	}
	copy(e.queue, e.queue[1:])
	e.queue = e.queue[:len(e.queue)-1]
	b.job = nil
	e.free = append(e.free, b)
}

// closeBlock closes the open block of a column, and passes it to the encoders.
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

// mostGrowth is how many times the memory of its data a block of the usual size may need to be
// encoded. It covers values of a byte that become eight bytes with tables. A row of many symbols
// of an enum can need thousands of times its memory.
const mostGrowth = 16

// makeRoom takes memory for the encoded bytes of a block beyond the usual size.
func (g *group) makeRoom(b *encodeBlock, bound int64) (err error) {
	data, usual := len(b.block.Data), column.BlockMemory(g.t.cfg.BlockSize)
	b.large = cap(b.block.Data) > usual
	if !b.large && bound <= mostGrowth*int64(usual) {
		return nil
	}
	if b.room, err = g.t.memory.take(int(bound)); err != nil {
		return fmt.Errorf("column %s: values of %d bytes: %w", g.t.cfg.Mapping.Columns[b.col].Name, data, err)
	}
	b.stored = b.room
	return nil
}
