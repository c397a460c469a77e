package ocf

import (
	"errors"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// RowDecoder decodes blocks of a file into memory that it accounts for. It belongs to one
// goroutine.
type RowDecoder struct {
	name    string
	decoder *Decoder
	memory  column.Account
	rows    []byte
	growth  damage.Growth
	offset  int64 // of the block that was decoded last
}

// NewRowDecoder returns a decoder of blocks with a codec. The name of the file is only used in
// errors. A block that decodes to more than maxBlock bytes is damage whose cause is
// ErrTooLarge.
func NewRowDecoder(codec, name string, maxBlock int64, memory column.Account) (*RowDecoder, error) {
	d, err := NewDecoder(codec, maxBlock)
	if err != nil {
		return nil, err
	}
	return &RowDecoder{name: name, decoder: d, memory: memory}, nil
}

// Rows returns the bytes of a block's rows, which are valid until the next call.
func (r *RowDecoder) Rows(b *Block) ([]byte, error) {
	r.offset = b.Offset
	if err := r.decode(b); err != nil {
		return nil, err
	}
	r.growth.Stored += b.Range().Len()
	r.growth.Bytes += int64(len(r.rows))
	return r.rows, r.Grow(b.Rows)
}

// Grow adds n items without bytes, which the caller found in rows, to the decoded rows. Rows
// itself adds the rows of its block. If the blocks are too small for the total, the error is a
// *damage.Error: see damage.Growth.
func (r *RowDecoder) Grow(n int64) error {
	r.growth.Rows += min(n, math.MaxInt64-r.growth.Rows)
	return r.growth.Check(r.name, r.offset)
}

// decode decodes a block. If the codec does not store the decoded size, decode first
// tries the larger of the memory of the last block and four times the stored size.
func (r *RowDecoder) decode(b *Block) (err error) {
	room, known := r.decoder.StatedRoom(b)
	if !known {
		room = max(int64(cap(r.rows)), 4*int64(len(b.Data)))
	}
	for {
		if r.rows, err = fit(r.memory, r.rows, room); err != nil {
			return fmt.Errorf("%s: block of %d bytes at offset %d, %d decompressed: %w", r.name, len(b.Data), b.Offset, room, err)
		}
		r.rows, err = r.decoder.DecodeWithin(r.rows, b, r.name)
		if known || !errors.Is(err, ErrRoom) {
			return err
		}
		if room, err = r.decoder.Size(b, r.name); err != nil {
			return err
		}
		known = true
	}
}

// Memory of at most keptMemory bytes is always kept for the next block.
const keptMemory = 1 << 20

// fit returns memory of at least n bytes: b, unless it is too small or far too large.
func fit(memory column.Account, b []byte, n int64) ([]byte, error) {
	have := int64(cap(b))
	if n <= have && (have <= keptMemory || n >= have/4) {
		return b[:0], nil
	}
	memory.Release(have)
	if n < keptMemory {
		n += n / 4 // so that a slightly larger block fits too
	}
	if err := memory.Reserve(n); err != nil {
		return nil, err
	}
	return make([]byte, 0, n), nil
}
