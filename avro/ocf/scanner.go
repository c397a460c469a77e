package ocf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	firstBuffer  = 64 << 10 // many readers want only the first rows
	bufferSize   = 1 << 20
	maxVarint    = 10
	maxBlockHead = 2 * maxVarint
	minBlock     = 1 + 1 + SyncSize
)

// Range is the bytes [Start, End) of a file.
type Range struct{ Start, End int64 }

// Len returns the number of bytes in the range.
func (r Range) Len() int64 { return r.End - r.Start }

// Block is a block as it is stored. If the same Block is given to Next again, the
// scanner reuses Data.
type Block struct {
	Offset     int64  // start of the block in the file
	Rows       int64  // number of rows that the block states, not counted; ≥ 0
	DataOffset int64  // start of Data in the file
	Data       []byte // compressed rows
}

// Range returns the range of the block in the file, with its sync marker. If the data
// does not decode, this range is lost.
func (b *Block) Range() Range {
	return Range{b.Offset, b.DataOffset + int64(len(b.Data)) + SyncSize}
}

// InRow adds the file, the row of the block and the block's offset to the *damage.Error of a row.
// before is the number of bytes before the row in the decoded block. InRow returns other
// errors unchanged.
func (b *Block) InRow(err error, file string, row int64, before int) error {
	d, ok := err.(*damage.Error)
	if !ok {
		return err
	}
	at := *d
	at.File, at.Row, at.OfBlock, at.Offset = file, row, true, b.Offset
	at.Reason = fmt.Sprintf("%s (byte %d of the rows of the block)", d.Reason, int64(before)+d.Offset)
	return &at
}

// Scanner reads the blocks that start in one range of a file, or those of a stream, in
// order. It reads ahead in pieces of 64 KiB at first, and of 1 MiB later. It is not safe for
// concurrent use.
type Scanner struct {
	r        io.ReaderAt
	stream   io.Reader // if set, is read instead of r; it is at the end of buf, or of the last block that was read
	size     int64     // of the file; math.MaxInt64 for a stream whose end was not reached
	name     string
	sync     [SyncSize]byte
	rg       Range
	maxStore int64

	located bool  // pos is the start of a block
	pos     int64 // offset of the next block, or of the damaged one
	bad     error // damage at pos, until Resync

	buf    []byte // bytes of the file from offset bufOff on
	bufOff int64
}

// NewScanner returns a scanner of the blocks of r that start in rg. rg may reach beyond
// the end of the file. h is the header of the file.
func NewScanner(r io.ReaderAt, size int64, name string, h *Header, rg Range) *Scanner {
	s := new(Scanner)
	s.Reset(r, size, name, h, rg)
	return s
}

// Reset makes s a new scanner, like NewScanner, and keeps its buffer.
func (s *Scanner) Reset(r io.ReaderAt, size int64, name string, h *Header, rg Range) {
	*s = Scanner{r: r, size: size, name: name, sync: h.Sync, rg: rg, maxStore: math.MaxInt32, buf: s.buf[:0]}
	s.rg.End = min(rg.End, size)
	if rg.Start <= h.Size {
		s.pos, s.located = h.Size, true
	} else {
		s.pos = max(rg.Start, h.Size) - SyncSize
	}
}

// LimitBlocks makes the scanner reject blocks whose stored size is larger than any codec
// makes of maxBlock bytes of rows. They are rejected before memory is allocated. The
// error is damage whose cause is ErrTooLarge. Without LimitBlocks the limit is 2 GiB, as
// in Java.
func (s *Scanner) LimitBlocks(maxBlock int64) {
	const slack = 4096 // codec framing of small blocks
	if maxBlock < math.MaxInt32/2 {
		s.maxStore = max(maxBlock, 0) + max(maxBlock, 0)/6 + slack
	}
}

// Next reads the next block into b and reuses b.Data. It returns io.EOF when no more
// blocks start in the range. For damage it returns a *damage.Error, and returns the same
// error until Resync is called. After any other error, which is an error of the file or
// the context, Next may be called again. After an error the contents of b are undefined.
func (s *Scanner) Next(ctx context.Context, b *Block) error {
	h, err := s.head(ctx)
	if err != nil {
		return err
	}
	b.Offset, b.Rows, b.DataOffset = s.pos, h.rows, h.data
	if err := s.data(ctx, b, int(h.size)); err != nil {
		return s.keep(err)
	}
	s.pos = h.data + h.size + SyncSize
	return nil
}

// Peek returns the size in bytes of the Data that Next will read, so that callers can
// allocate memory for it. Its errors are those of Next.
func (s *Scanner) Peek(ctx context.Context) (int64, error) {
	h, err := s.head(ctx)
	return h.size, err
}

// CheckEnd checks that the next block ends where it states, before memory is allocated
// for a false size. Its errors are those of Next. The end of a stream cannot be checked
// before it is read.
func (s *Scanner) CheckEnd(ctx context.Context) error {
	h, err := s.head(ctx)
	if err != nil || s.stream != nil {
		return err
	}
	return s.keep(s.readEnd(ctx, h))
}

// keep returns err. If err is damage, the scanner returns it again until Resync.
func (s *Scanner) keep(err error) error {
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		s.bad = d
	}
	return err
}

// Skip passes over the next block if it has no more than most rows. It returns how many rows
// the block has and whether it was skipped. If the block is large, Skip reads only its head
// and its end. Its errors are those of Next.
func (s *Scanner) Skip(ctx context.Context, most int64) (rows int64, skipped bool, err error) {
	h, err := s.head(ctx)
	if err != nil || h.rows > most {
		return h.rows, false, err
	}
	end := h.data + h.size
	if err := s.pass(ctx, h.data, end); err != nil {
		return 0, false, s.keep(err)
	}
	w, err := s.window(ctx, end, SyncSize)
	if err != nil {
		return 0, false, s.keep(err)
	}
	if err := s.checkSync(w[:min(len(w), SyncSize)], end); err != nil {
		return 0, false, s.keep(err)
	}
	s.pos = end + SyncSize
	return h.rows, true, nil
}

// pass reads a stream from off up to the offset to. It does nothing for a file.
func (s *Scanner) pass(ctx context.Context, off, to int64) error {
	for s.stream != nil && off < to {
		w, err := s.window(ctx, off, 1)
		if err != nil {
			return err
		}
		if len(w) == 0 {
			return s.ended(off)
		}
		off += min(int64(len(w)), to-off)
	}
	return nil
}

// ended returns the damage of a stream that ends inside the block at pos.
func (s *Scanner) ended(off int64) error {
	return damage.New(damage.Truncated, s.name, off, "the stream ends inside the block at offset %d", s.pos)
}

// Resync moves past damage, to the block after the first sync marker that follows the
// start of the damaged block. It returns the bytes that it passed over. If there is no
// such marker, they reach to the end of the file. They may reach beyond the end of the
// range: a scanner of the following range starts after them. Without damage, Resync
// does nothing.
func (s *Scanner) Resync(ctx context.Context) (lost Range, err error) {
	if s.bad == nil {
		return Range{s.pos, s.pos}, nil
	}
	end, err := s.findSync(ctx, s.pos)
	if err != nil {
		return Range{}, err
	}
	lost = Range{s.pos, end}
	s.pos, s.bad = end, nil
	return lost, nil
}

// locate finds the first block of a range that starts after the header.
func (s *Scanner) locate(ctx context.Context) error {
	if s.rg.Start < s.rg.End {
		pos, err := s.findSync(ctx, s.pos)
		if err != nil {
			return err
		}
		s.pos = pos
	} else {
		s.pos = s.rg.Start
	}
	s.located = true
	return nil
}

// findSync returns the offset after the first sync marker that starts at or after off,
// or the size of the file if there is no such marker.
func (s *Scanner) findSync(ctx context.Context, off int64) (int64, error) {
	for s.size-off >= SyncSize {
		w, err := s.window(ctx, off, SyncSize)
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(w, s.sync[:]); i >= 0 {
			return off + int64(i) + SyncSize, nil
		}
		off += int64(len(w)) - (SyncSize - 1)
	}
	return s.size, nil
}

// blockHead holds the numbers before the data of a block.
type blockHead struct {
	rows, size int64
	data       int64 // offset of the data
}

// head finds the next block and reads its head.
func (s *Scanner) head(ctx context.Context) (blockHead, error) {
	//guard: stops reading at a damaged block
	if s.bad != nil {
		return blockHead{}, s.bad
	}
	if !s.located {
		if err := s.locate(ctx); err != nil {
			return blockHead{}, err
		}
	}
	if s.pos >= s.rg.End {
		return blockHead{}, io.EOF
	}
	h, err := s.readHead(ctx)
	if err != nil {
		return blockHead{}, s.keep(err)
	}
	return h, nil
}

// readHead reads the head of the block at pos.
func (s *Scanner) readHead(ctx context.Context) (h blockHead, err error) {
	w, err := s.window(ctx, s.pos, maxBlockHead)
	if err != nil {
		return h, err
	}
	if s.stream != nil && s.pos == s.size {
		return h, io.EOF
	}
	//guard: rejects bytes after the last block
	if n := s.size - s.pos; n < minBlock {
		return h, damage.New(damage.Trailing, s.name, s.pos,
			"%d bytes after the last block, but a block has at least %d", n, minBlock)
	}
	rows, n, err := s.long(w, s.pos, damage.Count, "row count")
	if err != nil {
		return h, err
	}
	//guard: rejects a negative number of rows
	if rows < 0 {
		return h, damage.New(damage.Count, s.name, s.pos, "block of %d rows", rows)
	}
	sizeAt := s.pos + int64(n)
	size, m, err := s.long(w[n:], sizeAt, damage.Size, "block size")
	if err != nil {
		return h, err
	}
	h = blockHead{rows: rows, size: size, data: sizeAt + int64(m)}
	remain := s.size - h.data
	switch {
	//guard: rejects a negative size
	case size < 0:
		return h, damage.New(damage.Size, s.name, sizeAt, "block of %d bytes", size)
	//guard: rejects a size beyond the file
	case size > remain-SyncSize:
		return h, damage.New(damage.Truncated, s.name, sizeAt,
			"block of %d bytes and a sync marker of %d, but %d bytes remain", size, SyncSize, remain)
	//guard: rejects a block larger than its memory
	case size > s.maxStore:
		return h, s.refuse(ctx, h, sizeAt)
	}
	return h, nil
}

// refuse returns the damage of a block that states a size beyond the limit. If the file
// has no sync marker where the block would end, the size is false, and the damage is the
// missing marker.
func (s *Scanner) refuse(ctx context.Context, h blockHead, sizeAt int64) error {
	if s.stream == nil {
		if err := s.readEnd(ctx, h); err != nil {
			return err
		}
	}
	return tooLarge(s.name, sizeAt, s.maxStore, "block of %d stored bytes", h.size)
}

// readEnd checks the sync marker after a block.
func (s *Scanner) readEnd(ctx context.Context, h blockHead) error {
	end := make([]byte, SyncSize)
	if err := s.readAt(ctx, end, h.data+h.size); err != nil {
		return err
	}
	return s.checkSync(end, h.data+h.size)
}

// data reads the stored bytes of b and checks the sync marker after them.
func (s *Scanner) data(ctx context.Context, b *Block, size int) error {
	need := size + SyncSize
	b.Data = slices.Grow(b.Data[:0], need)[:need]
	if need <= bufferSize {
		w, err := s.window(ctx, b.DataOffset, need)
		if err != nil {
			return err
		}
		//guard: rejects a stream that ends within a block
		if copy(b.Data, w) < need {
			return s.ended(b.DataOffset + int64(len(w)))
		}
	} else {
		have := copy(b.Data, s.buffered(b.DataOffset))
		for have < need {
			n := min(need-have, 4*bufferSize)
			if err := s.readAt(ctx, b.Data[have:have+n], b.DataOffset+int64(have)); err != nil {
				return err
			}
			have += n
		}
	}
	end := b.Data[size:]
	b.Data = b.Data[:size]
	return s.checkSync(end, b.DataOffset+int64(size))
}

// checkSync compares got, the bytes after the data of the block at pos, with the sync
// marker. They are at offset off.
func (s *Scanner) checkSync(got []byte, off int64) error {
	//guard: rejects a block without its sync marker
	if !bytes.Equal(got, s.sync[:]) {
		return damage.New(damage.Sync, s.name, off,
			"sync marker after the block at offset %d: want %x, got %x", s.pos, s.sync, got)
	}
	return nil
}

// long decodes the Avro long at the start of w, which is at offset off.
func (s *Scanner) long(w []byte, off int64, kind damage.Kind, what string) (v int64, n int, err error) {
	var u uint64
	for i, c := range w {
		//guard: rejects a number of more than 64 bits
		if i == maxVarint-1 && c > 1 {
			return 0, 0, damage.New(kind, s.name, off, "%s is not a 64-bit varint", what)
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1, nil
		}
	}
	return 0, 0, damage.New(damage.Truncated, s.name, off, "the file ends inside a %s", what)
}

// buffered returns the buffered bytes from off on.
func (s *Scanner) buffered(off int64) []byte {
	if off < s.bufOff || off >= s.bufOff+int64(len(s.buf)) {
		return nil
	}
	return s.buf[off-s.bufOff:]
}

// window returns at least n bytes at off, or all bytes up to the end of the file. They
// are valid until the next call.
func (s *Scanner) window(ctx context.Context, off int64, n int) ([]byte, error) {
	have := s.buffered(off)
	if len(have) >= n || off+int64(len(have)) == s.size {
		return have, nil
	}
	room := s.buf[:cap(s.buf)]
	if more := min(int64(max(4*len(room), firstBuffer, n)), bufferSize, s.size-off); more > int64(len(room)) {
		room = make([]byte, more)
	}
	// The rest of the old window is kept, so that no byte is read twice.
	kept := copy(room, have)
	end := int(min(int64(len(room)), s.size-off))
	s.buf, s.bufOff = room[:kept], off
	if s.stream != nil {
		return s.more(ctx, n-kept)
	}
	if err := s.readAt(ctx, s.buf[kept:end], off+int64(kept)); err != nil {
		return nil, err
	}
	s.buf = s.buf[:end]
	return s.buf, nil
}

// more appends at least n bytes of the stream to the buffer, and further bytes that are
// already there. It does not wait for further bytes: the writer of the stream may be
// waiting for the results of earlier rows.
func (s *Scanner) more(ctx context.Context, n int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	read, err := io.ReadAtLeast(s.stream, s.buf[len(s.buf):cap(s.buf)], n)
	s.buf = s.buf[:len(s.buf)+read]
	if isEnd(err) {
		s.size, err = s.bufOff+int64(len(s.buf)), nil
	}
	if err != nil {
		return nil, damage.Full(read, err, n, s.bufOff+int64(len(s.buf)-read), s.name)
	}
	return s.buf, nil
}

// isEnd reports whether an error of io.ReadFull or io.ReadAtLeast means the end of the
// stream.
func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

func (s *Scanner) readAt(ctx context.Context, p []byte, off int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.stream != nil {
		n, err := io.ReadFull(s.stream, p)
		if isEnd(err) {
			return s.ended(off + int64(n))
		}
		return damage.Full(n, err, len(p), off, s.name)
	}
	return damage.ReadFull(s.r, p, off, s.name)
}
