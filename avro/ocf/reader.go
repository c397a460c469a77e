package ocf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Reader reads and decodes the blocks of a file or a stream, one after another. It
// belongs to one goroutine.
type Reader struct {
	name    string
	header  *Header
	scanner *Scanner
	decoder *Decoder
	memory  column.Account
	block   Block
	rows    []byte
	growth  damage.Growth
}

// NewReader returns a reader of all blocks of the file that r reads. The name is only
// used in errors. A block that decodes to more than maxBlock bytes is damage whose cause
// is ErrTooLarge.
func NewReader(r io.ReaderAt, size int64, name string, maxBlock int64, memory column.Account) (*Reader, error) {
	h, err := ReadHeaderWithin(r, size, name, memory)
	if err != nil {
		return nil, err
	}
	return newReader(NewScanner(r, size, name, h, Range{0, size}), name, h, maxBlock, memory)
}

// NewStreamReader is NewReader for a stream. Next waits only until one block has arrived.
// It may read further bytes that are already there.
func NewStreamReader(r io.Reader, name string, maxBlock int64, memory column.Account) (*Reader, error) {
	buffer := bufio.NewReaderSize(r, 64<<10)
	h, err := readHeader(buffer, math.MaxInt64, name, memory)
	if err != nil {
		return nil, err
	}
	s := NewScanner(nil, math.MaxInt64, name, h, Range{0, math.MaxInt64})
	s.stream = buffer
	return newReader(s, name, h, maxBlock, memory)
}

func newReader(s *Scanner, name string, h *Header, maxBlock int64, memory column.Account) (*Reader, error) {
	d, err := NewDecoder(h.Codec, maxBlock)
	if err != nil {
		return nil, err
	}
	s.LimitBlocks(maxBlock)
	return &Reader{name: name, header: h, scanner: s, decoder: d, memory: memory}, nil
}

// Header returns the header of the file.
func (r *Reader) Header() *Header { return r.header }

// Skip passes over the next blocks without decoding them, as long as these blocks have
// at most limit rows in total. It returns the number of rows that it passed over, and
// whether there are more blocks.
func (r *Reader) Skip(ctx context.Context, limit int64) (rows int64, more bool, err error) {
	for {
		n, skipped, err := r.scanner.Skip(ctx, limit-rows)
		if err == io.EOF {
			return rows, false, nil
		}
		if err != nil || !skipped {
			return rows, true, err
		}
		rows += n
	}
}

// Next returns the next block and the bytes of its rows, or io.EOF after the last
// block. Both are valid until the next call.
func (r *Reader) Next(ctx context.Context) (*Block, []byte, error) {
	size, err := r.scanner.Peek(ctx)
	if err != nil {
		return nil, nil, err
	}
	if size += SyncSize; size > int64(cap(r.block.Data)) {
		//guard: checks the end of a block before memory of its size is allocated
		if err := r.scanner.CheckEnd(ctx); err != nil {
			return nil, nil, err
		}
	}
	if r.block.Data, err = r.fit(r.block.Data, size); err != nil {
		return nil, nil, fmt.Errorf("%s: block of %d bytes: %w", r.name, size-SyncSize, err)
	}
	if err := r.scanner.Next(ctx, &r.block); err != nil {
		return nil, nil, err
	}
	if err := r.decode(); err != nil {
		return nil, nil, err
	}
	r.growth.Stored += r.block.Range().Len()
	r.growth.Bytes += int64(len(r.rows))
	if err := r.Grow(r.block.Rows); err != nil {
		return nil, nil, err
	}
	return &r.block, r.rows, nil
}

// Grow adds n items without bytes, which the caller found in rows that Next returned, to
// the rows of the file. Next itself adds the rows of its block. If the file is too small for
// the total, the error is a *damage.Error: see damage.Growth.
func (r *Reader) Grow(n int64) error {
	r.growth.Rows += min(n, math.MaxInt64-r.growth.Rows)
	return r.growth.Check(r.name, r.block.Offset)
}

// decode decodes the block. If the codec does not store the decoded size, decode first
// tries the larger of the memory of the last block and four times the stored size.
func (r *Reader) decode() (err error) {
	b := &r.block
	room, known := r.decoder.StatedRoom(b)
	if !known {
		room = max(int64(cap(r.rows)), 4*int64(len(b.Data)))
	}
	for {
		if r.rows, err = r.fit(r.rows, room); err != nil {
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
func (r *Reader) fit(b []byte, n int64) ([]byte, error) {
	have := int64(cap(b))
	if n <= have && (have <= keptMemory || n >= have/4) {
		return b[:0], nil
	}
	r.memory.Release(have)
	if n < keptMemory {
		n += n / 4 // so that a slightly larger block fits too
	}
	if err := r.memory.Reserve(n); err != nil {
		return nil, err
	}
	return make([]byte, 0, n), nil
}
