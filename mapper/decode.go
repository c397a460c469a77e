package mapper

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// do decodes the block for the shredder, as far as there is memory now.
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

// decodeNow decodes a block for which there was no memory, and waits for it. It
// returns what ends the task.
func (t *task) decodeNow(b *inputBlock, src *Source) error {
	need := b.need
	err := b.decode(&t.workers.each[0], src, t.cfg, need, &t.memory)
	if err != nil {
		return fmt.Errorf("%s: offset %d: block of %d bytes, %d decompressed: %w", src.Name, b.block.Offset, b.size, need, err)
	}
	return nil
}

// taker is where memory is taken from, and given back to. Without an error, no
// memory is none now.
type taker interface {
	take(n int) ([]byte, error)
	Give(memory []byte)
}

// sharing takes memory as far as a share has it.
type sharing struct{ *budget.Share }

func (s sharing) take(n int) ([]byte, error) { return s.Try(n), nil }

// decode decodes a block that was read from src into memory for guess bytes, unless
// the block itself says how many there are. If there is none now, the block says in
// need how much is wanted. The error is the taker's, or of a codec that nobody
// knows.
func (b *inputBlock) decode(w *worker, src *Source, cfg *Config, guess int64, from taker) error {
	b.lost, b.err, b.need, b.rows = b.block.Range(), nil, 0, nil
	d, err := w.decoder(src.Header.Codec, cfg.MaxInputBlock)
	if err != nil {
		return err
	}
	d.Progress = b.progress.of(b.lost.Len(), cfg.Progress)
	room, known := d.Stated(&b.block)
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
		// Memory is waited for, or refused, for what is needed and not for a guess.
		b.progress.begin(false)
		if room, b.err = d.Size(&b.block, src.Name); b.err != nil {
			return nil
		}
		known = true
	}
}
