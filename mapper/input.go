package mapper

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/ocf"
)

// inputBlock is a block on its way from the scanner to the shredder. Exactly
// one of the following holds once ready: rows are the block's decoded bytes;
// err is set and lost is the range to skip if damage is allowed; err is set
// and final.
type inputBlock struct {
	in      *input
	src     *openSource
	block   ocf.Block
	rows    []byte
	err     error
	final   bool
	lost    ocf.Range
	ready   chan struct{}
	charged int64 // by the blockPool
	large   bool  // the blockPool lets no other task have such a block
}

// memory is the number of bytes that the block keeps.
func (b *inputBlock) memory() int64 { return int64(cap(b.block.Data) + cap(b.rows)) }

// do decodes the block for the shredder.
func (b *inputBlock) do(w *worker) {
	b.decode(w, &b.src.Source, b.in.cfg)
	b.in.blocks.settle(b)
	b.ready <- struct{}{}
}

// decode decodes a block that was read from src.
func (b *inputBlock) decode(w *worker, src *Source, cfg *Config) {
	b.lost, b.err, b.final = b.block.Range(), nil, false
	d, err := w.decoder(src.Header.Codec, cfg.blockLimit())
	if err == nil {
		b.rows, b.err = d.Decode(b.rows, &b.block, src.Name)
		err = cfg.refusal(b.err)
	}
	if err != nil {
		b.err, b.final = err, true
	}
}

// input reads blocks ahead of the shredder, for the workers to decode.
type input struct {
	sources []Source
	cfg     *Config
	pool    *workerPool
	blocks  *blockPool
	scanner *ocf.Scanner
	order   chan *inputBlock // blocks in input order, maybe not ready
	done    sync.WaitGroup
}

// start starts the scanner. It ends when the context does, or when it has read
// everything.
func (in *input) start(ctx context.Context) {
	in.done.Go(func() {
		defer close(in.order)
		for _, s := range in.sources {
			src, err := s.open(ctx)
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

// end passes an error on that ends the input, behind the blocks before it.
func (in *input) end(ctx context.Context, err error) {
	if b := in.blocks.take(ctx); b != nil {
		b.err, b.final = err, true
		b.ready <- struct{}{}
		in.order <- b
	}
}

// scan reads the blocks of one source and reports whether to go on.
func (in *input) scan(ctx context.Context, src *openSource) bool {
	in.scanner.Reset(src.R, src.Size, src.Name, src.Header, src.Range)
	//guard: a block larger than the memory for it would be read
	in.scanner.LimitBlocks(in.cfg.blockLimit())
	for {
		b := in.blocks.take(ctx)
		if b == nil {
			return false
		}
		b.in, b.src = in, src.hold()
		size, err := in.scanner.Peek(ctx)
		if err == nil {
			if !in.blocks.admit(ctx, b, size) {
				in.blocks.giveBack(b)
				return false
			}
			err = in.scanner.Next(ctx, &b.block)
		}
		switch {
		case err == nil:
			in.blocks.charge(b)
			in.pool.decode <- b
			in.order <- b
			continue
		case err == io.EOF:
			in.blocks.giveBack(b)
			return true
		}
		if !in.fail(ctx, b, err) {
			return false
		}
	}
}

// fail passes an error of the scanner on, in its place among the blocks, and
// reports whether it can be skipped.
func (in *input) fail(ctx context.Context, b *inputBlock, err error) bool {
	var d *damage.Error
	b.err, b.final, b.block.Rows = err, true, -1
	//guard: rows would be left out for want of memory, as if they were damaged
	if refused := in.cfg.refusal(err); refused != nil {
		b.err = refused
	} else if errors.As(err, &d) && in.cfg.OnDamage != Fail {
		lost, resyncErr := in.scanner.Resync(ctx)
		if resyncErr == nil {
			b.lost, b.final = lost, false
		} else {
			b.err = resyncErr
		}
	}
	skippable := !b.final // b is the shredder's once it is sent
	b.ready <- struct{}{}
	in.order <- b
	return skippable
}
