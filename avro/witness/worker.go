package witness

import (
	"context"
	"errors"
	"io"
	"slices"
)

// block is a block that a worker compares, with its rows of the columns.
type block struct {
	Block
	number int64 // of its outcome
	in     *reading
	row    int64  // number of its first row in the input
	tile   []byte // the block as it is in the file, for goavro's container reader
	datums []byte // rows of the columns
	ends   []int  // ends of these rows in datums
	held   int64  // bytes that are reserved
}

// worker compares one block after another.
type worker struct {
	c         *comparer
	block     block
	done      int64 // number of the block's rows that were compared
	result    *outcome
	lost      bool       // no row of the block is compared
	source    source     // rows of the block
	container *container // that of the input of
	of        *reading
}

const (
	// keptBuffer is the size up to which buffers are used again.
	keptBuffer = 1 << 20
	// leastRoom is the least size of the rows of the columns that are compared at a time.
	leastRoom = 64 << 10
)

// take takes the next block with its rows of the columns. It returns false at the end, and after
// an error. If the rows do not fit into memory at once, it compares all but the last of them.
func (w *worker) take(ctx context.Context) bool {
	c, b := w.c, &w.block
	c.taking.Lock()
	defer c.taking.Unlock()
	if c.done || c.stopped() {
		return false
	}
	err := c.nextBlock(ctx, b)
	if err == io.EOF {
		c.release(b)
		c.done = true
		return false
	}
	b.number = c.number()
	if err == nil {
		w.begin()
		err = w.fill(ctx)
	}
	if err != nil {
		c.done = true
		c.finish(b.number, &outcome{err: err})
		w.end()
	}
	return err == nil
}

// stopped reports whether the comparison has ended early.
func (c *comparer) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Progress != nil && c.err == nil {
		c.Progress(c.Compared)
	}
	return c.err != nil
}

// begin begins with a block.
func (w *worker) begin() {
	b := &w.block
	w.done, w.source = 0, nil
	w.result = &outcome{in: b.in, row: b.row, rows: b.Rows}
	w.c.mu.Lock()
	w.c.running++
	b.in.users++
	w.lost = b.in.lost != nil
	whole := b.in.head != nil && !b.in.failed && !w.lost
	w.c.mu.Unlock()
	b.tile = b.tile[:0]
	if whole {
		b.tile = slices.Grow(b.tile, int(b.End-b.Start))[:b.End-b.Start]
		if n, _ := b.in.R.ReadAt(b.tile, b.Start); n < len(b.tile) {
			b.tile = b.tile[:0] // the caller's reader reports the error
		}
	}
}

// end ends the use of the block.
func (w *worker) end() {
	b := &w.block
	for _, buf := range []*[]byte{&b.tile, &b.datums} {
		if cap(*buf) > keptBuffer {
			*buf = nil
		}
	}
	if cap(b.ends) > keptBuffer/8 {
		b.ends = nil
	}
	w.source = nil
	if b.in != nil {
		w.c.leave(b.in)
		w.c.mu.Lock()
		w.c.running--
		w.c.mu.Unlock()
	}
	b.in, b.Block = nil, Block{}
	w.c.release(b)
}

// release releases the memory of a block.
func (c *comparer) release(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Memory != nil {
		c.Memory.Release(b.held)
	}
	b.held = 0
	c.changed.Broadcast()
}

// fill reads the rows of the columns.
func (w *worker) fill(ctx context.Context) error {
	c, b, o := w.c, &w.block, w.result
	if b.datums == nil {
		b.datums = []byte{} // so that a row without bytes is not nil
	}
	b.datums, b.ends = b.datums[:0], b.ends[:0]
	room := int64(leastRoom)
	if more := b.Size + leastRoom; c.Memory == nil || c.Memory.Reserve(more) == nil {
		room, b.held = more, b.held+more
	}
	for o.have < b.Rows && !c.ended {
		if o.have%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if int64(len(b.datums)+8*len(b.ends)) > room {
			if c.Memory == nil || c.Memory.Reserve(room) == nil {
				b.held += room
				room *= 2
			} else {
				o.columns = c.row
				w.compare(ctx)
				b.datums, b.ends = b.datums[:0], b.ends[:0]
			}
		}
		all, ok, err := c.nextRow(b.datums)
		if err != nil {
			return err
		}
		if ok {
			b.datums, b.ends = all, append(b.ends, len(all))
			o.have++
		}
	}
	o.columns = c.row
	return nil
}

// outcome compares the rest of the block, and returns the outcome of the whole block.
func (w *worker) outcome(ctx context.Context) *outcome {
	w.compare(ctx)
	for !w.ended() && w.done < w.block.Rows {
		w.compareRow(ctx, nil)
	}
	if !w.ended() {
		w.compareEnd()
	}
	return w.result
}

// ended reports whether no more rows of the block are compared.
func (w *worker) ended() bool { return w.lost || w.result.err != nil || w.result.lost != nil }

// compareEnd checks that the block ends after its last row.
func (w *worker) compareEnd() {
	_, _, err := w.next()
	switch o := w.result; {
	case errors.Is(err, errLost):
		o.lost, o.lostAt = err, o.row+o.rows
	case !errors.Is(err, io.EOF):
		o.err = inInput(&o.in.Input, err)
	}
}

// compare compares the rows of the columns that were read.
func (w *worker) compare(ctx context.Context) {
	b, start := &w.block, 0
	for _, end := range b.ends {
		if w.ended() {
			return
		}
		w.compareRow(ctx, b.datums[start:end:end])
		start = end
	}
}

// compareRow compares the block's next row. datum is nil if the columns lack it.
func (w *worker) compareRow(ctx context.Context, datum []byte) {
	o, row := w.result, w.block.row+w.done
	if w.done%256 == 0 && ctx.Err() != nil {
		o.err = ctx.Err()
		return
	}
	want, by, err := w.next()
	switch {
	case errors.Is(err, errLost):
		o.lost, o.lostAt = err, row
		return
	case err != nil && !errors.Is(err, errUndecodable):
		o.err = inInput(&o.in.Input, err)
		return
	case err == nil:
		err = o.check(&w.c.Options, row, want, datum, by)
	case datum == nil:
		o.differs(o.noRow(row))
	}
	if err != nil {
		o.skip(row, err)
	}
	w.done++
}

// next returns the block's next row, and io.EOF after the last one. goavro's container reader
// reads the block. If it fails, the caller's reader does.
func (w *worker) next() (native any, by decoder, err error) {
	if w.source == nil {
		w.source = w.open()
	}
	if w.source != nil {
		native, by, err = w.source.next()
		if err == nil || w.source != w.container || err == io.EOF && w.done == w.block.Rows {
			return native, by, err
		}
	}
	in := w.block.in
	w.result.own, w.container = true, nil
	w.c.mu.Lock()
	in.failed = true
	w.c.mu.Unlock()
	own, err := newBlockRows(in.codecs, &w.block.Block, w.done)
	if err != nil {
		return nil, nil, err
	}
	w.source = own
	return own.next()
}

// open returns the block's rows as goavro's container reader reads them, or nil.
func (w *worker) open() source {
	b := &w.block
	if len(b.tile) == 0 {
		return nil
	}
	if w.container == nil || w.of != b.in {
		c, err := newContainer(b.in.head, b.in.codecs.goavro)
		if err != nil {
			return nil
		}
		w.container, w.of = c, b.in
	}
	w.container.stream.Reset(b.tile)
	return w.container
}
