package mapper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// inputBlock is a block that the reader passes to the shredder.
//
// Once it is ready, exactly one of these statements holds:
//   - rows holds the block's decoded bytes.
//   - err is set, and lost is the range to skip if damage is allowed.
//   - err and final are set.
//   - The share of memory had no room. The shredder reads (unread) or decodes (need) the
//     block when no other input is in progress.
type inputBlock struct {
	src    *openSource
	block  ocf.Block
	rows   []byte
	err    error
	final  bool
	lost   ocf.Range
	ready  chan struct{}
	unread bool
	need   int64 // bytes for the rows of a block that is not decoded; otherwise 0
	size   int64 // stored bytes

	in      *reader
	charged int64  // bytes that admission counts for the block
	stored  []byte // memory of block.Data
	room    []byte // memory of rows

	progress blockProgress
}

// empty returns the memory of a block to the share, and makes b ready for another block.
func (b *inputBlock) empty(share *budget.Share) {
	b.releaseStored(sharing{share})
	b.releaseRows(sharing{share})
	b.err, b.final, b.unread, b.need, b.size, b.progress.reported = nil, false, false, 0, 0, 0
}

// releaseStored returns the memory of the stored bytes once they are decoded.
func (b *inputBlock) releaseStored(to taker) {
	to.Give(b.stored)
	b.block.Data, b.stored = nil, nil
}

// releaseRows returns the memory of the rows once they are shredded.
func (b *inputBlock) releaseRows(to taker) {
	to.Give(b.room)
	b.rows, b.room = nil, nil
}

// reader reads blocks ahead of the shredder, for the workers to decode.
type reader struct {
	sources []Source
	cfg     *Config
	workers *workers
	blocks  *admission
	memory  *memory
	scanner *ocf.Scanner
	open    chan struct{}    // see openSource
	order   chan *inputBlock // blocks in input order, perhaps not ready yet
	// resume gets a value when the shredder has read a block itself.
	resume chan struct{}
	done   sync.WaitGroup
}

// start starts a goroutine that reads until all sources are read, or the context ends.
func (in *reader) start(ctx context.Context) {
	in.done.Go(func() {
		defer close(in.order)
		for _, s := range in.sources {
			src, err := in.openSource(ctx, s)
			if err != nil {
				in.end(ctx, err)
				return
			}
			more := in.scan(ctx, src)
			src.release()
			if !more {
				return
			}
		}
	})
}

// end passes the shredder an error that ends the input, after the earlier blocks.
func (in *reader) end(ctx context.Context, err error) {
	if b := in.blocks.take(ctx); b != nil {
		b.err, b.final = err, true
		in.send(b)
	}
}

// send passes the shredder a block that no worker decodes.
func (in *reader) send(b *inputBlock) {
	b.ready <- struct{}{}
	in.order <- b
}

// scan reads the blocks of one source and reports whether to go on.
func (in *reader) scan(ctx context.Context, src *openSource) bool {
	in.scanner.Reset(src.R, src.Size, src.Name, src.Header, src.Range)
	//guard: rejects a block larger than the limit
	in.scanner.LimitBlocks(in.cfg.MaxInputBlock)
	for {
		b := in.blocks.take(ctx)
		if b == nil {
			return false
		}
		b.in, b.src = in, src.hold()
		size, err := in.scanner.Peek(ctx)
		if err == io.EOF {
			in.blocks.release(b)
			return true
		}
		if err == nil {
			if b.stored = in.memory.share.Try(storedMemory(size)); b.stored == nil {
				if !in.leave(ctx, b) {
					return false
				}
				continue
			}
			b.block.Data = b.stored
			err = in.scanner.Next(ctx, &b.block)
		}
		if err == nil {
			b.size = size
			in.blocks.charge(b)
			in.workers.decode <- b
			in.order <- b
			continue
		}
		in.fail(ctx, b, err)
		final := b.final // after send, b belongs to the shredder
		if in.send(b); final {
			return false
		}
	}
}

// storedMemory returns the memory that the scanner needs for a block of size stored
// bytes and its sync marker.
func storedMemory(size int64) int { return int(size) + ocf.SyncSize }

// leave leaves a block to the shredder and waits until the shredder has read it. It
// reports whether to go on.
func (in *reader) leave(ctx context.Context, b *inputBlock) bool {
	b.unread = true
	in.send(b)
	select {
	case <-in.resume:
		return true
	case <-ctx.Done():
		return false
	}
}

// readNow reads a block that the reader left, and lets reading ahead go on. It returns
// an error of memory that ends the task; other errors that do are in b.err.
func (in *reader) readNow(ctx context.Context, b *inputBlock) error {
	err := b.load(ctx, in.scanner, in.memory, b.src.Name)
	if errors.As(err, new(*budget.Error)) {
		return err
	}
	if err != nil {
		in.fail(ctx, b, err)
	}
	b.unread = false
	in.resume <- struct{}{}
	return nil
}

// load waits for memory and reads the next block.
func (b *inputBlock) load(ctx context.Context, scanner *ocf.Scanner, m *memory, name string) error {
	size, err := scanner.Peek(ctx)
	if err != nil {
		return err
	}
	if b.stored = m.share.Try(storedMemory(size)); b.stored == nil {
		//guard: checks the end of a block before its size is believed
		if err := scanner.CheckEnd(ctx); err != nil {
			return err
		}
		if b.stored, err = m.take(storedMemory(size)); err != nil {
			return fmt.Errorf("%s: block of %d bytes: %w", name, size, err)
		}
	}
	b.block.Data, b.size = b.stored, size
	return scanner.Next(ctx, &b.block)
}

// fail sets an error of the scanner in the block. For damage that is allowed, it also
// sets the range to skip.
func (in *reader) fail(ctx context.Context, b *inputBlock, err error) {
	var d *damage.Error
	b.err, b.final, b.block.Rows = err, true, -1
	if !errors.As(err, &d) || in.cfg.OnDamage == Fail {
		return
	}
	lost, err := in.scanner.Resync(ctx)
	if err != nil {
		b.err = err
		return
	}
	b.lost, b.final = lost, false
}
