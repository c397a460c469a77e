package cfile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/format/damage"
)

// storedBuffers hold what is read of a file until it is decompressed. Few of them serve the
// blocks of many columns, and stay in the processor's caches.
var storedBuffers = sync.Pool{New: func() any { return new([]byte) }}

const (
	// largeBlock is the size from which stored blocks have memory of their own.
	largeBlock = 1 << 20
	// keptBlock is the memory that a reader keeps whatever the size of its block.
	keptBlock = 128 << 10
	// roundBlock is what memory for blocks is a multiple of, or an eighth of it if they are
	// small, so that one block does not need more than the one before it for a few bytes.
	roundBlock = 8 << 10
)

// blockReader reads blocks of a file one after the other into the same memory.
type blockReader struct {
	f    *File
	from readBlock
	raw  []byte
	held int64 // bytes accounted for of raw
}

// read returns the bytes of a block, uncompressed and without its checksum, which is
// compared. They are valid until the next read. The pointer was checked against the file.
func (b *blockReader) read(p Pointer) ([]byte, error) {
	if b.f.footer.Compression == NoCompression {
		if err := b.makeRoom(p, int64(p.Size)); err != nil {
			return nil, err
		}
		b.raw = b.raw[:p.Size]
		return b.stored(b.raw, p)
	}
	buf, err := b.f.storedBuffer(int64(p.Size))
	if err != nil {
		return nil, b.refused(p, int64(p.Size), err)
	}
	defer b.f.doneWith(buf)
	stored, err := b.stored(*buf, p)
	if err != nil {
		return nil, err
	}
	size, err := decompressedSize(b.f.footer.Compression, b.f.footer.Version, stored)
	if err != nil {
		return nil, b.f.locate(err, p)
	}
	if err := b.makeRoom(p, int64(size)); err != nil {
		return nil, err
	}
	raw, err := decompress(b.raw[:0], b.f.footer.Compression, b.f.footer.Version, stored)
	return raw, b.f.locate(err, p)
}

// stored reads a block as it is in the file into buf, compares its checksum, and returns it
// without.
func (b *blockReader) stored(buf []byte, p Pointer) ([]byte, error) {
	n, err := b.from(buf, p.Offset, b.f.footerAt)
	if err := damage.Full(n, err, len(buf), p.Offset, b.f.name); err != nil {
		return nil, err
	}
	end := len(buf) - b.f.footer.checksumSize()
	if b.f.footer.checksums() {
		if err := checkSum(buf[:end], buf[end:], p.Offset, "block"); err != nil {
			damage.SetFile(err, b.f.name)
			return nil, err
		}
		if b.f.crcs != nil {
			b.f.crcs[p.Offset] = binary.LittleEndian.Uint32(buf[end:])
		}
	}
	return buf[:end], nil
}

// makeRoom makes raw large enough for a block, and not much larger: of many columns each may
// have had one large block.
func (b *blockReader) makeRoom(p Pointer, size int64) error {
	if had := int64(cap(b.raw)); had >= size && had <= max(2*size, keptBlock) {
		return nil
	}
	b.close()
	round := int64(roundBlock / 8)
	if size >= 4*roundBlock {
		round = roundBlock
	}
	size = (size + round - 1) &^ (round - 1)
	if err := b.f.memory.Reserve(size); err != nil {
		return b.refused(p, size, err)
	}
	b.raw, b.held = make([]byte, 0, size), size
	return nil
}

// refused says for which block there is no memory.
func (b *blockReader) refused(p Pointer, size int64, err error) error {
	return fmt.Errorf("%s: a block at offset %d, of %d bytes: %w", b.f.name, p.Offset, size, err)
}

// close gives the memory of the block back.
func (b *blockReader) close() {
	b.f.memory.Release(b.held)
	b.raw, b.held = nil, 0
}

// storedBuffer returns memory for a stored block, for doneWith.
func (f *File) storedBuffer(n int64) (*[]byte, error) {
	if n >= largeBlock {
		if err := f.memory.Reserve(n); err != nil {
			return nil, err
		}
		buf := make([]byte, n)
		return &buf, nil
	}
	buf := storedBuffers.Get().(*[]byte)
	*buf = slices.Grow((*buf)[:0], int(n))[:n]
	return buf, nil
}

// doneWith gives memory of storedBuffer back.
func (f *File) doneWith(buf *[]byte) {
	if n := len(*buf); n >= largeBlock {
		f.memory.Release(int64(n))
		return
	}
	storedBuffers.Put(buf)
}
