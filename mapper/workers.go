package mapper

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// job is a block to decode or to encode. Any worker may do it; it never waits.
type job interface{ do(w *worker) }

// worker is the state of one goroutine.
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

// workers do a task's jobs. The first worker is the shredder, which does jobs whenever
// it would wait; each other worker has a goroutine. So no worker is idle while there is
// a job, and a single worker never wakes another.
type workers struct {
	ctx     context.Context
	encode  chan job // sends never wait: there is room for all blocks
	decode  chan job
	each    []worker       // the first is the shredder's
	running sync.WaitGroup // the others
}

// start lets the other workers work until the context ends.
func (p *workers) start(ctx context.Context) {
	p.ctx = ctx
	for i := range p.each[1:] {
		p.running.Go(func() { helpUntil[struct{}](p, &p.each[i+1], nil) })
	}
}

// helpUntil receives from a channel, and does jobs while it would wait. Blocks to
// encode come first: the shredder waits for them at the end of a row group, and they
// are still in the cache. ok is false if the channel is closed or the context has ended.
func helpUntil[T any](p *workers, w *worker, from <-chan T) (v T, ok bool) {
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
