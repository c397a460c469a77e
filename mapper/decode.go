package mapper

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// do decodes the block for the shredder, if memory is free now.
func (b *inputBlock) do(w *worker) {
	b.in.decodeAhead(b, w, &b.src.Source)
	b.in.blocks.settle(b)
	b.ready <- struct{}{}
}

// decodeAhead decodes a block if the task's share has memory for it.
func (in *reader) decodeAhead(b *inputBlock, w *worker, src *Source) {
	err := b.decode(w, src, in.cfg, in.blocks.guess(b.size), sharing{in.memory.share})
	if err != nil {
		b.err, b.final = err, true
	}
}

// decodeNow waits for memory and decodes a block for which no memory was free before.
// Its error ends the task.
func (t *task) decodeNow(b *inputBlock, src *Source) error {
	need := b.need
	err := b.decode(&t.workers.states[0], src, t.cfg, need, &t.memory)
	if err != nil {
		return fmt.Errorf("%s: offset %d: block of %d bytes, %d decompressed: %w", src.Name, b.block.Offset, b.size, need, err)
	}
	return nil
}

// taker lends memory. take may return nil without an error if no memory is free now.
type taker interface {
	take(n int) ([]byte, error)
	Give(memory []byte)
}

// sharing takes memory that is free in a share, and does not wait.
type sharing struct{ *budget.Share }

func (s sharing) take(n int) ([]byte, error) { return s.Try(n), nil }

// decode decodes a block that was read from src, into memory of the size that the block
// states, or of guess bytes if it states none. If no memory is free, decode sets b.need.
// The error is the error of from, or of an unknown codec.
func (b *inputBlock) decode(w *worker, src *Source, cfg *Config, guess int64, from taker) error {
	b.lost, b.err, b.need, b.rows = b.block.Range(), nil, 0, nil
	d, err := w.decoder(src.Header.Codec, cfg.MaxInputBlock)
	if err != nil {
		return err
	}
	d.Progress = b.progress.start(b.lost.Len(), cfg.Progress)
	room, known := d.StatedRoom(&b.block)
	if !known {
		room = guess
	}
	for {
		if b.room, err = from.take(int(room)); err != nil {
			return err
		}
		if b.room != nil {
			b.progress.begin(false)
			b.rows, b.err = d.DecodeWithin(b.room[:0], &b.block, src.Name)
			if !errors.Is(b.err, ocf.ErrRoom) {
				b.releaseStored(from)
				return nil
			}
			b.releaseRows(from)
		} else if known {
			b.need = max(room, 1)
			return nil
		}
		// A guess must not cause a wait or an error, so the exact size is used from here on.
		b.progress.begin(false)
		if room, b.err = d.Size(&b.block, src.Name); b.err != nil {
			return nil
		}
		known = true
	}
}
