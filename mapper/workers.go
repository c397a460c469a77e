package mapper

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// job is a block to decode or to encode. Any worker may do it; it never waits.
type job interface{ do(w *worker) }

// worker is what one goroutine works with.
type worker struct{ decoders map[string]*ocf.Decoder }

// decoder returns the worker's decoder for a codec.
func (w *worker) decoder(codec string, maxBlock int64) (*ocf.Decoder, error) {
	if d := w.decoders[codec]; d != nil {
		return d, nil
	}
	d, err := ocf.NewDecoder(codec, maxBlock)
	if err != nil {
		return nil, err
	}
	if w.decoders == nil {
		w.decoders = make(map[string]*ocf.Decoder)
	}
	w.decoders[codec] = d
	return d, nil
}

// workers do a task's jobs: the shredder, whenever it would wait, and beside
// it one goroutine less than there are workers. So no worker is idle as long as
// there is something to do, and one worker alone never wakes another.
type workers struct {
	ctx     context.Context
	encode  chan job // no send waits: there is room for all blocks
	decode  chan job
	each    []worker       // the first is the shredder's
	running sync.WaitGroup // the others
}

// start lets the other workers work until the context ends.
func (p *workers) start(ctx context.Context) {
	p.ctx = ctx
	for i := range p.each[1:] {
		p.running.Go(func() { await[struct{}](p, &p.each[i+1], nil) })
	}
}

// await receives from a channel, and does jobs while that would wait. Blocks to
// encode come first, because they keep the shredder waiting at the end of a
// row group and are still in the cache. ok is false when the channel is closed
// or the context has ended.
func await[T any](p *workers, w *worker, from <-chan T) (v T, ok bool) {
	for {
		var j job
		select {
		case v, ok = <-from:
			return v, ok
		default:
		}
		select {
		case j = <-p.encode:
		default:
			select {
			case v, ok = <-from:
				return v, ok
			case <-p.ctx.Done():
				return v, false
			case j = <-p.encode:
			case j = <-p.decode:
			}
		}
		j.do(w)
	}
}
