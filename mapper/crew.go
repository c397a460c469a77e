package mapper

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/ocf"
)

// job is a block to decode or to encode. Any hand may do it; it never waits.
type job interface{ do(h *hand) }

// hand is what a goroutine of the crew works with.
type hand struct{ decoders map[string]*ocf.Decoder }

// decoder returns the hand's decoder for a codec.
func (h *hand) decoder(codec string, maxBlock int64) (*ocf.Decoder, error) {
	if d := h.decoders[codec]; d != nil {
		return d, nil
	}
	d, err := ocf.NewDecoder(codec, maxBlock)
	if err != nil {
		return nil, err
	}
	if h.decoders == nil {
		h.decoders = make(map[string]*ocf.Decoder)
	}
	h.decoders[codec] = d
	return d, nil
}

// crew does a task's jobs: the shredder, whenever it would wait, and beside it
// one helper less than there are workers. So no worker is idle as long as there
// is something to do, and one worker alone never wakes another.
type crew struct {
	ctx     context.Context
	encode  chan job // no send waits: there is room for all blocks
	decode  chan job
	hands   []hand // the first is the shredder's
	helpers sync.WaitGroup
}

// start lets the helpers work until the context ends.
func (c *crew) start(ctx context.Context) {
	c.ctx = ctx
	for i := range c.hands[1:] {
		c.helpers.Go(func() { await[struct{}](c, &c.hands[i+1], nil) })
	}
}

// await receives from a channel, and does jobs while that would wait. Blocks to
// encode come first, because they keep the shredder waiting at the end of a
// row group and are still in the cache. ok is false when the channel is closed
// or the context has ended.
func await[T any](c *crew, h *hand, from <-chan T) (v T, ok bool) {
	for {
		var j job
		select {
		case v, ok = <-from:
			return v, ok
		default:
		}
		select {
		case j = <-c.encode:
		default:
			select {
			case v, ok = <-from:
				return v, ok
			case <-c.ctx.Done():
				return v, false
			case j = <-c.encode:
			case j = <-c.decode:
			}
		}
		j.do(h)
	}
}
