package ocf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
)

// Reader reads and decodes the blocks of a file or a stream, one after another. It
// belongs to one goroutine.
type Reader struct {
	*RowDecoder
	header  *Header
	scanner *Scanner
	block   Block
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
	d, err := NewRowDecoder(h.Codec, name, maxBlock, memory)
	if err != nil {
		return nil, err
	}
	s.LimitBlocks(maxBlock)
	return &Reader{RowDecoder: d, header: h, scanner: s}, nil
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
	if err := r.Stored(ctx, r.memory, &r.block); err != nil {
		return nil, nil, err
	}
	rows, err := r.Rows(&r.block)
	if err != nil {
		return nil, nil, err
	}
	return &r.block, rows, nil
}

// Stored reads the next block into b without decoding it. It returns io.EOF after the last block.
// b.Data is reserved from memory, and is reused.
func (r *Reader) Stored(ctx context.Context, memory column.Account, b *Block) error {
	size, err := r.scanner.Peek(ctx)
	if err != nil {
		return err
	}
	if size += SyncSize; size > keptMemory {
		//guard: checks the end of a large block before memory of its size is allocated
		if err := r.scanner.CheckEnd(ctx); err != nil {
			return err
		}
	}
	if b.Data, err = fit(memory, b.Data, size); err != nil {
		return fmt.Errorf("%s: block of %d bytes: %w", r.name, size-SyncSize, err)
	}
	return r.scanner.Next(ctx, b)
}
