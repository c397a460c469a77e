package mapper

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// job is a block to decode or to encode (not a job of package job). Any worker may do
// it. do never waits for memory. It may wait only for jobs that were taken before it.
type job interface{ do(w *worker) }

// worker is the state of one goroutine.
type worker struct{ decoders map[string]*ocf.Decoder }

// decoder returns the worker's decoder for a codec. The maxBlock of the first call for
// the codec applies.
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
// it would wait. Each other worker has a goroutine. So no worker is idle while there is
// a job. A single worker does all jobs on the shredder's goroutine.
type workers struct {
	ctx     context.Context
	encode  chan job // sends never wait: there is room for all blocks
	decode  chan job
	states  []worker       // state of each worker; the first is the shredder's
	running sync.WaitGroup // counts the goroutines of all workers but the shredder, and of helpers
}

// start runs the workers other than the shredder, and the helpers if h is not nil, until the
// context ends: nothing is ever received from a nil channel.
func (p *workers) start(ctx context.Context, h *Helpers) {
	p.ctx = ctx
	if h != nil {
		p.admit(h)
	}
	for i := range p.states[1:] {
		p.running.Go(func() { helpUntil[struct{}](p, &p.states[i+1], nil) })
	}
}

// helpUntil receives from a channel. As long as the receive would block, it does jobs.
// Blocks to encode come first: the shredder waits for them at the end of a row group,
// and they are still in the cache. ok is false if the channel is closed, or if the
// context has ended and there is neither a value nor a block to encode.
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
