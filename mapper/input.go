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
	source int
	block  ocf.Block
	rows   []byte
	err    error
	final  bool
	lost   ocf.Range
	ready  chan struct{}
}

// input reads blocks ahead of the shredder and decodes them in parallel.
type input struct {
	sources []Source
	cfg     Config
	order   chan *inputBlock // blocks in input order, maybe not ready
	decode  chan *inputBlock
	free    chan *inputBlock
	workers sync.WaitGroup
}

// startInput starts the scanner and the decoders. They end when the context
// does, or when the shredder has taken all blocks.
func startInput(ctx context.Context, sources []Source, cfg Config) *input {
	ahead := cfg.Workers + 2
	in := &input{
		sources: sources, cfg: cfg,
		order:  make(chan *inputBlock, ahead),
		decode: make(chan *inputBlock, ahead),
		free:   make(chan *inputBlock, ahead),
	}
	for range ahead {
		in.free <- &inputBlock{ready: make(chan struct{}, 1)}
	}
	in.workers.Go(func() { in.scanAll(ctx) })
	for range cfg.Workers {
		in.workers.Go(in.decodeAll)
	}
	return in
}

func (in *input) wait() { in.workers.Wait() }

// recycle gives a block back to the scanner.
func (in *input) recycle(b *inputBlock) {
	b.err, b.final = nil, false
	in.free <- b
}

func (in *input) scanAll(ctx context.Context) {
	defer close(in.order)
	defer close(in.decode)
	for i := range in.sources {
		if !in.scan(ctx, i) {
			return
		}
	}
}

// scan reads the blocks of one source and reports whether to go on.
func (in *input) scan(ctx context.Context, source int) bool {
	src := &in.sources[source]
	s := ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range)
	s.LimitBlocks(in.cfg.MaxInputBlock)
	for {
		var b *inputBlock
		select {
		case b = <-in.free:
		case <-ctx.Done():
			return false
		}
		b.source = source
		err := s.Next(ctx, &b.block)
		switch {
		case err == nil:
			in.order <- b
			in.decode <- b
			continue
		case err == io.EOF:
			in.free <- b
			return true
		}
		if !in.fail(ctx, s, b, err) {
			return false
		}
	}
}

// fail passes an error of the scanner on, in its place among the blocks, and
// reports whether it can be skipped.
func (in *input) fail(ctx context.Context, s *ocf.Scanner, b *inputBlock, err error) bool {
	var d *damage.Error
	b.err, b.final, b.block.Rows = err, true, -1
	if errors.As(err, &d) && in.cfg.OnDamage != Fail {
		lost, resyncErr := s.Resync(ctx)
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

// decodeAll decodes blocks until the scanner ends.
func (in *input) decodeAll() {
	decoders := make(map[string]*ocf.Decoder)
	for b := range in.decode {
		src := &in.sources[b.source]
		d := decoders[src.Header.Codec]
		if d == nil {
			var err error
			if d, err = ocf.NewDecoder(src.Header.Codec, in.cfg.MaxInputBlock); err != nil {
				b.err, b.final = err, true
				b.ready <- struct{}{}
				continue
			}
			decoders[src.Header.Codec] = d
		}
		b.rows, b.err = d.Decode(b.rows, &b.block, src.Name)
		b.lost = b.block.Range()
		b.ready <- struct{}{}
	}
}
